//! Statistics of lists of numbers, trends, and text charts.

use rsb_model::Better;
use rsb_report::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, HEAT_LEVELS, Label, Legend, Paint,
    Point,
};
use rsb_report::{Glyphs, Style, format_quantity, picture};
use rsb_stats::estimate::{
    OutlierRule, mean, median, median_absolute_deviation, outliers, quantile, std_dev,
};
use rsb_stats::hypothesis::{TestResult, mann_whitney, welch_t};
use rsb_stats::interval::{Interval, difference_interval, mean_interval};
use rsb_stats::{SeriesInput, effect};
use serde_json::{Value, json};

use crate::keep::{KeepError, text};

/// Checks that there is at least one value and that all values are finite.
fn check_finite(values: &[f64]) -> Result<(), KeepError> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => {
            Err(KeepError::Unknown(format!("{value} is not a finite number; leave it out")))
        }
        None if values.is_empty() => {
            Err(KeepError::Unknown("there are no values; pass at least one".to_owned()))
        }
        None => Ok(()),
    }
}

fn rate(confidence: f64) -> Result<f64, KeepError> {
    if (0.5..1.0).contains(&confidence) {
        return Ok(1.0 - confidence);
    }
    Err(KeepError::Unknown(format!(
        "confidence {confidence} is out of range; use a number from 0.5 to below 1, such as 0.95"
    )))
}

fn ends(interval: Option<Interval>) -> Value {
    interval.map_or(Value::Null, |interval| json!([interval.low, interval.high]))
}

/// Computes the statistics of `values`, as JSON.
pub(crate) fn statistics(values: &[f64], confidence: f64) -> Result<String, KeepError> {
    check_finite(values)?;
    text(&json!({
        "n": values.len(),
        "mean": mean(values),
        "median": median(values),
        "std_dev": std_dev(values),
        "median_absolute_deviation": median_absolute_deviation(values),
        "min": quantile(values, 0.0),
        "max": quantile(values, 1.0),
        "percentiles": {
            "p50": quantile(values, 0.5),
            "p90": quantile(values, 0.9),
            "p95": quantile(values, 0.95),
            "p99": quantile(values, 0.99),
        },
        "confidence_interval": ends(mean_interval(values, rate(confidence)?)),
        "outliers": outliers(values, OutlierRule::Mad(3.5)),
    }))
}

/// Tests whether `after` differs from `before`, as JSON.
pub(crate) fn difference(
    before: &[f64],
    after: &[f64],
    confidence: f64,
) -> Result<String, KeepError> {
    check_finite(before)?;
    check_finite(after)?;
    let alpha = rate(confidence)?;
    let (welch, ranks) = (welch_t(before, after), mann_whitney(before, after));
    let change = mean(before).zip(mean(after)).filter(|(before, _)| *before != 0.0);
    text(&json!({
        "change_percent": change.map(|(before, after)| 100.0 * (after - before) / before),
        "difference_interval": ends(difference_interval(before, after, alpha)),
        "welch_t": test_as_json(welch),
        "mann_whitney": test_as_json(ranks),
        "cohens_d": effect::cohens_d(before, after),
        "cliffs_delta": effect::cliffs_delta(before, after),
        "is_significant": ranks.or(welch).is_some_and(|test| test.p_value < alpha),
    }))
}

fn test_as_json(test: Option<TestResult>) -> Value {
    test.map_or(Value::Null, |test| json!({ "statistic": test.statistic, "p_value": test.p_value }))
}

/// Computes the trend of `points`, whose times are in RFC 3339, as JSON.
pub(crate) fn trend(
    name: &str,
    better: Option<&str>,
    points: &[(String, f64)],
) -> Result<String, KeepError> {
    let better = match better {
        None => None,
        Some("higher") => Some(Better::Higher),
        Some("lower") => Some(Better::Lower),
        Some(other) => {
            return Err(KeepError::Unknown(format!(
                "`{other}` is not a direction; use higher or lower"
            )));
        }
    };
    let mut known = Vec::new();
    for (time, value) in points {
        let Some(moment) = rsb_model::calendar::parse_time(time) else {
            return Err(KeepError::Unknown(format!(
                "`{time}` in the series is not a valid time; use RFC 3339 (2026-11-21T09:03:12Z)"
            )));
        };
        known.push((moment, *value));
    }
    let input = SeriesInput {
        id: name.to_owned(),
        metric: "value".to_owned(),
        unit: String::new(),
        better,
        points: known,
    };
    text(&rsb_stats::trend(&[input]))
}

/// Content of a chart.
pub(crate) struct Drawing {
    /// Kind of chart.
    pub(crate) kind: String,
    /// Title.
    pub(crate) title: String,
    /// Unit of the values.
    pub(crate) unit: String,
    /// Labels of the rows, or of the points from left to right.
    pub(crate) labels: Vec<String>,
    /// Names of the columns of a heat map, or of the lines.
    pub(crate) names: Vec<String>,
    /// Values: a list for each line or row of a heat map; a single list for bars.
    pub(crate) figures: Vec<Vec<f64>>,
}

/// Draws `drawing` as text of at most `width` columns and `height` lines.
pub(crate) fn draw(
    drawing: &Drawing,
    width: usize,
    height: usize,
    glyphs: Glyphs,
) -> Result<String, KeepError> {
    for figures in &drawing.figures {
        check_finite(figures)?;
    }
    let chart = match drawing.kind.as_str() {
        "bar" => bars(drawing, None)?,
        "gauge" => bars(drawing, Some(Mark::Room(100.0)))?,
        "speedup" => bars(
            &Drawing {
                figures: vec![ratios(drawing)?],
                unit: "×".to_owned(),
                ..empty_copy(drawing)
            },
            Some(Mark::Even),
        )?,
        "heatmap" => heat_map(drawing)?,
        "line" => lines(drawing)?,
        other => {
            return Err(KeepError::Unknown(format!(
                "`{other}` is not a kind of chart; use bar, line, gauge, heatmap or speedup"
            )));
        }
    };
    Ok(picture(&chart, width, height, glyphs).text(Style::PLAIN))
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
    let said = format!(
        "there are {} values but {} labels; pass the same number of both",
        figures.len(),
        drawing.labels.len()
    );
    Err(KeepError::Unknown(said))
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
    const THICKNESS: f64 = 0.62;
    let figures = drawing.figures.first().map(Vec::as_slice).unwrap_or_default();
    fits(drawing, figures)?;
    if let Some(value) = figures.iter().find(|value| **value < 0.0) {
        return Err(KeepError::Unknown(format!("a bar begins at 0 and cannot show {value}")));
    }
    let points = figures
        .iter()
        .enumerate()
        .map(|(row, &value)| {
            Point::at(value, row as f64).saying(format_quantity(value, &drawing.unit))
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
    // A few labels are enough.
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
        let said = "a heat map needs a list for each row label, with a value for each column name";
        return Err(KeepError::Unknown(said.to_owned()));
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
