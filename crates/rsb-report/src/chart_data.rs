//! The values of a chart as a table, for screen readers and spreadsheets.

use crate::chart::{Axis, AxisScale, Chart, Dataset, DatasetKind, Point};
use crate::document::{ReportError, csv, csv_number};
use crate::number::format_quantity;
use crate::table::{Cell, Column, Table};

/// Returns the points that represent values; none for decoration such as bar backgrounds, level
/// lines and noise bands.
fn points(chart: &Chart) -> impl Iterator<Item = (&Dataset, &Point)> {
    let data = chart.datasets.iter().filter(|dataset| !is_decoration(dataset));
    data.flat_map(|dataset| dataset.points.iter().map(move |point| (dataset, point)))
}

fn is_decoration(dataset: &Dataset) -> bool {
    match dataset.kind {
        DatasetKind::Tracks { .. } | DatasetKind::Band => true,
        DatasetKind::Path | DatasetKind::Roof { .. } | DatasetKind::Rules => {
            dataset.name.is_empty()
        }
        _ => false,
    }
}

/// Returns the names of the x and y columns: the axis titles, or `x` and `y` if there are none.
fn titles(chart: &Chart) -> [&str; 2] {
    let [x, y] = [&chart.x_axis.title, &chart.y_axis.title].map(String::as_str);
    [if x.is_empty() { "x" } else { x }, if y.is_empty() { "y" } else { y }]
}

/// Formats `value` as its axis does: the label of a row, or the number formatted by `format`.
fn coordinate(axis: &Axis, value: f64, format: impl Fn(f64) -> String) -> String {
    match axis.scale {
        AxisScale::Rows => {
            let label = axis.labels.iter().find(|label| (label.at - value).abs() < 0.5);
            label.map(|label| label.text.clone()).unwrap_or_default()
        }
        AxisScale::Linear | AxisScale::Log => format(value),
    }
}

fn ends(point: &Point) -> [Option<f64>; 2] {
    let [low, high] = point.error.or(point.extent).map_or([None; 2], |ends| ends.map(Some));
    [low, high]
}

/// Returns a table of the first `most` values of `chart`, one row per point, and the number of
/// values left out.
pub fn chart_table(chart: &Chart, most: usize) -> (Table, usize) {
    let [x, y] = titles(chart);
    let mut table = Table::new([
        Column::left("series"),
        Column::right(x),
        Column::right(y),
        Column::right("from"),
        Column::right("to"),
        Column::left("said"),
    ]);
    for (dataset, point) in points(chart).take(most) {
        let [low, high] =
            ends(point).map(|end| Cell::from(end.map_or_else(String::new, format_figure)));
        table.push([
            Cell::from(&dataset.name),
            Cell::from(coordinate(&chart.x_axis, point.x, format_figure)),
            Cell::from(coordinate(&chart.y_axis, point.y, format_figure)),
            low,
            high,
            Cell::from(&point.text),
        ]);
    }
    (table, points(chart).count().saturating_sub(most))
}

fn format_figure(value: f64) -> String {
    format_quantity(value, "")
}

/// Returns the x coordinates of the rows of [`chart_table`].
pub fn chart_places(chart: &Chart, most: usize) -> Vec<f64> {
    points(chart).take(most).map(|(_, point)| point.x).collect()
}

/// Formats all values of `chart` at full precision as CSV: `series,x,y,from,to,said`, with the axis
/// titles instead of x and y.
///
/// # Errors
/// If the CSV writer fails, which the data of a chart cannot cause.
pub fn chart_csv(chart: &Chart) -> Result<String, ReportError> {
    let [x, y] = titles(chart);
    let rows = points(chart).map(|(dataset, point)| {
        let [low, high] = ends(point).map(csv_number);
        vec![
            dataset.name.clone(),
            coordinate(&chart.x_axis, point.x, |value| csv_number(Some(value))),
            coordinate(&chart.y_axis, point.y, |value| csv_number(Some(value))),
            low,
            high,
            point.text.clone(),
        ]
    });
    csv(&["series", x, y, "from", "to", "said"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, charts, sample};

    #[test]
    fn every_chart_has_its_figures_as_rows() {
        let (run, comparison) = (sample::run(), sample::comparison());
        for chart in charts::all(&Report::new(&run).with_comparison(&comparison)) {
            let count = points(&chart).count();
            let (table, more) = chart_table(&chart, 3);
            assert!(count > 1 && table.rows().len() + more == count, "{}", chart.name);
            let csv = chart_csv(&chart).unwrap();
            assert_eq!(csv.lines().count(), count + 1, "{csv}");
        }
    }

    #[test]
    fn a_row_is_told_by_its_label_and_a_figure_by_its_digits() {
        let run = sample::run();
        let bars = charts::bars(&run).remove(0);
        let label = &bars.y_axis.labels[0].text;
        let csv = chart_csv(&bars).unwrap();
        assert!(csv.lines().nth(1).unwrap().contains(label.as_str()), "{label}: {csv}");
    }
}
