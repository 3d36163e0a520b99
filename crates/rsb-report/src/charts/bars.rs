//! The headline figure of each case of a benchmark as a horizontal bar, with a mark at what the hardware can do.

use rsb_model::{BenchmarkResult, Better, DeviceType, Field, Run};

use super::axis::{Axis, Frame, draw_x};
use super::canvas::{Anchor, BLUE, Canvas, HEAD, INK, MARGIN, RED, Text, sheet, shorten, width_of};
use super::{Chart, Place, slug};
use crate::label::{Shortener, benchmark_of, headline, measured};
use crate::number::{format_count, format_quantity};

/// More bars than this are not drawn; the tables hold every case.
const MOST: usize = 40;
const ROW: f64 = 26.0;
const WIDTH: f64 = 900.0;

struct Bar<'a> {
    label: &'a str,
    value: f64,
    peak: Option<f64>,
}

/// What may stand on one chart: one benchmark, one figure, one kind of device.
type Group<'a> = (&'a str, &'static Field, Option<DeviceType>, Vec<&'a BenchmarkResult>);

/// A chart for each benchmark, figure and kind of device with at least two cases, or one with a known peak.
pub fn bars(run: &Run) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    let groups = groups(run);
    groups.iter().filter_map(|group| chart(group, &names)).collect()
}

fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for result in measured(run) {
        let Some((field, value)) = headline(result) else { continue };
        let (benchmark, device) = (benchmark_of(result), result.device_type);
        if !value.is_finite() || value < 0.0 {
            continue;
        }
        let same = |group: &&mut Group<'_>| group.0 == benchmark && group.1.name == field.name && group.2 == device;
        match groups.iter_mut().find(same) {
            Some(group) => group.3.push(result),
            None => groups.push((benchmark, field, device, vec![result])),
        }
    }
    groups
}

fn chart((benchmark, field, device, results): &Group<'_>, names: &Shortener) -> Option<Chart> {
    let bars: Vec<Bar<'_>> = results.iter().take(MOST).filter_map(|result| bar(result, field, names)).collect();
    let top = bars.iter().map(|bar| bar.value.max(bar.peak.unwrap_or(0.0))).fold(0.0, f64::max);
    let peaks = bars.iter().any(|bar| bar.peak.is_some());
    if top <= 0.0 || (bars.len() < 2 && !peaks) {
        return None;
    }
    let title = format!("{benchmark}: {}", caption(field)).trim_start_matches(": ").to_owned();
    let height = HEAD + ROW * bars.len() as f64 + 62.0 + if peaks { 24.0 } else { 0.0 };
    let label = Text::label(Anchor::End);
    let widest = bars.iter().map(|bar| width_of(bar.label, label.size)).fold(60.0, f64::max).min(360.0);
    let frame =
        Frame { left: MARGIN + widest + 10.0, top: HEAD, right: WIDTH - 100.0, bottom: HEAD + ROW * bars.len() as f64 };
    let (factor, unit) = scale(top, field);
    let x = Axis::linear(0.0, top * factor, 6).over(frame.left, frame.right);
    let svg =
        sheet((WIDTH, height), &title, &subtitle(field, *device, results.len().saturating_sub(MOST)), |canvas| {
            draw_x(canvas, frame, &x, unit, |tick| x.plain_label(tick));
            for (index, bar) in bars.iter().enumerate() {
                let y = frame.top + ROW * (index as f64 + 0.5);
                canvas.text(&shorten(bar.label, widest, label.size), (frame.left - 10.0, y), label);
                draw(canvas, bar, (y, &x, factor), field);
            }
            if peaks {
                key(canvas, (frame.left, frame.bottom + 60.0), peak_field(field));
            }
        })?;
    let name = slug(&format!("bars-{benchmark}-{}-{}", field.name, device.map_or("", DeviceType::as_str)));
    Some(Chart { name, title, place: Place::Benchmark((*benchmark).to_owned()), svg })
}

fn bar<'a>(result: &'a BenchmarkResult, field: &Field, names: &Shortener) -> Option<Bar<'a>> {
    let (_, value) = headline(result)?;
    let known = |name: &str| result.fields().and_then(|fields| fields.number(name));
    let in_unit = if field.name == "tflops" { 1e-3 } else { 1.0 };
    let peak = peak_field(field).and_then(|peak| known(peak.name)).map(|peak| peak * in_unit);
    let label = result.benchmark_id.as_str();
    let short = names.case(&result.benchmark_id);
    Some(Bar { label: if short.is_empty() { label } else { short }, value, peak: peak.filter(|peak| *peak > 0.0) })
}

/// What the field is called in a title: `gflops` says nothing to who does not know it, its unit is on the axis.
fn caption(field: &Field) -> String {
    let words = field.name.trim_end_matches("_gb_s").trim_end_matches("_percent").trim_end_matches("_ns");
    match words {
        "gflops" | "tflops" => "arithmetic rate".to_owned(),
        words => words.trim_end_matches("_us").trim_end_matches("_ms").replace('_', " "),
    }
}

fn subtitle(field: &Field, device: Option<DeviceType>, more: usize) -> String {
    let better = match field.better() {
        Some(Better::Higher) => Some("higher is better".to_owned()),
        Some(Better::Lower) => Some("lower is better".to_owned()),
        None => None,
    };
    let kind = device.map(|kind| format!("device: {kind}"));
    let rest = (more > 0).then(|| format!("{} in the table only", format_count(more, "case is", "cases are")));
    [kind, better, rest].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Rates in the thousands take the next unit, as their labels do.
fn scale(top: f64, field: &Field) -> (f64, &'static str) {
    match field.unit.symbol() {
        "GFLOP/s" if top >= 1e4 => (1e-3, "TFLOP/s"),
        "GB/s" if top >= 1e4 => (1e-3, "TB/s"),
        "ns" if top >= 1e4 => (1e-3, "µs"),
        "µs" if top >= 1e4 => (1e-3, "ms"),
        "1/s" => (1.0, "per second"),
        "1" => (1.0, ""),
        symbol => (1.0, symbol),
    }
}

fn draw(canvas: &mut Canvas<'_>, bar: &Bar<'_>, (y, x, factor): (f64, &Axis, f64), field: &Field) {
    let end = x.at(bar.value * factor);
    canvas.rectangle((x.at(0.0), y - 8.0), (end.max(x.at(0.0) + 1.0), y + 8.0), BLUE);
    let mut text = end;
    if let Some(peak) = bar.peak {
        let at = x.at(peak * factor);
        canvas.line((at, y - 11.0), (at, y + 11.0), (RED, 3));
        // The label stands right of the mark unless there is room between the bar and the mark.
        if at - end < width_of("000 GFLOP/s", 12.0) + 14.0 {
            text = end.max(at);
        }
    }
    let value = format_quantity(bar.value, field.unit.symbol());
    canvas.text(&value, (text + 8.0, y), Text { color: INK, ..Text::label(Anchor::Start) });
}

/// The field that holds the limit of `field`.
fn peak_field(field: &Field) -> Option<&'static Field> {
    match field.name {
        "gflops" | "tflops" => Field::find("peak_gflops"),
        "bandwidth_gb_s" => Field::find("peak_bandwidth_gb_s"),
        _ => None,
    }
}

fn key(canvas: &mut Canvas<'_>, (x, y): (f64, f64), peak: Option<&Field>) {
    canvas.line((x + 2.0, y - 8.0), (x + 2.0, y + 8.0), (RED, 3));
    canvas.text(peak.map_or("", |peak| peak.about), (x + 12.0, y), Text::faded(Anchor::Start));
}
