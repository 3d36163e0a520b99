//! Two runs: the change of each figure as a bar, and both figures side by side.

use rsb_model::ComparisonResult;
use rsb_model::record::Comparison;

use super::axis;
use super::comparison::worth_drawing;
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::comparison::{by_importance, worsening};
use crate::label::Shortener;
use crate::number::{format_count, format_percent, format_quantity};

/// More rows than this are not drawn.
const MAX_ROWS: usize = 24;
/// Changes below this are none to the eye.
const EVEN_PERCENT: f64 = 5.0;

fn drawable_comparisons(result: &ComparisonResult) -> Vec<&Comparison> {
    let is_finite = |each: &&Comparison| each.difference_percent.is_some_and(f64::is_finite);
    by_importance(result).into_iter().filter(|each| worth_drawing(each)).filter(is_finite).collect()
}

fn subtitle(words: &str, left_out: usize) -> String {
    match left_out {
        0 => words.to_owned(),
        count => format!("{words}; {} not drawn", format_count(count, "figure is", "figures are")),
    }
}

/// Whether a change is for the better, for the worse, or none to speak of; without a verdict it is
/// none of them.
fn paint(comparison: &Comparison) -> Paint {
    match worsening(comparison).filter(|_| comparison.verdict.is_decided()) {
        Some(worse) if worse > EVEN_PERCENT => Paint::Bad,
        Some(worse) if worse < -EVEN_PERCENT => Paint::Good,
        Some(_) => Paint::Even,
        None => Paint::Caution,
    }
}

/// What became of a figure.
fn word(comparison: &Comparison) -> &'static str {
    match paint(comparison) {
        Paint::Good => "better",
        Paint::Bad => "worse",
        Paint::Even => "within 5 %",
        _ => "no verdict",
    }
}

/// The signed change of each figure: the arrow beside it says whether that is better or worse.
pub fn delta(result: &ComparisonResult) -> Option<Chart> {
    let all = drawable_comparisons(result);
    let rows = all.get(..all.len().min(MAX_ROWS)).filter(|rows| !rows.is_empty())?;
    let names = Shortener::of(rows.iter().map(|each| &each.id));
    let change = |each: &Comparison| each.difference_percent.unwrap_or(0.0);
    // One figure that went through the roof must not flatten all others.
    let reach =
        rows.iter().map(|each| change(each).abs()).fold(EVEN_PERCENT, f64::max).min(200.0) * 1.05;
    let group = |own: Paint, name: &str| {
        let rows = rows.iter().enumerate().filter(|(_, each)| paint(each) == own);
        let point = |(row, each): (usize, &&Comparison)| {
            let [low, high] = each.confidence_interval.unwrap_or([change(each); 2]);
            let point = Point::at(change(each), row as f64).saying(format_percent(change(each)));
            if low.is_finite() && high.is_finite() && low < high {
                point.within(low, high)
            } else {
                point
            }
        };
        Dataset::new(DatasetKind::Bars { thickness: 0.55 }, own, rows.map(point).collect())
            .with_name(name)
    };
    Some(Chart {
        name: "delta".to_owned(),
        title: format!("Change of each figure against {}", result.baseline_run_id),
        subtitle: subtitle(
            "signed change with its 95 % interval; ↑ better, ↓ worse, – within 5 %, ? no verdict",
            all.len() - rows.len(),
        ),
        place: ChartPlace::Comparison,
        x_axis: signed_percent_axis(reach),
        y_axis: axis::rows(
            rows.iter().map(|each| format!("{} {}", names.full(&each.id), each.metric)),
        ),
        datasets: vec![
            group(Paint::Good, "better"),
            group(Paint::Even, "within 5 %"),
            group(Paint::Bad, "worse"),
            group(Paint::Caution, "no verdict"),
        ],
        legend_position: Legend::Below,
    })
}

fn signed_percent_axis(reach: f64) -> Axis {
    let mut axis = axis::exact("change, %", -reach, reach, 8);
    for label in &mut axis.labels {
        if !label.text.starts_with('-') && label.text != "0" {
            label.text.insert(0, '+');
        }
    }
    axis
}

/// Each figure before and after, as shares of the one before.
pub fn before_after(result: &ComparisonResult) -> Option<Chart> {
    let is_ratio = |each: &&Comparison| {
        let both = each.baseline_value.zip(each.current_value);
        both.is_some_and(|(before, after)| {
            before > 0.0 && after >= 0.0 && (after / before).is_finite()
        })
    };
    let all: Vec<&Comparison> = drawable_comparisons(result).into_iter().filter(is_ratio).collect();
    let rows = all.get(..all.len().min(MAX_ROWS)).filter(|rows| !rows.is_empty())?;
    let names = Shortener::of(rows.iter().map(|each| &each.id));
    let share = |each: &Comparison| {
        each.baseline_value
            .zip(each.current_value)
            .map_or(0.0, |(before, after)| 100.0 * after / before)
    };
    let top = rows.iter().map(|each| share(each)).fold(100.0, f64::max).min(400.0);
    let bars =
        |paint: Paint, name: &str, offset: f64, of: &dyn Fn(&Comparison) -> (f64, String)| {
            let point = |(row, each): (usize, &&Comparison)| {
                let (at, text) = of(each);
                Point::at(at, row as f64 + offset).saying(text)
            };
            let points = rows.iter().enumerate().map(point).collect();
            Dataset::new(DatasetKind::Bars { thickness: 0.4 }, paint, points).with_name(name)
        };
    let quantity = |figure: Option<f64>, each: &Comparison| {
        figure.map_or_else(String::new, |figure| format_quantity(figure, &each.unit))
    };
    Some(Chart {
        name: "before-after".to_owned(),
        title: format!(
            "Before and after: {} and {}",
            result.baseline_run_id, result.current_run_id
        ),
        subtitle: subtitle("each figure before is 100 %", all.len() - rows.len()),
        place: ChartPlace::Comparison,
        x_axis: axis::linear("% of the figure before", 0.0, top, 6),
        y_axis: axis::rows(
            rows.iter().map(|each| format!("{} {}", names.full(&each.id), each.metric)),
        ),
        datasets: vec![
            bars(Paint::Baseline, "before", -0.21, &|each| {
                (100.0, quantity(each.baseline_value, each))
            }),
            bars(Paint::Current, "after", 0.21, &|each| {
                (share(each), format!("{} ({})", quantity(each.current_value, each), word(each)))
            }),
        ],
        legend_position: Legend::Below,
    })
}
