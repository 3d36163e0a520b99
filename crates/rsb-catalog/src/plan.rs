//! Planning: turns a selection and a machine into the cases to run, and the cases that cannot run
//! with their reasons. No I/O.

mod auto;
mod components;

use std::collections::{BTreeMap, HashMap};

use rsb_device::DeviceInfo;
use rsb_model::{
    BackendId, BenchmarkType, Case, CaseDevice, CaseId, DeviceType, Note, Outcome, Params,
    PlanSelection, Reason, RunDevice, Suite, factor,
};
use rsb_workloads::{Benchmark, Breadth, RunsOn};

use crate::selection::ALL;
pub use crate::selection::{CustomEntry, Machine, Selection};
use crate::suites::compared;
use crate::{frameworks, suites};

/// Cases of a run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Cases to run, in order.
    pub cases: Vec<Case>,
    /// Cases that cannot run on this machine, and the reasons.
    pub skipped: Vec<(Case, Reason)>,
    /// Cases that should run but cannot because the library of their backend is broken, and the
    /// reasons.
    pub failed: Vec<(Case, Reason)>,
    /// Selection within the suite.
    pub selection: PlanSelection,
    /// Selected devices.
    pub devices: Vec<DeviceInfo>,
    /// Notes about the devices, for example that cases are smaller because little memory is free.
    pub notes: Vec<Note>,
    /// Number of replicates that cases already have.
    pub taken: HashMap<CaseId, u32>,
}

impl Plan {
    /// Returns the number of replicates still to take of `case` if `wanted` are requested in total.
    pub fn due(&self, case: &Case, wanted: u32) -> u32 {
        wanted.saturating_sub(self.taken.get(&case.id).copied().unwrap_or(0))
    }

    /// Returns the cases that will not run, with their outcome and reason.
    pub fn without_figures(&self) -> impl Iterator<Item = (&Case, Outcome, &Reason)> {
        let skipped = self.skipped.iter().map(|(case, reason)| (case, Outcome::Skipped, reason));
        skipped.chain(self.failed.iter().map(|(case, reason)| (case, Outcome::Failed, reason)))
    }

    /// Adds the entries of `other`, the plan of another backend, that this plan lacks. A component
    /// with cases on either backend is not listed as skipped.
    fn add(&mut self, other: Self) {
        for case in other.cases {
            if self.cases.iter().all(|known| known.id != case.id) {
                self.cases.push(case);
            }
        }
        for (all, more) in [(&mut self.skipped, other.skipped), (&mut self.failed, other.failed)] {
            for entry in more {
                if all.iter().all(|(known, _)| known.id != entry.0.id) {
                    all.push(entry);
                }
            }
        }
        for device in other.devices {
            if self.devices.iter().all(|known| known.device != device.device) {
                self.devices.push(device);
            }
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let cases = &self.cases;
        self.skipped.retain(|(skipped, _)| {
            skipped.device != CaseDevice::None
                || cases.iter().all(|case| case.benchmark != skipped.benchmark)
        });
    }

    /// Removes every case for which `why` returns an entry, and adds each distinct entry to the
    /// skipped cases.
    pub fn leave_out(&mut self, why: impl Fn(&Case) -> Option<(Case, Reason)>) {
        let skipped = &mut self.skipped;
        self.cases.retain(|case| {
            let Some(entry) = why(case) else { return true };
            if skipped.iter().all(|(known, _)| known.id != entry.0.id) {
                skipped.push(entry);
            }
            false
        });
    }

    /// Returns the devices in the form stored in a run.
    pub fn run_devices(&self) -> Vec<RunDevice> {
        self.devices.iter().map(DeviceInfo::record).collect()
    }

    /// Returns the drivers of the Vulkan and OpenCL devices, by device.
    pub fn drivers(&self) -> BTreeMap<String, String> {
        let mut drivers = BTreeMap::new();
        for device in &self.devices {
            if factor::DRIVER_LIBRARIES.contains(&device.device.backend.as_str())
                && let Some(driver) = &device.driver
            {
                drivers.insert(device.device.to_string(), driver.clone());
            }
        }
        drivers
    }
}

/// Error in the arguments of a selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Unknown benchmark.
    #[error("there is no benchmark `{name}`{}; `rusty-stack-bench list` shows them all", nearest(.name).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    UnknownBenchmark {
        /// Requested name.
        name: String,
    },
    /// Unknown axis, or invalid value of an axis.
    #[error(transparent)]
    Axis(#[from] rsb_workloads::UsageError),
    /// Axis that none of the selected benchmarks has.
    #[error("no selected benchmark has an axis `{axis}`; their axes are {known}")]
    UnknownAxis {
        /// Requested axis.
        axis: String,
        /// Known axes.
        known: String,
    },
    /// Device index that the backend does not have.
    #[error("there is no device {index}; the devices here are {known}")]
    UnknownDevice {
        /// Requested index.
        index: u32,
        /// Available devices.
        known: String,
    },
    /// Invalid entry for a component or model, such as one with unknown axes.
    #[error("{why}")]
    Entry {
        /// Description of the error, with the valid names.
        why: String,
    },
    /// The suite `custom` has no entries.
    #[error(
        "the suite `custom` is empty; add [[custom]] entries with a `benchmark` to \
         rusty-stack-bench.toml"
    )]
    EmptyCustom,
}

/// Returns the benchmark with the most similar name, if one is similar enough.
pub fn nearest(name: &str) -> Option<&'static str> {
    let native = rsb_workloads::all_benchmarks().map(rsb_workloads::Benchmark::name);
    native
        .chain(frameworks::all_and_models().map(|component| component.name))
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Returns whether this program has a benchmark or component called `name`.
pub fn has_benchmark(name: &str) -> bool {
    rsb_workloads::find(name).is_some() || frameworks::find(name).is_some()
}

/// Returns whether `name` is a benchmark or component that comes with this program. User-defined
/// benchmarks do not.
pub fn is_built_in(name: &str) -> bool {
    has_benchmark(name)
        && rsb_workloads::registered_benchmarks().iter().all(|own| own.name() != name)
}

/// Axis that selects a GPU in benchmarks of sensors.
const GPU_AXIS: &str = "gpu";

/// Benchmark with the selected axes.
struct SelectedBenchmark {
    benchmark: &'static dyn Benchmark,
    axes: Vec<(String, Vec<String>)>,
}

/// Plans `selection` on `machine`.
///
/// # Errors
/// If the selection contains an unknown name or an invalid value.
pub fn plan(selection: &Selection, machine: &Machine) -> Result<Plan, PlanError> {
    let mut whole = plan_backend(selection, machine)?;
    for &backend in selection.backends.iter().skip(1) {
        let one = Selection { backends: vec![backend], ..selection.clone() };
        whole.add(plan_backend(&one, machine)?);
    }
    whole.selection = selection.record();
    Ok(whole)
}

/// Plans the part of `selection` on its first backend.
fn plan_backend(selection: &Selection, machine: &Machine) -> Result<Plan, PlanError> {
    let wanted = select_benchmarks(selection)?;
    let devices = devices(selection, machine)?;
    let breadth = if selection.names.is_empty() {
        suites::breadth(selection.suite, selection.profile)
    } else {
        suites::breadth_of(selection.profile)
    };
    let compares = selection.compares_backends();
    let chosen = devices.iter().map(|device| (*device).clone()).collect();
    let mut plan = Plan { devices: chosen, ..Plan::default() };
    for (index, wanted) in wanted.iter().enumerate() {
        let before = plan.cases.len() + plan.skipped.len();
        for device in places(wanted.benchmark, selection, machine, &devices) {
            let axes = with_sensors(wanted, device, machine);
            let on_device = if compares {
                compared::axes_on(index, wanted.benchmark, device, axes)
            } else {
                Some(axes)
            };
            let Some(axes) = on_device else { continue };
            for case in rsb_workloads::cases(wanted.benchmark, device, breadth, &axes)? {
                match case {
                    Ok(case) => plan.cases.push(case),
                    Err(skipped) => plan.skipped.push(skipped),
                }
            }
        }
        let has_none = plan.cases.len() + plan.skipped.len() == before;
        if has_none && !selection.names.is_empty() {
            plan.skipped.extend(unsupported_entry(wanted.benchmark, selection.backend(), machine));
        }
    }
    plan.notes = devices
        .iter()
        .filter_map(|device| rsb_workloads::sized_down(device, &plan.cases))
        .collect();
    plan.skipped.extend(missing_devices(selection, machine, &wanted));
    (plan.failed, plan.skipped) = plan.skipped.into_iter().partition(|(case, _)| {
        machine.broken.iter().any(|backend| case.device == CaseDevice::Backend(*backend))
    });
    for (component, axes) in components::select(selection)? {
        components::add(&mut plan, component, &axes, selection, machine, &devices, breadth)?;
    }
    components::refuse_wrong_names(&plan)?;
    Ok(plan)
}

fn select_benchmarks(selection: &Selection) -> Result<Vec<SelectedBenchmark>, PlanError> {
    if selection.names.is_empty()
        && matches!(selection.suite, Suite::Custom | Suite::HardwareAcceleration)
    {
        let compared = selection.compares_backends().then(compared::entries);
        let entries = compared.as_ref().unwrap_or(&selection.custom);
        if entries.is_empty() {
            return Err(PlanError::EmptyCustom);
        }
        if let Some(entries) = &compared {
            let named: Vec<_> = entries
                .iter()
                .map(|entry| find_benchmark(&entry.benchmark))
                .collect::<Result<_, _>>()?;
            check_axes(&named, selection)?;
        }
        let mut selected = Vec::new();
        for entry in entries {
            if frameworks::find(&entry.benchmark).is_some() {
                continue;
            }
            let benchmark = find_benchmark(&entry.benchmark)?;
            // In entries of a built-in suite, a requested axis replaces the values of the entries
            // that have it.
            let requested = if compared.is_some() {
                own_axes(benchmark, &selection.axes)
            } else {
                selection.axes.clone()
            };
            let kept = entry.axes.iter().filter(|(axis, _)| {
                compared.is_none() || requested.iter().all(|(name, _)| name != axis)
            });
            let axes = kept.chain(&requested).cloned().collect();
            selected.push(SelectedBenchmark { benchmark, axes });
        }
        return Ok(selected);
    }
    let names: Vec<&str> = match selection.names.as_slice() {
        [] => suites::benchmarks(selection.suite),
        names => names
            .iter()
            .map(String::as_str)
            .filter(|name| frameworks::find(name).is_none())
            .collect(),
    };
    let benchmarks: Vec<&dyn Benchmark> =
        names.into_iter().map(find_benchmark).collect::<Result<_, _>>()?;
    check_axes(&benchmarks, selection)?;
    Ok(benchmarks
        .into_iter()
        .map(|benchmark| SelectedBenchmark {
            benchmark,
            axes: own_axes(benchmark, &selection.axes),
        })
        .collect())
}

fn find_benchmark(name: &str) -> Result<&'static dyn Benchmark, PlanError> {
    rsb_workloads::find(name).ok_or_else(|| PlanError::UnknownBenchmark { name: name.to_owned() })
}

/// Returns the axes that `benchmark` has. If several benchmarks are selected, an axis applies to
/// those that have it; [`check_axes`] rejects an axis that none has.
fn own_axes(
    benchmark: &dyn Benchmark,
    axes: &[(String, Vec<String>)],
) -> Vec<(String, Vec<String>)> {
    axes.iter()
        .filter(|(name, _)| benchmark.axes().iter().any(|axis| axis.name == name))
        .cloned()
        .collect()
}

fn check_axes(
    benchmarks: &[&'static dyn Benchmark],
    selection: &Selection,
) -> Result<(), PlanError> {
    let components = components::select(selection)?;
    for (name, _) in &selection.axes {
        let name = name.as_str();
        if benchmarks.iter().any(|benchmark| benchmark.axes().iter().any(|axis| axis.name == name))
            || components.iter().any(|(component, _)| frameworks::has_axis(component, name))
        {
            continue;
        }
        let mut names: Vec<&str> = benchmarks
            .iter()
            .flat_map(|benchmark| benchmark.axes())
            .map(|axis| axis.name)
            .collect();
        names.extend(components.iter().flat_map(|(component, _)| frameworks::axes(component)));
        names.sort_unstable();
        names.dedup();
        return Err(PlanError::UnknownAxis { axis: name.to_owned(), known: names.join(", ") });
    }
    Ok(())
}

fn devices<'m>(
    selection: &Selection,
    machine: &'m Machine,
) -> Result<Vec<&'m DeviceInfo>, PlanError> {
    let mut found: Vec<&DeviceInfo> = Vec::new();
    for device in &machine.devices {
        let backend = device.device.backend;
        let by_backend = match selection.backend() {
            Some(wanted) => backend == wanted,
            None => selection.compares_backends() || auto::takes(device, &machine.devices),
        };
        let by_suite =
            !selection.names.is_empty() || selection.suite.wants(backend, device.device_type);
        if by_backend && by_suite {
            found.push(device);
        }
    }
    if let Some(&wrong) = selection.devices.iter().find(|&&wanted| {
        !found.is_empty() && found.iter().all(|device| device.device.index != wanted)
    }) {
        let known =
            found.iter().map(|device| device.device.to_string()).collect::<Vec<_>>().join(", ");
        return Err(PlanError::UnknownDevice { index: wrong, known });
    }
    if !selection.devices.is_empty() {
        found.retain(|device| selection.devices.contains(&device.device.index));
    }
    Ok(found)
}

/// Returns the axes of `wanted` on `device`. For benchmarks of sensors on the host, adds the GPUs
/// that no runtime reaches.
fn with_sensors(
    wanted: &SelectedBenchmark,
    device: &DeviceInfo,
    machine: &Machine,
) -> Vec<(String, Vec<String>)> {
    let mut axes = wanted.axes.clone();
    let has_gpu_axis = axes.iter().any(|(name, _)| name == GPU_AXIS);
    let reads_sensors = wanted.benchmark.info().runs_on == RunsOn::GpusAndSensors;
    if reads_sensors && is_host(device) && !has_gpu_axis {
        axes.push((GPU_AXIS.to_owned(), unreached_gpus(machine)));
    }
    axes
}

/// Returns the addresses of GPUs with sensors that no runtime reaches.
fn unreached_gpus(machine: &Machine) -> Vec<String> {
    machine.sensors.iter().filter(|address| !is_reached(machine, address)).cloned().collect()
}

fn is_reached(machine: &Machine, address: &str) -> bool {
    let mut known = machine.devices.iter().filter_map(|device| device.pci_address.as_deref());
    known.any(|known| known.eq_ignore_ascii_case(address))
}

fn is_host(device: &DeviceInfo) -> bool {
    device.device.is_cpu()
}

/// Returns the devices on which `benchmark` runs: the chosen devices that it supports, and the host
/// if it also runs there.
fn places<'m>(
    benchmark: &dyn Benchmark,
    selection: &Selection,
    machine: &'m Machine,
    devices: &[&'m DeviceInfo],
) -> Vec<&'m DeviceInfo> {
    let gpus = devices.iter().copied().filter(|device| !is_host(device));
    match benchmark.info().runs_on {
        RunsOn::Any | RunsOn::Gpus | RunsOn::Cpu => devices.to_vec(),
        RunsOn::Host(tools) => hosts(selection, machine, tools),
        RunsOn::GpusAndHost(tools) => gpus.chain(hosts(selection, machine, tools)).collect(),
        RunsOn::GpusAndSensors => {
            let has_gpu_axis = selection.axes.iter().any(|(name, _)| name == GPU_AXIS);
            if !has_gpu_axis && unreached_gpus(machine).is_empty() {
                return gpus.collect();
            }
            gpus.chain(hosts(selection, machine, &[BackendId::Rocm])).collect()
        }
    }
}

/// Returns the host if `selection` includes it or one of the backends in `tools`.
fn hosts<'m>(
    selection: &Selection,
    machine: &'m Machine,
    tools: &[BackendId],
) -> Vec<&'m DeviceInfo> {
    let has_host = !selection.names.is_empty() || selection.suite.uses_host_tools();
    let is_requested = selection
        .backend()
        .is_none_or(|backend| backend == BackendId::Cpu || tools.contains(&backend));
    if !has_host || !is_requested {
        return Vec::new();
    }
    machine.devices.iter().filter(|device| is_host(device)).collect()
}

/// Returns the skipped entry of a benchmark that was selected by name but cannot run on any device
/// of this machine. The reason is that the benchmark does not support the backend or the CPU is not
/// selected, or why the first GPU backend is missing. A requested backend that is missing has a
/// separate entry ([`missing_devices`]).
fn unsupported_entry(
    benchmark: &dyn Benchmark,
    requested: Option<BackendId>,
    machine: &Machine,
) -> Option<(Case, Reason)> {
    let is_for_cpu = benchmark.info().runs_on == RunsOn::Cpu;
    if is_for_cpu && requested.is_none() {
        let why = "it only runs on the CPU, which is not among the selected devices";
        let reason = Reason::new(benchmark.name(), why, "leave --device out");
        return Some(absent(benchmark.name(), BackendId::Cpu, &reason));
    }
    let is_missing =
        |requested: BackendId| machine.missing.iter().any(|(backend, _)| *backend == requested);
    let backend = match (requested, machine.missing.first()) {
        (Some(requested), _) if !is_for_cpu && is_missing(requested) => return None,
        (Some(requested), _) => requested,
        (None, Some((backend, reason))) => {
            return Some(absent_here(benchmark, *backend, reason, machine));
        }
        (None, None) => BackendId::Cpu,
    };
    Some(absent(benchmark.name(), backend, &unfit(benchmark, backend)))
}

/// Returns the reason why `benchmark` has no cases on devices of `backend`.
pub fn unfit(benchmark: &dyn Benchmark, backend: BackendId) -> Reason {
    let (place, cure) = match benchmark.info().runs_on {
        RunsOn::Cpu => ("the CPU", "leave --backend out, or choose cpu"),
        RunsOn::Host(_) => ("the host", "leave --backend out, or choose cpu"),
        RunsOn::Any | RunsOn::Gpus => ("GPUs", "choose a GPU backend, such as --backend rocm"),
        RunsOn::GpusAndHost(_) => {
            ("GPUs and the host", "choose a GPU backend, such as --backend rocm")
        }
        RunsOn::GpusAndSensors => return no_sensors(benchmark),
    };
    Reason::new(
        format!("{} on {backend}", benchmark.name()),
        format!("it only runs on {place}"),
        cure,
    )
}

fn no_sensors(benchmark: &dyn Benchmark) -> Reason {
    let why = format!(
        "{} reads them from an AMD, NVIDIA or Intel GPU through its kernel driver (amdgpu, nvidia, \
         i915 or xe)",
        benchmark.name()
    );
    let cure = "run it on a machine with such a GPU, without --backend cpu; `rusty-stack-bench \
                doctor` shows the GPUs and \
                drivers found here";
    Reason::new("GPU sensors", why, cure)
}

/// Returns the skipped entry of `benchmark` on a backend that is missing for `reason`. Sensors need
/// no backend library, so their reason is that no GPU has sensors.
fn absent_here(
    benchmark: &dyn Benchmark,
    backend: BackendId,
    reason: &Reason,
    machine: &Machine,
) -> (Case, Reason) {
    let is_broken = machine.broken.contains(&backend);
    if benchmark.info().runs_on == RunsOn::GpusAndSensors
        && machine.sensors.is_empty()
        && !is_broken
    {
        return absent(benchmark.name(), backend, &no_sensors(benchmark));
    }
    absent(benchmark.name(), backend, reason)
}

/// Returns a skipped entry for each requested backend that is missing: one per benchmark if the
/// backend is named, one in total if it is selected by `auto`.
fn missing_devices(
    selection: &Selection,
    machine: &Machine,
    wanted: &[SelectedBenchmark],
) -> Vec<(Case, Reason)> {
    let left_out = if selection.backend().is_none() && !selection.compares_backends() {
        auto::left_out(&machine.devices)
    } else {
        Vec::new()
    };
    let missing = machine
        .missing
        .iter()
        .chain(&left_out)
        .filter(|(backend, _)| is_selected_backend(*backend, selection, wanted));
    missing
        .flat_map(|(backend, reason)| match selection.backend() {
            Some(_) => wanted
                .iter()
                .filter(|wanted| match wanted.benchmark.info().runs_on {
                    RunsOn::Cpu => false,
                    RunsOn::Host(tools) => !tools.contains(backend),
                    _ => true,
                })
                .map(|wanted| absent_here(wanted.benchmark, *backend, reason, machine))
                .collect::<Vec<_>>(),
            None => vec![absent(ALL, *backend, reason)],
        })
        .collect()
}

fn is_selected_backend(
    backend: BackendId,
    selection: &Selection,
    wanted: &[SelectedBenchmark],
) -> bool {
    match selection.backend() {
        Some(requested) => requested == backend,
        None => {
            !wanted.is_empty()
                && backend != BackendId::Cpu
                && selection.names.is_empty()
                && selection.suite.wants(backend, DeviceType::Gpu)
        }
    }
}

/// Returns the skipped entry of `benchmark` on a missing backend, as shown in `list` and stored in
/// a run.
pub fn absent(benchmark: &str, backend: BackendId, reason: &Reason) -> (Case, Reason) {
    let benchmark_type = if backend == BackendId::Cpu {
        BenchmarkType::CpuPerformance
    } else {
        BenchmarkType::GpuPerformance
    };
    let case = Case {
        id: CaseId::from_segments(&[benchmark_type.as_str(), benchmark, backend.as_str()]),
        benchmark: benchmark.to_owned(),
        benchmark_type,
        device: CaseDevice::Backend(backend),
        params: Params::new(),
    };
    (case, reason.clone())
}

/// Returns the number of points of a benchmark on a device, for `list`.
pub fn count(benchmark: &dyn Benchmark, device: &DeviceInfo, breadth: Breadth) -> usize {
    rsb_workloads::cases(benchmark, device, breadth, &[])
        .map_or(0, |cases| cases.iter().filter(|case| case.is_ok()).count())
}

#[cfg(test)]
mod tests;
