//! Compares a revision with this tree: both are built, measured here interleaved, and compared pair
//! by pair.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use itertools::Itertools as _;
use rsb_catalog::custom;
use rsb_engine::judged::{self, Descendants};
use rsb_engine::{EngineError, Listener};
use rsb_model::json;
use rsb_model::record::{ComparisonNote, ComparisonNoteCode, OverallStatus};
use rsb_model::{Case, CaseId, Environment, Run, RunId, Suite, Timestamp, Verdict};
use rsb_stats::glob;
use serde_json::Value;

use super::bench_targets::DependencyOutside;
use super::builds::{self, Builds};
use super::project::{Build, ProjectOptions, is_setting};
use crate::gate::{
    Basis, Judge, JudgedSides, Judgment, MeasureLimits, SidePrograms, Sides, default_budget,
};
use crate::harness::{Benches, CountedMetric, Executables};
use crate::policy::ControlSet;

/// Revision to compare this tree with, and options.
#[derive(Debug, Clone)]
pub struct AgainstRequest<'a> {
    /// The revision, as git understands it.
    pub revision: &'a str,
    /// Names of benchmarks for this program, parts of ids for another project. Empty means all.
    pub benchmarks: &'a [String],
    /// Patterns, one of which an id must contain. Empty means all.
    pub cases: &'a [String],
    /// The suite of this program; `None` for its default.
    pub suite: Option<Suite>,
    /// Time to measure; `None` for [`default_budget`].
    pub budget: Option<Duration>,
    /// Whether to stop as soon as one case is Regressed.
    pub fail_fast: bool,
    /// Maximum total time to wait while other programs are busy, in addition to the budget.
    pub wait_for_quiet: Duration,
    /// Metrics to count, and how the counts are used.
    pub counting: Counting<'a>,
    /// Whether benchmarks that only this tree has are measured on both sides.
    pub add_benches: bool,
    /// Whether cases that are the same on both sides are measured too.
    pub measure_equal: bool,
    /// Number of layouts in which each side is linked and measured; 0 leaves them as they were
    /// built.
    pub layouts: u32,
    /// How another project's benchmarks are built and run.
    pub project: &'a ProjectOptions,
}

/// The metrics to count, and how their counts are used.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// Metrics that are counted; empty counts nothing.
    pub metrics: &'a [CountedMetric],
    /// Whether the counts are judged instead of the time, which is not measured then.
    pub instead_of_time: bool,
}

/// Judges this tree against a revision.
///
/// # Errors
/// If git cannot find the revision, one side does not build, or a worker cannot start.
pub fn against(
    judge: &Judge,
    request: &AgainstRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<Judgment, EngineError> {
    let revision = request.revision;
    let trees = builds::trees(request).map_err(EngineError::usage)?;
    trees.check(request).map_err(EngineError::usage)?;
    if trees.are_equal() && !request.measure_equal {
        return Ok(same(judge, revision, "have the same source: nothing to measure"));
    }
    let changed = trees.changed_files()?;
    if !request.measure_equal && trees.is_change_inert(&changed) {
        let how = "differ in CI configuration and licenses only: nothing to measure";
        return Ok(same(judge, revision, how));
    }
    let _ended_at_the_end = Descendants::adopt();
    let has_cases = |first: &Build| check_cases(first, request);
    let mut builds = trees.build(has_cases, listener).map_err(|error| {
        let is_usage = error.is::<DependencyOutside>() || error.is::<NoCases>();
        if is_usage { EngineError::usage(error) } else { error.into() }
    })?;
    if let [Build::Benches(before), Build::Benches(after)] = &mut builds.sides {
        Benches::match_volatile_names(before, after);
    }
    let [before, after] = &builds.sides;
    if !request.measure_equal && before.does_as(after, &changed)? {
        return Ok(same(judge, revision, "build the same machine code: nothing to measure"));
    }
    let plan = CommonPlan::of(&builds, request, &changed)?;
    judge.check_ids(&plan.ids().map(CaseId::as_str).collect::<Vec<_>>(), ControlSet::Unheard)?;
    let programs = match request.layouts {
        0 => before.beside(after)?,
        layouts => SidePrograms::Workers(trees.relink(&builds, layouts, listener)?),
    };
    let cases = plan.common.len();
    let mut sides = Sides::new(programs, [revision, "this tree"], plan.common);
    let budget = request.budget.unwrap_or_else(|| default_budget(cases));
    if !sides.is_empty() {
        if request.counting.instead_of_time {
            sides.leave_times_out();
        } else {
            let limits = MeasureLimits {
                budget,
                fail_fast: request.fail_fast,
                wait_for_quiet: request.wait_for_quiet,
            };
            sides.measure(judge.policy(), limits, listener)?;
        }
    }
    let is_counted = !request.counting.metrics.is_empty() && !sides.is_empty();
    let counted = is_counted.then(|| sides.count(request.counting.metrics, budget, listener));
    let is_code_size = |metric: &CountedMetric| *metric == CountedMetric::CodeSize;
    if request.counting.instead_of_time && request.counting.metrics.iter().all(is_code_size) {
        sides.leave_cases_out();
    }
    let result =
        rsb_stats::with_same_code(sides.compare(judge.policy()), &plan.alike, judge.policy());
    let mut result = rsb_stats::with_one_sided(result, &plan.vanished, &plan.new, judge.policy());
    result.notes.extend(notes(&builds, &changed));
    if request.layouts > 0 {
        let text = format!(
            "each side was linked in {} layouts, different ones for each pair, so the intervals \
             include the effect of the layout",
            request.layouts
        );
        result.notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    result
        .notes
        .extend(counted.map(|text| ComparisonNote::new(ComparisonNoteCode::Evidence, text)));
    result.notes.extend(judge.policy_note());
    let judged = JudgedSides { baseline: Some(revision.to_owned()), ..sides.judged_sides() };
    Ok(Judgment { result, basis: Basis::Figures { remeasured: true }, sides: judged })
}

/// Returns notes on the measured targets, and on differences between the sides other than their
/// code.
fn notes(builds: &Builds, changed: &[PathBuf]) -> Vec<ComparisonNote> {
    let [before, after] = &builds.sides;
    let mut notes = Vec::new();
    let places = after.bench_places();
    if places.keys().any(|place| !place.is_empty()) {
        let places = places.into_iter().map(|(place, targets)| {
            let place = if place.is_empty() { "the project itself" } else { &place };
            format!("{} in {place}", targets.into_iter().join(", "))
        });
        let text = format!("bench targets measured: {}", places.collect_vec().join("; "));
        notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    let units = after.executables().map(Executables::other_units).unwrap_or_default();
    for (unit, cases) in units {
        let text = format!(
            "Criterion measures {unit} instead of time in {cases} of the cases: their values are \
             shown as times; the changes are correct"
        );
        notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    let [unable, unable_after] = [before, after].map(Build::left_out);
    let unable: BTreeSet<&String> = unable.intersection(&unable_after).collect();
    if !unable.is_empty() {
        let text = format!("measured on neither side: {}", unable.into_iter().join("; "));
        notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    let settings: Vec<String> = changed
        .iter()
        .filter(|path| is_setting(path))
        .map(|path| path.display().to_string())
        .collect();
    if !settings.is_empty() {
        let text =
            format!("each side was built with its own {}, which differ", settings.join(", "));
        notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    let compilers = [before, after].map(Build::compilers);
    if compilers[0] != compilers[1] && compilers.iter().all(|side| !side.is_empty()) {
        let [old, new] = compilers.map(|side| side.into_iter().join(", "));
        let text = format!(
            "the compilers differ ({old} before the change, {new} after it), which alone can \
             change the speed"
        );
        notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
    }
    if let [Build::Custom { file: before, .. }, Build::Custom { file: after, .. }] = &builds.sides {
        let names = custom::differing_benchmarks(before, after);
        if !names.is_empty() {
            let text =
                format!("each side ran its own definition of {}, which differ", names.join(", "));
            notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
        }
    }
    notes
}

/// Returns a judgment which states that nothing needs to be measured.
fn same(judge: &Judge, revision: &str, how: &str) -> Judgment {
    let mut result = rsb_stats::gate_paired(
        &empty_run(revision),
        &empty_run("this tree"),
        judge.policy(),
        Timestamp::now(),
    );
    result.verdict = Verdict::Unchanged;
    result.summary.overall_status = OverallStatus::Healthy;
    let basis = Basis::Same { why: format!("this tree and {revision} {how}") };
    Judgment { result, basis, sides: JudgedSides::default() }
}

fn empty_run(name: &str) -> Run {
    Run::begin(RunId(name.to_owned()), Timestamp::now(), "against", "quick", Environment::default())
}

/// The cases of both sides; cases that only one side has are listed, not measured.
struct CommonPlan {
    common: Vec<Case>,
    /// Cases of both sides that execute the same machine code.
    alike: Vec<CaseId>,
    vanished: Vec<CaseId>,
    new: Vec<CaseId>,
}

impl CommonPlan {
    fn of(builds: &Builds, request: &AgainstRequest<'_>, changed: &[PathBuf]) -> Result<Self> {
        let [before, after] = &builds.sides;
        let [known, own] = [plan_cases(before, request)?, plan_cases(after, request)?];
        let (vanished, new) = (ids_only_in(&known, &own), ids_only_in(&own, &known));
        let mut common: Vec<Case> =
            known.into_iter().filter(|case| !vanished.contains(&case.id)).collect();
        let mut alike = Vec::new();
        if !request.measure_equal {
            let same = before.cases_alike(after, &common, changed)?;
            common.retain(|case| !same.contains(&case.id));
            alike.extend(same);
        }
        Ok(Self { common, alike, vanished, new })
    }

    fn ids(&self) -> impl Iterator<Item = &CaseId> {
        self.common
            .iter()
            .map(|case| &case.id)
            .chain(&self.alike)
            .chain(&self.vanished)
            .chain(&self.new)
    }
}

/// Returns the ids of `those` that no case of `others` has.
fn ids_only_in(those: &[Case], others: &[Case]) -> Vec<CaseId> {
    let others = others.iter().map(|case| &case.id).sorted_unstable().dedup().collect_vec();
    those
        .iter()
        .map(|case| &case.id)
        .filter(|id| others.binary_search(id).is_err())
        .cloned()
        .collect()
}

/// Error: a revision has no case to measure, or none that matches the filters.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoCases(String);

/// Checks that `build`, the baseline's side, has a case that matches the request.
///
/// # Errors
/// [`NoCases`], with the nearest ids or the reasons why bench targets cannot be measured.
fn check_cases(build: &Build, request: &AgainstRequest<'_>) -> Result<()> {
    if !plan_cases(build, request)?.is_empty() {
        return Ok(());
    }
    let revision = request.revision;
    let wanted = [request.benchmarks, request.cases].concat();
    let all = AgainstRequest { benchmarks: &[], cases: &[], suite: None, ..request.clone() };
    let known = if wanted.is_empty() { Vec::new() } else { plan_cases(build, &all)? };
    let text = if known.is_empty() {
        let mut reasons = build.reasons_left_out().join("; ");
        if reasons.is_empty() {
            "its bench targets list no case".clone_into(&mut reasons);
        }
        format!("{revision} has no benchmark that can be measured: {reasons}")
    } else {
        let nearest: Vec<String> =
            nearest_ids(&known, &wanted).into_iter().map(|id| format!("`{id}`")).collect();
        format!(
            "no benchmark of {revision} matches `{}`; nearest: {}",
            wanted.join("`, `"),
            nearest.join(", ")
        )
    };
    Err(NoCases(text).into())
}

/// Returns up to three ids of `known` that are most similar to one of `wanted`.
fn nearest_ids<'c>(known: &'c [Case], wanted: &[String]) -> Vec<&'c CaseId> {
    let similarity = |id: &CaseId| {
        let parts = id.as_str().split('/').chain([id.as_str()]);
        let pairs = parts.cartesian_product(wanted);
        pairs.map(|(part, word)| strsim::jaro_winkler(part, word)).fold(0.0, f64::max)
    };
    let ids = known.iter().map(|case| &case.id);
    ids.sorted_by(|one, other| similarity(other).total_cmp(&similarity(one))).take(3).collect()
}

/// Returns the cases that `build` would measure.
fn plan_cases(build: &Build, request: &AgainstRequest<'_>) -> Result<Vec<Case>> {
    let mut cases = if let Build::ThisProgram(program) = build {
        let mut words: Vec<&str> = request.benchmarks.iter().map(String::as_str).collect();
        if let Some(suite) = request.suite {
            words.extend(["--suite", suite.as_str()]);
        }
        cases_of(program, &words, request.project.config.as_deref())?
    } else {
        build.cases_fitting(request.benchmarks)
    };
    if !request.cases.is_empty() {
        let patterns: Vec<String> = request.cases.iter().map(|part| format!("*{part}*")).collect();
        cases
            .retain(|case| patterns.iter().any(|pattern| glob::matches(pattern, case.id.as_str())));
    }
    Ok(cases)
}

/// Returns the cases that `program` would measure if it were run with `words` and `config`.
pub(super) fn cases_of(program: &Path, words: &[&str], config: Option<&Path>) -> Result<Vec<Case>> {
    let mut command = Command::new(program);
    command.args(["run", "--dry-run", "--json"]).args(words);
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    judged::isolate(&mut command);
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} cannot list its cases; a revision without `run --dry-run` cannot be compared: {}",
            program.display(),
            stderr.trim()
        );
    }
    let document: Value = json::parse_bytes(&output.stdout).context("its plan is not JSON")?;
    let cases = document.get("cases").ok_or_else(|| anyhow!("its plan has no `cases`"))?;
    serde::Deserialize::deserialize(cases).context("its plan has an unknown format")
}
