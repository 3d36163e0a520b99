//! One sentence for each verdict, such as `12.3 % slower (95 % interval 10.1 to 14.6 %), above the
//! threshold of 10 %`.
//!
//! A sentence with values begins with the values and ends with a reason that many cases share, so
//! that tables can show the values in columns and print the reason once (`Comparison::why`).

use rsb_model::record::Comparison;
use rsb_model::unit::figure;
use rsb_model::{Field, ReasonCode, Unit};

use super::Why;
use super::exact::ValuesConclusion;
use crate::compare::{Pair, Side};
use crate::conclusion::CaseConclusion;
use crate::wording::{describe_change, percent};

/// Context of a sentence, in addition to the conclusion.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReasonContext {
    /// Number of comparisons judged together.
    pub(super) pairs: usize,
    /// Error rate of the intervals.
    pub(super) alpha: f64,
}

/// Returns the sentence for a conclusion.
pub(super) fn of_finding(pair: &Pair, finding: &CaseConclusion, context: ReasonContext) -> String {
    let threshold = percent(pair.threshold);
    let Some(interval) = finding.interval else {
        let change = describe_change(finding.change, pair.unit.symbol(), pair.better);
        if pair.ratios.is_some() {
            return format!(
                "{change}: one pair does not show the spread between pairs: measure longer"
            );
        }
        return format!(
            "{change}: one value per side in {} does not show the spread between runs; measure several \
             replicates, or at least \
             {} cases",
            if context.pairs == 1 {
                "1 case".to_owned()
            } else {
                format!("{} cases", context.pairs)
            },
            crate::noise_model::MIN_CASES,
        );
    };
    let change = |more: &str| with_interval(pair, finding.change, interval, context, more);
    if let Some(doubt) = &finding.doubt {
        return format!("{}, {}", change(&doubt.detail), doubt.consequence);
    }
    match finding.reason {
        ReasonCode::AboveThreshold => {
            format!("{}, above the threshold of {threshold} %{}", change(""), caution(pair))
        }
        ReasonCode::BetterThanThreshold => {
            format!("{}, beyond the threshold of {threshold} %{}", change(""), caution(pair))
        }
        ReasonCode::BelowThreshold => {
            format!("{}, within {threshold} %{}", change(""), caution(pair))
        }
        ReasonCode::TooNoisy => {
            let low = finding.corrected_low.map_or_else(String::new, |low| {
                format!("from {} % corrected for {} comparisons", percent(low), context.pairs)
            });
            let verb = if low.is_empty() { "exclude" } else { "confirm" };
            let cure = if pair.ratios.is_some() { "longer" } else { "more replicates" };
            format!(
                "{}, too noisy to {verb} a change above the threshold of {threshold} %: measure \
                 {cure}",
                change(&low)
            )
        }
        ReasonCode::WithinNoise => format!("{}, within the noise{}", change(""), caution(pair)),
        ReasonCode::MachineMoved => change(""), // The control set adds the reason.
        // Only reached for a code without its own sentence: `cause` describes every code.
        other => format!("{}, {}", change(""), other.cause()),
    }
}

/// Returns the sentence for a case that is Regressed by `statistic`, such as the median, instead of
/// its fastest samples.
pub(super) fn of_statistic(
    pair: &Pair,
    finding: &CaseConclusion,
    context: ReasonContext,
    statistic: &str,
) -> String {
    let change =
        with_interval(pair, finding.change, finding.interval.unwrap_or_default(), context, "");
    format!(
        "{change}, above the threshold of {} % in the {statistic} of its samples, though not in \
         the fastest",
        percent(pair.threshold)
    )
}

/// Returns the code and the sentence for a time that is much slower, or much faster, in each of
/// `pairs` pairs.
pub(super) fn of_large_change(
    change: f64,
    [low, high]: [f64; 2],
    pairs: usize,
    row: &Comparison,
) -> (ReasonCode, String) {
    let (from, to) = if change < 0.0 { (-high, -low) } else { (low, high) };
    let (code, beyond) = if change < 0.0 {
        (ReasonCode::BetterThanThreshold, "beyond")
    } else {
        (ReasonCode::AboveThreshold, "above")
    };
    let sentence = format!(
        "{} ({} to {} % in each of {pairs} pairs), {beyond} the threshold of {} %",
        describe_change(change, &row.unit, row.better),
        percent(from),
        percent(to),
        percent(row.threshold_percent / 100.0),
    );
    (code, sentence)
}

/// Returns a fraction as text, such as `12.3 %`.
pub(super) fn percent_of(fraction: f64) -> String {
    format!("{} %", percent(fraction))
}

/// Returns the caveat for a verdict on a single process, which cannot distinguish a code change
/// from a change of memory layout. Empty for pairs that were measured interleaved, because they
/// need a minimum number anyway.
fn caution(pair: &Pair) -> &'static str {
    if pair.ratios.is_some() {
        return "";
    }
    match [&pair.baseline, &pair.current].map(Side::is_lone) {
        [true, true] => "; one process per side: repeat it with replicates",
        [true, false] => "; the baseline is one process: save one with replicates",
        [false, true] => "; the run is one process: repeat it with replicates",
        [false, false] => "",
    }
}

/// Returns `12.3 % slower (95 % interval 10.1 to 14.6 %; MORE)` for a change in the bad direction.
/// If the interval contains zero, both ends are written with their direction: `3 % faster to 1 %
/// slower`.
fn with_interval(
    pair: &Pair,
    change: f64,
    [low, high]: [f64; 2],
    context: ReasonContext,
    more: &str,
) -> String {
    let describe = |change| describe_change(change, pair.unit.symbol(), pair.better);
    let more = if more.is_empty() { String::new() } else { format!("; {more}") };
    let interval = if low < 0.0 && high > 0.0 {
        format!("{} to {}", describe(low), describe(high))
    } else if change < 0.0 {
        format!("{} to {} %", percent(-high), percent(-low))
    } else {
        format!("{} to {} %", percent(low), percent(high))
    };
    let level = percent(1.0 - context.alpha);
    format!("{} ({level} % interval {interval}{more})", describe(change))
}

/// Returns the sentence for a metric that is compared by value; `values` are those of the baseline
/// and the current side.
pub(super) fn of_values(
    field: &Field,
    values: [Option<f64>; 2],
    judged: ValuesConclusion,
    threshold_percent: f64,
) -> String {
    let [before, after] = values.map(|value| value.map_or_else(|| "no value".to_owned(), figure));
    let unit = if field.unit == Unit::One { String::new() } else { format!(" {}", field.unit) };
    let figures = format!("{after}{unit} after {before}{unit}");
    let threshold = percent(threshold_percent / 100.0);
    match judged.code {
        ReasonCode::Missing => {
            format!(
                "the baseline has {} and the run does not: measure it, or ignore it in the policy",
                field.name
            )
        }
        ReasonCode::Unreadable => {
            format!(
                "{figures}: `{}` must be a finite value of at least zero; measure it again",
                field.name
            )
        }
        ReasonCode::AboveThreshold => format!("{figures}: above the threshold of {threshold} %"),
        ReasonCode::BetterThanThreshold => {
            format!("{figures}: beyond the threshold of {threshold} %")
        }
        ReasonCode::BelowThreshold
            if judged.change.is_some_and(|change| change <= -threshold_percent / 100.0) =>
        {
            format!("{figures}: not clearly better, runs of both sides overlap")
        }
        ReasonCode::BelowThreshold => format!("{figures}: within {threshold} %"),
        ReasonCode::TooNoisy => {
            format!(
                "{figures}: above the threshold of {threshold} %, but runs of both sides overlap: \
                 measure more runs"
            )
        }
        ReasonCode::WithinNoise if before == after => format!("{before}{unit} on both sides"),
        ReasonCode::WithinNoise => format!("{figures}: below the smallest change that counts"),
        other => format!("{figures}: {}", other.cause()),
    }
}

/// Returns the sentence for a case that failed, was skipped or is missing; `how` names the outcome.
pub(super) fn not_measured(how: &str, why: Why<'_>) -> String {
    why.map_or_else(
        || format!("it {how} without a reason: run it again"),
        |why| format!("it {how}: {why}"),
    )
}

/// Returns a signed percentage such as `+12.3 %` or `-4 %`.
pub(super) fn signed_percent(change: f64) -> String {
    let sign = if change < 0.0 { "" } else { "+" };
    format!("{sign}{} %", percent(change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_percentages_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (104.23, "104.2"),
            (0.5, "0.5"),
            (2e-7, "2e-7"),
            (1.2346e-7, "1.235e-7"),
            (12345.6, "12346"),
        ] {
            assert_eq!(figure(value), text);
        }
        for (fraction, text) in
            [(0.1, "10"), (0.1234, "12.3"), (-0.0001, "0"), (1.5, "150"), (-0.025, "-2.5")]
        {
            assert_eq!(percent(fraction), text);
        }
    }
}
