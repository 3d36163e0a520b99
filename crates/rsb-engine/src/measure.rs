//! The measuring engine: interleaved replicates in fresh processes, each driven by Criterion.
//!
//! **Invariant:** a failure of one case is recorded in its result, and the other cases continue.
//! Every result reaches the listener before the next case begins.

pub mod assemble;
mod client;
mod devices;
pub mod inject;
pub mod instructions;
mod interleaved;
pub mod interrupt;
mod noise;
mod prepare;
mod profiling;
mod quiet;
mod session;
mod settings;
mod tape;
mod telemetry;

pub mod bench;

use std::time::{Duration, Instant};

use rsb_model::{
    BenchmarkResult, Environment, Event, Obstacle, Outcome, Reason, RunStatus, Timestamp,
};

pub use client::WorkerError;
pub use devices::{devices_of, has_compiler, has_counters};
pub use interleaved::{InterleavedResults, PairSource, WorkerPairs, run_interleaved};
pub use profiling::{InstalledProfiler, PROFILERS, Profiler};
pub use session::{Replicate, ReplicateCost, Turn};
pub use settings::{ComponentSettings, Count, Limits, Settings, is_long};

use rsb_catalog::plan::Plan;

use crate::Listener;
use crate::worker_command::WorkerCommand;
use assemble::CaseProgress;
use instructions::InstructionPass;
use profiling::ProfilingPass;
use session::Session;

/// Error message if Criterion's temporary directory cannot be created.
pub const NO_SCRATCH: &str = "cannot create a temporary directory; set TMPDIR to a writable \
                              directory with free space";

/// Measures `plan` and reports every result to `listener`.
///
/// # Errors
/// If Criterion's temporary directory cannot be created; nothing was measured then.
pub fn measure(
    plan: &Plan,
    settings: &Settings,
    command: &WorkerCommand,
    environment: &Environment,
    listener: &mut Listener<'_>,
) -> std::io::Result<RunStatus> {
    let mut session = Session::new(settings)?;
    for (case, outcome, reason) in plan.without_figures() {
        let ended = Some((outcome, reason.clone()));
        tell(
            listener,
            assemble::result(
                case,
                &CaseProgress { ended, ..CaseProgress::default() },
                environment,
                Timestamp::now(),
            ),
        );
    }
    let mut progress: Vec<CaseProgress> = vec![CaseProgress::default(); plan.cases.len()];
    let steps =
        plan.cases.iter().map(|case| plan.due(case, settings.replicates_of(case)) as usize).sum();
    let began = Instant::now();
    prepare::side_by_side(plan, settings, command, listener);
    let mut step = 0;
    for replicate in 0..settings.replicates.most() {
        for index in round_order(plan.cases.len(), replicate) {
            let case = &plan.cases[index];
            if replicate >= plan.due(case, settings.replicates_of(case)) {
                continue;
            }
            step += 1;
            if began.elapsed() > settings.limits.suite {
                return Ok(out_of_time(plan, &progress, settings, environment, listener));
            }
            if progress[index].ended.is_some() {
                continue;
            }
            listener(&Event::ReplicateStarted { case: Box::new(case.clone()), step, steps });
            let watch = noise::NoiseWatch::begin();
            let time_left = settings.limits.suite.saturating_sub(began.elapsed());
            match session.replicate(command, case, Turn { replicate, time_left }) {
                Ok(measured) => progress[index].replicates.push(measured),
                Err(WorkerError::Skipped(reason)) => {
                    record_unavailable(&mut progress[index], replicate, Outcome::Skipped, reason);
                }
                Err(WorkerError::Gone(reason)) => {
                    record_unavailable(&mut progress[index], replicate, Outcome::Failed, reason);
                }
                // The time limit of the run was exceeded, not that of the case. Discard the
                // attempt; the loop ends before the next case.
                Err(WorkerError::Failed(_)) if began.elapsed() >= settings.limits.suite => {}
                Err(WorkerError::Failed(reason)) => {
                    progress[index].ended = Some((Outcome::Failed, reason));
                }
                Err(WorkerError::Interrupted) => {
                    let why = "the run was interrupted before this case".to_owned();
                    skip_the_rest(
                        plan,
                        &progress,
                        &why,
                        "continue the run with `run --resume`",
                        environment,
                        listener,
                    );
                    return Ok(RunStatus::Interrupted);
                }
            }
            let progress = &mut progress[index];
            noise::merge(&mut progress.noise, watch.end());
            if progress.ended.is_some() || !progress.replicates.is_empty() {
                tell(listener, assemble::result(case, progress, environment, Timestamp::now()));
            }
        }
    }
    if began.elapsed() > settings.limits.suite {
        return Ok(out_of_time(plan, &progress, settings, environment, listener));
    }
    Ok(count_and_profile(
        plan,
        &progress,
        settings,
        settings.limits.suite.saturating_sub(began.elapsed()),
        command,
        environment,
        listener,
    ))
}

/// Counts instructions and takes profiles, if requested, in separate workers.
fn count_and_profile(
    plan: &Plan,
    progress: &[CaseProgress],
    settings: &Settings,
    left: Duration,
    command: &WorkerCommand,
    environment: &Environment,
    listener: &mut Listener<'_>,
) -> RunStatus {
    let mut counting = settings.count_instructions.then(|| InstructionPass::begin(settings, left));
    let mut profiling =
        settings.profiler.as_ref().map(|tool| ProfilingPass::begin(tool, settings, left));
    if counting.is_none() && profiling.is_none() {
        return RunStatus::Complete;
    }
    if counting.is_some() {
        listener(&Event::CountingStarted { cases: plan.cases.len() });
    }
    for (case, progress) in plan.cases.iter().zip(progress) {
        let mut result = assemble::result(case, progress, environment, Timestamp::now());
        let counted = counting
            .as_mut()
            .map_or(Ok(false), |counting| counting.add(command, case, &mut result));
        let profiled = profiling
            .as_mut()
            .map_or(Ok(false), |profiling| profiling.add(command, case, &mut result));
        match (counted, profiled) {
            (Ok(false), Ok(false)) => {}
            (Ok(_), Ok(_)) => tell(listener, result),
            _ => return RunStatus::Interrupted,
        }
    }
    let summaries = [
        counting.map(|counting| counting.summary()),
        profiling.map(|profiling| profiling.summary()),
    ];
    summaries.into_iter().flatten().for_each(|summary| listener(&Event::note(summary)));
    RunStatus::Complete
}

/// Reports the current result of a case.
fn tell(listener: &mut Listener<'_>, result: BenchmarkResult) {
    listener(&Event::CaseUpdated(Box::new(result)));
}

/// Records that a case cannot be measured now. A case without a replicate ends with `outcome`; a
/// case with replicates keeps them and gets a note.
fn record_unavailable(
    progress: &mut CaseProgress,
    replicate: u32,
    outcome: Outcome,
    reason: Reason,
) {
    if progress.replicates.is_empty() {
        progress.ended = Some((outcome, reason));
    } else if progress.noise.iter().all(|note| !note.ends_with(&reason.to_string())) {
        progress.noise.push(format!("could not run from replicate {} on: {reason}", replicate + 1));
    }
}

fn out_of_time(
    plan: &Plan,
    progress: &[CaseProgress],
    settings: &Settings,
    environment: &Environment,
    listener: &mut Listener<'_>,
) -> RunStatus {
    let why = format!(
        "the run's time limit of {} s expired before this case",
        settings.limits.suite.as_secs()
    );
    let cure = "raise `suite_seconds` under [time_limits], or choose fewer cases";
    skip_the_rest(plan, progress, &why, cure, environment, listener);
    RunStatus::OutOfTime
}

/// Subject of the reason of a case that was not reached.
const REST: &str = "the rest of the run";

/// Returns whether the run ended before this case was reached.
pub(crate) fn was_not_reached(result: &BenchmarkResult) -> bool {
    result.reason.as_ref().is_some_and(|reason| reason.what == REST)
}

/// Skips all cases without a replicate, with the reason. The others keep their replicates.
fn skip_the_rest(
    plan: &Plan,
    progress: &[CaseProgress],
    why: &str,
    cure: &str,
    environment: &Environment,
    listener: &mut Listener<'_>,
) {
    for (case, progress) in plan.cases.iter().zip(progress) {
        if progress.replicates.is_empty() && progress.ended.is_none() {
            let reason = Reason::new(REST, why, cure).of(Obstacle::NotReached);
            let progress =
                CaseProgress { ended: Some((Outcome::Skipped, reason)), ..CaseProgress::default() };
            tell(listener, assemble::result(case, &progress, environment, Timestamp::now()));
        }
    }
}

/// Returns the order of cases in round `replicate`, a different one each time, so that no case
/// always follows the same neighbor.
fn round_order(count: usize, replicate: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if replicate == 0 {
        return order; // The first round runs as planned, which is what a person watching expects.
    }
    let mut random = rsb_model::random::Generator::new(u64::from(replicate));
    for last in (1..count).rev() {
        order.swap(last, (random.word() % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_holds_every_case_once_in_another_order() {
        let orders: Vec<Vec<usize>> = (0..3).map(|replicate| round_order(20, replicate)).collect();
        assert_eq!(orders[0], (0..20).collect::<Vec<_>>());
        assert_ne!(orders[1], orders[0]);
        assert_ne!(orders[2], orders[1]);
        for mut order in orders {
            order.sort_unstable();
            assert_eq!(order, (0..20).collect::<Vec<_>>());
        }
    }
}
