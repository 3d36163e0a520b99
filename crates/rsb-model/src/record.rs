//! The record types that scripts read: one benchmark result, one component's result, one comparison, one trend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::field::Fields;
use crate::ids::{BenchmarkType, CaseId, DeviceType, RunId};
use crate::outcome::{Outcome, Reason};
use crate::samples::Samples;
use crate::unit::{Better, Unit};
use crate::verdict::{ReasonCode, Verdict};

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkResult {
    /// The case, such as `cpu_performance/gemm/cpu:0/f32/1024x1024x1024`.
    pub benchmark_id: CaseId,
    /// When it ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// The kind it is counted under.
    pub benchmark_type: BenchmarkType,
    /// The benchmark's name, such as `gemm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// How it ended.
    #[serde(default = "measured")]
    pub outcome: Outcome,
    /// What was not there or broke, when it was not measured.
    #[serde(flatten)]
    #[schemars(with = "OptionalReason")]
    pub reason: Option<Reason>,
    /// What kind of hardware ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
    /// The machine in short.
    #[serde(default)]
    pub environment: EnvironmentSummary,
    /// Its fields, one object for each point (here always one, or none when it never ran).
    pub results: Vec<Fields>,
    /// Spread of the time of one iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    /// Every sample that was taken, by replicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Samples>,
    /// How it was measured: profile, estimator, notes.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

const fn measured() -> Outcome {
    Outcome::Measured
}

/// How `Option<Reason>` looks once flattened into a record.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct OptionalReason {
    /// What is missing or broke.
    what: Option<String>,
    /// Why, as far as it is known.
    why: Option<String>,
    /// What the reader can do about it.
    cure: Option<String>,
}

impl BenchmarkResult {
    /// The fields of the one point, if it ran.
    pub fn fields(&self) -> Option<&Fields> {
        self.results.first()
    }
}

/// The machine in short, as every record carries it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentSummary {
    /// Operating system.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Version of Python.
    pub python_version: Option<String>,
    /// Version of PyTorch.
    pub pytorch_version: Option<String>,
    /// Version of ROCm.
    pub rocm_version: Option<String>,
    /// The first card.
    pub gpu_model: Option<String>,
    /// Number of cards.
    pub gpu_count: Option<u32>,
    /// Memory of the first card in GB.
    pub gpu_memory_gb: Option<f64>,
    /// Memory of the machine in GB.
    pub system_memory_gb: Option<f64>,
}

impl EnvironmentSummary {
    /// The short form of `environment`.
    pub fn of(environment: &Environment) -> Self {
        let gpu = environment.gpus.first();
        Self {
            os: environment.os.clone(),
            kernel: environment.kernel.clone(),
            python_version: environment.python.clone(),
            pytorch_version: environment.frameworks.get("torch").cloned(),
            rocm_version: environment.rocm.clone(),
            gpu_model: gpu.and_then(|gpu| gpu.name.clone()),
            gpu_count: u32::try_from(environment.gpus.len()).ok(),
            gpu_memory_gb: gpu.and_then(|gpu| gpu.vram_gb),
            system_memory_gb: environment.memory_gb,
        }
    }
}

/// Spread of the time of one iteration, over every sample of every replicate, in `unit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Always `ms` in this version.
    pub unit: String,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub std_dev: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
    /// Percentiles.
    pub percentiles: Percentiles,
}

/// Values that a share of the samples stays below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 90 in 100.
    pub p90: f64,
    /// 95 in 100.
    pub p95: f64,
    /// 99 in 100.
    pub p99: f64,
}

/// The result of one component: PyTorch, Triton …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentBenchmarkResult {
    /// Such as `pytorch`.
    pub component_id: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_name: Option<String>,
    /// The version that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind it is counted under.
    pub benchmark_type: BenchmarkType,
    /// Its figures.
    pub results: ComponentResults,
    /// How it did.
    pub status: ComponentStatus,
    /// Each target beside what was achieved.
    #[serde(default)]
    pub threshold_checks: Vec<ThresholdCheck>,
}

/// Figures of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentResults {
    /// Rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// How it scales.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalability: Option<Scalability>,
}

/// Rate of a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: String,
    /// Change against the baseline in percent.
    pub comparison_to_baseline: Option<f64>,
}

/// Delay of a component, in ms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Latency {
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub std_dev_ms: Option<f64>,
}

/// Memory of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct MemoryUse {
    pub peak_mb: Option<f64>,
    pub average_mb: Option<f64>,
    pub efficiency_percent: Option<f64>,
}

/// How a component scales.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Scalability {
    pub strong_scaling: Option<f64>,
    pub weak_scaling: Option<f64>,
    pub communication_overhead_percent: Option<f64>,
}

/// How a component did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComponentStatus {
    /// Every case and every target.
    Passed,
    /// Every case, not every target.
    Warning,
    /// A case failed.
    Failed,
}

/// An absolute target beside what was achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdCheck {
    /// What is asked for, in words.
    pub name: String,
    /// Such as `> 100 GFLOP/s`.
    pub expected: String,
    /// Such as `104.2 GFLOP/s`, or why there is no figure.
    pub actual: String,
    /// Whether it is met; null when there is no figure.
    pub passed: Option<bool>,
}

/// A comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonResult {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Unique.
    pub comparison_id: String,
    /// The run or baseline compared with.
    pub baseline_run_id: String,
    /// The run compared.
    pub current_run_id: String,
    /// When.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// The worst of all.
    pub verdict: Verdict,
    /// The threshold where no other is set.
    pub threshold_percent: f64,
    /// One for each metric of each case.
    pub comparisons: Vec<Comparison>,
    /// In the baseline, not in the run.
    pub missing: Vec<CaseId>,
    /// In the run, not in the baseline.
    pub new: Vec<CaseId>,
    /// Targets beside what was achieved.
    #[serde(default)]
    pub threshold_checks: Vec<ThresholdCheck>,
    /// Counts and the overall status.
    pub summary: ComparisonSummary,
}

/// One metric of one case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The case.
    pub id: CaseId,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way it improves.
    pub better: Better,
    /// The baseline's estimate.
    pub baseline_value: Option<f64>,
    /// The run's estimate.
    pub current_value: Option<f64>,
    /// Current less baseline, over baseline, in percent. Whether that is worse is for the verdict to say.
    pub difference_percent: Option<f64>,
    /// Interval of the difference in percent, low then high.
    pub confidence_interval: Option<[f64; 2]>,
    /// Display band of ±5 %; left out without a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_status: Option<ChangeStatus>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Why, for programs.
    pub reason_code: ReasonCode,
    /// The threshold applied.
    pub threshold_percent: f64,
}

/// Display band of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeStatus {
    /// Better by more than 5 %.
    Improved,
    /// Worse by more than 5 %.
    Degraded,
    /// Between.
    Unchanged,
}

/// Counts and the overall status of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonSummary {
    /// Comparisons Improved.
    pub total_improved: usize,
    /// Comparisons Regressed.
    pub total_degraded: usize,
    /// Comparisons Unchanged.
    pub total_unchanged: usize,
    /// Comparisons without a verdict.
    pub total_no_verdict: usize,
    /// In a word.
    pub overall_status: OverallStatus,
    /// The largest changes, worst first.
    pub significant_changes: Vec<SignificantChange>,
}

/// A comparison in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverallStatus {
    /// Every verdict is there and none is Regressed.
    #[default]
    Healthy,
    /// Something has no verdict, or a target is missed.
    Warning,
    /// Something Regressed.
    Critical,
}

/// A change worth a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignificantChange {
    /// Case and metric.
    pub metric: String,
    /// Difference in percent, as in the comparison.
    pub change_percent: f64,
    /// How bad.
    pub severity: Severity,
}

/// How bad a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing: an improvement.
    Info,
    /// Worse by the threshold.
    Warning,
    /// Worse by twice the threshold or more.
    Critical,
}

/// Trends of many series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// One for each metric of each case.
    pub series: Vec<SeriesTrend>,
}

/// The trend of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesTrend {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Points.
    pub n: usize,
    /// First value.
    pub first: f64,
    /// Last value.
    pub last: f64,
    /// Change of the last value against the one before, in percent.
    pub last_change_percent: Option<f64>,
    /// Change of the fitted line in a day, in the unit. Null when the points do not spread in time.
    pub slope_per_day: Option<f64>,
    /// Value of the fitted line at the first point's time.
    pub intercept: Option<f64>,
    /// Share of the variance that the line explains.
    pub r_squared: Option<f64>,
    /// Chance of such a slope where there is no trend.
    pub p_value: Option<f64>,
    /// Where it goes.
    pub direction: Direction,
    /// Points where the level changed.
    pub change_points: Vec<ChangePoint>,
    /// The fitted value a week after the last point, when the trend is significant.
    pub forecast: Option<Forecast>,
    /// What asks for attention.
    pub alerts: Vec<Alert>,
    /// The values, oldest first, for a sparkline.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Where a series goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Significantly up.
    Increasing,
    /// Significantly down.
    Decreasing,
    /// Neither.
    Stable,
}

/// A point where the level of a series changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Position of the first point of the new level.
    pub index: usize,
    /// Its time.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Change in percent.
    pub change_percent: f64,
    /// Chance of such a change where there is none.
    pub p_value: f64,
}

/// A value expected later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
}

/// Something that asks for attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// The metric.
    pub metric: String,
    /// `better`, `worse`, or `changed` where the direction is unknown.
    pub direction: String,
    /// How much, in percent.
    pub change_percent: f64,
    /// How bad.
    pub severity: Severity,
    /// What happened.
    pub description: String,
    /// What to do.
    pub recommendation: String,
}

/// The unit of `metric` where it is one of ours, else what the case says.
pub fn unit_symbol(metric: &str) -> &'static str {
    crate::field::Field::find(metric).map_or(Unit::One.symbol(), |field| field.unit.symbol())
}

/// The run ids of a comparison, for its own id.
pub fn comparison_id(baseline: &str, current: &RunId, timestamp: jiff::Timestamp) -> String {
    format!("{current}-vs-{baseline}-{}", timestamp.as_second())
}
