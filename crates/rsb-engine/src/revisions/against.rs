//! A revision against this tree: both are built, measured here interleaved, and compared pair by pair.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rsb_model::record::{ComparisonNote, ComparisonNoteCode, OverallStatus};
use rsb_model::{Case, CaseId, Environment, Run, RunId, Suite, Timestamp, Verdict};
use serde_json::Value;

use super::builds::{self, Builds};
use crate::directories::PolicyPath;
use crate::gate::{BUDGET, Basis, Judge, Judgment, Sides};
use crate::policy::ControlSet;
use crate::{EngineError, Listener, WorkerCommand};

/// What to compare this tree with, and how.
#[derive(Debug, Clone)]
pub struct AgainstRequest<'a> {
    /// The revision, as git understands it.
    pub revision: &'a str,
    /// Benchmarks by name; none means those of the suite.
    pub benchmarks: &'a [String],
    /// The suite; none means that of the program.
    pub suite: Option<Suite>,
    /// How long to measure.
    pub budget: Option<Duration>,
    /// Whether instructions are compared beside the time.
    pub count_instructions: bool,
}

/// Judges this tree against a revision.
///
/// # Errors
/// When git does not know it, one of both does not build, or a worker cannot start.
pub fn against(
    judge: &Judge,
    request: &AgainstRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<Judgment, EngineError> {
    let revision = request.revision;
    let trees = builds::trees(revision).map_err(EngineError::usage)?;
    if trees.are_equal() {
        return Ok(same(judge, revision, "hold the same source: nothing to measure"));
    }
    let builds = trees.build(listener)?;
    if builds.are_equal()? {
        return Ok(same(judge, revision, "build the same program, byte for byte: nothing to measure"));
    }
    let plan = CommonPlan::of(&builds, request)?;
    let planned = plan.common.iter().map(|case| &case.id).chain(&plan.vanished).chain(&plan.new);
    judge.check_ids(&planned.map(CaseId::as_str).collect::<Vec<_>>(), ControlSet::Unheard)?;
    let [before, after] = &builds.programs;
    let workers = [before, after].map(|program| WorkerCommand::of(program.clone()));
    let mut sides = Sides::new(workers, [revision, "this tree"], plan.common);
    sides.measure(judge.policy(), request.budget.unwrap_or(BUDGET), listener)?;
    let counted = request.count_instructions.then(|| sides.count_instructions(listener));
    let mut result =
        rsb_stats::with_one_sided(sides.compare(judge.policy()), &plan.vanished, &plan.new, judge.policy());
    result.notes.extend(counted.map(|text| ComparisonNote::new(ComparisonNoteCode::Evidence, text)));
    result.notes.extend(policy_of(&judge.directories.policy));
    Ok(Judgment { result, basis: Basis::Figures { remeasured: true } })
}

/// Whose policy decides, where it is not the one in the tree.
fn policy_of(policy: &PolicyPath) -> Option<ComparisonNote> {
    let PolicyPath::AtRevision { path, revision, text } = policy else { return None };
    let path = path.display();
    let said = match text {
        Some(_) => format!("the policy is that of {revision} ({path}), not the one in this tree"),
        None => format!("{revision} has no {path}: the built-in policy decides"),
    };
    Some(ComparisonNote::new(ComparisonNoteCode::Policy, format!("{said}; --policy names another")))
}

/// Nothing needs to be measured.
fn same(judge: &Judge, revision: &str, how: &str) -> Judgment {
    let side =
        |name: &str| Run::begin(RunId(name.to_owned()), Timestamp::now(), "against", "quick", Environment::default());
    let mut result = rsb_stats::gate_paired(&side(revision), &side("this tree"), judge.policy(), Timestamp::now());
    result.verdict = Verdict::Unchanged;
    result.summary.overall_status = OverallStatus::Healthy;
    Judgment { result, basis: Basis::Same { why: format!("this tree and {revision} {how}") } }
}

/// What both programs would measure; what only one of them has is listed, not measured.
struct CommonPlan {
    common: Vec<Case>,
    vanished: Vec<CaseId>,
    new: Vec<CaseId>,
}

impl CommonPlan {
    fn of(builds: &Builds, request: &AgainstRequest<'_>) -> Result<Self> {
        let mut words: Vec<&str> = request.benchmarks.iter().map(String::as_str).collect();
        if let Some(suite) = request.suite {
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
            bail!("{} and this tree have no case in common", request.revision);
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
    serde_json::from_value(cases).context("its plan has an unknown format")
}
