//! A chart as data: axes with their labels, and datasets of points. It is built from runs by pure functions in
//! [`crate::charts`] and knows nothing of pixels or fonts; [`crate::svg`] draws it, and so can a terminal or a page.

use serde::Serialize;

/// The part of a report that a chart belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartPlace {
    /// Beside the results of this benchmark.
    Benchmark(String),
    /// Beside the backends of one piece of hardware.
    Backends,
    /// Beside the comparison.
    Comparison,
    /// After the results.
    Other,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Short, unique in a report, fit for a file's name; without an ending.
    pub name: String,
    /// For people.
    pub title: String,
    /// What the title does not say: the number of samples, which way is better.
    pub subtitle: String,
    /// Where it belongs.
    pub place: ChartPlace,
    /// From left to right.
    pub x_axis: Axis,
    /// From bottom to top, or rows from top to bottom.
    pub y_axis: Axis,
    /// What is drawn, the first lowest.
    pub datasets: Vec<Dataset>,
    /// Where the names of the datasets stand.
    pub legend: Legend,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// What it counts, with the unit of the points' coordinates.
    pub title: String,
    /// Lowest and highest coordinate that is shown; what lies outside is drawn at the edge.
    pub bounds: [f64; 2],
    /// Where it is labeled, in ascending order and within the bounds.
    pub labels: Vec<Label>,
    /// How coordinates become positions.
    pub scale: AxisScale,
}

/// A label of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Label {
    /// The coordinate.
    pub at: f64,
    /// What it says there.
    pub text: String,
}

/// How coordinates become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart; every coordinate is above zero.
    Log,
    /// Rows at 0, 1, 2 … from top to bottom, each with its label.
    Rows,
}

/// Points that are drawn alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dataset {
    /// What the legend says; empty where it says nothing.
    pub name: String,
    /// The shape.
    pub kind: DatasetKind,
    /// The color.
    pub paint: Paint,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
}

/// A point, in the coordinates of the axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// From bottom to top, or the row.
    pub y: f64,
    /// From where to where it reaches along x: its error interval, or the edges of a column.
    pub extent: Option<[f64; 2]>,
    /// What stands beside it, for people.
    pub text: String,
}

impl Point {
    /// A point without an extent or a text.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// With `text` beside it.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}

/// The shape of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetKind {
    /// A mark at each point, and a line from each to the next.
    Line,
    /// A mark at each point.
    Marks,
    /// A line from each point to the next, without marks.
    Path,
    /// A small dot at each point, of which there may be many.
    Dots,
    /// A horizontal bar from 0 to `x` in row `y`.
    Bars {
        /// Its height in rows.
        thickness: f64,
    },
    /// A vertical bar from 0 to `y` over the extent.
    Columns,
    /// A dot at `x` in row `y`, and a line over the extent.
    Intervals,
    /// A short strong line across row `y` at `x`.
    Ticks,
    /// A broken line across row `y` at `x`.
    Limits,
    /// A broken line at `x` from bottom to top, its text over it.
    Rules,
}

/// The color of a dataset. Shape or position always says the same thing again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Paint {
    /// That of the n-th of several series, from 0.
    Series(usize),
    /// Plain data.
    Plain,
    /// A change for the better.
    Good,
    /// A change for the worse, or what must be seen.
    Bad,
    /// What has no verdict.
    Caution,
    /// What is no data: limits and marks.
    Faded,
}

/// Where the names of the datasets stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Legend {
    /// Nowhere.
    Hidden,
    /// Right of the chart, one below the other.
    Right,
    /// Below the chart, side by side.
    Below,
}

/// A chart as a document refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartLink {
    /// For people.
    pub title: String,
    /// Of the SVG file, relative to the document, with slashes.
    pub path: String,
    /// Where it belongs.
    pub place: ChartPlace,
}

impl Dataset {
    /// Points of the shape `kind` that the legend does not name.
    pub fn new(kind: DatasetKind, paint: Paint, points: Vec<Point>) -> Self {
        Self { name: String::new(), kind, paint, points }
    }

    /// With a name for the legend.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl Chart {
    /// The datasets that the legend names: those with a name and at least one point.
    pub fn named(&self) -> impl Iterator<Item = &Dataset> {
        self.datasets.iter().filter(|dataset| !dataset.name.is_empty() && !dataset.points.is_empty())
    }

    /// The file's name: `bars-gemm.svg`.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }

    /// A link to the chart once it is written to `dir`, which is relative to the document.
    pub fn link(&self, dir: &str) -> ChartLink {
        let path = match dir.trim_end_matches('/') {
            "" => self.file_name(),
            dir => format!("{dir}/{}", self.file_name()),
        };
        ChartLink { title: self.title.clone(), path, place: self.place.clone() }
    }
}
