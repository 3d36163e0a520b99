//! Textbook statistics of a comparison, one block per case. They are informational: verdicts do not
//! depend on them, and the text states this.

use rsb_model::record::{Comparison, ComparisonStatistics, OutlierCounts, TTest};

use crate::label::Shortener;
use crate::markdown::escape;
use crate::number::{format_percent, format_quantity};
use crate::style::{Style, Tone, clean};

const HEADING: &str = "Statistics";
const ABOUT: &str = "For information; verdicts do not depend on them. Tests and effect sizes \
                     compare one median per process; the paired t test pairs the n-th processes of \
                     both sides, which is meaningful only if the sides were measured interleaved. \
                     Outliers and percentiles are of all samples. The difference is current minus \
                     baseline.";

type Line = (&'static str, String);

/// Formats a block for each of `shown` that has statistics, for a terminal. Empty if none has.
pub(crate) fn text(shown: &[&Comparison], style: Style) -> String {
    let blocks: Vec<(String, Vec<Line>)> = blocks(shown);
    if blocks.is_empty() {
        return String::new();
    }
    let widest =
        blocks.iter().flat_map(|(_, lines)| lines).map(|(about, _)| about.len()).max().unwrap_or(0);
    let mut out =
        format!("{}\n{}\n", style.paint(Tone::Strong, HEADING), style.wrap(ABOUT, 0).trim_end());
    for (case, lines) in &blocks {
        out.push_str(&format!("\n{}\n", style.paint(Tone::Strong, &clean(case))));
        out.extend(lines.iter().map(|(about, text)| format!("  {about:widest$}  {text}\n")));
    }
    out.push('\n');
    out
}

pub(crate) fn markdown(shown: &[&Comparison]) -> String {
    let blocks = blocks(shown);
    if blocks.is_empty() {
        return String::new();
    }
    let mut out = format!("### {HEADING}\n\n{ABOUT}\n\n");
    for (case, lines) in blocks {
        out.push_str(&format!("- {}\n", escape(&case)));
        out.extend(lines.iter().map(|(about, text)| format!("  - {about}: {}\n", escape(text))));
    }
    out.push('\n');
    out
}

fn blocks(shown: &[&Comparison]) -> Vec<(String, Vec<Line>)> {
    let names = Shortener::of(shown.iter().map(|comparison| &comparison.id));
    let mut blocks = Vec::new();
    for row in shown {
        let Some(statistics) = &row.statistics else { continue };
        let processes = statistics.replicates;
        let count = format!("processes: {} and {}", processes.baseline, processes.current);
        let title = format!("{} {} ({count})", names.full(&row.id), row.metric);
        blocks.push((title, lines(statistics, &row.unit)));
    }
    blocks
}

fn lines(statistics: &ComparisonStatistics, unit: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    lines.extend(statistics.welch_t.map(|test| ("Welch's t", t_test(test, unit))));
    lines.extend(statistics.paired_t.map(|test| ("paired t", t_test(test, unit))));
    lines.extend(
        statistics
            .mann_whitney_u
            .map(|test| ("Mann-Whitney U", format!("U = {}, {}", test.u, probability(test.p)))),
    );
    let effects = [("Cohen's d", statistics.cohens_d), ("Cliff's delta", statistics.cliffs_delta)];
    let effects: Vec<String> = effects
        .iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", figure((*value)?))))
        .collect();
    if !effects.is_empty() {
        lines.push(("effect size", effects.join(", ")));
    }
    let changes = statistics.percentile_changes;
    let changes =
        [("p50", changes.p50), ("p90", changes.p90), ("p95", changes.p95), ("p99", changes.p99)];
    let changes = changes.map(|(name, change)| format!("{name} {}", format_percent(change)));
    lines.push(("percentiles", changes.join(", ")));
    let sides = [
        outliers("baseline", statistics.outliers.baseline),
        outliers("current", statistics.outliers.current),
    ];
    lines.push(("outliers", sides.join("; ")));
    lines
}

fn t_test(test: TTest, unit: &str) -> String {
    let [low, high] = test.confidence_interval.map(|end| format_quantity(end, unit));
    let degrees_of_freedom = figure(test.degrees_of_freedom);
    format!(
        "t({degrees_of_freedom}) = {}, {}; difference {low} to {high} (95 %)",
        figure(test.t),
        probability(test.p)
    )
}

fn outliers(side: &str, counts: OutlierCounts) -> String {
    format!("{side} {} by IQR and {} by MAD, of {}", counts.iqr, counts.mad, counts.samples)
}

/// Formats a value without a unit: with two decimals, or without decimals for integers.
fn figure(value: f64) -> String {
    if value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Formats a probability with two significant digits: `p = 0.036`, `p < 0.0001`.
fn probability(p: f64) -> String {
    match p {
        p if p < 1e-4 => "p < 0.0001".to_owned(),
        p if p < 0.1 => format!("p = {p:.*}", (1 - p.log10().floor() as i32).max(0) as usize),
        p => format!("p = {p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::record::{BothSides, PercentileChanges, UTest};

    use super::*;
    use crate::sample;

    fn statistics() -> ComparisonStatistics {
        let test = TTest {
            t: 3.0219,
            degrees_of_freedom: 4.2294,
            p: 0.0364,
            confidence_interval: [4.0e-6, 7.57e-5],
        };
        let counts = OutlierCounts { samples: 24, iqr: 2, mad: 3 };
        ComparisonStatistics {
            replicates: BothSides { baseline: 4, current: 4 },
            welch_t: Some(test),
            paired_t: Some(TTest { degrees_of_freedom: 3.0, p: 0.0, ..test }),
            mann_whitney_u: Some(UTest { u: 15.0, p: 0.057_142 }),
            cohens_d: Some(2.1368),
            cliffs_delta: Some(0.875),
            outliers: BothSides {
                baseline: counts,
                current: OutlierCounts { samples: 24, iqr: 0, mad: 0 },
            },
            percentile_changes: PercentileChanges { p50: 4.48, p90: 4.81, p95: -16.29, p99: 32.38 },
        }
    }

    #[test]
    fn a_block_for_each_case_says_what_it_rests_on_and_that_it_decides_nothing() {
        let mut result = sample::comparison();
        result.comparisons.truncate(2);
        result.comparisons[0].statistics = Some(Box::new(statistics()));
        let shown: Vec<&Comparison> = result.comparisons.iter().collect();
        let said = text(&shown, Style::PLAIN);
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
        insta::assert_snapshot!(said);
        let markdown = markdown(&shown);
        assert!(
            markdown.contains("verdicts do not depend on them")
                && markdown.contains("  - Welch's t: t(4.23) = 3.02")
        );
        assert_eq!(text(&shown[1..], Style::PLAIN), "", "no text without statistics");
    }

    #[test]
    fn probabilities_have_two_digits() {
        assert_eq!(
            [0.0364, 0.000_99, 0.5, 1e-9].map(probability),
            ["p = 0.036", "p = 0.00099", "p = 0.50", "p < 0.0001"]
        );
    }
}
