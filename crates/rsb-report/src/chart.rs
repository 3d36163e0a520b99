//! A chart as data: axes with their labels, and datasets of points. It is built from runs by pure
//! functions in [`crate::charts`] and knows nothing of pixels or fonts; [`crate::svg`] draws it,
//! and so can a terminal or a page.

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
    pub legend_position: Legend,
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
    /// Rows at 0, 1, 2 … from top to bottom, each with its label; columns from left to right, where
    /// x has it.
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
    /// From where to where it reaches along x: its error interval, the edges of a column, the ends
    /// of a part of a bar.
    pub extent: Option<[f64; 2]>,
    /// From where to where the true value may lie, along the axis that the shape measures on: x of
    /// a bar, else y.
    pub error: Option<[f64; 2]>,
    /// What stands beside it, for people.
    pub text: String,
}

impl Point {
    /// A point without an extent or a text.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Reaching from `low` to `high` along x.
    #[must_use]
    pub const fn over(mut self, low: f64, high: f64) -> Self {
        self.extent = Some([low, high]);
        self
    }

    /// With a true value between `low` and `high`.
    #[must_use]
    pub const fn within(mut self, low: f64, high: f64) -> Self {
        self.error = Some([low, high]);
        self
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
    /// A horizontal bar from 0 to `x` in row `y`; over the extent, where it is a part of a stack.
    Bars {
        /// Its height in rows.
        thickness: f64,
    },
    /// The room from 0 to `x` in row `y` that a bar could fill.
    Tracks {
        /// Its height in rows.
        thickness: f64,
    },
    /// A vertical bar from 0 to `y` over the extent.
    Columns,
    /// A field in column `x` of row `y`, its text in it.
    Cells,
    /// What lies between the errors of its points.
    Band,
    /// A dot at `x` in row `y`, and a line over the extent.
    Intervals,
    /// A short strong line across row `y` at `x`.
    Ticks,
    /// A broken line across row `y` at `x`.
    Limits,
    /// A broken line at `x` from bottom to top, its text over it.
    Rules,
}

/// What a dataset stands for. A [`crate::Theme`] gives it a color, and its [`Marker`] says the same
/// by shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Paint {
    /// The n-th of several series, from 0.
    Series(usize),
    /// Plain data.
    Plain,
    /// The run that is compared with.
    Baseline,
    /// The run that is compared.
    Current,
    /// Figures in f32.
    Fp32,
    /// Figures in f16.
    Fp16,
    /// Figures in bf16.
    Bf16,
    /// Figures in tf32.
    Tf32,
    /// Copies within the memory of a device.
    DeviceCopy,
    /// Reads of the memory of a device.
    DeviceRead,
    /// The memory of the host.
    Host,
    /// A change for the better.
    Good,
    /// A change for the worse, or what must be seen.
    Bad,
    /// A change of less than 5 %.
    Even,
    /// What has no verdict.
    Caution,
    /// What asks for attention.
    Warning,
    /// What failed.
    Error,
    /// What is no data: limits and marks.
    Faded,
    /// A share of the highest value of a heat map, from 0 to [`HEAT_LEVELS`] less one.
    Heat(u8),
}

/// Steps of a heat map.
pub const HEAT_LEVELS: u8 = 5;

/// The mark of a dataset: no two roles of one chart share it, whatever their colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// A filled circle.
    Circle,
    /// A filled triangle that points up.
    Triangle,
    /// A filled square.
    Square,
    /// A filled diamond.
    Diamond,
    /// An open circle.
    Ring,
    /// An open triangle.
    OpenTriangle,
    /// An open square.
    OpenSquare,
    /// An open diamond.
    OpenDiamond,
    /// An arrow up: better.
    Up,
    /// An arrow down: worse.
    Down,
    /// A dash: as it was.
    Dash,
    /// A question: no verdict.
    Question,
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

impl Paint {
    /// The shape that says the same as the color.
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

    /// Whether it says what became of a figure: better, worse, as it was, unknown.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Good | Self::Bad | Self::Even | Self::Caution)
    }
}

impl Axis {
    /// The part of the axis below `value`, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let [low, high] = self.bounds.map(|bound| self.scaled(bound));
        let share = (self.scaled(value) - low) / (high - low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.scale == AxisScale::Log { value.max(f64::MIN_POSITIVE).ln() } else { value }
    }

    /// Whether `value` is shown where it is, and not at the edge.
    pub fn shows(&self, value: f64) -> bool {
        let [low, high] = self.bounds;
        (low..=high).contains(&value)
    }
}

impl Dataset {
    /// Points of the shape `kind` that the legend does not name.
    pub fn new(kind: DatasetKind, paint: Paint, points: Vec<Point>) -> Self {
        Self { name: String::new(), kind, paint, points }
    }

    /// With a name for the legend.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl Chart {
    /// The datasets that the legend names: those with a name and at least one point.
    pub fn legend_datasets(&self) -> impl Iterator<Item = &Dataset> {
        self.datasets
            .iter()
            .filter(|dataset| !dataset.name.is_empty() && !dataset.points.is_empty())
    }

    /// Whether every coordinate and bound is finite: what is not cannot be drawn.
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

fn is_finite_pair(values: [f64; 2]) -> bool {
    values.iter().all(|value| value.is_finite())
}
