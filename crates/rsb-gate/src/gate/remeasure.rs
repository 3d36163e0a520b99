//! More replicates where the doubt is: undecided cases are remeasured until they are decided or the
//! budget is over.

use std::time::Duration;

use anyhow::Context;
use rsb_catalog::factors;
use rsb_catalog::plan::Plan;
use rsb_engine::measure::{self, Count, Settings, assemble};
use rsb_engine::{EngineError, Listener, WorkerCommand, machine, machine_lock};
use rsb_model::{Case, CaseId, Environment, Event, Profile, Run, factor};
use rsb_stats::remeasure::AGAINST_BASELINE;

use super::budget::Budget;
use super::judge::Judge;

/// `current` with as many more replicates of undecided cases as `budget` allows, those of `settled`
/// left out. The run is rewritten where it is stored. Also whether it has any more now.
pub(super) fn resolve(
    judge: &Judge,
    baseline: &[Run],
    current: Run,
    budget: Duration,
    settled: &[CaseId],
    listener: &mut Listener<'_>,
) -> Result<(Run, bool), EngineError> {
    let mut run = current;
    let mut budget = Budget::new(budget);
    let mut claim: Option<machine_lock::Claim> = None;
    let here = machine::environment();
    loop {
        let mut plan = Plan { cases: doubtful(judge, baseline, &run, &here), ..Plan::default() };
        plan.cases.retain(|case| !settled.contains(&case.id));
        let replicates = plan.cases.len() * AGAINST_BASELINE.step as usize;
        let Some(left) = budget.begin(replicates) else {
            let Some(claim) = claim else { return Ok((run, false)) };
            if claim.end([&mut run], listener) {
                judge.store.rewrite(&run)?;
            }
            return Ok((run, true));
        };
        claim.get_or_insert_with(|| machine_lock::claim([&mut run], listener));
        listener(&Event::RemeasureStarted { cases: plan.cases.len(), left });
        measure_again(&plan, &mut run, left, listener)?;
        budget.end(replicates);
        judge.store.rewrite(&run)?;
    }
}

/// Returns the undecided cases of `run` whose software is still the same here.
fn doubtful(judge: &Judge, baseline: &[Run], run: &Run, here: &Environment) -> Vec<Case> {
    let result = judge.judge(baseline, std::slice::from_ref(run));
    let ids = rsb_stats::undecided_cases(&result, run, AGAINST_BASELINE);
    let undecided = run.benchmarks.iter().filter(|known| ids.contains(&known.benchmark_id));
    let mut cases = Vec::new();
    for (result, case) in undecided.filter_map(|result| Some((result, result.case()?))) {
        let factors = result.factors_in(&run.environment);
        if factor::differences(&factors, &factors::of(&case, here), &[]).is_empty() {
            cases.push(case);
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
