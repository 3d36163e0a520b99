//! Descriptions of changes for the sentence of a verdict.

use rsb_model::Better;

/// Returns the words for worse and better values of a metric in `unit`, such as slower and faster.
pub(crate) fn worse_and_better(unit: &str, better: Better) -> (&'static str, &'static str) {
    match better {
        Better::Lower if matches!(unit, "ns" | "us" | "µs" | "ms" | "s") => ("slower", "faster"),
        Better::Lower => ("higher", "lower"),
        Better::Higher => ("lower", "higher"),
    }
}

/// Returns a change in the bad direction, such as `12.3 % slower`.
pub(crate) fn describe_change(change: f64, unit: &str, better: Better) -> String {
    let (worse, improved) = worse_and_better(unit, better);
    let size = percent(change.abs());
    match size.as_str() {
        "0" => "no change".to_owned(),
        size => format!("{size} % {}", if change < 0.0 { improved } else { worse }),
    }
}

/// Returns a fraction in percent: one decimal, none if it is whole or at least 100.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let rounded = (percent * 10.0).round() / 10.0 + 0.0; // Adding zero turns −0 into 0.
    if rounded.abs() >= 100.0 || rounded.fract() == 0.0 {
        format!("{rounded:.0}")
    } else {
        format!("{rounded:.1}")
    }
}
