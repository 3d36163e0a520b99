//! Lists all benchmarks on all backends, with the devices or the reason why they cannot run here.

use rsb_catalog::plan::{self, Machine};
use rsb_catalog::{frameworks, suites};
use rsb_device::DeviceInfo;
use rsb_engine::measure;
use rsb_model::{BackendId, Reason};
use rsb_probe::{ProbeOptions, telemetry};
use rsb_report::{CaseRow, Style};
use rsb_workloads::{Benchmark, Breadth, RunsOn};

/// Returns every benchmark on every backend, every component, and the backends that only run
/// models.
pub fn rows(machine: &Machine) -> Vec<CaseRow> {
    let native = rsb_workloads::all_benchmarks()
        .flat_map(|benchmark| BackendId::ALL.map(|backend| row(benchmark, backend, machine)));
    let components = frameworks::all_and_models().map(|component| CaseRow {
        benchmark: component.name.to_owned(),
        about: component.about.to_owned(),
        is_own: false,
        backend: "any".to_owned(),
        devices: Vec::new(),
        cases: frameworks::count(component),
        missing: (machine.readiness)(component.name).err(),
    });
    let of_models = suites::RUNTIMES_OF_MODELS.iter().map(|(name, cure)| CaseRow {
        benchmark: "all".to_owned(),
        about: "every native benchmark".to_owned(),
        is_own: false,
        backend: (*name).to_owned(),
        devices: Vec::new(),
        cases: 0,
        missing: Some(suites::models_alone(name, cure)),
    });
    native.chain(components).chain(of_models).collect()
}

/// Returns the reason of the first backend if none of `backends` has a compiler on this machine;
/// `None` if one has.
fn no_compiler(backends: &[BackendId]) -> Option<Reason> {
    let mut reasons = Vec::new();
    for &backend in backends {
        match measure::has_compiler(backend) {
            Ok(()) => return None,
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.into_iter().next()
}

/// Returns why none of `devices`, all of one backend, has the equipment that the benchmark needs in
/// addition to a device.
fn missing_equipment(benchmark: &dyn Benchmark, devices: &[&DeviceInfo]) -> Option<Reason> {
    if benchmark.info().needs_counters {
        return measure::has_counters().err();
    }
    let first = devices.first().filter(|first| !first.device.is_cpu())?;
    let (backend, fewest) = (first.device.backend, benchmark.info().fewest_gpus);
    if devices.len() < fewest {
        return Some(Reason::new(
            format!("{fewest} GPUs: {backend}"),
            format!("it has {} here", devices.len()),
            "measure on a machine with several GPUs, and check that none is hidden \
             (HIP_VISIBLE_DEVICES, \
             CUDA_VISIBLE_DEVICES)",
        ));
    }
    if benchmark.info().runs_on != RunsOn::GpusAndSensors || has_sensors(devices) {
        return None;
    }
    Some(Reason::new(
        format!("sensors: {backend}"),
        format!("{} has no readable sensors", first.name),
        "use a GPU whose driver provides sensors (amdgpu, i915, xe, NVIDIA's)",
    ))
}

fn has_sensors(devices: &[&DeviceInfo]) -> bool {
    let addresses: Vec<Option<&str>> =
        devices.iter().map(|device| device.pci_address.as_deref()).collect();
    telemetry::gpus_at(&ProbeOptions::here(), &addresses).iter().any(Option::is_some)
}

fn row(benchmark: &dyn Benchmark, backend: BackendId, machine: &Machine) -> CaseRow {
    let devices: Vec<_> =
        machine.devices.iter().filter(|device| device.device.backend == backend).collect();
    let missing = machine
        .missing
        .iter()
        .find(|(missing, _)| *missing == backend)
        .map(|(_, reason)| reason.clone());
    let fits = match benchmark.info().runs_on {
        RunsOn::Any | RunsOn::GpusAndHost(_) => true,
        RunsOn::GpusAndSensors => backend != BackendId::Cpu || !machine.sensors.is_empty(),
        RunsOn::Gpus => backend != BackendId::Cpu,
        RunsOn::Cpu | RunsOn::Host(_) => backend == BackendId::Cpu,
    };
    let missing = match benchmark.info().runs_on.tools() {
        _ if !fits => Some(plan::unfit(benchmark, backend)),
        tools if backend == BackendId::Cpu && !tools.is_empty() => no_compiler(tools),
        _ => missing.or_else(|| missing_equipment(benchmark, &devices)),
    };
    CaseRow {
        benchmark: benchmark.name().to_owned(),
        about: benchmark.info().about.to_owned(),
        is_own: !plan::is_built_in(benchmark.name()),
        backend: backend.as_str().to_owned(),
        devices: devices.iter().map(|device| device.name.clone()).collect(),
        cases: devices.iter().map(|device| plan::count(benchmark, device, Breadth::Full)).sum(),
        missing,
    }
}

/// Lists each benchmark with its axes, for `--axis`.
pub fn axes(style: Style) -> String {
    let mut text = String::from("\nAxes, to set with --axis NAME=V1,V2\n");
    for benchmark in rsb_workloads::all_benchmarks() {
        text.extend(["\n", benchmark.name(), "\n"]);
        for axis in benchmark.axes() {
            let default =
                axis.default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
            text.push_str(
                &style.hang(&format!("  {:<14} ", axis.name), &format!("{}{default}", axis.about)),
            );
        }
    }
    text
}
