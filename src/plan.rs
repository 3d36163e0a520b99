//! Selectors × axes × devices → the cases to run, and those that cannot run here with the reason. Pure.

mod auto;
mod components;

use rsb_device::device::DeviceInfo;
use rsb_model::{BackendId, BenchmarkType, Case, CaseId, DeviceType, Params, Reason};
use rsb_workloads::{Benchmark, Breadth, RunsOn};

use crate::frameworks;
use crate::measure::Profile;
use crate::suites::Suite;

/// What is here to run on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Devices that can be used.
    pub devices: Vec<DeviceInfo>,
    /// Backends that cannot, and why.
    pub missing: Vec<(BackendId, Reason)>,
    /// What stands in the way of a component, asked for those alone that are wanted: it takes a while.
    pub readiness: fn(&str) -> Result<(), Reason>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Benchmarks by name; none means those of the suite.
    pub names: Vec<String>,
    /// The suite.
    pub suite: Suite,
    /// Entries of the suite `custom`.
    pub custom: Vec<CustomEntry>,
    /// One backend, or `None` for every one.
    pub backend: Option<BackendId>,
    /// Device indices; none means all.
    pub devices: Vec<u32>,
    /// Values that replace those of an axis.
    pub axes: Vec<(String, Vec<String>)>,
    /// How thoroughly.
    pub profile: Profile,
}

/// One entry of the suite `custom`.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomEntry {
    /// Its name.
    pub benchmark: String,
    /// Values that replace those of an axis.
    pub axes: Vec<(String, Vec<String>)>,
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In order.
    pub cases: Vec<Case>,
    /// What cannot run here, and why.
    pub skipped: Vec<(Case, Reason)>,
    /// What is to be said of the devices, such as that cases are smaller for want of memory.
    pub notes: Vec<String>,
}

/// A selection that cannot be planned: the user's words are off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No such benchmark.
    #[error("there is no benchmark `{name}`{}; `rusty-stack-bench list` shows them all", nearest(.name).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    UnknownBenchmark {
        /// What was asked for.
        name: String,
    },
    /// An axis or a value that the benchmark does not have.
    #[error(transparent)]
    Axis(#[from] rsb_workloads::UsageError),
    /// An axis that none of the chosen benchmarks has.
    #[error("no chosen benchmark has an axis `{axis}`; their axes are {known}")]
    UnknownAxis {
        /// What was asked for.
        axis: String,
        /// What there is.
        known: String,
    },
    /// A device index that the backend does not have.
    #[error("there is no device {index}; the devices here are {known}")]
    UnknownDevice {
        /// What was asked for.
        index: u32,
        /// What there is.
        known: String,
    },
    /// The suite `custom` has no entries.
    #[error("the suite `custom` is empty; add [[custom]] entries with a `benchmark` to rusty-stack-bench.toml")]
    EmptyCustom,
}

/// The benchmark with the most similar name, when one is similar enough.
pub fn nearest(name: &str) -> Option<&'static str> {
    let similar = |known: &'static str| (strsim::jaro_winkler(name, known), known);
    let native = rsb_workloads::all().iter().map(|benchmark| benchmark.name());
    native
        .chain(frameworks::all().iter().map(|component| component.name))
        .map(similar)
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// One benchmark with the axes asked for.
struct Wanted {
    benchmark: &'static dyn Benchmark,
    axes: Vec<(String, Vec<String>)>,
}

/// Plans `selection` on `machine`.
///
/// # Errors
/// When it names what does not exist.
pub fn plan(selection: &Selection, machine: &Machine) -> Result<Plan, PlanError> {
    let wanted = wanted(selection)?;
    let devices = devices(selection, machine)?;
    let breadth = if selection.names.is_empty() {
        selection.suite.breadth(selection.profile)
    } else {
        selection.profile.breadth()
    };
    let notes = devices.iter().filter_map(|device| rsb_workloads::sized_down(device)).collect();
    let mut plan = Plan { notes, ..Plan::default() };
    for wanted in &wanted {
        let before = plan.cases.len() + plan.skipped.len();
        for device in places(wanted.benchmark, selection, machine, &devices) {
            for case in rsb_workloads::cases(wanted.benchmark, device, breadth, &wanted.axes)? {
                match case {
                    Ok(case) => plan.cases.push(case),
                    Err(skipped) => plan.skipped.push(skipped),
                }
            }
        }
        let has_none = plan.cases.len() + plan.skipped.len() == before;
        if has_none && !selection.names.is_empty() && selection.backend.is_none_or(|asked| asked == BackendId::Cpu) {
            plan.skipped.push(nowhere(wanted.benchmark, machine));
        }
    }
    plan.skipped.extend(missing_devices(selection, machine, &wanted));
    for component in components::wanted(selection) {
        components::add(&mut plan, component, (selection, machine), (&devices, breadth))?;
    }
    Ok(plan)
}

fn wanted(selection: &Selection) -> Result<Vec<Wanted>, PlanError> {
    let find =
        |name: &str| rsb_workloads::find(name).ok_or_else(|| PlanError::UnknownBenchmark { name: name.to_owned() });
    if selection.names.is_empty() && selection.suite == Suite::Custom {
        if selection.custom.is_empty() {
            return Err(PlanError::EmptyCustom);
        }
        let entry = |entry: &CustomEntry| {
            let axes = entry.axes.iter().chain(&selection.axes).cloned().collect();
            Ok(Wanted { benchmark: find(&entry.benchmark)?, axes })
        };
        return selection.custom.iter().map(entry).collect();
    }
    let names: Vec<&str> = match selection.names.as_slice() {
        [] => selection.suite.benchmarks(),
        names => names.iter().map(String::as_str).filter(|name| frameworks::find(name).is_none()).collect(),
    };
    let benchmarks: Vec<&dyn Benchmark> = names.into_iter().map(find).collect::<Result<_, _>>()?;
    check_axes(&benchmarks, selection)?;
    Ok(benchmarks
        .into_iter()
        .map(|benchmark| Wanted { benchmark, axes: own_axes(benchmark, &selection.axes) })
        .collect())
}

/// With several benchmarks an axis concerns those that have it; one that none has is a mistake.
fn own_axes(benchmark: &dyn Benchmark, axes: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    axes.iter().filter(|(name, _)| benchmark.axes().iter().any(|axis| axis.name == name)).cloned().collect()
}

fn check_axes(benchmarks: &[&'static dyn Benchmark], selection: &Selection) -> Result<(), PlanError> {
    let components = components::wanted(selection);
    let known = |name: &str| {
        benchmarks.iter().any(|benchmark| benchmark.axes().iter().any(|axis| axis.name == name))
            || components.iter().any(|component| frameworks::has_axis(component, name))
    };
    match selection.axes.iter().find(|(name, _)| !known(name)) {
        None => Ok(()),
        Some((axis, _)) => {
            let mut names: Vec<&str> =
                benchmarks.iter().flat_map(|benchmark| benchmark.axes()).map(|axis| axis.name).collect();
            names.extend(components.iter().flat_map(|component| frameworks::axes(component)));
            names.sort_unstable();
            names.dedup();
            Err(PlanError::UnknownAxis { axis: axis.clone(), known: names.join(", ") })
        }
    }
}

fn backend_of(device: &DeviceInfo) -> Option<BackendId> {
    device.device.0.split(':').next().and_then(|backend| backend.parse().ok())
}

fn devices<'m>(selection: &Selection, machine: &'m Machine) -> Result<Vec<&'m DeviceInfo>, PlanError> {
    let index = |device: &DeviceInfo| device.device.0.rsplit(':').next().and_then(|index| index.parse::<u32>().ok());
    let asked = |device: &&DeviceInfo| {
        let backend = backend_of(device);
        let by_backend = match selection.backend {
            Some(wanted) => backend == Some(wanted),
            None => auto::takes(device, &machine.devices),
        };
        let by_suite = !selection.names.is_empty()
            || backend.is_some_and(|backend| selection.suite.wants(backend, device.device_type));
        by_backend && by_suite
    };
    let found: Vec<&DeviceInfo> = machine.devices.iter().filter(asked).collect();
    if let Some(&wrong) = selection
        .devices
        .iter()
        .find(|&&wanted| !found.is_empty() && found.iter().all(|device| index(device) != Some(wanted)))
    {
        let known = found.iter().map(|device| device.device.0.as_str()).collect::<Vec<_>>().join(", ");
        return Err(PlanError::UnknownDevice { index: wrong, known });
    }
    let chosen = |device: &&DeviceInfo| {
        selection.devices.is_empty() || index(device).is_some_and(|index| selection.devices.contains(&index))
    };
    Ok(found.into_iter().filter(chosen).collect())
}

/// Where `benchmark` runs: on the chosen devices, or on the host when it needs none of the backend asked for.
fn places<'m>(
    benchmark: &dyn Benchmark,
    selection: &Selection,
    machine: &'m Machine,
    devices: &[&'m DeviceInfo],
) -> Vec<&'m DeviceInfo> {
    let is_host = |device: &&DeviceInfo| backend_of(device) == Some(BackendId::Cpu);
    let wanted = !selection.names.is_empty() || selection.suite.uses_host_tools();
    let host = |tools| {
        let asked = selection.backend.is_none_or(|backend| [BackendId::Cpu, tools].contains(&backend));
        machine.devices.iter().filter(move |device| wanted && asked && is_host(device))
    };
    let cards = devices.iter().copied().filter(|device| !is_host(device));
    match benchmark.runs_on() {
        RunsOn::Any | RunsOn::Cards => devices.to_vec(),
        RunsOn::Host(tools) => host(tools).collect(),
        RunsOn::CardsAndHost(tools) => cards.chain(host(tools)).collect(),
    }
}

/// The entry for a benchmark asked for by name that no device here can run: what the first backend of cards lacks.
fn nowhere(benchmark: &dyn Benchmark, machine: &Machine) -> (Case, Reason) {
    match machine.missing.first() {
        Some((backend, reason)) => absent(benchmark.name(), *backend, reason),
        None => absent(benchmark.name(), BackendId::Cpu, &unfit(benchmark, BackendId::Cpu)),
    }
}

/// Why `benchmark` has no cases on devices of `backend`.
pub fn unfit(benchmark: &dyn Benchmark, backend: BackendId) -> Reason {
    let cure = match benchmark.runs_on() {
        RunsOn::Host(_) => "leave --backend out, or choose cpu".to_owned(),
        _ => "choose a backend of cards, such as --backend rocm".to_owned(),
    };
    Reason::new(
        format!("{} on {backend}", benchmark.name()),
        format!("it runs on {} alone", benchmark.runs_on().as_str()),
        cure,
    )
}

/// One skipped entry for each benchmark and backend asked for that is not here: named ones by benchmark, `auto` by backend.
fn missing_devices(selection: &Selection, machine: &Machine, wanted: &[Wanted]) -> Vec<(Case, Reason)> {
    let concerned = |backend: BackendId| match selection.backend {
        Some(asked) => asked == backend,
        None => {
            !wanted.is_empty()
                && backend != BackendId::Cpu
                && selection.names.is_empty()
                && selection.suite.wants(backend, DeviceType::Gpu)
        }
    };
    let left_out = if selection.backend.is_none() { auto::left_out(&machine.devices) } else { Vec::new() };
    let missing = machine.missing.iter().chain(&left_out).filter(|(backend, _)| concerned(*backend));
    missing
        .flat_map(|(backend, reason)| match selection.backend {
            Some(_) => wanted
                .iter()
                .filter(|wanted| wanted.benchmark.runs_on() != RunsOn::Host(*backend))
                .map(|wanted| absent(wanted.benchmark.name(), *backend, reason))
                .collect::<Vec<_>>(),
            None => vec![absent("all", *backend, reason)],
        })
        .collect()
}

/// The entry of `list` and of a run for `benchmark` on a backend that is not here.
pub fn absent(benchmark: &str, backend: BackendId, reason: &Reason) -> (Case, Reason) {
    let benchmark_type =
        if backend == BackendId::Cpu { BenchmarkType::CpuPerformance } else { BenchmarkType::GpuPerformance };
    let case = Case {
        id: CaseId::from_segments(&[benchmark_type.as_str(), benchmark, backend.as_str()]),
        benchmark: benchmark.to_owned(),
        benchmark_type,
        device: backend.as_str().to_owned(),
        params: Params::new(),
    };
    (case, reason.clone())
}

/// How many points a benchmark has on a device, for `list`.
pub fn count(benchmark: &dyn Benchmark, device: &DeviceInfo, breadth: Breadth) -> usize {
    rsb_workloads::cases(benchmark, device, breadth, &[])
        .map_or(0, |cases| cases.iter().filter(|case| case.is_ok()).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::device::DeviceRefText;

    fn machine() -> Machine {
        let device = DeviceInfo {
            device: DeviceRefText("cpu:0".into()),
            name: "test".into(),
            device_type: DeviceType::Cpu,
            arch: None,
            units: 2,
            max_clock_mhz: None,
            usable_memory_bytes: 8 << 30,
            caches: Vec::new(),
            peak_bandwidth_gb_s: None,
        };
        let reason = Reason::new("backend rocm", "no driver", "install one");
        let readiness = |name: &str| Err(Reason::new(name, "it is not installed", "install it"));
        Machine { devices: vec![device], missing: vec![(BackendId::Rocm, reason)], readiness }
    }

    fn selection(names: &[&str], suite: Suite) -> Selection {
        Selection {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            suite,
            custom: Vec::new(),
            backend: None,
            devices: Vec::new(),
            axes: Vec::new(),
            profile: Profile::Quick,
        }
    }

    #[test]
    fn a_suite_runs_what_is_here_and_says_what_is_not() {
        let quick = plan(&selection(&[], Suite::Quick), &machine()).unwrap();
        assert!(quick.cases.len() > 10);
        assert!(quick.skipped.iter().any(|(case, _)| case.id.as_str() == "gpu_performance/all/rocm"));
        let gpu = plan(&selection(&[], Suite::GpuPerformance), &machine()).unwrap();
        assert!(gpu.cases.is_empty() && !gpu.skipped.is_empty());
        let component = plan(&selection(&[], Suite::Component), &machine()).unwrap();
        assert!(component.cases.is_empty() && component.skipped.len() == frameworks::all().len());
    }

    #[test]
    fn components_that_are_here_are_planned_where_frameworks_run() {
        let ready = Machine { readiness: |_| Ok(()), ..machine() };
        let ids = |backend: Option<BackendId>, axes: &[(&str, &str)]| {
            let axes = axes.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
            let asked = Selection { backend, axes, ..selection(&["pytorch"], Suite::Quick) };
            let plan = plan(&asked, &ready).unwrap();
            let of = |case: &Case| case.id.to_string();
            (
                plan.cases.iter().map(of).collect::<Vec<_>>(),
                plan.skipped.iter().map(|(case, _)| of(case)).collect::<Vec<_>>(),
            )
        };
        let (here, skipped) = ids(None, &[("workload", "matmul"), ("shape", "64x64x64")]);
        assert_eq!((here, skipped.len()), (vec!["component_specific/pytorch/cpu:0/matmul/f32/64x64x64".to_owned()], 0));
        let (on_cards, _) = ids(Some(BackendId::Cuda), &[("workload", "matmul")]);
        assert!(!on_cards.is_empty() && on_cards.iter().all(|id| id.contains("/cuda:0/")), "{on_cards:?}");
        assert_eq!(ids(Some(BackendId::Vulkan), &[]), (Vec::new(), vec!["component_specific/pytorch".to_owned()]));
    }

    #[test]
    fn a_backend_asked_for_by_name_skips_each_benchmark() {
        let asked = Selection { backend: Some(BackendId::Rocm), ..selection(&["gemm", "tensor-ops"], Suite::Quick) };
        let plan = plan(&asked, &machine()).unwrap();
        assert!(plan.cases.is_empty());
        let ids: Vec<&str> = plan.skipped.iter().map(|(case, _)| case.id.as_str()).collect();
        assert_eq!(ids, ["gpu_performance/gemm/rocm", "gpu_performance/tensor-ops/rocm"]);
    }

    #[test]
    fn mistakes_are_named_with_the_cure() {
        let message = |selection: Selection| plan(&selection, &machine()).unwrap_err().to_string();
        assert!(message(selection(&["gem"], Suite::Quick)).contains("did you mean `gemm`?"));
        assert!(!message(selection(&["zzz"], Suite::Quick)).contains("did you mean"));
        let axis =
            Selection { axes: vec![("colour".into(), vec!["red".into()])], ..selection(&["gemm"], Suite::Quick) };
        assert!(message(axis).contains("shape"), "the axes that there are");
        let value =
            Selection { axes: vec![("dtype".into(), vec!["f33".into()])], ..selection(&["gemm"], Suite::Quick) };
        assert!(message(value).contains("f33"));
        let device = Selection { devices: vec![7], ..selection(&["gemm"], Suite::Quick) };
        assert!(message(device).contains("cpu:0"));
        assert!(message(selection(&[], Suite::Custom)).contains("[[custom]]"));
    }

    #[test]
    fn what_runs_on_cards_alone_says_what_is_missing_when_it_is_named() {
        let ids = |selection: &Selection| {
            let plan = plan(selection, &machine()).unwrap();
            assert!(plan.cases.is_empty());
            plan.skipped.iter().map(|(case, reason)| (case.id.to_string(), reason.why.clone())).collect::<Vec<_>>()
        };
        let named = selection(&["launch-latency"], Suite::Quick);
        let rocm = ("gpu_performance/launch-latency/rocm".to_owned(), "no driver".to_owned());
        assert_eq!(ids(&named), std::slice::from_ref(&rocm));
        assert_eq!(ids(&Selection { backend: Some(BackendId::Rocm), ..named.clone() }), [rocm]);
        let quick = plan(&selection(&[], Suite::Quick), &machine()).unwrap();
        assert!(
            quick.skipped.iter().all(|(case, _)| case.benchmark != "launch-latency"),
            "a suite names each backend once"
        );
    }

    #[test]
    fn what_needs_no_card_is_planned_on_the_host() {
        for backend in [None, Some(BackendId::Cpu), Some(BackendId::Rocm)] {
            let named = Selection { backend, ..selection(&["kernel-compilation"], Suite::Quick) };
            let plan = plan(&named, &machine()).unwrap();
            assert!(!plan.cases.is_empty() && plan.skipped.is_empty(), "{backend:?}");
            assert!(plan.cases.iter().all(|case| case.device == "cpu:0"));
        }
        let cuda = Selection { backend: Some(BackendId::Cuda), ..selection(&["kernel-compilation"], Suite::Quick) };
        assert!(plan(&cuda, &machine()).unwrap().cases.is_empty());
    }

    #[test]
    fn an_axis_concerns_the_benchmarks_that_have_it() {
        let shaped = Selection {
            axes: vec![("shape".into(), vec!["64x64x64".into()])],
            ..selection(&["gemm", "memory-bandwidth"], Suite::Quick)
        };
        let plan = plan(&shaped, &machine()).unwrap();
        let gemm: Vec<&str> =
            plan.cases.iter().filter(|case| case.benchmark == "gemm").map(|case| case.id.as_str()).collect();
        assert!(gemm.iter().all(|id| id.contains("64x64x64")), "{gemm:?}");
        assert!(plan.cases.iter().any(|case| case.benchmark == "memory-bandwidth"));
    }
}
