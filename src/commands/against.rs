//! `gate --against REV`: builds that revision and this tree, measures both here in turn, and compares pair by pair.
//! [`Sides`] is how `bisect` measures too.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rsb_model::record::OverallStatus;
use rsb_model::{BenchmarkResult, Case, CaseId, ComparisonResult, Environment, Run, RunId, Timestamp, Verdict};
use rsb_report::Style;
use rsb_report::number::format_count;
use rsb_stats::Policy;
use rsb_stats::doubt::PAIRS;
use serde_json::Value;

use super::alone;
use super::builds::{self, Builds};
use super::judge::{self, Judge};
use crate::cli::GateArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::measure::{self, Both, Count, Profile, Settings, WorkerCommand, assemble, interrupt};

/// Judges this tree against the revision `revision`.
///
/// # Errors
/// When git does not know it, one of both does not build, or a worker cannot start.
pub(super) fn run(args: &GateArgs, revision: &str, style: Style) -> Ended {
    let judge = Judge::load(&args.judge)?;
    let trees = builds::trees(revision).map_err(Trouble::usage)?;
    if trees.are_equal() {
        return decided(
            &judge,
            revision,
            &format!("this tree and {revision} hold the same source: nothing to measure"),
        );
    }
    let builds = trees.build()?;
    if builds.are_equal()? {
        return decided(
            &judge,
            revision,
            &format!("this tree and {revision} build the same program, byte for byte: nothing to measure"),
        );
    }
    interrupt::listen();
    let plan = Plan::of(&builds, args, revision)?;
    let [before, after] = &builds.programs;
    let workers = [before, after].map(|program| WorkerCommand::of(program.clone()));
    let mut sides = Sides::new(workers, [revision, "this tree"], plan.common);
    sides.measure(judge.policy(), args.budget.unwrap_or(super::gate::BUDGET))?;
    let result = rsb_stats::with_one_sided(sides.compare(judge.policy()), &plan.vanished, &plan.new, judge.policy());
    judge.show(&result, style)?;
    Ok(if interrupt::asked() { Exit::Interrupted } else { judge::exit_of(&result) })
}

/// Nothing needs to be measured: the answer in the form that was asked for.
fn decided(judge: &Judge<'_>, revision: &str, sentence: &str) -> Ended {
    let side =
        |name: &str| Run::begin(RunId(name.to_owned()), Timestamp::now(), "against", "quick", Environment::default());
    let mut result = rsb_stats::gate_paired(&side(revision), &side("this tree"), judge.policy(), Timestamp::now());
    result.verdict = Verdict::Unchanged;
    result.summary.overall_status = OverallStatus::Healthy;
    judge.say(&result, &format!("UNCHANGED: {sentence}."))?;
    Ok(Exit::Pass)
}

/// What both programs would measure; what only one of them has is listed, not measured.
struct Plan {
    common: Vec<Case>,
    vanished: Vec<CaseId>,
    new: Vec<CaseId>,
}

impl Plan {
    fn of(builds: &Builds, args: &GateArgs, revision: &str) -> Result<Self> {
        let mut words: Vec<&str> = args.benchmark.iter().map(String::as_str).collect();
        if let Some(suite) = args.suite {
            words.extend(["--suite", suite.as_str()]);
        }
        let [before, after] = [cases_of(&builds.programs[0], &words)?, cases_of(&builds.programs[1], &words)?];
        let only = |those: &[Case], others: &[Case]| -> Vec<CaseId> {
            let others: BTreeSet<&CaseId> = others.iter().map(|case| &case.id).collect();
            those.iter().map(|case| &case.id).filter(|id| !others.contains(id)).cloned().collect()
        };
        let (vanished, new) = (only(&before, &after), only(&after, &before));
        let common: Vec<Case> = before.into_iter().filter(|case| !vanished.contains(&case.id)).collect();
        if common.is_empty() {
            bail!("{revision} and this tree have no case in common");
        }
        Ok(Self { common, vanished, new })
    }
}

/// The cases that `program` would measure if it were run with `words`.
pub(super) fn cases_of(program: &Path, words: &[&str]) -> Result<Vec<Case>> {
    let mut command = Command::new(program);
    command.args(["run", "--dry-run", "--json"]).args(words);
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} cannot say what it would measure; a revision before `run --dry-run` cannot be compared: {}",
            program.display(),
            said.trim()
        );
    }
    let document: Value = serde_json::from_slice(&output.stdout).context("its plan is not JSON")?;
    let cases = document.get("cases").cloned().ok_or_else(|| anyhow!("its plan has no `cases`"))?;
    serde_json::from_value(cases).context("its plan is of another form")
}

/// Two programs and what was measured of them so far, in turn.
pub(super) struct Sides {
    programs: [WorkerCommand; 2],
    cases: Vec<Case>,
    environment: Environment,
    baseline: Run,
    current: Run,
}

impl Sides {
    /// Both `programs`, called `names`, before anything of `cases` is measured.
    pub(super) fn new(programs: [WorkerCommand; 2], names: [&str; 2], cases: Vec<Case>) -> Self {
        let environment = super::run::environment_here();
        let begin =
            |name: &str| Run::begin(RunId(name.to_owned()), Timestamp::now(), "against", "quick", environment.clone());
        let [baseline, current] = names.map(begin);
        Self { programs, cases, environment, baseline, current }
    }

    /// Every case some times, then the undecided ones again until the budget is over.
    ///
    /// # Errors
    /// When there is no room for a scratch folder.
    pub(super) fn measure(&mut self, policy: &Policy, budget: Duration) -> Result<()> {
        let began = Instant::now();
        let mut settings = Settings { replicates: Count::asked(PAIRS.first), ..Settings::of(Profile::Quick) };
        let mut cases = self.cases.clone();
        let mut longest = Duration::ZERO;
        let _alone = alone::claim([&mut self.baseline, &mut self.current]);
        loop {
            let left = budget.saturating_sub(began.elapsed());
            if cases.is_empty() || left <= longest || interrupt::asked() {
                return Ok(());
            }
            let count = format_count(cases.len(), "case", "cases");
            eprintln!("measuring {count} on both sides in turn, {} s left", left.as_secs());
            settings.limits.suite = left;
            let step = Instant::now();
            let (both, _) = measure::in_turn(&cases, &settings, &self.programs, &self.environment)
                .context("cannot make a scratch folder; set TMPDIR to one with room")?;
            self.take_over(&both);
            longest = step.elapsed().min(longest.max(step.elapsed() / 2));
            settings.replicates = Count::asked(PAIRS.step);
            cases = self.doubtful(policy);
        }
    }

    /// What the pairs so far say.
    pub(super) fn compare(&self, policy: &Policy) -> ComparisonResult {
        rsb_stats::gate_paired(&self.baseline, &self.current, policy, Timestamp::now())
    }

    /// The first program's side.
    pub(super) fn baseline(&self) -> &Run {
        &self.baseline
    }

    fn take_over(&mut self, both: &Both) {
        let count = |results: &[BenchmarkResult], id: &CaseId| {
            results.iter().find(|result| result.benchmark_id == *id).map_or(0, |result| result.samples.len())
        };
        for (run, results) in [(&mut self.baseline, &both.baseline), (&mut self.current, &both.current)] {
            for result in results {
                let id = &result.benchmark_id;
                let known = run.benchmarks.iter().find(|known| known.benchmark_id == *id);
                let mut result = result.clone();
                if let Some(known) = known {
                    // What one side alone could repeat has no partner: it would shift all pairs after it.
                    if count(&both.baseline, id) != count(&both.current, id) {
                        result.samples.clear();
                    }
                    result = assemble::extend(known, &result);
                }
                run.keep(result);
            }
        }
    }

    fn doubtful(&self, policy: &Policy) -> Vec<Case> {
        let ids = rsb_stats::doubtful(&self.compare(policy), &self.current, PAIRS);
        self.cases.iter().filter(|case| ids.contains(&case.id)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(outcome: &str, replicates: u32) -> BenchmarkResult {
        let samples = (0..replicates).map(|at| json!({"replicate": at, "iters": [1], "times_ns": [5.0]}));
        let value = json!({
            "benchmark_id": "cpu_performance/made-up/cpu:0/one",
            "timestamp": "2026-01-01T00:00:00Z",
            "benchmark_type": "cpu_performance",
            "outcome": outcome,
            "what": "case", "why": "it broke", "cure": "mend it",
            "results": [],
            "samples": samples.collect::<Vec<_>>(),
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pairs_stay_pairs_where_one_side_breaks_later() {
        let programs = ["a", "b"].map(|name| WorkerCommand::of(name.into()));
        let mut sides = Sides::new(programs, ["a", "b"], Vec::new());
        let mut replicates = |baseline, current| {
            sides.take_over(&Both { baseline: vec![baseline], current: vec![current] });
            [&sides.baseline, &sides.current].map(|run| run.benchmarks[0].samples.len())
        };
        assert_eq!(replicates(result("measured", 3), result("measured", 3)), [3, 3]);
        assert_eq!(replicates(result("failed", 0), result("measured", 1)), [3, 3]);
        assert_eq!(replicates(result("measured", 2), result("measured", 2)), [5, 5]);
    }

    #[test]
    fn a_side_that_only_one_program_has_figures_of_keeps_them() {
        let programs = ["a", "b"].map(|name| WorkerCommand::of(name.into()));
        let mut sides = Sides::new(programs, ["a", "b"], Vec::new());
        sides.take_over(&Both { baseline: vec![result("skipped", 0)], current: vec![result("measured", 1)] });
        assert_eq!(sides.current.benchmarks[0].samples.len(), 1);
        let compared = sides.compare(&Policy::default());
        assert_eq!(compared.new.len(), 1, "{compared:?}");
    }
}
