//! Selectors × axes × devices → the cases to run, and those that cannot run here with the reason. Pure.

use rsb_device::device::DeviceInfo;
use rsb_model::{BackendId, BenchmarkType, Case, CaseId, DeviceType, Params, Reason};
use rsb_workloads::{Benchmark, Breadth};

use crate::measure::Profile;
use crate::suites::Suite;

/// What is here to run on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Devices that can be used.
    pub devices: Vec<DeviceInfo>,
    /// Backends that cannot, and why.
    pub missing: Vec<(BackendId, Reason)>,
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
    rsb_workloads::all()
        .iter()
        .map(|benchmark| similar(benchmark.name()))
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
    let mut plan = Plan::default();
    for wanted in &wanted {
        for device in &devices {
            for case in rsb_workloads::cases(wanted.benchmark, device, breadth, &wanted.axes)? {
                match case {
                    Ok(case) => plan.cases.push(case),
                    Err(skipped) => plan.skipped.push(skipped),
                }
            }
        }
    }
    plan.skipped.extend(missing_devices(selection, machine, &wanted));
    if selection.names.is_empty() {
        plan.skipped.extend(selection.suite.components().iter().map(|component| missing_component(component)));
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
        names => names.iter().map(String::as_str).collect(),
    };
    let benchmarks: Vec<&dyn Benchmark> = names.into_iter().map(find).collect::<Result<_, _>>()?;
    check_axes(&benchmarks, &selection.axes)?;
    Ok(benchmarks
        .into_iter()
        .map(|benchmark| Wanted { benchmark, axes: own_axes(benchmark, &selection.axes) })
        .collect())
}

/// With several benchmarks an axis concerns those that have it; one that none has is a mistake.
fn own_axes(benchmark: &dyn Benchmark, axes: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    axes.iter().filter(|(name, _)| benchmark.axes().iter().any(|axis| axis.name == name)).cloned().collect()
}

fn check_axes(benchmarks: &[&'static dyn Benchmark], axes: &[(String, Vec<String>)]) -> Result<(), PlanError> {
    let known = |name: &str| benchmarks.iter().any(|benchmark| benchmark.axes().iter().any(|axis| axis.name == name));
    match axes.iter().find(|(name, _)| !known(name)) {
        None => Ok(()),
        Some((axis, _)) => {
            let mut names: Vec<&str> =
                benchmarks.iter().flat_map(|benchmark| benchmark.axes()).map(|axis| axis.name).collect();
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
        let by_backend = selection.backend.is_none_or(|wanted| backend == Some(wanted));
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
    let missing = machine.missing.iter().filter(|(backend, _)| concerned(*backend));
    missing
        .flat_map(|(backend, reason)| match selection.backend {
            Some(_) => {
                wanted.iter().map(|wanted| absent(wanted.benchmark.name(), *backend, reason)).collect::<Vec<_>>()
            }
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

/// The entry for a component that no version measures yet.
pub fn missing_component(component: &str) -> (Case, Reason) {
    let case = Case {
        id: CaseId::from_segments(&[BenchmarkType::ComponentSpecific.as_str(), component]),
        benchmark: component.to_owned(),
        benchmark_type: BenchmarkType::ComponentSpecific,
        device: "none".to_owned(),
        params: Params::new(),
    };
    let reason = Reason::new(
        "framework benchmarks",
        "this version has no framework benchmarks",
        "measure the hardware with `run --suite pre-installation`; frameworks come with a later version",
    );
    (case, reason)
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
            usable_memory_bytes: 8 << 30,
            caches: Vec::new(),
            peak_bandwidth_gb_s: None,
        };
        let reason = Reason::new("backend rocm", "no driver", "install one");
        Machine { devices: vec![device], missing: vec![(BackendId::Rocm, reason)] }
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
        assert!(component.cases.is_empty() && component.skipped.len() == COMPONENT_COUNT);
    }

    const COMPONENT_COUNT: usize = crate::suites::COMPONENTS.len();

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
