//! The record types that scripts read: one benchmark result, one component's result, one
//! comparison, one trend.

mod compared;
mod comparison;
mod device_metrics;
mod first_day;
mod health;
mod installation;
mod models;
mod threshold;
mod tracked;
mod trend;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::factor::{self, Factors};
use crate::field::Fields;
use crate::ids::{BenchmarkType, CaseId, DeviceType};
use crate::outcome::{Obstacle, Outcome, Reason};
use crate::samples::{Samples, quantile_of_sorted};
use crate::unit::Unit;
pub use compared::{
    BothSides, ComparisonStatistics, OutlierCounts, PercentileChanges, TTest, UTest,
};
pub use comparison::{
    ChangeStatus, Comparison, ComparisonNote, ComparisonNoteCode, ComparisonResult,
    ComparisonSummary, OverallStatus, Severity, SignificantChange, comparison_id,
};
pub use device_metrics::{DeviceMetrics, GpuModelMetrics, LayerTime};
pub use first_day::{
    CheckCounts, CheckResult, CheckStatus, CheckValue, CheckedDevice, ExpectedRange,
    FirstDayDocument,
};
pub use health::{HealthDocument, HealthItem, Recommendation};
pub use installation::{InstallationInfo, PerformanceBaseline};
pub use models::{
    Compatibility, CompatibilityDocument, HardwareDetails, ModelAdvice, ModelBasis, ModelCandidate,
    ModelChoice, ModelCompatibility, ModelEvidence, ModelFigures, ModelPlace, ModelRecord,
    ModelSummary, ModelsDocument, RecommendDocument, SkippedModel, UnknownPlace,
};
pub use threshold::ThresholdCheck;
pub use tracked::{AlertState, ChangeRange, RunPoint, SeriesMove, TrackedAlert};
pub use trend::{
    Alert, AlertBasis, Anomaly, ChangePoint, CommonChange, CommonMember, Direction, Forecast,
    LevelPart, LevelSeparation, MonotoneTest, PredictedValue, Ramp, RecentTrend, SeriesTrend,
    TrendDocument, TrendShape, TwoLevels,
};

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
    #[serde(default = "default_outcome")]
    pub outcome: Outcome,
    /// What was not there or broke, when it was not measured.
    #[serde(flatten)]
    #[schemars(with = "OptionalReason")]
    pub reason: Option<Reason>,
    /// What kind of hardware ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
    /// Versions of the software that the case depends on; absent in files of earlier versions and
    /// of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
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

/// The metric that samples give.
pub const TIME: &str = "time_ms";

/// What the metadata of an accepted case in a baseline call the run that its samples are from.
pub const ACCEPTED_FROM: &str = "accepted_from";

/// What the metadata of a case in a baseline call the processes of earlier runs, which tell how
/// noisy the case is: for each run, oldest first, the milliseconds of an iteration in the least
/// disturbed sample of each process.
pub const PAST_PROCESSES: &str = "past_processes_ms";

/// What the metadata of a case call the reason why its instructions, which were asked for, were not
/// counted.
pub const INSTRUCTIONS_NOT_COUNTED: &str = "instructions_not_counted";

const fn default_outcome() -> Outcome {
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
    /// What kind of thing stands in the way, where that is known.
    obstacle: Option<Obstacle>,
}

impl BenchmarkResult {
    /// Why its instructions, which were asked for, were not counted.
    pub fn instructions_not_counted(&self) -> Option<Reason> {
        serde::Deserialize::deserialize(self.metadata.get(INSTRUCTIONS_NOT_COUNTED)?).ok()
    }

    /// The fields of the one point, if it ran.
    pub fn fields(&self) -> Option<&Fields> {
        self.results.first()
    }

    /// One figure for a run, which its history is judged by and trends follow: of the [`TIME`] the
    /// median over its processes of [`Samples::location`] where samples were kept, of other metrics
    /// what the record says. `None` where it says nothing, or a sample is none that a clock can
    /// give.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        if metric == TIME && !self.samples.is_empty() {
            let times: Result<Vec<f64>, _> = self.samples.iter().map(Samples::location).collect();
            let mut times = times.ok()?;
            times.sort_by(f64::total_cmp);
            return quantile_of_sorted(&times, 0.5).map(|nanoseconds| nanoseconds / 1e6);
        }
        self.fields()?.number(metric)
    }

    /// Returns the factors of this case. A result that stores none, as earlier versions wrote, gets
    /// those of its device and, for a framework's case, Python and every framework in
    /// `environment`, the machine of its run.
    pub fn factors_in(&self, environment: &Environment) -> Cow<'_, Factors> {
        if let Some(factors) = &self.factors {
            return Cow::Borrowed(factors);
        }
        let device = self.benchmark_id.device();
        let of_frameworks: &[&str] = if self.benchmark_type == BenchmarkType::ComponentSpecific {
            &[factor::PYTHON, factor::ALL_FRAMEWORKS]
        } else {
            &[]
        };
        Cow::Owned(factor::versions(
            environment,
            device,
            factor::of_device(device).iter().chain(of_frameworks).copied(),
        ))
    }

    /// The processes of earlier runs that a baseline keeps beside the case: see [`PAST_PROCESSES`].
    /// Empty where it keeps none.
    pub fn past_processes(&self) -> Vec<Vec<f64>> {
        let known = self.metadata.get(PAST_PROCESSES);
        known.and_then(|value| serde::Deserialize::deserialize(value).ok()).unwrap_or_default()
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
    /// The first GPU.
    pub gpu_model: Option<String>,
    /// Number of GPUs.
    pub gpu_count: Option<u32>,
    /// Memory of the first GPU in GB.
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

/// The unit of `metric` where it is one of ours, else what the case says.
pub fn unit_symbol(metric: &str) -> &'static str {
    crate::field::Field::find(metric).map_or(Unit::One.symbol(), |field| field.unit.symbol())
}
