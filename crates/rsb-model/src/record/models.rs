//! Results by model: documents derived from the results of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{DeviceMetrics, OptionalReason};
use crate::ids::BackendId;
use crate::outcome::{Outcome, Reason};

/// Results of all models of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelsDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Id of the run.
    pub run_id: String,
    /// Results, one entry for each model, device and runtime.
    pub models: Vec<ModelRecord>,
    /// Cases without values that belong to none of the models above, and the reasons.
    pub skipped: Vec<SkippedModel>,
}

/// Results of one model on one device with one runtime.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelRecord {
    /// Name of the model in the catalog, or name of its directory.
    pub model_id: String,
    /// Device, such as `cpu:0`.
    pub device: String,
    /// Runtime: `pytorch`, `openvino` …
    pub backend: String,
    /// Model family, such as `encoder-only`.
    pub architecture_type: Option<String>,
    /// Number of weights; shared weights count once.
    pub parameter_count: Option<u64>,
    /// Results by key: batch size, sequence length and precision, such as `b1_s128_fp16`. The
    /// suffix `_throughput` marks a throughput hint, and `_r4_c2` a load of 4 requests per second
    /// with a concurrency of 2.
    pub batch_results: BTreeMap<String, ModelFigures>,
    /// Best results.
    pub summary: ModelSummary,
    /// Hardware and software of the results.
    pub hardware_details: HardwareDetails,
}

/// Results of one model with one batch. Times are those of one pass if it was measured, otherwise
/// of the whole text generation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelFigures {
    /// Time of one pass in ms: 10 % quantile of the samples, `time_ms` of the record.
    pub inference_time_ms: Option<f64>,
    /// Median time of the samples, in ms.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile of the times, in ms.
    pub latency_p90_ms: Option<f64>,
    /// 99th percentile of the times, in ms.
    pub latency_p99_ms: Option<f64>,
    /// Number of samples.
    pub iterations: Option<u64>,
    /// Items per second.
    pub throughput_samples_per_second: Option<f64>,
    /// Tokens per second, processed in a pass or generated.
    pub tokens_per_second: Option<f64>,
    /// Images per second.
    pub images_per_second: Option<f64>,
    /// Processing time divided by the duration of the audio.
    pub real_time_factor: Option<f64>,
    /// Denoising steps per second.
    pub steps_per_second: Option<f64>,
    /// How evenly tokens are distributed among experts, in percent.
    pub expert_balance_percent: Option<f64>,
    /// Time to the first token, in ms.
    pub ttft_ms: Option<f64>,
    /// Time per token after the first, in ms.
    pub tpot_ms: Option<f64>,
    /// Peak memory, in MB.
    pub memory_peak_mb: Option<f64>,
    /// Mean memory, in MB.
    pub memory_average_mb: Option<f64>,
    /// Share of the allocator's memory that is not in use, in percent.
    pub memory_fragmentation_percent: Option<f64>,
    /// Requests completed per second under load. Latencies are then those of requests, including
    /// waiting time.
    pub requests_per_second: Option<f64>,
    /// Mean time from the arrival of a request to its start under load, in ms.
    pub queue_time_ms: Option<f64>,
    /// Number of samples beyond Tukey's fences (1.5 interquartile ranges). The values above include
    /// them unless the command line excludes them.
    pub outliers: Option<u64>,
    /// Largest error relative to the CPU in higher precision: max|x − ref| / max|ref|.
    pub accuracy_error: Option<f64>,
    /// `measured`, or `simulated` if an emulator ran the model; times are then null.
    pub outcome: Option<Outcome>,
    /// Metrics other than times that the backend reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DeviceMetrics>")]
    pub device_metrics: Option<serde_json::Value>,
    /// Cases of this batch without values, and the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub missing: Vec<SkippedModel>,
}

/// Case without values.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkippedModel {
    /// Id of the case.
    pub benchmark_id: String,
    /// `skipped` or `failed`.
    pub outcome: Outcome,
    /// Missing or broken item, cause and remedy.
    #[serde(flatten)]
    pub reason: Option<Reason>,
}

/// Best results of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelSummary {
    /// Number of measured batches.
    pub measured: usize,
    /// Number of batches that an emulator ran. Their results were verified, but they have no times.
    pub simulated: usize,
    /// Number of cases without values.
    pub not_measured: usize,
    /// Shortest time of one pass, in ms.
    pub best_latency_ms: Option<f64>,
    /// Key of the batch with the shortest time.
    pub best_latency_batch: Option<String>,
    /// Highest number of items per second.
    pub best_throughput_samples_per_second: Option<f64>,
    /// Key of the batch with the highest throughput.
    pub best_throughput_batch: Option<String>,
}

/// Hardware and software that a model ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct HardwareDetails {
    /// Name of the CPU.
    pub cpu: Option<String>,
    /// Threads used, on a CPU.
    pub threads: Option<u64>,
    /// Name of the GPU.
    pub gpu_model: Option<String>,
    /// GPU memory in GB.
    pub gpu_memory_gb: Option<f64>,
    /// System memory in GB.
    pub system_memory_gb: Option<f64>,
    /// Version of the runtime.
    pub runtime_version: Option<String>,
}

/// Whether a model family runs with a runtime, backend and precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compatibility {
    /// Measured and verified.
    Runs,
    /// Verified on an emulator.
    Emulated,
    /// Needs more memory than was available.
    DoesNotFit,
    /// The runtime lacks an operation of the model.
    UnsupportedOperator,
    /// The runtime was not installed.
    MissingPackage,
    /// Excluded by a rule or by the runtime itself.
    NotPossible,
    /// It ran, but failed or produced a wrong result.
    Fails,
    /// Not tried, and not excluded by a rule.
    Unknown,
}

impl Compatibility {
    /// Returns the text shown to users.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Emulated => "emulated",
            Self::DoesNotFit => "does not fit",
            Self::UnsupportedOperator => "unsupported operator",
            Self::MissingPackage => "missing package",
            Self::NotPossible => "not possible",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
        }
    }
}

/// Entry of the compatibility map: a model family with a runtime, backend and precision.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelCompatibility {
    /// Model family.
    pub family: String,
    /// Runtime.
    pub runtime: String,
    /// Backend of the device.
    pub backend: BackendId,
    /// Precision.
    pub dtype: String,
    /// Whether the combination runs.
    pub standing: Compatibility,
    /// Model that was tried. Absent if the entry follows from rules only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Run that the entry is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Item that does not work, cause, and the closest alternative that works.
    #[serde(flatten)]
    #[schemars(with = "OptionalReason")]
    pub reason: Option<Reason>,
}

/// Compatibility map, from rules and stored runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompatibilityDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Entries, one for each model family, runtime, backend and precision.
    pub compatibility: Vec<ModelCompatibility>,
}

/// Recommended device for each model, from measurements and predictions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecommendDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Goal: `latency`, `throughput`, `cost` or `energy`.
    pub goal: String,
    /// Currency of costs, from the price file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Recommendations, one for each model and sequence length, ordered by family and size.
    pub models: Vec<ModelAdvice>,
}

/// Candidates for one model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelAdvice {
    /// Name of the model.
    pub model_id: String,
    /// Model family.
    pub architecture_type: String,
    /// Number of weights; shared weights count once.
    pub parameter_count: Option<u64>,
    /// Size class.
    pub size: Option<String>,
    /// Sequence length of the input.
    pub sequence_length: u64,
    /// Whether one candidate is clearly the best.
    pub choice: ModelChoice,
    /// Combinations of machine, device, runtime, precision and threads, best for the goal first.
    pub candidates: Vec<ModelCandidate>,
    /// Combinations without a result, and the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub unknown: Vec<UnknownPlace>,
}

/// Combination without a measurement or prediction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnknownPlace {
    /// Machine, device, runtime and precision.
    #[serde(flatten)]
    pub place: ModelPlace,
    /// Missing item, cause and remedy.
    #[serde(flatten)]
    pub reason: Reason,
}

/// Machine, device, runtime and precision that a model runs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelPlace {
    /// Fingerprint of the machine.
    pub machine: String,
    /// Device, such as `cpu:0`.
    pub device: String,
    /// Runtime.
    pub backend: String,
    /// Data type of the weights.
    pub dtype: String,
    /// Threads per operation, on a CPU.
    pub threads: Option<u64>,
}

/// Whether a value is measured or predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelBasis {
    /// The model was measured with this combination of machine, device, runtime and precision.
    Measured,
    /// Predicted from other models with this combination, and from this and other models with other
    /// combinations.
    Predicted,
}

/// Stored value that a candidate is based on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelEvidence {
    /// Run that contains the value.
    pub run_id: String,
    /// Id of the case.
    pub benchmark_id: String,
    /// Field of the result.
    pub field: String,
    /// Value, in the unit of the field.
    pub value: f64,
}

/// Whether one candidate is clearly the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// The first candidate is clearly the best: its interval does not overlap any other.
    Winner,
    /// The interval of the first candidate overlaps that of another.
    NoClearWinner,
    /// There is only one candidate.
    OnlyOne,
    /// There are no candidates.
    Unknown,
}

/// One way to run a model, with its expected performance.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelCandidate {
    /// Machine, device, runtime and precision.
    #[serde(flatten)]
    pub place: ModelPlace,
    /// Whether the values are measured or predicted.
    pub basis: ModelBasis,
    /// Batch size.
    pub batch_size: u64,
    /// Time per item in ms: time of one pass divided by the batch size.
    pub time_per_item_ms: f64,
    /// Interval that contains eight of ten samples, in ms: `[low, high]`. For a prediction, the
    /// interval expected to contain eight of ten measurements.
    pub time_per_item_interval_ms: [f64; 2],
    /// Cost per million items, in the currency of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_million_items: Option<f64>,
    /// Energy per item in J, from the power measured during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_per_item_j: Option<f64>,
    /// Largest error: max|x − ref| / max|ref|.
    pub accuracy_error: Option<f64>,
    /// Run that measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Stored values that the candidate is based on, most important first.
    pub rests_on: Vec<ModelEvidence>,
}
