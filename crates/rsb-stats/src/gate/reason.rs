//! One sentence for each verdict, such as
//! `12.3 % slower (95 % interval 10.1 to 14.6 %), above the threshold of 10 %`.

use std::fmt::Write as _;

use rsb_model::unit::figure;
use rsb_model::{Better, Field, ReasonCode, Unit};

use super::Why;
use super::exact::ValuesConclusion;
use crate::compare::{Pair, PairConclusion, Side};

/// What a sentence needs beside the finding.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReasonContext {
    /// How many questions are asked together.
    pub(super) pairs: usize,
    /// Error rate of the intervals.
    pub(super) alpha: f64,
    /// Unit of the metric.
    pub(super) unit: Unit,
}

/// The sentence for a finding.
pub(super) fn of_finding(pair: &Pair, finding: &PairConclusion, context: ReasonContext) -> String {
    let threshold = percent(pair.threshold);
    let Some(interval) = finding.interval else {
        return format!(
            "{}, but with one value a side and few cases ({}) the spread between runs is unknown: \
             give several replicates, or at least {} cases",
            told(finding.change, None, pair.better, context),
            context.pairs,
            crate::spread::MIN_CASES,
        );
    };
    let change = told(finding.change, Some(interval), pair.better, context);
    match finding.reason {
        ReasonCode::AboveThreshold => format!("{change}, above the threshold of {threshold} %{}", caution(pair)),
        ReasonCode::BetterThanThreshold => format!("{change}, beyond the threshold of {threshold} %{}", caution(pair)),
        ReasonCode::BelowThreshold => {
            format!("{change}, a clear change below the threshold of {threshold} %{}", caution(pair))
        }
        ReasonCode::TooNoisy => format!("{change}, {}", doubt(pair, finding, context)),
        ReasonCode::MedianWorse => {
            format!("{change} by the fastest samples, {}", majority(pair, finding, context))
        }
        ReasonCode::BaselineAsSlow => format!("{change}, {}", luck(finding)),
        ReasonCode::MachineMoved => change, // The control set says the rest.
        _ => format!("{change}, within the noise{}", caution(pair)),
    }
}

/// What one process cannot tell: whether the code changed, or lay less well in memory than it usually does.
fn caution(pair: &Pair) -> &'static str {
    match [&pair.baseline, &pair.current].map(Side::is_lone) {
        [true, true] => "; it rests on one process a side, so repeat it with replicates",
        [true, false] => "; its baseline is of one process, so save one with replicates",
        [false, true] => "; it rests on one process of the run, so repeat it with replicates",
        [false, false] => "",
    }
}

/// What the median says, and the cure.
fn majority(pair: &Pair, finding: &PairConclusion, context: ReasonContext) -> String {
    let median = told(finding.median_change.unwrap_or_default(), None, pair.better, context);
    format!(
        "but {median} by the median, and by more than the baseline varies: most of the run was slow; measure it again, \
         or both sides at once with `gate --against`"
    )
}

/// What the baseline has shown by itself, and the cure.
fn luck(finding: &PairConclusion) -> String {
    let (slow, processes) = finding.precedent.map_or((0, 0), |known| (known.slow, known.processes));
    format!(
        "but {slow} of {processes} earlier processes of it were as slow: it may be luck; measure it again, or both sides at \
         once with `gate --against`"
    )
}

/// What keeps a noisy case from a verdict, and the cure.
fn doubt(pair: &Pair, finding: &PairConclusion, context: ReasonContext) -> String {
    let threshold = percent(pair.threshold);
    match finding.corrected_low {
        Some(low) => format!(
            "but its low end, corrected for {} comparisons, is {} %, not above half of the \
             threshold of {threshold} %: more replicates would decide",
            context.pairs,
            percent(low),
        ),
        None => format!(
            "which does not exclude a change above the threshold of {threshold} %: more replicates would decide"
        ),
    }
}

/// `12.3 % slower (95 % interval 10.1 to 14.6 %)`, from a change in the bad direction.
fn told(change: f64, interval: Option<[f64; 2]>, better: Better, context: ReasonContext) -> String {
    let (worse, improved) = words(context.unit, better);
    let (sign, word) = if change < 0.0 { (-1.0, improved) } else { (1.0, worse) };
    let mut text = format!("{} % {word}", percent(sign * change));
    if let Some([low, high]) = interval {
        let (from, to) = if change < 0.0 { (-high, -low) } else { (low, high) };
        let level = percent(1.0 - context.alpha);
        let _ = write!(text, " ({level} % interval {} to {} %)", percent(from), percent(to));
    }
    text
}

/// The words for worse and better.
const fn words(unit: Unit, better: Better) -> (&'static str, &'static str) {
    match (unit, better) {
        (Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds | Unit::Seconds, Better::Lower) => {
            ("slower", "faster")
        }
        (_, Better::Lower) => ("higher", "lower"),
        (_, Better::Higher) => ("lower", "higher"),
    }
}

/// The sentence for a metric that is compared by value: before, then after.
pub(super) fn of_values(
    field: &Field,
    values: [Option<f64>; 2],
    judged: ValuesConclusion,
    threshold_percent: f64,
) -> String {
    let [before, after] = values.map(|value| value.map_or_else(|| "no figure".to_owned(), figure));
    let unit = if field.unit == Unit::One { String::new() } else { format!(" {}", field.unit) };
    let figures = format!("{after}{unit} after {before}");
    let threshold = percent(threshold_percent / 100.0);
    match judged.code {
        ReasonCode::Missing => {
            format!("the baseline has {} and the run does not: measure it, or ignore it in the policy", field.name)
        }
        ReasonCode::Unreadable => {
            format!("{figures}: `{}` must be a finite figure of at least zero; measure it again", field.name)
        }
        ReasonCode::AboveThreshold => format!("{figures}: worse by the threshold of {threshold} % or more"),
        ReasonCode::BetterThanThreshold => format!("{figures}: better by the threshold of {threshold} % or more"),
        ReasonCode::BelowThreshold => format!("{figures}: a change below the threshold of {threshold} %"),
        ReasonCode::TooNoisy => {
            format!(
                "{figures}: above the threshold of {threshold} %, but runs of both sides overlap: more runs would decide"
            )
        }
        _ if before == after => format!("{before}{unit} on both sides"),
        _ => format!("{figures}: a change too small to count"),
    }
}

/// The sentence for a case that did not get as far as a figure.
pub(super) fn not_measured(how: &str, why: Why<'_>) -> String {
    why.map_or_else(|| format!("it {how}, and does not say why: run it again"), |why| format!("it {how}: {why}"))
}

/// `+12.3 %` or `-4 %`.
pub(super) fn signed_percent(change: f64) -> String {
    let sign = if change < 0.0 { "" } else { "+" };
    format!("{sign}{} %", percent(change))
}

/// A fraction in percent as a person would say it: one decimal, none where it is whole or large.
fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let rounded = (percent * 10.0).round() / 10.0 + 0.0; // Adding zero turns −0 into 0.
    if rounded.abs() >= 100.0 || rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_percentages_are_short() {
        for (value, text) in
            [(0.0, "0"), (104.23, "104.2"), (0.5, "0.5"), (2e-7, "2e-7"), (1.2346e-7, "1.235e-7"), (12345.6, "12346")]
        {
            assert_eq!(figure(value), text);
        }
        for (fraction, text) in [(0.1, "10"), (0.1234, "12.3"), (-0.0001, "0"), (1.5, "150"), (-0.025, "-2.5")] {
            assert_eq!(percent(fraction), text);
        }
    }
}
