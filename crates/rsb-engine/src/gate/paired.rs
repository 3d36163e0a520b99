//! Suspects measured interleaved with the very program that made the baseline: what the machine does is then on both
//! sides, and what is left is the code.
//!
//! That holds for what this program does itself on CPUs. On GPUs, and where a vendor's library works, the subject
//! is the driver and the library, which both programs share: there the record alone counts.
//!
//! `rsb_store::Programs` keeps the programs.

use std::time::Duration;

use anyhow::Context;
use rsb_model::record::{ComparisonNote, ComparisonNoteCode};
use rsb_model::{BenchmarkResult, Case, ComparisonResult, Event, Outcome, Run};
use rsb_store::{KeptProgram, NotKept, OF_ANOTHER_PROGRAM, Programs};

use super::interleaved::{SidePrograms, Sides};
use super::judge::Judge;
use crate::measure::instructions::is_own_work;
use crate::{EngineError, Listener, WorkerCommand};

/// What the pairs say of the suspects of `result`, the verdicts on `current` against `baseline`. `None` where there is
/// no suspect, or the program that made the baseline is not kept on this machine.
pub(super) fn compare(
    judge: &Judge,
    (baseline, current): (&[Run], &Run),
    (result, budget): (&ComparisonResult, Duration),
    listener: &mut Listener<'_>,
) -> Result<Option<ComparisonResult>, EngineError> {
    if rsb_stats::suspects(result, current).is_empty() {
        return Ok(None);
    }
    let Some((program, from)) = kept(baseline, listener) else { return Ok(None) };
    let cases = suspects(result, from, current);
    if cases.is_empty() {
        return Ok(None);
    }
    listener(&Event::PairedRerunStarted {
        program: program.path().to_owned(),
        run_id: from.run_id.clone(),
        since: program.since(),
    });
    let before = WorkerCommand::of(program.executable()).slowed(from.slowdown().map(str::to_owned));
    let after = WorkerCommand::this_program().context("cannot find this program to start workers")?;
    let after = after.slowed(current.slowdown().map(str::to_owned));
    let doubt = doubt(cases.len(), current);
    let programs = SidePrograms::Workers([before, after]);
    let mut sides = Sides::new(programs, [from.run_id.0.as_str(), current.run_id.0.as_str()], cases);
    sides.measure(judge.policy(), budget, listener)?;
    let mut compared = sides.compare(judge.policy());
    compared.notes.push(provenance(&program, from, &doubt));
    Ok(Some(compared))
}

/// The latest run of the baseline whose program is kept here. Why one is not run is told once.
fn kept<'r>(baseline: &'r [Run], listener: &mut Listener<'_>) -> Option<(KeptProgram, &'r Run)> {
    let programs = match Programs::of_user() {
        Ok(programs) => programs,
        Err(error) => {
            listener(&Event::note(format!("no program that made a baseline can be found: {error}")));
            return None;
        }
    };
    let mut why_not = None;
    for run in baseline.iter().rev() {
        match programs.find(run) {
            Ok(program) => return Some((program, run)),
            Err(NotKept::Never) => {}
            Err(why) => _ = why_not.get_or_insert(why),
        }
    }
    if let Some(why) = why_not {
        listener(&Event::note(why.to_string()));
    }
    None
}

/// Which program a verdict rests on, and who says that it made the baseline. By its hash: a comment on a pull request is no
/// place for somebody's paths.
fn provenance(program: &KeptProgram, from: &Run, doubt: &str) -> ComparisonNote {
    let date = program.since().strftime("%Y-%m-%d");
    let hash: String = from.program.iter().flat_map(|hash| hash.chars().take(12)).collect();
    let text = format!(
        "{doubt}, and measured beside the program {hash}, which this machine kept on {date} for the run {}",
        from.run_id
    );
    ComparisonNote::new(ComparisonNoteCode::Remeasured, text)
}

/// How much of the run was in doubt, and how busy the machine was.
fn doubt(cases: usize, current: &Run) -> String {
    let measured = current.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured).count();
    let load = current.environment.state.as_ref().and_then(|state| state.load_average);
    let cores = current.environment.cpu.as_ref().map(|cpu| cpu.usable_cores);
    let busy = match (load, cores) {
        (Some(load), Some(cores)) => format!(" at a load average of {load:.1} on {cores} CPUs"),
        _ => String::new(),
    };
    format!("{cases} of {measured} cases were in doubt{busy}")
}

/// What looks slower, and what is undecided, among the cases that the two programs can settle.
fn suspects(result: &ComparisonResult, baseline: &Run, current: &Run) -> Vec<Case> {
    let ids = rsb_stats::suspects(result, current);
    let of_this_program = |known: &&BenchmarkResult| {
        let before = baseline.benchmarks.iter().find(|before| before.benchmark_id == known.benchmark_id);
        before.is_some_and(|before| !before.metadata.contains_key(OF_ANOTHER_PROGRAM)) && is_own_work(known)
    };
    let known = current.benchmarks.iter().filter(|known| ids.contains(&known.benchmark_id));
    known.filter(of_this_program).filter_map(BenchmarkResult::case).collect()
}
