//! One sentence for each verdict, such as `22.1 % slower than the 15 runs before (95 % interval 18
//! to 26 %), above the threshold of 10 %`. For an undecided case, the sentence requests a repeat.

use rsb_model::ReasonCode;

use super::{LEVEL, Question};
use crate::conclusion::{CaseConclusion, Evidence};
use crate::wording::{describe_change, percent, worse_and_better};

/// Context of a sentence, in addition to the conclusion.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentenceContext {
    /// Number of questions judged together.
    pub(super) questions: usize,
    /// Number of these questions that are times of cases.
    pub(super) cases: usize,
    /// Error rate of the intervals.
    pub(super) alpha: f64,
}

const REPEAT: &str = "repeat the run at this commit, and judge again";

/// Returns the sentence for the conclusion on a metric in `unit`.
pub(super) fn sentence(
    unit: &str,
    question: &Question,
    found: &CaseConclusion,
    context: SentenceContext,
) -> String {
    let Some(interval) = found.interval else { return too_few(question) };
    if let Evidence::Split { slow, runs } = found.evidence {
        let slower = worse_and_better(unit, question.better).0;
        let are = if slow == 1 { "is" } else { "are" };
        return format!(
            "{slow} of {runs} runs {are} clearly {slower} and the others are not: {REPEAT}"
        );
    }
    let threshold = percent(question.threshold);
    let text = with_interval(unit, question, found, interval, context);
    match found.reason {
        ReasonCode::AboveThreshold => {
            let beyond = found.beyond_others.map(|beyond| {
                let worse = worse_and_better(unit, question.better).0;
                format!(
                    " and {} % {worse} beyond what the other cases changed, both",
                    percent(beyond)
                )
            });
            format!("{text}{}, above the threshold of {threshold} %", beyond.unwrap_or_default())
        }
        ReasonCode::BetterThanThreshold => format!("{text}, beyond the threshold of {threshold} %"),
        ReasonCode::BelowThreshold => format!("{text}, within {threshold} %"),
        ReasonCode::TooNoisy => format!("{text}, {}", doubt(question, found, interval, context)),
        ReasonCode::WithinNoise => format!("{text}, within the noise{}", unseen(question, found)),
        ReasonCode::MachineMoved => text, // The control set says the rest.
        other => format!("{text}, {}", other.cause()),
    }
}

/// Returns the sentence for the common change of `context.cases` cases.
pub(super) fn of_common(
    question: &Question,
    found: &CaseConclusion,
    context: SentenceContext,
) -> String {
    let text = sentence("ms", question, found, context);
    format!("median of all {} cases: {text}", context.cases)
}

/// Returns a warning about the largest change that a pass does not exclude, if it is larger than a
/// reader would expect.
fn unseen(question: &Question, found: &CaseConclusion) -> String {
    let detectable = found.detectable.filter(|change| *change >= 1.5 * question.threshold);
    detectable.map_or_else(String::new, |change| {
        format!("; a change below {} % may go undetected", percent(change))
    })
}

fn too_few(question: &Question) -> String {
    let known = question.before.iter().filter(|value| value.is_finite() && **value > 0.0).count();
    if known < LEVEL {
        let runs = if known == 1 { "run" } else { "runs" };
        return format!(
            "only {known} earlier {runs} of this machine and suite have it, and a verdict needs \
             {LEVEL}: \
             store more runs, or compare with a saved baseline"
        );
    }
    "its level was accepted, and no earlier run has that level yet: run it again".to_owned()
}

fn doubt(
    question: &Question,
    found: &CaseConclusion,
    [low, _]: [f64; 2],
    context: SentenceContext,
) -> String {
    let threshold = percent(question.threshold);
    let is_below = |change: f64| change < question.threshold;
    match found.beyond_others {
        Some(beyond) if is_below(found.change) && !is_below(beyond) => {
            let beyond = percent(beyond);
            format!(
                "and {beyond} % beyond what the other cases changed, which a faster machine may \
                 hide: {REPEAT}"
            )
        }
        _ if is_below(found.change) => {
            format!("too noisy to exclude a change above the threshold of {threshold} %: {REPEAT}")
        }
        Some(beyond) if is_below(beyond) => {
            format!(
                "but not beyond what the other cases changed, as if the machine is slow: {REPEAT}"
            )
        }
        None if low > question.threshold / 2.0 => {
            format!("clear on its own but not among {} comparisons: {REPEAT}", context.questions)
        }
        _ => format!("but earlier runs varied as much: {REPEAT}"),
    }
}

/// Returns a text such as `22.1 % slower than the 15 runs before (95 % interval 18 to 26 %)`.
fn with_interval(
    unit: &str,
    question: &Question,
    found: &CaseConclusion,
    [low, high]: [f64; 2],
    context: SentenceContext,
) -> String {
    let (from, to) = if found.change < 0.0 { (-high, -low) } else { (low, high) };
    let who = match found.evidence {
        Evidence::Sides | Evidence::Runs(0 | 1) | Evidence::Split { .. } => String::new(),
        Evidence::Runs(runs) => format!("{runs} runs together "),
        Evidence::Repeats(1) => "the repeat ".to_owned(),
        Evidence::Repeats(repeats) => format!("{repeats} repeats together "),
    };
    let change = describe_change(found.change, unit, question.better);
    let than = if change == "no change" { "from" } else { "than" };
    format!(
        "{who}{change} {than} the {LEVEL} runs before ({} % interval {} to {} %)",
        percent(1.0 - context.alpha),
        percent(from),
        percent(to),
    )
}
