//! Charts of values that are not stored, as text and as SVG.

mod plots;

use rsb_report::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, HEAT_LEVELS, Label, Legend, Paint,
    Point,
};
use rsb_report::{Glyphs, Style, format_quantity, picture, svg};

use crate::figures::check_finite;
use crate::keep::KeepError;

/// Names of the chart kinds, for error messages.
const KINDS: &str = "bar, stacked-bar, line, scatter, gauge, heat-map, speedup, scaling, roofline, \
                     timeline or delta";

/// Height of a bar in rows.
const THICKNESS: f64 = 0.62;

/// Content of a chart.
pub(crate) struct Drawing {
    /// Kind of chart.
    pub(crate) kind: String,
    /// Title.
    pub(crate) title: String,
    /// Unit of the values.
    pub(crate) unit: String,
    /// Labels of the rows, or of the points from left to right; for a plot, the titles of both
    /// axes.
    pub(crate) labels: Vec<String>,
    /// Names of the columns of a heat map, of the lines, or of the parts of a stack; for a gauge,
    /// the text.
    pub(crate) names: Vec<String>,
    /// Values: one list for each line, row of a heat map or part of a stack; a single list for
    /// bars; one list for each coordinate of a plot.
    pub(crate) figures: Vec<Vec<f64>>,
}

/// Draws `drawing` as text of at most `width` columns and `height` lines.
pub(crate) fn draw(
    drawing: &Drawing,
    width: usize,
    height: usize,
    glyphs: Glyphs,
    style: Style,
) -> Result<String, KeepError> {
    Ok(picture(&chart_of(drawing)?, width, height, glyphs).text(style))
}

/// Draws `drawing` as SVG.
pub(crate) fn draw_svg(drawing: &Drawing) -> Result<String, KeepError> {
    svg(&chart_of(drawing)?).ok_or_else(|| {
        KeepError::Unknown("a value of the chart is not finite; leave it out".to_owned())
    })
}

/// Builds the chart. The name of its kind may be written with `-`, with `_`, or as one word.
fn chart_of(drawing: &Drawing) -> Result<Chart, KeepError> {
    for figures in &drawing.figures {
        check_finite(figures)?;
    }
    match drawing.kind.replace(['-', '_'], "").as_str() {
        "bar" => bars(drawing, None),
        "stackedbar" => plots::stacked(drawing),
        "gauge" => bars(drawing, Some(Mark::Room(100.0))),
        "speedup" => bars(
            &Drawing {
                figures: vec![ratios(drawing)?],
                unit: "×".to_owned(),
                ..empty_copy(drawing)
            },
            Some(Mark::Even),
        ),
        "heatmap" => heat_map(drawing),
        "line" => lines(drawing),
        "scatter" => plots::scatter(drawing),
        "scaling" => plots::scaling(drawing),
        "roofline" => plots::roofline(drawing),
        "timeline" => plots::memory_timeline(drawing),
        "delta" => plots::delta(drawing),
        other => Err(KeepError::Unknown(format!("`{other}` is not a kind of chart; use {KINDS}"))),
    }
}

/// Reference mark of bars.
#[derive(Clone, Copy)]
enum Mark {
    /// Full scale of each bar.
    Room(f64),
    /// A line at 1, which means no change.
    Even,
}

fn empty_copy(drawing: &Drawing) -> Drawing {
    Drawing {
        kind: drawing.kind.clone(),
        title: drawing.title.clone(),
        unit: String::new(),
        labels: drawing.labels.clone(),
        names: Vec::new(),
        figures: Vec::new(),
    }
}

/// Returns how many times faster the second list of times is than the first.
fn ratios(drawing: &Drawing) -> Result<Vec<f64>, KeepError> {
    let [before, after] = drawing.figures.as_slice() else {
        return Err(KeepError::Unknown(
            "a speedup chart needs two lists of times, before and after".to_owned(),
        ));
    };
    if before.len() != after.len() || before.iter().chain(after).any(|time| *time <= 0.0) {
        return Err(KeepError::Unknown(
            "both lists must have the same number of times, all above zero".to_owned(),
        ));
    }
    Ok(before.iter().zip(after).map(|(before, after)| before / after).collect())
}

fn fits(drawing: &Drawing, figures: &[f64]) -> Result<(), KeepError> {
    if figures.len() == drawing.labels.len() {
        return Ok(());
    }
    let message = format!(
        "there are {} values but {} labels; pass the same number of both",
        figures.len(),
        drawing.labels.len()
    );
    Err(KeepError::Unknown(message))
}

fn linear(title: &str, low: f64, high: f64) -> Axis {
    let high = if high > low { high } else { low + 1.0 };
    let labels = [low, f64::midpoint(low, high), high]
        .map(|at| Label { at, text: format_quantity(at, "") })
        .to_vec();
    Axis { title: title.to_owned(), bounds: [low, high], labels, scale: AxisScale::Linear }
}

fn rows(labels: &[String]) -> Axis {
    let bounds = [-0.5, labels.len() as f64 - 0.5];
    let labels = labels
        .iter()
        .enumerate()
        .map(|(at, text)| Label { at: at as f64, text: text.clone() })
        .collect();
    Axis { title: String::new(), bounds, labels, scale: AxisScale::Rows }
}

fn chart(drawing: &Drawing, x_axis: Axis, y_axis: Axis, datasets: Vec<Dataset>) -> Chart {
    Chart {
        name: drawing.kind.clone(),
        title: drawing.title.clone(),
        subtitle: String::new(),
        place: ChartPlace::Other,
        x_axis,
        y_axis,
        legend_position: if datasets.iter().any(|one| !one.name.is_empty()) {
            Legend::Below
        } else {
            Legend::Hidden
        },
        datasets,
    }
}

fn bars(drawing: &Drawing, mark: Option<Mark>) -> Result<Chart, KeepError> {
    let figures = drawing.figures.first().map(Vec::as_slice).unwrap_or_default();
    fits(drawing, figures)?;
    if let Some(value) = figures.iter().find(|value| **value < 0.0) {
        return Err(KeepError::Unknown(format!("a bar begins at 0 and cannot show {value}")));
    }
    let points = figures
        .iter()
        .enumerate()
        .map(|(row, &value)| {
            let text = drawing.names.get(row).cloned();
            let text = text.unwrap_or_else(|| format_quantity(value, &drawing.unit));
            Point::at(value, row as f64).saying(text)
        })
        .collect();
    let kind = DatasetKind::Bars { thickness: THICKNESS };
    let mut datasets = vec![Dataset::new(kind, Paint::Plain, points)];
    let mut top = figures.iter().copied().fold(0.0, f64::max);
    match mark {
        Some(Mark::Room(room)) => {
            top = room;
            let tracks = (0..figures.len()).map(|row| Point::at(room, row as f64)).collect();
            datasets.insert(
                0,
                Dataset::new(DatasetKind::Tracks { thickness: THICKNESS }, Paint::Faded, tracks),
            );
        }
        Some(Mark::Even) => {
            top = top.max(1.0);
            datasets.push(Dataset::new(
                DatasetKind::Rules,
                Paint::Faded,
                vec![Point::at(1.0, 0.0).saying("as before")],
            ));
        }
        None => {}
    }
    Ok(chart(drawing, linear(&drawing.unit, 0.0, top), rows(&drawing.labels), datasets))
}

fn lines(drawing: &Drawing) -> Result<Chart, KeepError> {
    let mut datasets = Vec::new();
    for (index, figures) in drawing.figures.iter().enumerate() {
        fits(drawing, figures)?;
        let points =
            figures.iter().enumerate().map(|(at, &value)| Point::at(at as f64, value)).collect();
        let name = drawing.names.get(index).cloned().unwrap_or_default();
        datasets
            .push(Dataset::new(DatasetKind::Line, Paint::Series(index), points).with_name(name));
    }
    let (low, high) = bounds_of(&drawing.figures);
    if !low.is_finite() {
        return Err(KeepError::Unknown(
            "there are no lines; pass a list of values for each line".to_owned(),
        ));
    }
    // Show at most six labels.
    let step = drawing.labels.len().div_ceil(6).max(1);
    let labels = drawing
        .labels
        .iter()
        .enumerate()
        .step_by(step)
        .map(|(at, text)| Label { at: at as f64, text: text.clone() })
        .collect();
    let last = drawing.labels.len().saturating_sub(1).max(1) as f64;
    let x_axis =
        Axis { title: String::new(), bounds: [0.0, last], labels, scale: AxisScale::Linear };
    Ok(chart(drawing, x_axis, linear(&drawing.unit, low, high), datasets))
}

/// Returns the lowest and the highest of all values.
fn bounds_of(figures: &[Vec<f64>]) -> (f64, f64) {
    figures.iter().flatten().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    })
}

fn heat_map(drawing: &Drawing) -> Result<Chart, KeepError> {
    if drawing.figures.len() != drawing.labels.len()
        || drawing.figures.iter().any(|figures| figures.len() != drawing.names.len())
    {
        let text = "a heat map needs a list for each row label, with a value for each column name";
        return Err(KeepError::Unknown(text.to_owned()));
    }
    let (low, high) = bounds_of(&drawing.figures);
    let mut datasets = Vec::new();
    for level in 0..HEAT_LEVELS {
        let mut cells = Vec::new();
        for (y, figures) in drawing.figures.iter().enumerate() {
            for (x, &value) in figures.iter().enumerate() {
                if heat_level(value, low, high) == level {
                    let cell = Point::at(x as f64, y as f64);
                    cells.push(cell.saying(format_quantity(value, "")));
                }
            }
        }
        datasets.push(Dataset::new(DatasetKind::Cells, Paint::Heat(level), cells));
    }
    Ok(chart(drawing, rows(&drawing.names), rows(&drawing.labels), datasets))
}

/// Returns the heat level of `value` between `low` and `high`.
fn heat_level(value: f64, low: f64, high: f64) -> u8 {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    (share * f64::from(HEAT_LEVELS - 1)).round() as u8
}
