//! Two runs: the change of each value as a bar, and both values side by side.

use rsb_model::ComparisonResult;
use rsb_model::record::Comparison;

use super::comparison::{sides, worth_drawing};
use super::{axis, left_out};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::comparison::{by_importance, quantity_or_empty, worsening};
use crate::label::Shortener;
use crate::number::format_percent;

const MAX_ROWS: usize = 24;
/// Changes up to this many percent are drawn as even.
const EVEN_PERCENT: f64 = 5.0;

fn drawable_comparisons(result: &ComparisonResult) -> Vec<&Comparison> {
    by_importance(result)
        .into_iter()
        .filter(|each| worth_drawing(each))
        .filter(|each| each.difference_percent.is_some_and(f64::is_finite))
        .collect()
}

fn subtitle(result: &ComparisonResult, words: &str, more: usize) -> String {
    let more = left_out(more, "value is", "values are", "not drawn");
    format!("{}; {words}{more}", sides(result))
}

/// Returns the title of a chart whose first and most important row is `first`.
fn title(first: &Comparison, names: &Shortener) -> String {
    let change = format_percent(change(first));
    format!("{} {}: {change}, {}", names.full(&first.id), first.metric, word(first))
}

/// Returns the paint of a change: better, worse or even, or `Caution` if there is no verdict.
fn paint(comparison: &Comparison) -> Paint {
    match worsening(comparison).filter(|_| comparison.verdict.is_decided()) {
        Some(worse) if worse > EVEN_PERCENT => Paint::Bad,
        Some(worse) if worse < -EVEN_PERCENT => Paint::Good,
        Some(_) => Paint::Even,
        None => Paint::Caution,
    }
}

fn word(comparison: &Comparison) -> &'static str {
    match paint(comparison) {
        Paint::Good => "↑ better",
        Paint::Bad => "↓ worse",
        Paint::Even => "– within 5 %",
        _ => "? no verdict",
    }
}

/// Returns a chart of the signed change of each value. An arrow next to it shows whether it is
/// better or worse.
pub fn delta(result: &ComparisonResult) -> Option<Chart> {
    let all = drawable_comparisons(result);
    let rows = all.get(..all.len().min(MAX_ROWS)).filter(|rows| !rows.is_empty())?;
    let names = Shortener::of(rows.iter().map(|each| &each.id));
    // Limit the axis so that one extreme change does not flatten all others.
    let reach =
        rows.iter().map(|each| change(each).abs()).fold(EVEN_PERCENT, f64::max).min(200.0) * 1.05;
    Some(Chart {
        name: "delta".to_owned(),
        title: title(rows.first()?, &names),
        subtitle: subtitle(result, "signed change with its 95 % interval", all.len() - rows.len()),
        place: ChartPlace::Comparison,
        x_axis: axis::signed("change, %", reach),
        y_axis: axis::rows(
            rows.iter().map(|each| format!("{} {}", names.full(&each.id), each.metric)),
        ),
        datasets: vec![
            change_bars(rows, Paint::Good, "better"),
            change_bars(rows, Paint::Even, "within 5 %"),
            change_bars(rows, Paint::Bad, "worse"),
            change_bars(rows, Paint::Caution, "no verdict"),
        ],
        legend_position: Legend::Below,
    })
}

fn change(comparison: &Comparison) -> f64 {
    comparison.difference_percent.unwrap_or(0.0)
}

/// Returns a bar for each of `rows` whose paint is `own`.
fn change_bars(rows: &[&Comparison], own: Paint, name: &str) -> Dataset {
    let mut points = Vec::new();
    for (row, each) in rows.iter().enumerate() {
        if paint(each) != own {
            continue;
        }
        let change = change(each);
        let [low, high] = each.confidence_interval.unwrap_or([change; 2]);
        let mut point = Point::at(change, row as f64).saying(format_percent(change));
        if low.is_finite() && high.is_finite() && low < high {
            point = point.within(low, high);
        }
        points.push(point);
    }
    Dataset::new(DatasetKind::Bars { thickness: 0.55 }, own, points).with_name(name)
}

/// Returns a chart of each value before and after, in percent of the value before.
pub fn before_after(result: &ComparisonResult) -> Option<Chart> {
    let mut all = drawable_comparisons(result);
    all.retain(|each| has_ratio(each));
    let rows = all.get(..all.len().min(MAX_ROWS)).filter(|rows| !rows.is_empty())?;
    let names = Shortener::of(rows.iter().map(|each| &each.id));
    let top = rows.iter().map(|each| share(each)).fold(100.0, f64::max).min(400.0);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (row, each) in rows.iter().enumerate() {
        let text = quantity_or_empty(each.baseline_value, &each.unit);
        before.push(Point::at(100.0, row as f64 - 0.21).saying(text));
        let text = quantity_or_empty(each.current_value, &each.unit);
        let text = format!("{text} {}", word(each));
        after.push(Point::at(share(each), row as f64 + 0.21).saying(text));
    }
    let kind = DatasetKind::Bars { thickness: 0.4 };
    Some(Chart {
        name: "before-after".to_owned(),
        title: title(rows.first()?, &names),
        subtitle: subtitle(result, "each value before is 100 %", all.len() - rows.len()),
        place: ChartPlace::Comparison,
        x_axis: axis::linear("% of the value before", 0.0, top, 6),
        y_axis: axis::rows(
            rows.iter().map(|each| format!("{} {}", names.full(&each.id), each.metric)),
        ),
        datasets: vec![
            Dataset::new(kind, Paint::Baseline, before).with_name("before"),
            Dataset::new(kind, Paint::Current, after).with_name("after"),
        ],
        legend_position: Legend::Below,
    })
}

/// Returns whether the current value has a finite ratio to the baseline value.
fn has_ratio(comparison: &Comparison) -> bool {
    let both = comparison.baseline_value.zip(comparison.current_value);
    both.is_some_and(|(before, after)| before > 0.0 && after >= 0.0 && (after / before).is_finite())
}

/// Returns the current value in percent of the baseline value.
fn share(comparison: &Comparison) -> f64 {
    let both = comparison.baseline_value.zip(comparison.current_value);
    both.map_or(0.0, |(before, after)| 100.0 * after / before)
}
