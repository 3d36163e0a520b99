//! The change of each case with its interval, worse to the right, and the threshold.

use rsb_model::record::Comparison;
use rsb_model::{Better, ComparisonResult, Verdict};

use super::axis::{Axis, Frame, draw_x};
use super::canvas::{AXIS, Anchor, BLUE, Canvas, FADED, GREEN, HEAD, INK, MARGIN, ORANGE, RED, Text};
use super::canvas::{sheet, shorten, width_of};
use super::{Chart, Place};
use crate::comparison::{by_importance, worsening};
use crate::label::Shortener;
use crate::number::{format_count, format_percent};

const MOST: usize = 40;
const ROW: f64 = 24.0;
const WIDTH: f64 = 900.0;

/// Colour and the word for the key; the position says the same.
const fn look(verdict: Verdict) -> plotters::style::RGBColor {
    match verdict {
        Verdict::Regressed => RED,
        Verdict::Improved => GREEN,
        Verdict::Unchanged => BLUE,
        Verdict::Inconclusive | Verdict::NotComparable => ORANGE,
    }
}

/// Changes in percent, positive is worse: low, middle, high.
fn interval(comparison: &Comparison) -> Option<[f64; 3]> {
    let middle = worsening(comparison)?;
    let [low, high] = comparison.confidence_interval.map_or([middle, middle], |[low, high]| match comparison.better {
        Better::Lower => [low, high],
        Better::Higher => [-high, -low],
    });
    [low, middle, high].iter().all(|value| value.is_finite()).then_some([low, middle, high])
}

/// A figure without an interval, such as an accuracy, says something only when it changed.
fn worth_drawing(comparison: &Comparison) -> bool {
    comparison.confidence_interval.is_some() || comparison.verdict != Verdict::Unchanged
}

/// The comparison; nothing when no case has a change.
pub fn comparison(result: &ComparisonResult) -> Option<Chart> {
    let all: Vec<(&Comparison, [f64; 3])> = by_importance(result)
        .into_iter()
        .filter(|each| worth_drawing(each))
        .filter_map(|each| Some((each, interval(each)?)))
        .collect();
    let shown: Vec<_> = all.iter().take(MOST).collect();
    let names = Shortener::of(shown.iter().map(|(each, _)| &each.id));
    let reach = reach(result, &shown)?;
    let name = |each: &Comparison| format!("{} {}", names.full(&each.id), each.metric);
    let widest = shown.iter().map(|(each, _)| width_of(&name(each), 12.0)).fold(80.0, f64::max).min(370.0);
    let bottom = HEAD + ROW * shown.len() as f64;
    let frame = Frame { left: MARGIN + widest + 10.0, top: HEAD, right: WIDTH - 90.0, bottom };
    let x = Axis::exact(-reach, reach, 8).over(frame.left, frame.right);
    let title = format!("Change against {}", result.baseline_run_id);
    let mut subtitle = counts(result);
    if all.len() > shown.len() {
        let rest = format_count(all.len() - shown.len(), "change is", "changes are");
        subtitle.push_str(&format!("; {rest} not drawn"));
    }
    let svg = sheet((WIDTH, bottom + 84.0), &title, &subtitle, |canvas| {
        draw_x(canvas, frame, &x, "change for the worse, with its 95 % interval, %", |tick| {
            signed(&x.plain_label(tick))
        });
        canvas.text("← better", (frame.left, bottom + 38.0), Text::faded(Anchor::Start));
        canvas.text("worse →", (frame.right, bottom + 38.0), Text::faded(Anchor::End));
        let zero = x.at(0.0);
        canvas.line((zero, frame.top), (zero, frame.bottom), (AXIS, 2));
        for (row, (each, values)) in shown.iter().enumerate() {
            let y = frame.top + ROW * (row as f64 + 0.5);
            let label = Text::label(Anchor::End);
            canvas.text(&shorten(&name(each), widest, label.size), (frame.left - 10.0, y), label);
            threshold(canvas, each, (y, &x));
            whisker(canvas, look(each.verdict), *values, (y, &x));
            let change = format_percent(each.difference_percent.unwrap_or(f64::NAN));
            canvas.text(&change, (frame.right + 10.0, y), Text { color: INK, ..Text::label(Anchor::Start) });
        }
        key(canvas, (frame.left, bottom + 64.0));
    })?;
    Some(Chart { name: "comparison".to_owned(), title, place: Place::Comparison, svg })
}

/// `1 regressed, 3 unchanged, 5 without a verdict`.
fn counts(result: &ComparisonResult) -> String {
    let count = |verdict| result.comparisons.iter().filter(|each| each.verdict == verdict).count();
    let undecided = count(Verdict::Inconclusive) + count(Verdict::NotComparable);
    let words = [
        (count(Verdict::Regressed), "regressed"),
        (count(Verdict::Improved), "improved"),
        (count(Verdict::Unchanged), "unchanged"),
        (undecided, "without a verdict"),
    ];
    let said: Vec<String> = words.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    said.join(", ")
}

fn signed(label: &str) -> String {
    if label.starts_with('-') || label == "0" { label.to_owned() } else { format!("+{label}") }
}

/// How far the axis goes to each side: past every change and threshold, but a wide interval alone does not set it.
fn reach(result: &ComparisonResult, shown: &[&(&Comparison, [f64; 3])]) -> Option<f64> {
    let changes = shown.iter().map(|(_, [_, middle, _])| middle.abs()).fold(0.0, f64::max);
    let ends = shown.iter().flat_map(|(_, [low, _, high])| [low.abs(), high.abs()]).fold(0.0, f64::max);
    let limit = shown.iter().map(|(each, _)| each.threshold_percent).fold(result.threshold_percent, f64::max);
    (!shown.is_empty()).then(|| ends.min((2.0 * changes).max(3.0 * limit)).max(1.25 * limit) * 1.05)
}

fn threshold(canvas: &mut Canvas<'_>, each: &Comparison, (y, x): (f64, &Axis)) {
    let at = x.at(each.threshold_percent);
    canvas.dashed((at, y - ROW / 2.0), (at, y + ROW / 2.0), FADED);
}

/// A point with its interval; an arrow head where the interval goes on beyond the edge.
fn whisker(
    canvas: &mut Canvas<'_>,
    color: plotters::style::RGBColor,
    [low, middle, high]: [f64; 3],
    (y, x): (f64, &Axis),
) {
    let (left, right) = (x.at(low), x.at(high));
    canvas.line((left, y), (right, y), (color, 2));
    for (value, at, out) in [(low, left, -1.0), (high, right, 1.0)] {
        let (first, last) = x.range();
        if (first..=last).contains(&value) {
            canvas.line((at, y - 4.0), (at, y + 4.0), (color, 2));
        } else {
            canvas.polygon(&[(at + 7.0 * out, y), (at, y - 5.0), (at, y + 5.0)], color);
        }
    }
    canvas.dot((x.at(middle), y), 5, color);
}

fn key(canvas: &mut Canvas<'_>, (left, y): (f64, f64)) {
    let mut x = left;
    let words = [
        (Verdict::Regressed, "Regressed"),
        (Verdict::Unchanged, "Unchanged"),
        (Verdict::Improved, "Improved"),
        (Verdict::Inconclusive, "no verdict"),
    ];
    for (verdict, word) in words {
        canvas.dot((x + 5.0, y), 5, look(verdict));
        canvas.text(word, (x + 16.0, y), Text::faded(Anchor::Start));
        x += 30.0 + width_of(word, 12.0);
    }
    canvas.dashed((x + 4.0, y - 9.0), (x + 4.0, y + 9.0), FADED);
    canvas.text("threshold", (x + 12.0, y), Text::faded(Anchor::Start));
}
