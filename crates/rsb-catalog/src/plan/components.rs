//! Planning of framework components, on the CPU and on GPUs that frameworks support. No I/O.

use rsb_device::DeviceInfo;
use rsb_model::{
    BackendId, BenchmarkType, Case, CaseDevice, CaseId, DeviceRef, Params, Reason, Suite,
};
use rsb_workloads::Breadth;

use super::{CustomEntry, Machine, Plan, PlanError, Selection};
use crate::frameworks::{self, Component, ComponentSelection};
use crate::model_cases::{self, ModelSelection};
use crate::{models, suites};

/// Values that replace the default values of an axis.
type Axes = Vec<(String, Vec<String>)>;

/// Returns the selected components and their axes. A component can be selected by name, by the
/// suite, or by an entry of `custom`.
pub(super) fn select(selection: &Selection) -> Result<Vec<(&'static Component, Axes)>, PlanError> {
    if selection.names.is_empty() && selection.suite == Suite::Custom {
        let known = selection
            .custom
            .iter()
            .filter_map(|entry| Some((frameworks::find(&entry.benchmark)?, entry)));
        return known.map(|(component, entry)| of_entry(component, entry, selection)).collect();
    }
    let names: Vec<&str> = match selection.names.as_slice() {
        [] => suites::components(selection.suite),
        names => names.iter().map(String::as_str).collect(),
    };
    Ok(names
        .into_iter()
        .filter_map(frameworks::find)
        .map(|component| (component, selection.axes.clone()))
        .collect())
}

/// Returns the component and axes of an entry. If the entry names no workload, all workloads that
/// have its axes are selected.
fn of_entry(
    component: &'static Component,
    entry: &CustomEntry,
    selection: &Selection,
) -> Result<(&'static Component, Axes), PlanError> {
    let mut axes: Axes = entry.axes.iter().chain(&selection.axes).cloned().collect();
    let fitting =
        frameworks::workloads_with(component, &axes).map_err(|why| PlanError::Entry { why })?;
    if axes.iter().all(|(name, _)| name != frameworks::WORKLOAD) {
        axes.push((frameworks::WORKLOAD.to_owned(), fitting));
    }
    Ok((component, axes))
}

/// Adds the cases of `component` on the chosen devices to the plan, or on devices of a backend that
/// frameworks access without this program.
pub(super) fn add(
    plan: &mut Plan,
    component: &'static Component,
    axes: &Axes,
    selection: &Selection,
    machine: &Machine,
    devices: &[&DeviceInfo],
    breadth: Breadth,
) -> Result<(), PlanError> {
    // Invalid values are reported even if the component is not installed.
    frameworks::check_values(component, axes)?;
    if let Err(reason) = (machine.readiness)(component.name) {
        let skipped = absent(component.name, &reason);
        // Several entries can refer to one component.
        if plan.skipped.iter().all(|(case, _)| case.id != skipped.0.id) {
            plan.skipped.push(skipped);
        }
        return Ok(());
    }
    let places = places(selection, devices);
    if places.is_empty() {
        let name = selection.backend().map_or("auto", BackendId::as_str);
        let why = format!(
            "frameworks run only on cpu, rocm and cuda, and --backend {name} has no such device \
             here"
        );
        plan.skipped.push(absent(
            component.name,
            &Reason::new(component.name, why, "choose --backend cpu, rocm or cuda"),
        ));
    }
    let wish = ComponentSelection { breadth, axes };
    for device in places {
        if component.name == models::MODELS {
            let info = devices.iter().find(|info| info.device == device).copied();
            add_models(
                plan,
                component,
                device,
                info,
                ModelSelection { breadth, axes, own: &selection.models },
            )?;
            continue;
        }
        for case in frameworks::cases(component, device, wish)? {
            if plan.cases.iter().all(|known| known.id != case.id) {
                plan.cases.push(case);
            }
        }
    }
    Ok(())
}

/// Adds the model cases of `wish` to the plan, without duplicates.
fn add_models(
    plan: &mut Plan,
    component: &Component,
    device: DeviceRef,
    info: Option<&DeviceInfo>,
    wish: ModelSelection<'_>,
) -> Result<(), PlanError> {
    for case in model_cases::cases(component, device, info, wish)? {
        match case {
            Ok(case) if plan.cases.iter().all(|known| known.id != case.id) => plan.cases.push(case),
            Err(skipped) if plan.skipped.iter().all(|(known, _)| known.id != skipped.0.id) => {
                plan.skipped.push(skipped);
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Returns an error if none of the named models exists. If other models are measured, unknown names
/// are only skipped.
pub(super) fn refuse_wrong_names(plan: &Plan) -> Result<(), PlanError> {
    let mut wrong =
        plan.skipped.iter().map(|(case, reason)| Some((model_cases::wrong_name(case)?, reason)));
    let Some(Some((name, reason))) = wrong.next() else { return Ok(()) };
    if !plan.cases.is_empty() || !plan.failed.is_empty() || wrong.any(|other| other.is_none()) {
        return Ok(());
    }
    Err(PlanError::Entry {
        why: format!("there is no model `{name}`: {}; {}", reason.why, reason.cure),
    })
}

/// Returns the devices for frameworks. A framework has its own runtime, so for a requested GPU
/// backend without known devices, the framework looks for the GPU itself.
fn places(selection: &Selection, devices: &[&DeviceInfo]) -> Vec<DeviceRef> {
    let knows =
        |backend: BackendId| matches!(backend, BackendId::Cpu | BackendId::Rocm | BackendId::Cuda);
    let fitting = devices.iter().filter(|device| knows(device.device.backend));
    let found: Vec<DeviceRef> = fitting.map(|device| device.device).collect();
    match selection.backend() {
        Some(backend @ (BackendId::Rocm | BackendId::Cuda)) if found.is_empty() => {
            let indices = if selection.devices.is_empty() { &[0][..] } else { &selection.devices };
            indices.iter().map(|&index| DeviceRef { backend, index }).collect()
        }
        _ => found,
    }
}

/// Returns the skipped entry of a component that cannot be measured on this machine, as shown in
/// `list` and stored in a run.
pub fn absent(component: &str, reason: &Reason) -> (Case, Reason) {
    let case = Case {
        id: CaseId::from_segments(&[BenchmarkType::ComponentSpecific.as_str(), component]),
        benchmark: component.to_owned(),
        benchmark_type: BenchmarkType::ComponentSpecific,
        device: CaseDevice::None,
        params: Params::new(),
    };
    (case, reason.clone())
}
