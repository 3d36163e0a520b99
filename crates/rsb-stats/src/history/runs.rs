//! Comparison of a run with stored runs: the gate judges everything except speed, and the history
//! judges speed.

use std::collections::HashMap;

use rsb_model::record::{Comparison, ComparisonNoteCode, ComparisonResult, TIME, comparison_id};
use rsb_model::{
    BenchmarkResult, CaseId, DeviceType, Outcome, ReasonCode, Run, RunId, Timestamp, Unit,
};

use super::machine::{CaseQuestion, judge_with_controls, role};
use super::sentence::{SentenceContext, of_common, sentence};
use super::{LEVEL, Question, QuestionRole};
use crate::gate::control::ControlAnswer;
use crate::gate::{gate, with_one_sided};
use crate::policy::Policy;

/// The runs that a run is judged against.
#[derive(Debug, Clone, Copy)]
pub struct StoredRuns<'a> {
    /// Runs of the same machine and suite, oldest first, without the judged ones.
    pub runs: &'a [Run],
    /// Levels that a user accepted.
    pub accepted: &'a [AcceptedLevel],
}

/// Start of a level of a case that a user accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedLevel {
    /// The case.
    pub id: String,
    /// The metric; `None` for all metrics of the case.
    pub metric: Option<String>,
    /// Start time of the first run at that level.
    pub since: Timestamp,
}

/// Id and metric of the row for the common change of the cases.
pub const COMMON: (&str, &str) = ("all-cases", "relative_time");

/// Judges `current`, one run or repeats of it, against `stored`.
///
/// Metrics that vary from run to run are judged by [`super::judge`], and so is the common change of
/// the cases, in a separate row named `COMMON`. Everything else (missing, failed or unreadable
/// cases, memory and errors, absolute targets) is judged as by [`gate`] against the last [`LEVEL`]
/// runs. The control set is applied in the same way.
pub fn gate_history(
    stored: &StoredRuns<'_>,
    current: &[Run],
    policy: &Policy,
    across: &[String],
    now: Timestamp,
) -> ComparisonResult {
    let recent = stored.runs.get(stored.runs.len().saturating_sub(LEVEL)..).unwrap_or_default();
    let mut result = gate(recent, current, policy, across, now);
    let (before, after) = (Figures::of(stored.runs), Figures::of(current));
    let mut rows: Vec<&mut Comparison> =
        result.comparisons.iter_mut().filter(|row| varies(row)).collect();
    let ids: Vec<CaseId> = rows.iter().map(|row| row.id.clone()).collect();
    let questions = rows.iter().zip(&ids).map(|(row, id)| {
        let role = role(id, row.metric == TIME, policy);
        CaseQuestion { id, question: question(row, role, &before, &after, stored) }
    });
    let questions: Vec<CaseQuestion<'_>> = questions.collect();
    let answers = judge_with_controls(&questions, policy);
    let context = SentenceContext {
        questions: questions.len(),
        cases: questions.iter().filter(|one| one.question.role == QuestionRole::Case).count(),
        alpha: policy.alpha(),
    };
    for ((row, one), answer) in rows.iter_mut().zip(&questions).zip(&answers.each) {
        let reason = sentence(&row.unit, &one.question, &answer.finding, context);
        rewrite(row, answer, reason);
    }
    let common = answers.common.filter(|_| !policy.ignores_case(COMMON.0));
    result
        .comparisons
        .extend(common.map(|(question, answer)| common_row(&question, &answer, context)));
    // The note on single processes does not apply: a history has one value per run, from any number
    // of processes.
    result.notes.retain(|note| note.code != ComparisonNoteCode::Evidence);
    result.baseline_run_id = range(stored.runs);
    result.comparison_id =
        comparison_id(&result.baseline_run_id, &RunId(result.current_run_id.clone()), now);
    // No case is one-sided: this only updates the summary.
    with_one_sided(result, &[], &[], policy)
}

/// Returns whether the gate judged the row by its spread. Metrics compared by value and rows that
/// could not be compared have no interval.
fn varies(row: &Comparison) -> bool {
    row.confidence_interval.is_some() || row.reason_code == ReasonCode::TooFewSamples
}

fn question(
    row: &Comparison,
    role: QuestionRole,
    before: &Figures<'_>,
    after: &Figures<'_>,
    stored: &StoredRuns<'_>,
) -> Question {
    let concerning = stored.accepted.iter().filter(|level| {
        level.id == row.id.as_str()
            && level.metric.as_ref().is_none_or(|metric| *metric == row.metric)
    });
    let since = concerning.map(|level| level.since).max();
    Question {
        before: before.of_metric(&row.id, &row.metric),
        accepted_from: since
            .map(|since| stored.runs.iter().filter(|run| run.started < since).count()),
        now: after.of_metric(&row.id, &row.metric),
        better: row.better,
        threshold: row.threshold_percent / 100.0,
        slack: 0.0,
        role,
    }
}

/// Measured results of several runs by case, each with the position of its run.
struct Figures<'a> {
    runs: usize,
    cases: HashMap<&'a CaseId, Vec<(usize, &'a BenchmarkResult)>>,
}

impl<'a> Figures<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let mut cases: HashMap<&CaseId, Vec<(usize, &BenchmarkResult)>> = HashMap::new();
        for (at, run) in runs.iter().enumerate() {
            for result in run.benchmarks.iter().filter(|result| is_measured(result)) {
                cases.entry(&result.benchmark_id).or_default().push((at, result));
            }
        }
        Self { runs: runs.len(), cases }
    }

    /// Returns the value of each run in order, NaN if it has none.
    fn of_metric(&self, id: &CaseId, metric: &str) -> Vec<f64> {
        let mut figures = vec![f64::NAN; self.runs];
        for (at, result) in self.cases.get(id).into_iter().flatten() {
            if let (Some(slot), Some(value)) = (figures.get_mut(*at), result.figure(metric)) {
                *slot = value;
            }
        }
        figures
    }
}

/// Returns whether a result was measured on a real device. A result of a fake GPU is simulated,
/// regardless of its recorded outcome.
fn is_measured(result: &BenchmarkResult) -> bool {
    result.outcome == Outcome::Measured && result.device_type != Some(DeviceType::Simulated)
}

fn rewrite(row: &mut Comparison, answer: &ControlAnswer, reason: String) {
    answer.finding.write_to(row);
    row.reason = match &answer.remark {
        Some(remark) => format!("{reason}, {remark}"),
        None => reason,
    };
}

/// Returns the row for the common change of the cases. Its values are times relative to those at
/// the levels of the cases.
fn common_row(question: &Question, answer: &ControlAnswer, context: SentenceContext) -> Comparison {
    let (id, metric) = COMMON;
    let mut row = Comparison {
        verdict: answer.finding.verdict,
        reason_code: answer.finding.reason,
        threshold_percent: 100.0 * question.threshold,
        ..Comparison::new(CaseId::from_segments(&[id]), metric, Unit::One.symbol(), question.better)
    };
    rewrite(&mut row, answer, of_common(question, &answer.finding, context));
    row
}

/// Returns `oldest..newest`, in the notation of a git range.
fn range(runs: &[Run]) -> String {
    match (runs.first(), runs.last()) {
        (Some(first), Some(last)) if runs.len() > 1 => format!("{}..{}", first.run_id, last.run_id),
        (Some(only), _) => only.run_id.to_string(),
        _ => "none".to_owned(),
    }
}
