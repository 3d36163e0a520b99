//! The cases of framework components: on the processor and on cards that frameworks know, or why there are none. Pure.

use rsb_device::DeviceInfo;
use rsb_model::{BackendId, BenchmarkType, Case, CaseId, Params, Reason};
use rsb_workloads::Breadth;

use super::{Machine, Plan, PlanError, Selection, backend_of};
use crate::frameworks::{self, Component, Wish};

/// The components that are asked for: by name, or as part of the suite.
pub(super) fn wanted(selection: &Selection) -> Vec<&'static Component> {
    let names: Vec<&str> = match selection.names.as_slice() {
        [] => selection.suite.components(),
        names => names.iter().map(String::as_str).collect(),
    };
    names.into_iter().filter_map(frameworks::find).collect()
}

/// Plans `component` on the chosen devices, or on those of a backend that frameworks reach without our help.
pub(super) fn add(
    plan: &mut Plan,
    component: &'static Component,
    (selection, machine): (&Selection, &Machine),
    (devices, breadth): (&[&DeviceInfo], Breadth),
) -> Result<(), PlanError> {
    if let Err(reason) = (machine.readiness)(component.name) {
        plan.skipped.push(absent(component.name, &reason));
        return Ok(());
    }
    let places = places(selection, devices);
    if places.is_empty() {
        let asked = selection.backend.map_or("auto", BackendId::as_str);
        let why = format!("frameworks run on cpu, rocm and cuda, and --backend {asked} has no device of these here");
        plan.skipped
            .push(absent(component.name, &Reason::new(component.name, why, "choose --backend cpu, rocm or cuda")));
    }
    let wish = Wish { breadth, axes: &selection.axes };
    for device in places {
        plan.cases.extend(frameworks::cases(component, &device, wish)?);
    }
    Ok(())
}

/// A framework brings a run time of its own: a card of a backend asked for is left to it to find.
fn places(selection: &Selection, devices: &[&DeviceInfo]) -> Vec<String> {
    let knows = |backend: BackendId| matches!(backend, BackendId::Cpu | BackendId::Rocm | BackendId::Cuda);
    let fitting = devices.iter().filter(|device| backend_of(device).is_some_and(knows));
    let found: Vec<String> = fitting.map(|device| device.device.0.clone()).collect();
    match selection.backend {
        Some(backend @ (BackendId::Rocm | BackendId::Cuda)) if found.is_empty() => {
            let indices = if selection.devices.is_empty() { &[0][..] } else { &selection.devices };
            indices.iter().map(|index| format!("{backend}:{index}")).collect()
        }
        _ => found,
    }
}

/// The entry of `list` and of a run for a component that cannot be measured here.
pub fn absent(component: &str, reason: &Reason) -> (Case, Reason) {
    let case = Case {
        id: CaseId::from_segments(&[BenchmarkType::ComponentSpecific.as_str(), component]),
        benchmark: component.to_owned(),
        benchmark_type: BenchmarkType::ComponentSpecific,
        device: "none".to_owned(),
        params: Params::new(),
    };
    (case, reason.clone())
}
