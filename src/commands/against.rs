//! `gate --against REV`: builds that revision and this tree, measures both here in turn, and compares pair by pair.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rsb_model::record::OverallStatus;
use rsb_model::{Case, CaseId, Environment, ReasonCode, Run, RunId, Timestamp, Verdict};
use rsb_report::Style;
use serde_json::Value;

use super::builds::{self, Builds};
use super::judge::{self, Judge};
use crate::cli::GateArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::measure::{self, Both, Profile, Settings, WORKER_ARGUMENT, WorkerCommand, assemble, interrupt};

/// Pairs of fresh processes for each undecided case before the verdicts are looked at again.
const STEP: u32 = 3;
/// A case with so many pairs is not measured again.
const ENOUGH: usize = 40;
/// How long everything may take when nothing is said.
const BUDGET: Duration = Duration::from_mins(3);

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
    let mut sides = Sides::plan(&builds, args, revision)?;
    sides.measure(&judge, args.budget.unwrap_or(BUDGET))?;
    let result = rsb_stats::gate_paired(&sides.baseline, &sides.current, judge.policy(), Timestamp::now());
    let result = rsb_stats::with_one_sided(result, &sides.vanished, &sides.new, judge.policy());
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

/// Both sides while they are measured.
struct Sides {
    programs: [WorkerCommand; 2],
    common: Vec<Case>,
    vanished: Vec<CaseId>,
    new: Vec<CaseId>,
    baseline: Run,
    current: Run,
    environment: Environment,
}

impl Sides {
    /// Both programs say what they would measure; what only one of them has is listed, not measured.
    fn plan(builds: &Builds, args: &GateArgs, revision: &str) -> Result<Self> {
        let [before, after] = [plan_of(&builds.programs[0], args)?, plan_of(&builds.programs[1], args)?];
        let environment = super::run::environment_here();
        let begin =
            |name: &str| Run::begin(RunId(name.to_owned()), Timestamp::now(), "against", "quick", environment.clone());
        let worker =
            |program: &Path| WorkerCommand { program: program.to_owned(), args: vec![WORKER_ARGUMENT.to_owned()] };
        let only = |those: &[Case], others: &[Case]| -> Vec<CaseId> {
            let others: BTreeSet<&CaseId> = others.iter().map(|case| &case.id).collect();
            those.iter().map(|case| &case.id).filter(|id| !others.contains(id)).cloned().collect()
        };
        let (vanished, new) = (only(&before, &after), only(&after, &before));
        let common: Vec<Case> = before.into_iter().filter(|case| !vanished.contains(&case.id)).collect();
        if common.is_empty() {
            bail!("{revision} and this tree have no case in common");
        }
        let programs = [worker(&builds.programs[0]), worker(&builds.programs[1])];
        Ok(Self {
            programs,
            common,
            vanished,
            new,
            baseline: begin(revision),
            current: begin("this tree"),
            environment,
        })
    }

    /// Every case some times, then the undecided ones again until the budget is over.
    fn measure(&mut self, judge: &Judge<'_>, budget: Duration) -> Result<()> {
        let began = Instant::now();
        let mut settings = Settings::of(Profile::Quick);
        let mut cases = self.common.clone();
        let mut longest = Duration::ZERO;
        loop {
            let left = budget.saturating_sub(began.elapsed());
            if cases.is_empty() || left <= longest || interrupt::asked() {
                return Ok(());
            }
            eprintln!("measuring {} cases on both sides in turn, {} s left", cases.len(), left.as_secs());
            settings.limits.suite = left;
            let step = Instant::now();
            let (both, _) = measure::in_turn(&cases, &settings, &self.programs, &self.environment)
                .context("cannot make a scratch folder; set TMPDIR to one with room")?;
            self.take_over(&both);
            longest = step.elapsed().min(longest.max(step.elapsed() / 2));
            settings.replicates = STEP;
            cases = self.doubtful(judge);
        }
    }

    fn take_over(&mut self, both: &Both) {
        for (run, results) in [(&mut self.baseline, &both.baseline), (&mut self.current, &both.current)] {
            for result in results {
                let known = run.benchmarks.iter().find(|known| known.benchmark_id == result.benchmark_id);
                let result = known.map_or_else(|| result.clone(), |known| assemble::extend(known, result));
                run.keep(result);
            }
        }
    }

    fn doubtful(&self, judge: &Judge<'_>) -> Vec<Case> {
        let result = rsb_stats::gate_paired(&self.baseline, &self.current, judge.policy(), Timestamp::now());
        let noisy = |code| matches!(code, ReasonCode::TooNoisy | ReasonCode::TooFewSamples);
        let undecided =
            result.comparisons.iter().filter(|each| each.verdict == Verdict::Inconclusive && noisy(each.reason_code));
        let ids: BTreeSet<&str> = undecided.map(|each| each.id.as_str()).collect();
        let pairs = |case: &Case| {
            let known = self.current.benchmarks.iter().find(|known| known.benchmark_id == case.id);
            known.map_or(0, |known| known.samples.len())
        };
        self.common.iter().filter(|case| ids.contains(case.id.as_str()) && pairs(case) < ENOUGH).cloned().collect()
    }
}

/// The cases that `program` would measure.
fn plan_of(program: &Path, args: &GateArgs) -> Result<Vec<Case>> {
    let mut command = Command::new(program);
    command.args(["run", "--dry-run", "--json"]).args(&args.benchmark);
    if let Some(suite) = args.suite {
        command.args(["--suite", suite.as_str()]);
    }
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
