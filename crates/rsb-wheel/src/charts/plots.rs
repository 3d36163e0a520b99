//! Kinds of charts with stacked bars, signed bars, or two numeric axes.

use rsb_report::chart::{Axis, AxisScale, Chart, Dataset, DatasetKind, Label, Paint, Point};
use rsb_report::{format_percent, format_quantity};

use super::{Drawing, THICKNESS, chart, fits, linear, rows};
use crate::keep::KeepError;

/// Percentage up to which the axis always extends, even if all changes are smaller.
const SMALLEST_REACH: f64 = 5.0;

fn wrong(message: &str) -> KeepError {
    KeepError::Unknown(message.to_owned())
}

/// Returns one bar per label, stacked from one value of each name.
pub(super) fn stacked(drawing: &Drawing) -> Result<Chart, KeepError> {
    if drawing.figures.is_empty() || drawing.figures.len() != drawing.names.len() {
        return Err(wrong("a stacked chart needs a list of values for each name"));
    }
    if drawing.figures.iter().flatten().any(|value| *value < 0.0) {
        return Err(wrong("a stacked bar cannot show a negative value; leave it out"));
    }
    let mut ends = vec![0.0_f64; drawing.labels.len()];
    let mut datasets = Vec::new();
    for (index, (name, figures)) in drawing.names.iter().zip(&drawing.figures).enumerate() {
        fits(drawing, figures)?;
        let mut points = Vec::new();
        for (row, (end, size)) in ends.iter_mut().zip(figures).enumerate() {
            let start = *end;
            *end += size;
            let mut point = Point::at(*end, row as f64).over(start, *end);
            if index + 1 == drawing.names.len() {
                point = point.saying(format_quantity(*end, &drawing.unit));
            }
            points.push(point);
        }
        let kind = DatasetKind::Bars { thickness: THICKNESS };
        datasets.push(Dataset::new(kind, Paint::Series(index), points).with_name(name));
    }
    let top = ends.iter().copied().fold(0.0, f64::max);
    Ok(chart(drawing, linear(&drawing.unit, 0.0, top), rows(&drawing.labels), datasets))
}

/// Returns a signed bar for each label. `names` contains `better`, `worse` or `even` for each bar.
pub(super) fn delta(drawing: &Drawing) -> Result<Chart, KeepError> {
    let changes = drawing.figures.first().map(Vec::as_slice).unwrap_or_default();
    fits(drawing, changes)?;
    if drawing.names.len() != changes.len() {
        return Err(wrong("a delta chart needs a name for each change: better, worse or even"));
    }
    let reach = changes.iter().map(|change| change.abs()).fold(SMALLEST_REACH, f64::max) * 1.05;
    let mut datasets = Vec::new();
    for (paint, name) in [(Paint::Good, "better"), (Paint::Even, "even"), (Paint::Bad, "worse")] {
        let mut points = Vec::new();
        for (row, (change, own)) in changes.iter().zip(&drawing.names).enumerate() {
            if own == name {
                points.push(Point::at(*change, row as f64).saying(format_percent(*change)));
            }
        }
        let kind = DatasetKind::Bars { thickness: THICKNESS };
        datasets.push(Dataset::new(kind, paint, points).with_name(name));
    }
    Ok(chart(drawing, linear("change, %", -reach, reach), rows(&drawing.labels), datasets))
}

/// Returns a mark at each point. For each name, the lists contain its x values and then its y
/// values.
pub(super) fn scatter(drawing: &Drawing) -> Result<Chart, KeepError> {
    let mut datasets = Vec::new();
    let mut all = Vec::new();
    for (index, lists) in drawing.figures.chunks(2).enumerate() {
        let points = points_of(lists)?;
        all.extend(points.iter().map(|point| [point.x, point.y]));
        let name = drawing.names.get(index).cloned().unwrap_or_default();
        let kind = DatasetKind::Marks;
        datasets.push(Dataset::new(kind, Paint::Series(index), points).with_name(name));
    }
    if all.is_empty() {
        return Err(wrong("there are no points; pass lists of x and y"));
    }
    let [x, y] = [0, 1].map(|axis| ends_of(all.iter().map(|point| point[axis])));
    let x_axis = linear(axis_title(drawing, 0), x[0], x[1]);
    Ok(chart(drawing, x_axis, linear(axis_title(drawing, 1), y[0], y[1]), datasets))
}

/// Returns memory over time as a step curve. The lists are the times, the memory in use and,
/// optionally, a limit.
pub(super) fn memory_timeline(drawing: &Drawing) -> Result<Chart, KeepError> {
    let points = points_of(drawing.figures.get(..2).unwrap_or_default())?;
    let is_ordered = points.windows(2).all(|pair| pair[0].x <= pair[1].x);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err(wrong("a memory timeline needs times and values"));
    };
    if !is_ordered || last.x <= first.x {
        return Err(wrong("a memory timeline needs at least two times in ascending order"));
    }
    let (from, to) = (first.x, last.x);
    // The value between two points is unknown, so the line keeps its level until the next point.
    let mut steps = vec![Point::at(first.x, first.y)];
    for pair in points.windows(2) {
        steps.push(Point::at(pair[1].x, pair[0].y));
        steps.push(Point::at(pair[1].x, pair[1].y));
    }
    let most = points.iter().fold(first, |most, point| if point.y > most.y { point } else { most });
    let text = format!("peak {}", format_quantity(most.y, &drawing.unit));
    let peak = Dataset::new(
        DatasetKind::Marks,
        Paint::Warning,
        vec![Point::at(most.x, most.y).saying(text)],
    );
    let mut top = most.y;
    let mut datasets = vec![
        Dataset::new(DatasetKind::Path, Paint::Plain, steps).with_name("in use"),
        peak.with_name("peak"),
    ];
    if let Some(limit) = drawing.figures.get(2).and_then(|limits| limits.first().copied()) {
        top = top.max(limit);
        let line = vec![Point::at(from, limit), Point::at(to, limit)];
        let name = format!("limit {}", format_quantity(limit, &drawing.unit));
        datasets.push(Dataset::new(DatasetKind::Path, Paint::Faded, line).with_name(name));
    }
    let x_axis = linear(axis_title(drawing, 0), from, to);
    Ok(chart(drawing, x_axis, linear(&drawing.unit, 0.0, top * 1.08), datasets))
}

/// Returns the speed for each number of devices, next to ideal scaling. The lists are the numbers
/// of devices, ascending, and the times of the same work on them.
pub(super) fn scaling(drawing: &Drawing) -> Result<Chart, KeepError> {
    let points = points_of(drawing.figures.get(..2).unwrap_or_default())?;
    let is_ordered = points.windows(2).all(|pair| pair[0].x < pair[1].x);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err(wrong("a scaling chart needs numbers of devices and times"));
    };
    if !is_ordered || points.iter().any(|point| point.x <= 0.0 || point.y <= 0.0) {
        return Err(wrong(
            "a scaling chart needs numbers of devices in ascending order and times above zero",
        ));
    }
    // The lowest number of devices is assumed to scale ideally: 2 GPUs start at a speed of 2.
    let speed = |point: &Point| first.x * first.y / point.y;
    let measured: Vec<Point> = points
        .iter()
        .map(|point| Point::at(point.x, speed(point)).saying(format!("{:.2}x", speed(point))))
        .collect();
    let top = measured.iter().map(|point| point.y).fold(last.x, f64::max);
    let ideal = vec![Point::at(first.x, first.x), Point::at(last.x, last.x)];
    let datasets = vec![
        Dataset::new(DatasetKind::Path, Paint::Faded, ideal).with_name("ideal"),
        Dataset::new(DatasetKind::Line, Paint::Series(0), measured).with_name("measured"),
    ];
    let x_axis = linear(axis_title(drawing, 0), first.x, last.x);
    Ok(chart(drawing, x_axis, linear("times as fast", 0.0, top), datasets))
}

/// Returns a roofline plot: rates over operations per byte, below the memory and compute roofs. The
/// lists are the operations per byte, the rates, the peak rate and the peak bandwidth, and,
/// optionally, 1 for each memory-bound point.
pub(super) fn roofline(drawing: &Drawing) -> Result<Chart, KeepError> {
    let points = points_of(drawing.figures.get(..2).unwrap_or_default())?;
    let roofs = drawing.figures.get(2).map(Vec::as_slice).unwrap_or_default();
    let &[peak, bandwidth] = roofs else {
        return Err(wrong("a roofline needs the peak rate and the peak bandwidth"));
    };
    let all = points.iter().flat_map(|point| [point.x, point.y]);
    if points.is_empty() || all.chain([peak, bandwidth]).any(|value| value <= 0.0) {
        return Err(wrong("every value of a roofline must be above zero"));
    }
    let ridge = peak / bandwidth;
    let bound = drawing.figures.get(3).map(Vec::as_slice).unwrap_or_default();
    let is_memory_bound =
        |at: usize, point: &Point| bound.get(at).map_or(point.x < ridge, |flag| *flag > 0.5);
    let [low, high] = ends_of(points.iter().map(|point| point.x).chain([ridge]));
    let x_axis = powers_of_ten(axis_title(drawing, 0), low / 1.5, high * 1.5);
    let [first, last] = x_axis.bounds;
    let rates = points.iter().map(|point| point.y);
    let [slowest, fastest] = ends_of(rates.chain([first * bandwidth, peak]));
    let y_axis = powers_of_ten(axis_title(drawing, 1), slowest, fastest);
    let slope = vec![Point::at(first, first * bandwidth), Point::at(ridge, peak)];
    let flat = vec![Point::at(ridge, peak), Point::at(last, peak)];
    let mut datasets = vec![
        Dataset::new(DatasetKind::Path, Paint::DeviceCopy, slope).with_name("memory roof"),
        Dataset::new(DatasetKind::Path, Paint::Bad, flat).with_name("compute roof"),
    ];
    for (index, name) in ["memory-bound", "compute-bound"].into_iter().enumerate() {
        let mut own = Vec::new();
        for (at, point) in points.iter().enumerate() {
            if is_memory_bound(at, point) == (index == 0) {
                own.push(point.clone());
            }
        }
        datasets.push(Dataset::new(DatasetKind::Marks, Paint::Series(index), own).with_name(name));
    }
    Ok(chart(drawing, x_axis, y_axis, datasets))
}

/// Returns the points whose x and y values are in two lists.
fn points_of(lists: &[Vec<f64>]) -> Result<Vec<Point>, KeepError> {
    let [x, y] = lists else {
        return Err(wrong("a plot needs two lists of numbers, x and y"));
    };
    if x.len() != y.len() {
        return Err(KeepError::Unknown(format!(
            "there are {} values of x but {} of y; pass the same number of both",
            x.len(),
            y.len()
        )));
    }
    Ok(x.iter().zip(y).map(|(&x, &y)| Point::at(x, y)).collect())
}

/// Returns the title of the x axis (0) or y axis (1).
fn axis_title(drawing: &Drawing, axis: usize) -> &str {
    drawing.labels.get(axis).map_or("", String::as_str)
}

/// Returns the lowest and the highest of `values`.
fn ends_of(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value), high.max(value)]
    })
}

/// Returns a logarithmic axis from the power of ten at or below `low` to the one at or above
/// `high`.
fn powers_of_ten(title: &str, low: f64, high: f64) -> Axis {
    let first = low.log10().floor() as i32;
    let last = (high.log10().ceil() as i32).max(first + 1);
    let labels = (first..=last)
        .map(|power| 10_f64.powi(power))
        .map(|at| Label { at, text: format!("{at}") })
        .collect();
    let bounds = [10_f64.powi(first), 10_f64.powi(last)];
    Axis { title: title.to_owned(), bounds, labels, scale: AxisScale::Log }
}
