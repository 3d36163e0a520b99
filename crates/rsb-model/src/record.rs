//! Document types that scripts read: results of benchmarks and components, comparisons and trends.

mod campaign;
mod compared;
mod comparison;
mod device_metrics;
mod first_day;
mod fleet_comparison;
mod health;
mod installation;
mod models;
mod run_event;
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
pub use campaign::{
    CampaignClass, CampaignDocument, CampaignNode, CampaignNodeDocument, CaseDeviation, CaseSpread,
    NodeProgress, NodeState, PairProgress,
};
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
pub use fleet_comparison::{
    FleetComparison, FleetComparisonRow, FleetTotals, SoftwareChange, UncomparedNode,
};
pub use health::{HealthDocument, HealthItem, Recommendation};
pub use installation::{InstallationInfo, PerformanceBaseline};
pub use models::{
    Compatibility, CompatibilityDocument, HardwareDetails, ModelAdvice, ModelBasis, ModelCandidate,
    ModelChoice, ModelCompatibility, ModelEvidence, ModelFigures, ModelPlace, ModelRecord,
    ModelSummary, ModelsDocument, RecommendDocument, SkippedModel, UnknownPlace,
};
pub use run_event::{RunEvent, RunEventDocument};
pub use threshold::ThresholdCheck;
pub use tracked::{AlertDecision, AlertState, ChangeRange, RunPoint, SeriesMove, TrackedAlert};
pub use trend::{
    Alert, AlertBasis, Anomaly, ChangePoint, CommonChange, CommonMember, Direction, Forecast,
    LevelPart, LevelSeparation, MonotoneTest, PredictedValue, Ramp, RecentTrend, RollingSeries,
    SeriesTrend, TrendDocument, TrendShape, TwoLevels,
};

/// Result of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkResult {
    /// Id of the case, such as `cpu_performance/gemm/cpu:0/f32/1024x1024x1024`.
    pub benchmark_id: CaseId,
    /// Time at which the case ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Type of benchmark that the case belongs to.
    pub benchmark_type: BenchmarkType,
    /// Name of the benchmark, such as `gemm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// How the case ended.
    #[serde(default = "default_outcome")]
    pub outcome: Outcome,
    /// Missing or broken item with cause and remedy, if the case was not measured.
    #[serde(flatten)]
    #[schemars(with = "OptionalReason")]
    pub reason: Option<Reason>,
    /// Type of hardware that ran the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
    /// Versions of the software that the case depends on. Absent in files of earlier versions and
    /// of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// Summary of the machine.
    #[serde(default)]
    pub environment: EnvironmentSummary,
    /// Fields of the result, one object per point. This program always writes one point, or none if
    /// the case never ran.
    pub results: Vec<Fields>,
    /// Distribution of the time per iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    /// All samples, by replicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Samples>,
    /// How the case was measured: profile, estimator, notes.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// Name of the metric computed from the samples.
pub const TIME: &str = "time_ms";

/// Metadata key of an accepted case in a baseline: the run that its samples come from.
pub const ACCEPTED_FROM: &str = "accepted_from";

/// Metadata key of a case in a baseline: measurements of earlier runs, which show how noisy the
/// case is. Lists the runs, oldest first; for each run, it contains the time per iteration in
/// milliseconds of each process's least disturbed sample.
pub const PAST_PROCESSES: &str = "past_processes_ms";

/// Metadata key for the reason why the requested instructions of a case were not counted.
pub const INSTRUCTIONS_NOT_COUNTED: &str = "instructions_not_counted";

/// Returns the metadata key for the reason why the requested `metric` of a case was not counted,
/// such as [`INSTRUCTIONS_NOT_COUNTED`].
pub fn not_counted_key(metric: &str) -> String {
    format!("{metric}_not_counted")
}

const fn default_outcome() -> Outcome {
    Outcome::Measured
}

/// Schema of `Option<Reason>` flattened into a record.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct OptionalReason {
    /// Missing or broken item.
    what: Option<String>,
    /// Cause, if it is known.
    why: Option<String>,
    /// Remedy: an action for the user.
    cure: Option<String>,
    /// Type of the obstacle, if it is known.
    obstacle: Option<Obstacle>,
}

impl BenchmarkResult {
    /// Returns a result without values, samples or an environment. Its type is that of the id, or
    /// that of CPU benchmarks if the id has none.
    pub fn new(benchmark_id: CaseId, timestamp: jiff::Timestamp, outcome: Outcome) -> Self {
        let benchmark_type = benchmark_id.parts().map(|parts| parts.benchmark_type);
        Self {
            benchmark_type: benchmark_type.unwrap_or(BenchmarkType::CpuPerformance),
            benchmark_id,
            timestamp,
            category: None,
            outcome,
            reason: None,
            device_type: None,
            environment: EnvironmentSummary::default(),
            results: Vec::new(),
            statistics: None,
            samples: Vec::new(),
            factors: None,
            metadata: serde_json::Map::new(),
        }
    }

    /// Returns the reason why the requested `metric` of the case was not counted, if so.
    pub fn not_counted(&self, metric: &str) -> Option<Reason> {
        serde::Deserialize::deserialize(self.metadata.get(&not_counted_key(metric))?).ok()
    }

    /// Returns the fields of the result, if the case ran.
    pub fn fields(&self) -> Option<&Fields> {
        self.results.first()
    }

    /// Returns the value of `metric` for the run, as used by history and trends. For [`TIME`] with
    /// stored samples, this is the median over the replicates of [`Samples::location`]; otherwise
    /// it is the value in the record. `None` if the record has no value or a sample is invalid.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        if metric == TIME && !self.samples.is_empty() {
            let times: Result<Vec<f64>, _> = self.samples.iter().map(Samples::location).collect();
            let mut times = times.ok()?;
            times.sort_by(f64::total_cmp);
            return quantile_of_sorted(&times, 0.5).map(|nanoseconds| nanoseconds / 1e6);
        }
        self.fields()?.number(metric)
    }

    /// Returns the factors of this case. A result without factors, as written by earlier versions,
    /// gets those of its device and, for a framework's case, Python and every framework in
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

    /// Returns the measurements of earlier runs that a baseline keeps for the case (see
    /// [`PAST_PROCESSES`]); empty if there are none.
    pub fn past_processes(&self) -> Vec<Vec<f64>> {
        let known = self.metadata.get(PAST_PROCESSES);
        known.and_then(|value| serde::Deserialize::deserialize(value).ok()).unwrap_or_default()
    }
}

/// Summary of the machine, contained in every record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentSummary {
    /// Operating system and its version.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Python version.
    pub python_version: Option<String>,
    /// PyTorch version.
    pub pytorch_version: Option<String>,
    /// ROCm version.
    pub rocm_version: Option<String>,
    /// Name of the first GPU.
    pub gpu_model: Option<String>,
    /// Number of GPUs.
    pub gpu_count: Option<u32>,
    /// Memory of the first GPU, in GB.
    pub gpu_memory_gb: Option<f64>,
    /// Memory of the machine, in GB.
    pub system_memory_gb: Option<f64>,
}

impl EnvironmentSummary {
    /// Returns the summary of `environment`.
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

/// Distribution of the time per iteration over all samples of all replicates, in `unit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Unit of all values; always `ms` in this version.
    pub unit: String,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub std_dev: f64,
    /// Shortest time.
    pub min: f64,
    /// Longest time.
    pub max: f64,
    /// Percentiles.
    pub percentiles: Percentiles,
}

/// Percentiles of a distribution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Result of one component, such as PyTorch or Triton.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentBenchmarkResult {
    /// Id of the component, such as `pytorch`.
    pub component_id: String,
    /// Name to show to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_name: Option<String>,
    /// Version that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Type of benchmark that the component belongs to.
    pub benchmark_type: BenchmarkType,
    /// Measured values.
    pub results: ComponentResults,
    /// Overall status.
    pub status: ComponentStatus,
    /// Targets and measured values.
    #[serde(default)]
    pub threshold_checks: Vec<ThresholdCheck>,
}

/// Measured values of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentResults {
    /// Throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Memory use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// Scaling over several GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalability: Option<Scalability>,
}

/// Throughput of a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Value, in `unit`.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
    /// Change from the baseline, in percent.
    pub comparison_to_baseline: Option<f64>,
}

/// Latency of a component, in ms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Latency {
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub std_dev_ms: Option<f64>,
}

/// Memory use of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct MemoryUse {
    pub peak_mb: Option<f64>,
    pub average_mb: Option<f64>,
    pub efficiency_percent: Option<f64>,
}

/// Scaling of a component over several GPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Scalability {
    pub strong_scaling: Option<f64>,
    pub weak_scaling: Option<f64>,
    pub communication_overhead_percent: Option<f64>,
}

named_enum! {
    serde
    /// Overall status of a component.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum ComponentStatus {
        /// Every case was measured and every target is met.
        Passed = "passed",
        /// Every case was measured, but a target is missed.
        Warning = "warning",
        /// A case failed.
        Failed = "failed",
    }
}

/// Returns the unit symbol of `metric`; `1` if the table of fields does not contain it.
pub fn unit_symbol(metric: &str) -> &'static str {
    crate::field::Field::find(metric).map_or(Unit::One.symbol(), |field| field.unit.symbol())
}
