//! The change of each case with its interval, worse to the right, and the threshold.

use rsb_model::record::Comparison;
use rsb_model::{Better, ComparisonResult, Verdict};

use super::{axis, left_out};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::comparison::{by_importance, count_verdicts, worsening};
use crate::label::Shortener;
use crate::number::{count_words, format_percent};

const MAX_ROWS: usize = 40;
const CHANGE: &str = "← better · change with its 95 % interval, % · worse →";

/// Verdicts that share one entry of the legend.
struct VerdictGroup {
    verdicts: &'static [Verdict],
    name: &'static str,
    paint: Paint,
}

/// Groups in the order of the legend.
const GROUPS: [VerdictGroup; 4] = [
    VerdictGroup { verdicts: &[Verdict::Regressed], name: "Regressed", paint: Paint::Bad },
    VerdictGroup { verdicts: &[Verdict::Unchanged], name: "Unchanged", paint: Paint::Plain },
    VerdictGroup { verdicts: &[Verdict::Improved], name: "Improved", paint: Paint::Good },
    VerdictGroup {
        verdicts: &[Verdict::Inconclusive, Verdict::NotComparable],
        name: "no verdict",
        paint: Paint::Caution,
    },
];

/// A comparison with its change in percent (low, middle, high); positive is worse.
type ComparisonInterval<'a> = (&'a Comparison, [f64; 3]);

fn interval(comparison: &Comparison) -> Option<[f64; 3]> {
    let middle = worsening(comparison)?;
    let [low, high] = comparison.confidence_interval.map_or([middle, middle], |[low, high]| {
        match comparison.better {
            Better::Lower => [low, high],
            Better::Higher => [-high, -low],
        }
    });
    [low, middle, high].iter().all(|value| value.is_finite()).then_some([low, middle, high])
}

/// Returns whether to draw a comparison. A metric without an interval, such as an accuracy, is
/// drawn only if it changed.
pub(super) fn worth_drawing(comparison: &Comparison) -> bool {
    comparison.confidence_interval.is_some() || comparison.verdict != Verdict::Unchanged
}

/// Returns a chart of the comparison; `None` if no case has a change.
pub fn comparison(result: &ComparisonResult) -> Option<Chart> {
    let all: Vec<ComparisonInterval<'_>> = by_importance(result)
        .into_iter()
        .filter(|each| worth_drawing(each))
        .filter_map(|each| Some((each, interval(each)?)))
        .collect();
    let shown = all.get(..all.len().min(MAX_ROWS)).filter(|shown| !shown.is_empty())?;
    let names = Shortener::of(shown.iter().map(|(each, _)| &each.id));
    let more = left_out(all.len() - shown.len(), "change is", "changes are", "not drawn");
    let limits = shown
        .iter()
        .enumerate()
        .map(|(row, (each, _))| Point::at(each.threshold_percent, row as f64));
    let mut datasets: Vec<Dataset> = GROUPS.iter().map(|group| of_group(group, shown)).collect();
    datasets.push(
        Dataset::new(DatasetKind::Limits, Paint::Faded, limits.collect()).with_name("threshold"),
    );
    Some(Chart {
        name: "comparison".to_owned(),
        title: counts(result),
        subtitle: format!("{}{more}", sides(result)),
        place: ChartPlace::Comparison,
        x_axis: axis::signed(CHANGE, reach(result, shown)),
        y_axis: axis::rows(
            shown.iter().map(|(each, _)| format!("{} {}", names.full(&each.id), each.metric)),
        ),
        datasets,
        legend_position: Legend::Below,
    })
}

/// Names both sides of a comparison.
pub(super) fn sides(result: &ComparisonResult) -> String {
    format!("{} against {}", result.current_run_id, result.baseline_run_id)
}

fn of_group(group: &VerdictGroup, shown: &[ComparisonInterval<'_>]) -> Dataset {
    let mut points = Vec::new();
    for (row, (each, [low, middle, high])) in shown.iter().enumerate() {
        if group.verdicts.contains(&each.verdict) {
            let text = format_percent(each.difference_percent.unwrap_or(f64::NAN));
            points.push(Point::at(*middle, row as f64).over(*low, *high).saying(text));
        }
    }
    Dataset::new(DatasetKind::Intervals, group.paint, points).with_name(group.name)
}

/// Formats the verdict counts: `1 regressed, 3 unchanged, 5 without a verdict`.
fn counts(result: &ComparisonResult) -> String {
    let undecided = [Verdict::Inconclusive, Verdict::NotComparable];
    let words = [
        (count_verdicts(result, &[Verdict::Regressed]), "regressed"),
        (count_verdicts(result, &[Verdict::Improved]), "improved"),
        (count_verdicts(result, &[Verdict::Unchanged]), "unchanged"),
        (count_verdicts(result, &undecided), "without a verdict"),
    ];
    count_words(&words)
}

/// Returns the reach of the axis to each side. It covers every change and threshold; a wide
/// interval does not extend it further.
fn reach(result: &ComparisonResult, shown: &[ComparisonInterval<'_>]) -> f64 {
    let changes = shown.iter().map(|(_, [_, middle, _])| middle.abs()).fold(0.0, f64::max);
    let ends =
        shown.iter().flat_map(|(_, [low, _, high])| [low.abs(), high.abs()]).fold(0.0, f64::max);
    let limit = shown
        .iter()
        .map(|(each, _)| each.threshold_percent)
        .fold(result.threshold_percent, f64::max);
    ends.min((2.0 * changes).max(3.0 * limit)).max(1.25 * limit).max(changes) * 1.05
}
