//! The entry point of the `cargo bench` targets: Criterion with its own flags and output; results
//! are recorded as in any run.

use criterion::Criterion;
use rsb_catalog::plan::{Machine, Plan, PlanError, Selection};
use rsb_model::{BackendId, Case, CaseDevice, DeviceType, Outcome, Profile, Samples, Suite};

use super::assemble::{self, CaseProgress};
use super::client::{Finished, Worker, WorkerError};
use super::session::{Replicate, ReplicateCost, SampleRequest, drive};
use super::settings::{self, MIN_SAMPLES, Settings};
use super::tape::{DeviceTime, SampleRecorder, TimeFormatter};
use super::tell;
use crate::Listener;
use crate::worker_command::WorkerCommand;

/// Runs every planned case that passes Criterion's filter. Reports each result, including failures
/// and skips, to `listener`.
///
/// # Errors
/// If this program cannot be started as a worker.
pub fn run(
    plan: &Plan,
    environment: &rsb_model::Environment,
    listener: &mut Listener<'_>,
) -> std::io::Result<()> {
    let command = WorkerCommand::this_program()?.planned_on(&plan.run_devices());
    let tape = SampleRecorder::default();
    let mut criterion = Criterion::default()
        .without_plots()
        .with_measurement(DeviceTime { tape: tape.clone(), shown: TimeFormatter::default() })
        .configure_from_args();
    if is_measuring() {
        for (case, outcome, reason) in plan.without_figures() {
            let progress =
                CaseProgress { ended: Some((outcome, reason.clone())), ..CaseProgress::default() };
            tell(
                listener,
                assemble::result(case, &progress, environment, rsb_model::Timestamp::now()),
            );
        }
    }
    for case in &plan.cases {
        let Some(progress) = measure(&mut criterion, &tape, &command, case) else { continue };
        tell(listener, assemble::result(case, &progress, environment, rsb_model::Timestamp::now()));
    }
    criterion.final_summary();
    Ok(())
}

/// Returns whether Criterion measures in this run, instead of listing, testing or profiling.
fn is_measuring() -> bool {
    let others = ["--list", "--test", "--profile-time", "--load-baseline"];
    let mut is_bench = false;
    for argument in std::env::args() {
        if others.contains(&argument.split('=').next().unwrap_or_default()) {
            return false;
        }
        is_bench |= argument == "--bench";
    }
    is_bench
}

/// Measures `case`; returns `None` if Criterion did not measure it because it was filtered out,
/// listed, or only tested.
fn measure(
    criterion: &mut Criterion<DeviceTime>,
    tape: &SampleRecorder,
    command: &WorkerCommand,
    case: &Case,
) -> Option<CaseProgress> {
    let limit = Settings::of(Profile::Standard).case_limit(case.benchmark_type);
    let mut worker = None;
    tape.clear();
    // The worker starts on the first request, so a filtered-out case costs nothing.
    let driven = drive(criterion, case, few_samples_of(case), |ask| {
        let worker = match &mut worker {
            Some((worker, _)) => worker,
            none @ None => &mut none.insert(Worker::start(command, case, limit)?).0,
        };
        let SampleRequest::Sample(iters) = ask else { return Ok(0.0) };
        let time_ns = worker.sample(iters)?;
        tape.push(iters, time_ns);
        Ok(time_ns)
    });
    let mut progress = CaseProgress::default();
    let finished = driven.and_then(|()| finish(worker, tape));
    match finished {
        Ok(replicate) => progress.replicates.push(replicate?),
        Err(WorkerError::Skipped(reason)) => progress.ended = Some((Outcome::Skipped, reason)),
        Err(WorkerError::Failed(reason) | WorkerError::Gone(reason)) => {
            progress.ended = Some((Outcome::Failed, reason));
        }
        Err(WorkerError::Interrupted) => return None,
    }
    Some(progress)
}

/// Returns Criterion's minimum number of samples for cases with long iterations; Criterion's own
/// flags decide for others.
fn few_samples_of(case: &Case) -> Option<usize> {
    settings::is_long(case).then_some(MIN_SAMPLES)
}

fn finish(
    worker: Option<(Worker, rsb_model::DeviceType)>,
    tape: &SampleRecorder,
) -> Result<Option<Replicate>, WorkerError> {
    let (calls, warm_up) = tape.samples();
    let Some((worker, device_type)) = worker.filter(|_| !calls.is_empty()) else { return Ok(None) };
    let mut samples = Samples::new(0);
    for (iters, time_ns) in calls {
        samples.push(iters, time_ns);
    }
    let Ok(time_ns) = rsb_stats::location(&samples) else { return Ok(None) };
    let Finished { fields, telemetry } = worker.finish(time_ns)?;
    Ok(Some(Replicate {
        samples,
        fields,
        device_type,
        warm_up,
        cost: ReplicateCost::default(),
        telemetry,
        clock_ramp: None,
    }))
}

/// Returns the selections for a bench target of `suite`. In a GPU-only suite, each backend of this
/// build without a device is selected by name, too, so that every benchmark reports the missing
/// requirement.
pub fn selections_of(suite: Suite, profile: Profile, machine: &Machine) -> Vec<Selection> {
    let is_of_gpus = !suite.wants(BackendId::Cpu, DeviceType::Cpu);
    let missing = machine.missing.iter().map(|(backend, _)| *backend);
    let named = missing
        .filter(|backend| is_of_gpus && rsb_catalog::backends::has_backend(*backend))
        .map(|backend| vec![backend]);
    let backends = std::iter::once(Vec::new()).chain(named);
    backends.map(|backends| Selection { backends, ..Selection::new(suite, profile) }).collect()
}

/// Returns one plan for all `selections`. A backend that is selected by name is not also reported
/// as a whole.
///
/// # Errors
/// If one of them names something that does not exist.
pub fn plan_all(selections: &[Selection], machine: &Machine) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    for selection in selections {
        let part = rsb_catalog::plan::plan(selection, machine)?;
        plan.cases.extend(part.cases);
        plan.devices.extend(part.devices);
        plan.skipped.extend(part.skipped);
        plan.failed.extend(part.failed);
        plan.notes.extend(
            part.notes.into_iter().filter(|note| !plan.notes.contains(note)).collect::<Vec<_>>(),
        );
    }
    for ended in [&mut plan.skipped, &mut plan.failed] {
        ended.retain(|(case, _)| {
            case.benchmark != rsb_catalog::selection::ALL
                || selections
                    .iter()
                    .all(|one| one.backend().map(CaseDevice::Backend) != Some(case.device))
        });
    }
    Ok(plan)
}
