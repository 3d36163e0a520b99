//! Suggests the next command after a verdict. No I/O.

use std::time::Duration;

use rsb_catalog::plan;
use rsb_gate::gate::JudgedSides;
use rsb_gate::suggest::shell_quote;
use rsb_model::record::{AlertState, Comparison, ComparisonNoteCode, TrackedAlert};
use rsb_model::{CaseId, ComparisonResult, ReasonCode, Verdict};
use rsb_notify::NotifySection;
use rsb_report::comparison::by_importance;
use rsb_report::gate::CommentContext;
use rsb_report::label::split_id;
use rsb_report::number::format_count;
use rsb_store::import::Format;

use crate::ProjectPaths;

const PROGRAM: &str = "rusty-stack-bench";

/// Digits of a commit in a command.
const ABBREVIATED: usize = 12;

/// How a verdict was requested.
#[derive(Debug, Clone, Default)]
pub struct VerdictRequest {
    /// Subcommand that, with a budget, measures undecided cases again, such as `gate --against
    /// HEAD`.
    pub again: Option<String>,
    /// Whether undecided cases were already measured again.
    pub is_remeasured: bool,
    /// The budget of `gate --against`; `None` for other subcommands.
    pub budget: Option<Duration>,
    /// Hint on getting more runs of sides that another tool measured.
    pub more_runs: Option<String>,
    /// The named run; `None` for the latest.
    pub run: Option<String>,
    /// Further arguments of `baseline accept`, if the baseline is saved and the run is stored.
    pub accept: Option<String>,
    /// The named threshold in percent.
    pub threshold: Option<f64>,
    /// The named directories and files, which every suggested command needs.
    pub paths: ProjectPaths,
    /// Arguments of `gate --against` and `bisect` that describe another project's benchmarks. They
    /// end the command, because those for cargo must be last.
    pub project: String,
    /// Receivers of the verdict.
    pub notify: Vec<NotifySection>,
    /// What the code is compared with, as named by the user; empty for the saved baseline of the
    /// latest run.
    pub reference: String,
}

impl VerdictRequest {
    /// Returns the flag for a longer budget.
    fn longer(&self) -> String {
        let minutes = self.budget.map_or(0, |budget| (2 * budget).as_secs().div_ceil(60));
        format!("--budget {}m", minutes.max(10))
    }

    /// Returns the flag for the named threshold, after a space.
    fn threshold_argument(&self) -> String {
        self.threshold.map_or_else(String::new, |percent| format!(" --threshold {percent}"))
    }

    fn hint(&self, purpose: &str, arguments: &str) -> String {
        hint(purpose, &format!("{arguments}{}", self.paths.arguments()))
    }

    /// Formats a hint whose command measures the benchmarks of the project again.
    fn hint_again(&self, purpose: &str, arguments: &str) -> String {
        hint(purpose, &format!("{arguments}{}{}", self.paths.arguments(), self.project))
    }
}

/// Returns hints on what to do after `result`: for each option its purpose, and its command on a
/// separate line. Empty after a pass.
pub fn hints(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Vec<String> {
    match result.verdict {
        Verdict::Regressed => after_regression(result, sides, request),
        Verdict::Inconclusive | Verdict::NotComparable => after_no_verdict(result, sides, request),
        Verdict::Improved | Verdict::Unchanged => Vec::new(),
    }
}

/// Formats a purpose, such as `measure it again:`, and the command below it.
fn hint(purpose: &str, arguments: &str) -> String {
    format!("{purpose}:\n  {PROGRAM} {arguments}")
}

fn after_regression(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Vec<String> {
    let Some(worst) = by_importance(result).into_iter().find(|row| is_worse(row)) else {
        return vec!["reach the targets, or change them in the policy".to_owned()];
    };
    let case = shell_quote(worst.id.as_str());
    let mut hints = Vec::new();
    if let Some(command) = find_commit(worst, sides, request) {
        hints.push(hint("find the commit", &command));
    }
    match (&sides.baseline, &sides.current) {
        (Some(good), _) if sides.is_dirty => {
            let commit = shell_quote(short(good));
            hints.push(format!(
                "the run had uncommitted changes; see what changed:\n  git diff {commit}"
            ));
        }
        (Some(good), Some(bad)) if good == bad => {
            let commit = short(good);
            hints.push(hint(
                &format!("both sides are the commit {commit}, so check the machine"),
                "doctor",
            ));
        }
        _ => {}
    }
    if let Some(more) = &request.accept {
        let from = request
            .run
            .as_ref()
            .map_or_else(String::new, |run| format!(" --from {}", shell_quote(run)));
        let more = format!("{more}{}", request.threshold_argument());
        let command = format!("baseline accept {case} --because \"REASON\"{from}{more}");
        let slower = result.comparisons.iter().filter(|row| is_worse(row)).count();
        let purpose = match slower {
            1 => "if it is intended, accept it".to_owned(),
            _ => {
                format!("if intended, run this once for each of the {slower} cases; for the worst")
            }
        };
        hints.push(request.hint(&purpose, &command));
    }
    hints
}

/// Returns the subcommand that finds the commit of the regression `worst`; `None` if the sides are
/// one commit, or it cannot be bisected.
fn find_commit(
    worst: &Comparison,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Option<String> {
    let (good, bad) = (sides.baseline.as_ref()?, sides.current.as_ref()?);
    let is_instructions = worst.metric == "instructions";
    // Only times can be bisected, and for other projects also instructions.
    let is_bisectable = worst.confidence_interval.is_some()
        || (is_instructions && !plan::is_built_in(split_id(&worst.id).0));
    if sides.is_dirty || good == bad || !is_bisectable {
        return None;
    }
    // `--decide-by` and `--threshold` exclude each other.
    let by = if is_instructions && request.budget.is_some() {
        " --decide-by instructions".to_owned()
    } else {
        request.threshold_argument()
    };
    let command = bisect(good, bad, worst.id.as_str(), &by, &request.paths);
    Some(format!("{command}{}", request.project))
}

/// Returns what the comment on `result` shows in addition to it.
pub fn comment_context(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> CommentContext {
    let worst = by_importance(result).into_iter().find(|row| is_worse(row));
    let again = request.again.as_ref();
    let paths = request.paths.arguments();
    CommentContext {
        baseline: sides.baseline.clone(),
        current: sides.current.clone().filter(|_| !sides.is_dirty),
        forge: None,
        machine: sides.machine.clone(),
        reproduce: repeat(sides, request)
            .map(|again| format!("{PROGRAM} {again}{paths}{}", request.project)),
        bisect: worst
            .and_then(|worst| find_commit(worst, sides, request))
            .map(|command| format!("{PROGRAM} {command}")),
        fails_fast: again.is_some_and(|again| again.contains(" --fail-fast")),
    }
}

/// Returns the subcommand that repeats the comparison in any clone, in which the base may have
/// another name. `None` if the tree has uncommitted changes, which no other clone has.
fn repeat(sides: &JudgedSides, request: &VerdictRequest) -> Option<String> {
    let again = request.again.clone()?;
    let base = format!("gate --against {}", shell_quote(&request.reference));
    match (again.strip_prefix(&base), &sides.baseline) {
        (Some(_), _) if sides.is_dirty => None,
        (Some(rest), Some(commit)) => {
            Some(format!("gate --against {}{rest}", shell_quote(short(commit))))
        }
        _ => Some(again),
    }
}

fn is_worse(row: &Comparison) -> bool {
    row.verdict == Verdict::Regressed && row.reason_code != ReasonCode::TargetMissed
}

fn after_no_verdict(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Vec<String> {
    if let Some(cure) = &request.more_runs {
        return vec![cure.clone()];
    }
    let Some(row) = most_common(result) else { return Vec::new() };
    let run =
        request.run.as_ref().map_or_else(String::new, |run| format!(" --run {}", shell_quote(run)));
    let save = format!("baseline save{run}");
    match row.reason_code {
        ReasonCode::UnlikeMachine => {
            let mut hints = Vec::new();
            if let (Some((_, factors)), Some(again)) =
                (row.reason.split_once("--across "), &request.again)
            {
                let command = format!("{again} --across {factors}");
                hints.push(request.hint_again("compare anyway", &command));
            }
            hints.push(request.hint("save this run as the baseline of this machine", &save));
            hints
        }
        ReasonCode::NotMeasured => {
            let unmeasured = result
                .comparisons
                .iter()
                .filter(|row| row.reason_code == ReasonCode::NotMeasured)
                .count();
            let all = format_count(result.comparisons.len(), "case", "cases");
            let purpose = format!(
                "the budget was too short for {unmeasured} of {all}; measure longer, or fewer \
                 cases with --benchmark NAME"
            );
            let again = request.again.as_ref();
            again
                .map(|again| request.hint_again(&purpose, &format!("{again} {}", request.longer())))
                .into_iter()
                .collect()
        }
        ReasonCode::Missing if request.budget.is_some() => {
            vec!["restore the missing cases, or accept their removal with --accept FILE".to_owned()]
        }
        ReasonCode::Missing => {
            vec![
                request.hint("measure the missing cases", measure(sides)),
                request.hint("or drop them, if they were removed on purpose", &save),
            ]
        }
        code if code.can_be_remeasured() => {
            let own = after_noise_of_own_benchmark(row, sides, request);
            let mut hints = vec![own.unwrap_or_else(|| after_noise(result, sides, request))];
            hints.extend(count_instructions(row, request));
            hints
        }
        // The reason already includes the fix.
        _ => Vec::new(),
    }
}

/// Returns the subcommand that measures the cases of the baseline again.
fn measure(sides: &JudgedSides) -> &str {
    sides.measure.as_deref().unwrap_or("run")
}

/// Returns the hint for an undecided case of a user-defined benchmark if more replicates of the run
/// do not help: this program does not have the benchmark, or the replicates did not decide.
/// Measuring the program of the baseline next to this one does not help either, because the command
/// is part of neither program.
fn after_noise_of_own_benchmark(
    row: &Comparison,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Option<String> {
    let name = split_id(&row.id).0;
    if name.is_empty() || request.budget.is_some() || plan::is_built_in(name) {
        return None;
    }
    if name.parse::<Format>().is_ok() {
        return Some(format!("measure more replicates of both sides with {name}"));
    }
    if !plan::has_benchmark(name) {
        return Some(format!(
            "this program has no benchmark `{name}`: name its file with --custom, or measure both \
             sides again with the program that measured them"
        ));
    }
    if request.paths.custom.is_none() || !request.is_remeasured {
        return None;
    }
    let revision = match (&sides.baseline, &sides.current) {
        (Some(good), Some(bad)) if good != bad || sides.is_dirty => short(good),
        (None, Some(_)) if sides.is_dirty => "HEAD",
        _ => return None,
    };
    let threshold = request.threshold_argument();
    Some(request.hint(
        "measure both trees in turns; if they must be built, add --build CMD",
        &format!("gate --against {}{threshold}", shell_quote(revision)),
    ))
}

fn after_noise(result: &ComparisonResult, sides: &JudgedSides, request: &VerdictRequest) -> String {
    if let (Some(load), Some(again), Some(_)) = (&sides.load, &request.again, request.budget) {
        let wait = if again.contains(" --wait-for-quiet ") { "" } else { " --wait-for-quiet 10m" };
        return request.hint_again(
            &format!("{load}: measure longer, while other programs are idle"),
            &format!("{again} {}{wait}", request.longer()),
        );
    }
    let load = sides
        .load
        .as_ref()
        .map_or_else(String::new, |load| format!("{load}: stop other work, then "));
    let is_lone = result.notes.iter().any(|note| {
        note.code == ComparisonNoteCode::Evidence && note.text.contains("one process of a side")
    });
    let measure = measure(sides);
    let (purpose, command) = match &request.again {
        Some(again) if !request.is_remeasured => {
            ("measure undecided cases again", format!("{again} --budget 3m"))
        }
        Some(again) if !is_lone || request.budget.is_some() => {
            ("measure longer", format!("{again} {}", request.longer()))
        }
        _ if is_lone => ("measure replicates of both sides", format!("{measure} --replicates 3")),
        _ => ("measure more replicates of both sides", format!("{measure} --replicates 10")),
    };
    request.hint_again(&format!("{load}{purpose}"), &command)
}

/// Returns the hint to count instructions instead of timing, for an undecided case of another
/// project whose benchmarks cargo builds.
fn count_instructions(row: &Comparison, request: &VerdictRequest) -> Option<String> {
    let again = request.again.as_ref().filter(|_| request.budget.is_some())?;
    let is_own = plan::is_built_in(split_id(&row.id).0) || request.paths.custom.is_some();
    let commands = request.project.split(" -- ").next().unwrap_or_default();
    let mut excluding =
        [" --decide-by ", " --metric ", " --threshold ", " --fail-fast", " --wait-for-quiet "]
            .iter();
    if is_own || !commands.is_empty() || excluding.any(|flag| again.contains(flag)) {
        return None;
    }
    Some(request.hint_again(
        "or count instructions, which load does not change (Criterion and Divan, with Valgrind)",
        &format!("{again} --decide-by instructions"),
    ))
}

/// Returns the first undecided row with the most common reason.
fn most_common(result: &ComparisonResult) -> Option<&Comparison> {
    let undecided: Vec<&Comparison> =
        result.comparisons.iter().filter(|row| !row.verdict.is_decided()).collect();
    // `max_by_key` returns the last of equal rows, but the first is needed.
    let most = undecided.iter().rev().max_by_key(|row| {
        undecided.iter().filter(|other| other.reason_code == row.reason_code).count()
    });
    most.copied()
}

/// Returns hints for the first of `alerts` that is new and a change for the worse.
pub fn after_changes(alerts: &[TrackedAlert], paths: &ProjectPaths) -> Vec<String> {
    let is_new =
        |alert: &&TrackedAlert| alert.state == AlertState::New && alert.direction == "worse";
    let Some(alert) = alerts.iter().find(is_new) else { return Vec::new() };
    let mut hints = Vec::new();
    let commits =
        [&alert.range.last_before, &alert.range.first_after].map(|point| point.commit.as_deref());
    if let ([Some(good), Some(bad)], Some(worst)) = (commits, alert.moves.first())
        && good != bad
    {
        hints.push(hint("find the commit", &bisect(good, bad, &worst.id, "", paths)));
    }
    let (id, places) = (shell_quote(&alert.id), paths.arguments());
    let command = format!("trend ack {id} --because \"REASON\"{places}");
    hints.push(hint("acknowledge it, if it is expected", &command));
    hints
}

/// Returns the command that measures the benchmark of the case `id` again; `None` if this program
/// does not have it.
pub fn measure_again(id: &str, paths: &ProjectPaths) -> Option<String> {
    let id = id.parse::<CaseId>().ok()?;
    let name = split_id(&id).0;
    let custom = paths.custom.clone().filter(|_| !plan::is_built_in(name));
    if custom.is_none() && !plan::is_built_in(name) {
        return None;
    }
    let places = ProjectPaths { custom, ..paths.clone() }.arguments();
    Some(format!("{PROGRAM} run {}{places}", shell_quote(name)))
}

/// Returns the subcommand that bisects the case `id`, with further arguments `more`. Includes the
/// file of `--custom` only for a case that is not built in, because `bisect` then measures only the
/// benchmarks in that file.
fn bisect(good: &str, bad: &str, id: &str, more: &str, paths: &ProjectPaths) -> String {
    let parsed = id.parse::<CaseId>().ok();
    let is_built_in = parsed.is_some_and(|id| plan::is_built_in(split_id(&id).0));
    let custom = paths.custom.clone().filter(|_| !is_built_in);
    let places = ProjectPaths { custom, ..paths.clone() }.arguments();
    let [good, bad] = [good, bad].map(|commit| shell_quote(short(commit)));
    format!("bisect {good} {bad} --case {}{more}{places}", shell_quote(id))
}

/// Shortens a full hash; the name of a revision is returned as is.
fn short(revision: &str) -> &str {
    let is_hash = revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    revision.get(..ABBREVIATED).filter(|_| is_hash).unwrap_or(revision)
}

#[cfg(test)]
mod tests {
    use rsb_model::Better;
    use rsb_model::record::{ComparisonNote, ComparisonSummary};

    use super::*;

    fn row(verdict: Verdict, code: ReasonCode, reason: &str) -> Comparison {
        Comparison {
            baseline_value: Some(1.0),
            current_value: Some(1.2),
            difference_percent: Some(20.0),
            confidence_interval: Some([18.0, 22.0]),
            verdict,
            reason: reason.into(),
            reason_code: code,
            threshold_percent: 10.0,
            ..Comparison::new(
                "cpu_performance/gemm/cpu:0/f32/64x64x64".parse().unwrap(),
                "time_ms",
                "ms",
                Better::Lower,
            )
        }
    }

    fn result(rows: &[Comparison]) -> ComparisonResult {
        ComparisonResult {
            format_version: 3,
            comparison_id: "c".into(),
            baseline_run_id: "b".into(),
            current_run_id: "r".into(),
            timestamp: rsb_model::Timestamp::UNIX_EPOCH,
            verdict: rows[0].verdict,
            threshold_percent: 10.0,
            comparisons: rows.to_vec(),
            missing: Vec::new(),
            new: Vec::new(),
            threshold_checks: Vec::new(),
            notes: Vec::new(),
            summary: ComparisonSummary::default(),
        }
    }

    fn of_commits(baseline: char, current: char) -> JudgedSides {
        JudgedSides {
            baseline: Some(baseline.to_string().repeat(40)),
            current: Some(current.to_string().repeat(40)),
            ..JudgedSides::default()
        }
    }

    #[test]
    fn a_comment_reproduces_and_bisects() {
        let slower = result(&[row(Verdict::Regressed, ReasonCode::AboveThreshold, "")]);
        let request = VerdictRequest {
            again: Some("gate --against main --fail-fast".into()),
            reference: "main".into(),
            project: " -- --features x".into(),
            ..VerdictRequest::default()
        };
        let context = comment_context(&slower, &of_commits('a', 'b'), &request);
        assert_eq!(
            context.reproduce.as_deref(),
            Some("rusty-stack-bench gate --against aaaaaaaaaaaa --fail-fast -- --features x")
        );
        assert_eq!(
            context.bisect.as_deref(),
            Some(
                "rusty-stack-bench bisect aaaaaaaaaaaa bbbbbbbbbbbb --case \
                 cpu_performance/gemm/cpu:0/f32/64x64x64 -- --features x"
            )
        );
        assert!(context.fails_fast);
        let same = comment_context(&slower, &of_commits('a', 'a'), &request);
        assert_eq!(same.bisect, None);
        let dirty = JudgedSides { is_dirty: true, ..of_commits('a', 'b') };
        assert_eq!(comment_context(&slower, &dirty, &request).reproduce, None);
    }

    #[test]
    fn a_regression_ends_with_bisect_and_accept() {
        let slower = result(&[row(Verdict::Regressed, ReasonCode::AboveThreshold, "")]);
        let request = VerdictRequest {
            run: Some("x".into()),
            accept: Some(" --baseline b".into()),
            ..VerdictRequest::default()
        };
        assert_eq!(
            hints(&slower, &of_commits('a', 'b'), &request),
            [
                "find the commit:\n  rusty-stack-bench bisect aaaaaaaaaaaa bbbbbbbbbbbb --case \
                 cpu_performance/gemm/cpu:0/f32/64x64x64",
                "if it is intended, accept it:\n  rusty-stack-bench baseline accept \
                 cpu_performance/gemm/cpu:0/f32/64x64x64 --because \"REASON\" --from x --baseline \
                 b",
            ]
        );
        let counted = Comparison {
            metric: "instructions".into(),
            confidence_interval: None,
            ..row(Verdict::Regressed, ReasonCode::AboveThreshold, "")
        };
        assert_eq!(
            first_hint(&result(&[counted]), &of_commits('a', 'b')),
            None,
            "`bisect` counts no instructions of built-in benchmarks"
        );
        assert!(
            first_hint(&slower, &of_commits('a', 'a'))
                .is_some_and(|hint| hint.ends_with("\n  rusty-stack-bench doctor"))
        );
        let dirty = JudgedSides { is_dirty: true, ..of_commits('a', 'b') };
        assert!(
            first_hint(&slower, &dirty)
                .is_some_and(|hint| hint.ends_with("\n  git diff aaaaaaaaaaaa"))
        );
        assert_eq!(
            first_hint(&slower, &JudgedSides::default()),
            None,
            "there must be no hint if nothing is known about the sides"
        );
    }

    fn first_hint(result: &ComparisonResult, sides: &JudgedSides) -> Option<String> {
        hints(result, sides, &VerdictRequest::default()).into_iter().next()
    }

    #[test]
    fn no_verdict_ends_with_the_flag_that_helps() {
        use ReasonCode::{CaseFailed, Missing, NotMeasured, TooNoisy, UnlikeMachine};
        struct Row {
            code: ReasonCode,
            reason: &'static str,
            is_remeasured: bool,
            expected: &'static [&'static str],
        }
        let undecided = |code, expected| Row { code, reason: "", is_remeasured: false, expected };
        for Row { code, reason, is_remeasured, expected } in [
            Row {
                reason: "another machine: rocm (5.2 before, none now) differs; save one, or \
                         compare --across rocm",
                ..undecided(
                    UnlikeMachine,
                    &[
                        "compare anyway:\n  rusty-stack-bench gate --across rocm",
                        "save this run as the baseline of this machine:\n  rusty-stack-bench \
                         baseline save --run x",
                    ],
                )
            },
            undecided(
                UnlikeMachine,
                &["save this run as the baseline of this machine:\n  rusty-stack-bench baseline \
                     save --run x"],
            ),
            undecided(
                NotMeasured,
                &["the budget was too short for 1 of 1 case; measure longer, or fewer cases with \
                     --benchmark NAME:\n  \
                   rusty-stack-bench gate --budget 10m"],
            ),
            undecided(
                Missing,
                &[
                    "measure the missing cases:\n  rusty-stack-bench run",
                    "or drop them, if they were removed on purpose:\n  rusty-stack-bench baseline \
                     save --run x",
                ],
            ),
            undecided(
                TooNoisy,
                &["load 7.0 on 2 CPUs: stop other work, then measure undecided cases again:\n  \
                   rusty-stack-bench gate --budget 3m"],
            ),
            Row {
                is_remeasured: true,
                ..undecided(
                    TooNoisy,
                    &["load 7.0 on 2 CPUs: stop other work, then measure longer:\n  \
                         rusty-stack-bench gate --budget 10m"],
                )
            },
            undecided(CaseFailed, &[]),
        ] {
            let run = Some("x".to_owned());
            let request = VerdictRequest {
                again: Some("gate".into()),
                is_remeasured,
                run,
                ..VerdictRequest::default()
            };
            let sides =
                JudgedSides { load: Some("load 7.0 on 2 CPUs".into()), ..JudgedSides::default() };
            let found =
                hints(&result(&[row(Verdict::Inconclusive, code, reason)]), &sides, &request);
            assert_eq!(found, expected, "{code:?}");
        }
        let busy =
            JudgedSides { load: Some("load 7.0 on 2 CPUs".into()), ..JudgedSides::default() };
        let against = VerdictRequest {
            again: Some("gate --against main".into()),
            is_remeasured: true,
            budget: Some(Duration::from_mins(8)),
            ..VerdictRequest::default()
        };
        let noisy = result(&[row(Verdict::Inconclusive, TooNoisy, "")]);
        assert_eq!(
            hints(&noisy, &busy, &against),
            ["load 7.0 on 2 CPUs: measure longer, while other programs are idle:\n  \
              rusty-stack-bench gate --against main --budget 16m --wait-for-quiet 10m"]
        );
        let mut lone = noisy;
        let text = "12 of 12 comparisons rest on one process of a side";
        lone.notes.push(ComparisonNote::new(ComparisonNoteCode::Evidence, text));
        let found = hints(&lone, &JudgedSides::default(), &VerdictRequest::default());
        assert_eq!(
            found,
            ["measure replicates of both sides:\n  rusty-stack-bench run --replicates 3"]
        );
    }

    #[test]
    fn noise_in_another_project_ends_with_instructions() {
        let mut noisy = row(Verdict::Inconclusive, ReasonCode::TooNoisy, "");
        noisy.id = "parse/a.json".parse().unwrap();
        let noisy = result(&[noisy]);
        for (again, project, expected) in [
            ("gate --against main", " -- -p one", true),
            ("gate --against main", " --bench 'sh run' --bench-format vllm", false),
            ("gate --against main --threshold 5", "", false),
        ] {
            let request = VerdictRequest {
                again: Some(again.to_owned()),
                is_remeasured: true,
                budget: Some(Duration::from_mins(3)),
                project: project.to_owned(),
                ..VerdictRequest::default()
            };
            let hints = hints(&noisy, &JudgedSides::default(), &request);
            let command = "gate --against main --decide-by instructions -- -p one";
            assert_eq!(hints.len(), 1 + usize::from(expected), "{hints:?}");
            assert_eq!(hints.iter().any(|hint| hint.ends_with(command)), expected, "{hints:?}");
        }
    }

    #[test]
    fn a_change_of_level_ends_with_bisect_and_ack() {
        let alert: TrackedAlert = serde_json::from_value(serde_json::json!({
            "id": "a-1f2e3d4c",
            "state": "new",
            "machine": "m",
            "direction": "worse",
            "severity": "warning",
            "range": { "last_before": point("a"), "first_after": point("b") },
            "moves": [{ "id": "x", "metric": "time_ms", "change_percent": 12.0, "confirmed": true }],
            "first_seen": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let better = TrackedAlert { direction: "better".to_owned(), ..alert.clone() };
        let paths = ProjectPaths { results_dir: Some("r".into()), ..ProjectPaths::default() };
        assert_eq!(
            after_changes(&[better.clone(), alert], &paths),
            [
                "find the commit:\n  rusty-stack-bench bisect aaaaaaaaaaaa bbbbbbbbbbbb --case x \
                 --results-dir r",
                "acknowledge it, if it is expected:\n  rusty-stack-bench trend ack a-1f2e3d4c \
                 --because \"REASON\" --results-dir r",
            ]
        );
        assert!(after_changes(&[better], &paths).is_empty());
    }

    #[test]
    fn a_benchmark_is_measured_again_only_if_this_program_has_it() {
        let paths = ProjectPaths { custom: Some("mine.toml".into()), ..ProjectPaths::default() };
        let of = |name: &str, paths: &ProjectPaths| {
            measure_again(&format!("cpu_performance/{name}/cpu:0/n=1"), paths)
        };
        assert_eq!(of("gemm", &paths).as_deref(), Some("rusty-stack-bench run gemm"));
        let mine = "rusty-stack-bench run mine --custom mine.toml";
        assert_eq!(of("mine", &paths).as_deref(), Some(mine));
        assert_eq!(of("mine", &ProjectPaths::default()), None);
    }

    fn point(commit: &str) -> serde_json::Value {
        serde_json::json!({ "timestamp": "2026-01-01T00:00:00Z", "run_id": null, "commit": commit.repeat(40) })
    }

    #[test]
    fn named_places_are_named_again() {
        let paths =
            ProjectPaths { baselines_dir: Some("my baselines".into()), ..ProjectPaths::default() };
        let request = VerdictRequest { paths, ..VerdictRequest::default() };
        let missing = result(&[row(Verdict::Inconclusive, ReasonCode::Missing, "")]);
        let sides = JudgedSides { measure: Some("run gemm".into()), ..JudgedSides::default() };
        let found = hints(&missing, &sides, &request);
        assert!(
            found[0].ends_with("\n  rusty-stack-bench run gemm --baselines-dir 'my baselines'"),
            "{found:?}"
        );
    }

    #[test]
    fn a_case_is_bisected_and_accepted_as_it_was_judged() {
        let slower = result(&[row(Verdict::Regressed, ReasonCode::AboveThreshold, "")]);
        let request = VerdictRequest {
            accept: Some(String::new()),
            threshold: Some(2.5),
            paths: ProjectPaths { custom: Some("mine.toml".into()), ..ProjectPaths::default() },
            project: " -- -p one".into(),
            ..VerdictRequest::default()
        };
        assert_eq!(
            hints(&slower, &of_commits('a', 'b'), &request),
            [
                "find the commit:\n  rusty-stack-bench bisect aaaaaaaaaaaa bbbbbbbbbbbb --case \
                 cpu_performance/gemm/cpu:0/f32/64x64x64 --threshold 2.5 -- -p one",
                "if it is intended, accept it:\n  rusty-stack-bench baseline accept \
                 cpu_performance/gemm/cpu:0/f32/64x64x64 --because \"REASON\" --threshold 2.5 \
                 --custom mine.toml",
            ],
            "a built-in case is not in the file of --custom"
        );
        assert_eq!(
            bisect("good", "bad", "cpu_performance/mine/cpu:0/n=1", "", &request.paths),
            "bisect good bad --case cpu_performance/mine/cpu:0/n=1 --custom mine.toml"
        );
    }

    #[test]
    fn a_benchmark_that_cannot_be_remeasured_has_no_hint_to_remeasure_it() {
        let mut noisy = row(Verdict::Inconclusive, ReasonCode::TooNoisy, "");
        noisy.id = "cpu_performance/no-such-benchmark/cpu:0/n=1".parse().unwrap();
        let request = VerdictRequest {
            again: Some("gate".into()),
            is_remeasured: true,
            ..VerdictRequest::default()
        };
        let found = hints(&result(&[noisy]), &JudgedSides::default(), &request);
        assert!(
            found.len() == 1 && found[0].starts_with("this program has no benchmark"),
            "{found:?}"
        );
    }
}
