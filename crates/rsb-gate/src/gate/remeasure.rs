//! Measures more replicates of undecided cases until they are decided or the budget is used up.

use std::time::Duration;

use anyhow::Context;
use itertools::Itertools as _;
use rsb_catalog::factors;
use rsb_catalog::plan::{self, Plan};
use rsb_engine::measure::{self, Count, Settings, assemble};
use rsb_engine::{EngineError, Listener, WorkerCommand, machine, machine_lock};
use rsb_model::{Case, CaseId, Environment, Event, Profile, Run, factor};
use rsb_stats::remeasure::{AGAINST_BASELINE, OpenCase};

use super::judge::Judge;
use super::schedule::Schedule;

/// Adds as many replicates of undecided cases to `current` as `budget` allows, except those in
/// `settled`, and rewrites the stored run. Also returns whether any were added.
pub(super) fn resolve(
    judge: &Judge,
    baseline: &[Run],
    current: Run,
    budget: Duration,
    settled: &[CaseId],
    listener: &mut Listener<'_>,
) -> Result<(Run, bool), EngineError> {
    let mut run = current;
    let mut schedule = Schedule::new(budget);
    let mut claim: Option<machine_lock::Claim> = None;
    let here = machine::environment_beside(&run.environment);
    loop {
        let mut open = doubtful(judge, baseline, &run, &here);
        open.retain(|(case, _)| !settled.contains(&case.id));
        if claim.is_none() {
            note_unknown_benchmarks(&open, listener);
        }
        open.retain(|(case, _)| plan::has_benchmark(&case.benchmark));
        let ids = schedule
            .next(open.iter().map(|(_, open)| open.clone()).collect(), AGAINST_BASELINE.step);
        let chosen = open.iter().map(|(case, _)| case).filter(|case| ids.contains(&case.id));
        let plan = Plan { cases: chosen.cloned().collect(), ..Plan::default() };
        let left = schedule.left().filter(|_| !plan.cases.is_empty());
        let Some(left) = left else {
            let Some(claim) = claim else { return Ok((run, false)) };
            if claim.end([&mut run], listener) {
                judge.store.rewrite(&run)?;
            }
            return Ok((run, true));
        };
        if claim.is_none() || schedule.is_report_due() {
            listener(&Event::RemeasureStarted { cases: open.len(), left });
        }
        claim.get_or_insert_with(|| machine_lock::claim([&mut run], listener));
        schedule.time(1, listener, |listener| measure_again(&plan, &mut run, left, listener))?;
        judge.store.rewrite(&run)?;
    }
}

/// Names the benchmarks of `open` that this program does not have, so that it cannot measure their
/// cases.
fn note_unknown_benchmarks(open: &[(Case, OpenCase)], listener: &mut Listener<'_>) {
    let unknown = open
        .iter()
        .map(|(case, _)| case.benchmark.as_str())
        .filter(|name| !plan::has_benchmark(name))
        .sorted_unstable()
        .dedup()
        .join("`, `");
    if !unknown.is_empty() {
        listener(&Event::note(format!(
            "cases of `{unknown}` are not remeasured, because this program has no such benchmark; \
             name its file with --custom"
        )));
    }
}

/// Returns the undecided cases of `run` whose software is still the same here.
fn doubtful(
    judge: &Judge,
    baseline: &[Run],
    run: &Run,
    here: &Environment,
) -> Vec<(Case, OpenCase)> {
    let result = judge.judge(baseline, std::slice::from_ref(run));
    let mut cases = Vec::new();
    for open in rsb_stats::open_cases(&result, run, AGAINST_BASELINE) {
        let known = run.benchmarks.iter().find(|known| known.benchmark_id == open.id);
        let Some((known, case)) = known.and_then(|known| Some((known, known.case()?))) else {
            continue;
        };
        let factors = known.factors_in(&run.environment);
        if factor::differences(&factors, &factors::of(&case, here), &[]).is_empty() {
            cases.push((case, open));
        }
    }
    cases
}

fn measure_again(
    plan: &Plan,
    run: &mut Run,
    left: Duration,
    listener: &mut Listener<'_>,
) -> Result<(), EngineError> {
    let profile = run.profile.parse().unwrap_or(Profile::Quick);
    let mut settings =
        Settings { replicates: Count::exactly(AGAINST_BASELINE.step), ..Settings::of(profile) };
    settings.limits.suite = left;
    let command =
        WorkerCommand::this_program().context("cannot find this program to start workers")?;
    let command = command.with_slowdown(run.slowdown().map(str::to_owned)).planned_on(&run.devices);
    let mut more = Run { benchmarks: Vec::new(), ..run.clone() };
    measure::measure(plan, &settings, &command, &run.environment, &mut |event| {
        if let Event::CaseUpdated(result) = event {
            more.keep((**result).clone());
        }
        listener(event);
    })
    .context(measure::NO_SCRATCH)?;
    for new in &more.benchmarks {
        if let Some(known) =
            run.benchmarks.iter_mut().find(|known| known.benchmark_id == new.benchmark_id)
        {
            *known = assemble::extend(known, new);
        }
    }
    Ok(())
}
