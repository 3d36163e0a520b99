//! The entry of the `cargo bench` targets: Criterion with its own flags and its own output, results kept as any run's.

use std::process::ExitCode;

use criterion::Criterion;
use rsb_model::{Case, Outcome, Samples};

use super::assemble::{self, Progress};
use super::client::{Trouble, Worker, WorkerCommand};
use super::session::{Cost, Replicate, drive};
use super::settings::{Profile, Settings};
use super::tape::{DeviceTime, Shown, Tape};
use crate::plan::{Plan, Selection};

/// Who keeps the results: the recorder of the command line, handed in so that measuring knows no store.
pub trait Keeper {
    /// Keeps one result.
    fn keep(&mut self, result: &rsb_model::BenchmarkResult);
}

/// Runs every planned case that Criterion's filter lets through. Failures and skips are printed and kept.
///
/// # Errors
/// When this program cannot be started as a worker.
pub fn run(plan: &Plan, environment: &rsb_model::Environment, keeper: &mut dyn Keeper) -> std::io::Result<()> {
    let command = WorkerCommand::this_program()?;
    let summary = rsb_model::record::EnvironmentSummary::of(environment);
    let tape = Tape::default();
    let mut criterion = Criterion::default()
        .without_plots()
        .with_measurement(DeviceTime { tape: tape.clone(), shown: Shown::default() })
        .configure_from_args();
    if is_measuring() {
        for (case, reason) in &plan.skipped {
            eprintln!("{}: skipped: {reason}", case.id);
            let ended = Some((Outcome::Skipped, reason.clone()));
            keeper.keep(&assemble::result(
                case,
                &Progress { ended, ..Progress::default() },
                &summary,
                rsb_model::Timestamp::now(),
            ));
        }
    }
    for case in &plan.cases {
        let Some(progress) = measure(&mut criterion, &tape, &command, case) else { continue };
        if let Some((outcome, reason)) = &progress.ended {
            eprintln!("{}: {outcome}: {reason}", case.id);
        }
        keeper.keep(&assemble::result(case, &progress, &summary, rsb_model::Timestamp::now()));
    }
    criterion.final_summary();
    Ok(())
}

/// Whether Criterion was asked to measure, rather than to list, test or profile.
fn is_measuring() -> bool {
    let mut arguments = std::env::args();
    let others = ["--list", "--test", "--profile-time", "--load-baseline"];
    let is_other =
        |argument: &String| others.iter().any(|other| argument == other || argument.starts_with(&format!("{other}=")));
    std::env::args().any(|argument| argument == "--bench") && !arguments.any(|argument| is_other(&argument))
}

/// `None` when Criterion did not measure it: filtered out, listed, or only tested.
fn measure(
    criterion: &mut Criterion<DeviceTime>,
    tape: &Tape,
    command: &WorkerCommand,
    case: &Case,
) -> Option<Progress> {
    let limit = Settings::of(Profile::Standard).case_limit(case.benchmark_type);
    let mut worker = None;
    tape.clear();
    // The worker starts with the first call, so that a case that the filter leaves out costs nothing.
    let driven = drive(criterion, (case, None), |iters| {
        let worker = match &mut worker {
            Some((worker, _)) => worker,
            none @ None => &mut none.insert(Worker::start(command, case, limit)?).0,
        };
        let time_ns = worker.sample(iters)?;
        tape.push(iters, time_ns);
        Ok(time_ns)
    });
    let mut progress = Progress::default();
    let finished = driven.and_then(|()| finish(worker, tape));
    match finished {
        Ok(replicate) => progress.replicates.push(replicate?),
        Err(Trouble::Skipped(reason)) => progress.ended = Some((Outcome::Skipped, reason)),
        Err(Trouble::Failed(reason)) => progress.ended = Some((Outcome::Failed, reason)),
        Err(Trouble::Interrupted) => return None,
    }
    Some(progress)
}

fn finish(worker: Option<(Worker, rsb_model::DeviceType)>, tape: &Tape) -> Result<Option<Replicate>, Trouble> {
    let (calls, warm_up) = tape.samples();
    let Some((worker, device_type)) = worker.filter(|_| !calls.is_empty()) else { return Ok(None) };
    let mut samples = Samples::new(0);
    for (iters, time_ns) in calls {
        samples.push(iters, time_ns);
    }
    let Ok(time_ns) = rsb_stats::location(&samples) else { return Ok(None) };
    let fields = worker.finish(time_ns)?;
    Ok(Some(Replicate { samples, fields, device_type, warm_up, cost: Cost::default() }))
}

/// What a bench target measures: these benchmarks, at the points of the profile in `RSB_PROFILE` (quick by default).
pub fn main(names: &[&str]) -> ExitCode {
    if let Some(ended) = super::as_child() {
        return ended;
    }
    let selection = |profile| Selection {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        suite: crate::suites::Suite::Quick,
        custom: Vec::new(),
        backend: None,
        devices: Vec::new(),
        axes: Vec::new(),
        profile,
    };
    crate::commands::run::under_criterion(selection)
}
