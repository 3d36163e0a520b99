//! A chart as data: axes with labels, and datasets of points. Pure functions in [`crate::charts`]
//! build it from runs. It is independent of pixels and fonts: [`crate::svg`] draws it as SVG, and
//! other renderers can draw it in a terminal or on a page.

use serde::Serialize;

/// Part of a report that a chart belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartPlace {
    /// Next to the results of this benchmark.
    Benchmark(String),
    /// Next to the backend comparison.
    Backends,
    /// Next to the comparison of runs.
    Comparison,
    /// After the results.
    Other,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Short name, unique in a report and valid as a file name, without extension.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Details that complete the title: number of samples, which direction is better.
    pub subtitle: String,
    /// Part of the report that the chart belongs to.
    pub place: ChartPlace,
    /// Horizontal axis, from left to right.
    pub x_axis: Axis,
    /// Vertical axis, from bottom to top; rows go from top to bottom.
    pub y_axis: Axis,
    /// Datasets in drawing order, bottom layer first.
    pub datasets: Vec<Dataset>,
    /// Position of the legend.
    pub legend_position: Legend,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Title, with the unit of the coordinates.
    pub title: String,
    /// Lowest and highest visible coordinate. Points outside are drawn at the edge.
    pub bounds: [f64; 2],
    /// Labels in ascending order, within the bounds.
    pub labels: Vec<Label>,
    /// Mapping from coordinates to positions.
    pub scale: AxisScale,
}

/// A label of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Label {
    /// Coordinate.
    pub at: f64,
    /// Label text.
    pub text: String,
}

/// Mapping from coordinates to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances. All coordinates are positive.
    Log,
    /// Labeled rows at 0, 1, 2 … from top to bottom; on the x axis, columns from left to right.
    Rows,
}

/// Points that are drawn in the same style.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dataset {
    /// Name in the legend; empty if not listed there.
    pub name: String,
    /// Shape.
    pub kind: DatasetKind,
    /// Color.
    pub paint: Paint,
    /// Points in the order in which they are connected.
    pub points: Vec<Point>,
}

/// A point, in the coordinates of the axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Point {
    /// Coordinate from left to right.
    pub x: f64,
    /// Coordinate from bottom to top, or the row.
    pub y: f64,
    /// Range along x: an error interval, the edges of a column, or the ends of a bar segment.
    pub extent: Option<[f64; 2]>,
    /// Error interval along the measured axis: x for bars, otherwise y.
    pub error: Option<[f64; 2]>,
    /// Text next to the point.
    pub text: String,
}

impl Point {
    /// Returns a point without extent, error or text.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Sets the extent along x from `low` to `high`.
    #[must_use]
    pub const fn over(mut self, low: f64, high: f64) -> Self {
        self.extent = Some([low, high]);
        self
    }

    /// Sets the error interval from `low` to `high`.
    #[must_use]
    pub const fn within(mut self, low: f64, high: f64) -> Self {
        self.error = Some([low, high]);
        self
    }

    /// Sets the text next to the point.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}

/// Shape of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetKind {
    /// A mark at each point, connected by lines.
    Line,
    /// A mark at each point.
    Marks,
    /// A line through the points, without marks.
    Path,
    /// A limit: a line in one of [`DASHES`] dash patterns, with the text of its last point next to it.
    Roof {
        /// Index of the dash pattern; 0 is solid.
        dash: usize,
    },
    /// A small dot at each point, for many points.
    Dots,
    /// A horizontal bar in row `y`, from 0 to `x`, or over the extent if the point has one (part of
    /// a stack).
    Bars {
        /// Height in rows.
        thickness: f64,
    },
    /// The background of a bar in row `y`, from 0 to `x`.
    Tracks {
        /// Height in rows.
        thickness: f64,
    },
    /// A vertical bar from 0 to `y` over the extent.
    Columns,
    /// A cell in column `x` of row `y`, with the text in it.
    Cells,
    /// The area between the error intervals of the points.
    Band,
    /// A dot at `x` in row `y`, and a line over the extent.
    Intervals,
    /// A short thick line across row `y` at `x`.
    Ticks,
    /// A dashed line across row `y` at `x`.
    Limits,
    /// A dashed line at `x` from bottom to top, with the text above it.
    Rules,
}

/// Role of a dataset. A [`crate::Theme`] assigns its color, and its [`Marker`] expresses the same
/// role by shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Paint {
    /// The n-th of several series, from 0.
    Series(usize),
    /// Plain data.
    Plain,
    /// Baseline run of a comparison.
    Baseline,
    /// Current run of a comparison.
    Current,
    /// Values in f32.
    Fp32,
    /// Values in f16.
    Fp16,
    /// Values in bf16.
    Bf16,
    /// Values in tf32.
    Tf32,
    /// Copies within device memory.
    DeviceCopy,
    /// Reads of device memory.
    DeviceRead,
    /// Host memory.
    Host,
    /// An improvement.
    Good,
    /// A change for the worse, or an emphasized mark.
    Bad,
    /// A change of at most 5 %.
    Even,
    /// No verdict.
    Caution,
    /// A warning.
    Warning,
    /// A failure.
    Error,
    /// Limits and marks that are not data.
    Faded,
    /// Level in a heat map between the lowest and the highest value, from 0 to
    /// [`HEAT_LEVELS`] - 1.
    Heat(u8),
}

/// Number of color levels of a heat map: a theme names five, and the others are between them.
pub const HEAT_LEVELS: u8 = 41;

/// Number of dash patterns of [`DatasetKind::Roof`].
pub const DASHES: usize = 5;

/// Mark of a dataset. No two roles in one chart share a mark, whatever their colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// Filled circle.
    Circle,
    /// Filled triangle pointing up.
    Triangle,
    /// Filled square.
    Square,
    /// Filled diamond.
    Diamond,
    /// Open circle.
    Ring,
    /// Open triangle.
    OpenTriangle,
    /// Open square.
    OpenSquare,
    /// Open diamond.
    OpenDiamond,
    /// Arrow up: better.
    Up,
    /// Arrow down: worse.
    Down,
    /// Dash: no change.
    Dash,
    /// Question mark: no verdict.
    Question,
}

/// Position of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Legend {
    /// No legend.
    Hidden,
    /// Below the chart, entries side by side.
    Below,
}

/// A reference to a chart from a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartLink {
    /// Human-readable title.
    pub title: String,
    /// Path of the SVG file relative to the document, with slashes.
    pub path: String,
    /// Part of the report that the chart belongs to.
    pub place: ChartPlace,
}

impl Paint {
    /// Returns the mark that expresses the same role as the color.
    pub const fn marker(self) -> Marker {
        const SERIES: [Marker; 8] = [
            Marker::Circle,
            Marker::Triangle,
            Marker::Square,
            Marker::Diamond,
            Marker::Ring,
            Marker::OpenTriangle,
            Marker::OpenSquare,
            Marker::OpenDiamond,
        ];
        match self {
            Self::Series(index) => SERIES[index % SERIES.len()],
            Self::Plain | Self::Current | Self::Fp32 | Self::DeviceCopy | Self::Heat(_) => {
                Marker::Circle
            }
            Self::Baseline | Self::Faded => Marker::Ring,
            Self::Fp16 | Self::DeviceRead => Marker::Triangle,
            Self::Bf16 | Self::Host => Marker::Square,
            Self::Tf32 | Self::Warning => Marker::Diamond,
            Self::Good => Marker::Up,
            Self::Bad | Self::Error => Marker::Down,
            Self::Even => Marker::Dash,
            Self::Caution => Marker::Question,
        }
    }

    /// Returns whether this is the outcome of a change: better, worse, even or no verdict.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Good | Self::Bad | Self::Even | Self::Caution)
    }
}

impl Axis {
    /// Returns the position of `value` along the axis, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let [low, high] = self.bounds.map(|bound| self.scaled(bound));
        let share = (self.scaled(value) - low) / (high - low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.scale == AxisScale::Log { value.max(f64::MIN_POSITIVE).ln() } else { value }
    }

    /// Returns whether `value` is within the bounds, so that it is not drawn at the edge.
    pub fn shows(&self, value: f64) -> bool {
        let [low, high] = self.bounds;
        (low..=high).contains(&value)
    }
}

impl Dataset {
    /// Returns a dataset of shape `kind` without a legend entry.
    pub fn new(kind: DatasetKind, paint: Paint, points: Vec<Point>) -> Self {
        Self { name: String::new(), kind, paint, points }
    }

    /// Sets the name in the legend.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl Chart {
    /// Returns the datasets that the legend lists: those with a name and at least one point.
    pub fn legend_datasets(&self) -> impl Iterator<Item = &Dataset> {
        self.datasets
            .iter()
            .filter(|dataset| !dataset.name.is_empty() && !dataset.points.is_empty())
    }

    /// Returns whether all coordinates and bounds are finite, as drawing requires.
    pub fn is_finite(&self) -> bool {
        let mut labels = self.x_axis.labels.iter().chain(&self.y_axis.labels);
        let mut points = self.datasets.iter().flat_map(|dataset| &dataset.points);
        is_finite_pair(self.x_axis.bounds)
            && is_finite_pair(self.y_axis.bounds)
            && labels.all(|label| label.at.is_finite())
            && points.all(|point| {
                is_finite_pair([point.x, point.y])
                    && [point.extent, point.error].into_iter().flatten().all(is_finite_pair)
            })
    }

    /// Returns the file name: `bars-gemm.svg`.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }

    /// Returns a link to the chart in directory `dir`, which is relative to the document.
    pub fn link(&self, dir: &str) -> ChartLink {
        let path = match dir.trim_end_matches('/') {
            "" => self.file_name(),
            dir => format!("{dir}/{}", self.file_name()),
        };
        ChartLink { title: self.title.clone(), path, place: self.place.clone() }
    }
}

fn is_finite_pair(values: [f64; 2]) -> bool {
    values.iter().all(|value| value.is_finite())
}
