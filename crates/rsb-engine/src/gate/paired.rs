//! Suspects measured interleaved with the very program that made the baseline: what the machine does is then on both
//! sides, and what is left is the code.
//!
//! That holds for what this program does itself on CPUs. On GPUs, and where a vendor's library works, the subject
//! is the driver and the library, which both programs share: there the record alone counts.
//!
//! `rsb_store::Programs` keeps the programs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use rsb_model::{BenchmarkResult, BenchmarkType, Case, ComparisonResult, Event, Run};
use rsb_store::{OF_ANOTHER_PROGRAM, Programs};

use super::interleaved::Sides;
use super::judge::Judge;
use crate::{EngineError, Listener, WorkerCommand};

/// What the pairs say of the suspects of `result`, the verdicts on `current` against `baseline`. `None` where there is
/// no suspect, or the program that made the baseline is not kept on this machine.
pub(super) fn compare(
    judge: &Judge,
    (baseline, current): (&[Run], &Run),
    (result, budget): (&ComparisonResult, Duration),
    listener: &mut Listener<'_>,
) -> Result<Option<ComparisonResult>, EngineError> {
    let Some((program, from)) = kept(judge, baseline) else { return Ok(None) };
    let cases = suspects(result, from, current);
    if cases.is_empty() {
        return Ok(None);
    }
    listener(&Event::PairedRerunStarted);
    let before = WorkerCommand::of(program).slowed(from.slowdown().map(str::to_owned));
    let after = WorkerCommand::this_program().context("cannot find this program to start workers")?;
    let after = after.slowed(current.slowdown().map(str::to_owned));
    let mut sides = Sides::new([before, after], [from.run_id.0.as_str(), current.run_id.0.as_str()], cases);
    sides.measure(judge.policy(), budget, listener)?;
    Ok(Some(sides.compare(judge.policy())))
}

/// The latest run of the baseline whose program is kept here.
fn kept<'r>(judge: &Judge, baseline: &'r [Run]) -> Option<(PathBuf, &'r Run)> {
    let programs = Programs::new(&judge.directories.results);
    baseline.iter().rev().find_map(|run| Some((programs.find(run.program.as_deref()?)?, run)))
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

/// Whether this program does the work itself, on a CPU.
fn is_own_work(result: &BenchmarkResult) -> bool {
    let provider = result.fields().and_then(|fields| fields.text("provider"));
    let own = |name: &str| name == "gemm" || name == "allocator" || name.starts_with("native");
    result.benchmark_type == BenchmarkType::CpuPerformance && provider.is_some_and(own)
}
