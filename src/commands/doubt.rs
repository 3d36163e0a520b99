//! More replicates where the doubt is: undecided cases are measured again until they are decided or the budget is over.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context;
use rsb_model::{BenchmarkResult, Case, CaseId, Fingerprint, Run};
use rsb_stats::doubt::AGAINST_BASELINE;

use super::alone;
use super::judge::Judge;
use super::recorder::program_hash;
use crate::exit::Trouble;
use crate::measure::{self, Count, Observer, Profile, Settings, WorkerCommand, assemble, interrupt};
use crate::plan::Plan;

/// `current` with as many more replicates of undecided cases as `budget` allows, those of `settled` left out. The run is
/// rewritten where it is stored.
pub(super) fn resolve(
    judge: &Judge<'_>,
    baseline: &[Run],
    current: Run,
    (budget, settled): (Duration, &BTreeSet<CaseId>),
) -> Result<Run, Trouble> {
    let began = Instant::now();
    let mut run = current;
    let mut longest = Duration::ZERO;
    let mut claim = None;
    loop {
        let left = budget.saturating_sub(began.elapsed());
        let mut plan = Plan { cases: doubtful(judge, baseline, &run), ..Plan::default() };
        plan.cases.retain(|case| !settled.contains(&case.id));
        // A step that would not end in time is not begun.
        if plan.cases.is_empty() || left <= longest || interrupt::asked() {
            return Ok(run);
        }
        claim.get_or_insert_with(|| alone::claim([&mut run]));
        let step = Instant::now();
        eprintln!("measuring {} undecided cases again, {} s left", plan.cases.len(), left.as_secs());
        measure_again(&plan, &mut run, left)?;
        longest = longest.max(step.elapsed());
        judge.store.rewrite(&run)?;
    }
}

/// Measuring on elsewhere than the run was taken would compare two machines, or two programs.
pub(super) fn unlike_here(run: &Run) -> Option<String> {
    let here = super::run::environment_here();
    let differences = Fingerprint::of(&run.environment).differences(&Fingerprint::of(&here), &[]);
    if let Some(difference) = differences.first() {
        return Some(format!(
            "{} is {} in the run and {} here",
            difference.field, difference.baseline, difference.current
        ));
    }
    (run.program != program_hash()).then(|| "the run was measured by another build of this program".to_owned())
}

fn doubtful(judge: &Judge<'_>, baseline: &[Run], run: &Run) -> Vec<Case> {
    let result = judge.judge(baseline, std::slice::from_ref(run));
    let ids = rsb_stats::doubtful(&result, run, AGAINST_BASELINE);
    run.benchmarks.iter().filter(|known| ids.contains(&known.benchmark_id)).filter_map(BenchmarkResult::case).collect()
}

fn measure_again(plan: &Plan, run: &mut Run, left: Duration) -> Result<(), Trouble> {
    let profile = <Profile as clap::ValueEnum>::from_str(&run.profile, true).unwrap_or(Profile::Quick);
    let mut settings = Settings { replicates: Count::asked(AGAINST_BASELINE.step), ..Settings::of(profile) };
    settings.limits.suite = left;
    let command = WorkerCommand::this_program().context("cannot find this program to start workers")?;
    let command = command.slowed(run.slowdown().map(str::to_owned));
    let mut more = More(Run { benchmarks: Vec::new(), ..run.clone() });
    measure::measure(plan, &settings, &command, &run.environment, &mut more).context("cannot make a scratch folder")?;
    for new in &more.0.benchmarks {
        if let Some(known) = run.benchmarks.iter_mut().find(|known| known.benchmark_id == new.benchmark_id) {
            *known = assemble::extend(known, new);
        }
    }
    Ok(())
}

/// What the extra replicates gave.
struct More(Run);

impl Observer for More {
    fn started(&mut self, _: &Case, _: usize, _: usize) {}

    fn known(&mut self, result: &BenchmarkResult) {
        self.0.keep(result.clone());
    }
}
