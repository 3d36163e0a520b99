//! Preparation before measuring: compiles GPU kernels in parallel into the directory of compiled
//! kernels. Errors are ignored here and reported when the case is measured.

use std::sync::atomic::{AtomicUsize, Ordering};

use rsb_catalog::plan::Plan;
use rsb_model::{BenchmarkType, Case, Event};

use super::client::Worker;
use super::interrupt;
use super::settings::Settings;
use crate::Listener;
use crate::worker_command::WorkerCommand;

/// Prepares the GPU cases with `settings.prepare_workers` workers in parallel, and returns when all
/// have ended.
pub(super) fn side_by_side(
    plan: &Plan,
    settings: &Settings,
    command: &WorkerCommand,
    listener: &mut Listener<'_>,
) {
    let cases: Vec<&Case> = to_compile(plan, settings);
    if cases.is_empty() {
        return;
    }
    let workers = settings.prepare_workers.min(cases.len());
    listener(&Event::note(format!(
        "compiling the kernels of {} cases, {workers} at a time",
        cases.len()
    )));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if interrupt::is_requested() {
                        return;
                    }
                    // Errors are ignored: the case is prepared again when it is measured.
                    drop(Worker::start(command, case, settings.limit_of(case)));
                }
            });
        }
    });
}

/// Returns the cases whose kernels are compiled; none unless several workers were requested.
fn to_compile<'p>(plan: &'p Plan, settings: &Settings) -> Vec<&'p Case> {
    if settings.prepare_workers <= 1 {
        return Vec::new();
    }
    plan.cases
        .iter()
        .filter(|case| {
            case.benchmark_type == BenchmarkType::GpuPerformance
                && case.device.device().is_some_and(|device| !device.is_cpu())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{Params, Profile};

    #[test]
    fn only_cases_on_gpus_are_prepared_and_only_where_it_is_asked_for() {
        let cases = [
            "gpu_performance/gemm/rocm:0",
            "cpu_performance/gemm/cpu:0",
            "component_specific/pytorch/rocm:0",
        ];
        let plan = Plan { cases: cases.map(case).to_vec(), ..Plan::default() };
        let mut settings = Settings::of(Profile::Quick);
        settings.prepare_workers = 1;
        assert!(to_compile(&plan, &settings).is_empty());
        settings.prepare_workers = 4;
        let found: Vec<&str> =
            to_compile(&plan, &settings).iter().map(|case| case.id.as_str()).collect();
        assert_eq!(found, ["gpu_performance/gemm/rocm:0"]);
    }

    fn case(id: &str) -> Case {
        Case {
            id: id.parse().unwrap(),
            benchmark: "gemm".to_owned(),
            benchmark_type: id.split('/').next().unwrap().parse().unwrap(),
            device: id.rsplit('/').next().unwrap().parse().unwrap(),
            params: Params::new(),
        }
    }
}
