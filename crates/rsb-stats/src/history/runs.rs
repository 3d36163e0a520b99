//! From stored runs to a comparison: what the gate says of everything but speed, and the history's verdict on speed.

use std::collections::HashMap;

use rsb_model::record::{Comparison, ComparisonNoteCode, ComparisonResult, comparison_id};
use rsb_model::{BenchmarkResult, Better, CaseId, DeviceType, Outcome, ReasonCode, Run, RunId, Timestamp, Verdict};

use super::sentence::{SentenceContext, sentence};
use super::{HistoryConclusion, LEVEL, Question, Rule, judge};
use crate::estimate::{location, median};
use crate::gate::summary::band;
use crate::gate::{gate, with_one_sided};
use crate::policy::Policy;

/// The metric that samples give.
const TIME: &str = "time_ms";

/// The runs that a run is judged against.
#[derive(Debug, Clone, Copy)]
pub struct StoredRuns<'a> {
    /// Of the same machine and suite, oldest first; none of them is judged.
    pub runs: &'a [Run],
    /// Levels that a person has accepted.
    pub accepted: &'a [AcceptedLevel],
}

/// Since when a case has a level that a person has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedLevel {
    /// The case.
    pub id: String,
    /// The metric; `None` for every one.
    pub metric: Option<String>,
    /// When the first run of that level began.
    pub since: Timestamp,
}

/// Judges `current`, one run or repeats of it, against `stored`.
///
/// Metrics that vary from run to run are judged by [`judge`]; whatever else the gate looks at (what is missing, failed
/// or unreadable, memory and errors, absolute targets) is as in [`gate`] against the last [`LEVEL`] runs. A case that
/// became slower together with the control set stays undecided, as it does there.
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
    let mut rows: Vec<&mut Comparison> = result.comparisons.iter_mut().filter(|row| varies(row)).collect();
    let questions: Vec<Question> = rows.iter().map(|row| question(row, &before, &after, stored.accepted)).collect();
    let found = judge(&questions, &Rule::default(), policy.alpha());
    let context = SentenceContext { questions: questions.len(), alpha: policy.alpha() };
    for ((row, question), found) in rows.iter_mut().zip(&questions).zip(&found) {
        // What the control set explains stays as the gate said it.
        if row.reason_code != ReasonCode::MachineMoved || found.verdict != Verdict::Regressed {
            rewrite(row, question, found, context);
        }
    }
    // One figure a run is what a history is made of, however many processes gave it.
    result.notes.retain(|note| note.code != ComparisonNoteCode::Evidence);
    result.baseline_run_id = range(stored.runs);
    result.comparison_id = comparison_id(&result.baseline_run_id, &RunId(result.current_run_id.clone()), now);
    // Nothing is one-sided: this counts again.
    with_one_sided(result, &[], &[], policy)
}

/// Whether the gate judged the row by its spread. Metrics compared by value have no interval, and neither has what
/// could not be compared.
fn varies(row: &Comparison) -> bool {
    row.confidence_interval.is_some() || row.reason_code == ReasonCode::TooFewSamples
}

fn question(row: &Comparison, before: &Figures<'_>, after: &Figures<'_>, accepted: &[AcceptedLevel]) -> Question {
    let known = before.of_metric(&row.id, &row.metric);
    let concerns = |level: &&AcceptedLevel| {
        level.id == row.id.as_str() && level.metric.as_ref().is_none_or(|metric| *metric == row.metric)
    };
    let since = accepted.iter().filter(concerns).map(|level| level.since).max();
    Question {
        accepted_from: since.map(|since| known.iter().filter(|(began, _)| *began < since).count()),
        before: values(known),
        now: values(after.of_metric(&row.id, &row.metric)),
        better: row.better,
        threshold: row.threshold_percent / 100.0,
    }
}

fn values(figures: Vec<(Timestamp, f64)>) -> Vec<f64> {
    figures.into_iter().map(|(_, value)| value).collect()
}

/// The measured results of several runs, by case.
struct Figures<'a>(HashMap<&'a CaseId, Vec<(Timestamp, &'a BenchmarkResult)>>);

impl<'a> Figures<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let mut cases: HashMap<&CaseId, Vec<(Timestamp, &BenchmarkResult)>> = HashMap::new();
        for run in runs {
            for result in run.benchmarks.iter().filter(|result| is_measured(result)) {
                cases.entry(&result.benchmark_id).or_default().push((run.started, result));
            }
        }
        Self(cases)
    }

    /// The figure of each run that has one, in the order of the runs.
    fn of_metric(&self, id: &CaseId, metric: &str) -> Vec<(Timestamp, f64)> {
        let results = self.0.get(id).map(Vec::as_slice).unwrap_or_default();
        let figure = |(began, result): &(Timestamp, &BenchmarkResult)| Some((*began, figure(result, metric)?));
        results.iter().filter_map(figure).filter(|(_, value)| value.is_finite() && *value > 0.0).collect()
    }
}

/// What ran on a fake GPU is simulated, whatever it claims.
fn is_measured(result: &BenchmarkResult) -> bool {
    result.outcome == Outcome::Measured && result.device_type != Some(DeviceType::Simulated)
}

/// One figure for a run: the median over its processes where samples were kept, else what the record says.
fn figure(result: &BenchmarkResult, metric: &str) -> Option<f64> {
    if metric == TIME && !result.samples.is_empty() {
        let times: Option<Vec<f64>> = result.samples.iter().map(|samples| location(samples).ok()).collect();
        return median(&times?).map(|nanoseconds| nanoseconds / 1e6);
    }
    result.fields()?.number(metric)
}

fn rewrite(row: &mut Comparison, question: &Question, found: &HistoryConclusion, context: SentenceContext) {
    let sign = match question.better {
        Better::Lower => 100.0,
        Better::Higher => -100.0,
    };
    let figure = |value: f64| Some(value).filter(|value| value.is_finite());
    row.baseline_value = figure(found.before);
    row.current_value = figure(found.now);
    row.difference_percent = figure(sign * found.change);
    row.confidence_interval = found.interval.map(|[low, high]| match question.better {
        Better::Lower => [sign * low, sign * high],
        Better::Higher => [sign * high, sign * low],
    });
    row.change_status = found.verdict.is_decided().then(|| band(found.change));
    row.reason = sentence(&row.unit, question, found, context);
    row.verdict = found.verdict;
    row.reason_code = found.reason;
}

/// `oldest..newest`, as git names a range.
fn range(runs: &[Run]) -> String {
    match (runs.first(), runs.last()) {
        (Some(first), Some(last)) if runs.len() > 1 => format!("{}..{}", first.run_id, last.run_id),
        (Some(only), _) => only.run_id.to_string(),
        _ => "none".to_owned(),
    }
}
