//! What models did, model by model: one document out of the results of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{DeviceMetrics, OptionalReason};
use crate::ids::BackendId;
use crate::outcome::{Outcome, Reason};

/// The models of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelsDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// The run that it was made of.
    pub run_id: String,
    /// One for each model, device and runtime.
    pub models: Vec<ModelRecord>,
    /// Cases that were not planned for a model that ran, and why.
    pub skipped: Vec<SkippedModel>,
}

/// One model on one device in one runtime.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelRecord {
    /// Its name in the catalogue, or its directory's.
    pub model_id: String,
    /// Such as `cpu:0`.
    pub device: String,
    /// What ran it: `pytorch`, `openvino`.
    pub backend: String,
    /// Its family, such as `encoder-only`.
    pub architecture_type: Option<String>,
    /// Weights, one that stands in two places once.
    pub parameter_count: Option<u64>,
    /// By batch size, length and precision: `b1_s128_fp16`; under load with requests a second and
    /// lanes: `b1_s128_fp16_r4_c2`; tuned for throughput with that word.
    pub batch_results: BTreeMap<String, ModelFigures>,
    /// The best of them.
    pub summary: ModelSummary,
    /// The machine.
    pub hardware_details: HardwareDetails,
}

/// What one model did with one batch. Times are of one pass where it is measured, else of all
/// tokens written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelFigures {
    /// Time of a pass in ms, which one in ten samples stays below: `time_ms` of the record.
    pub inference_time_ms: Option<f64>,
    /// Median of the samples' times in ms.
    pub latency_p50_ms: Option<f64>,
    /// Time that 90 in 100 samples stay below in ms.
    pub latency_p90_ms: Option<f64>,
    /// Time that 99 in 100 samples stay below in ms.
    pub latency_p99_ms: Option<f64>,
    /// Samples taken.
    pub iterations: Option<u64>,
    /// Items a second.
    pub throughput_samples_per_second: Option<f64>,
    /// Tokens a second: read in a pass, or written.
    pub tokens_per_second: Option<f64>,
    /// Images a second.
    pub images_per_second: Option<f64>,
    /// Time over the length of the sound.
    pub real_time_factor: Option<f64>,
    /// Steps of denoising a second.
    pub steps_per_second: Option<f64>,
    /// How evenly tokens are shared among experts in percent.
    pub expert_balance_percent: Option<f64>,
    /// Time to the first token in ms.
    pub ttft_ms: Option<f64>,
    /// Time of each later token in ms.
    pub tpot_ms: Option<f64>,
    /// Most memory held in MB.
    pub memory_peak_mb: Option<f64>,
    /// Mean memory held in MB.
    pub memory_average_mb: Option<f64>,
    /// The part of what the allocator holds that nobody uses, in percent.
    pub memory_fragmentation_percent: Option<f64>,
    /// Requests answered a second, under load: latencies are then those of requests, waiting
    /// included.
    pub requests_per_second: Option<f64>,
    /// Mean time in ms from a request's arrival to its beginning, under load.
    pub queue_time_ms: Option<f64>,
    /// Samples beyond Tukey's fences (1.5 interquartile ranges); the figures above hold them unless
    /// others were asked for.
    pub outliers: Option<u64>,
    /// max|x − ref| / max|ref| against the CPU in higher precision.
    pub accuracy_error: Option<f64>,
    /// Measured, or simulated where an emulator ran it: then there is no time here.
    pub outcome: Option<Outcome>,
    /// What the backend counted beside times.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DeviceMetrics>")]
    pub device_metrics: Option<serde_json::Value>,
    /// Cases of this batch that have no figures, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub missing: Vec<SkippedModel>,
}

/// A case without figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkippedModel {
    /// The case.
    pub benchmark_id: String,
    /// Skipped or failed.
    pub outcome: Outcome,
    /// What, why, cure.
    #[serde(flatten)]
    pub reason: Option<Reason>,
}

/// The best of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelSummary {
    /// Batches that were measured.
    pub measured: usize,
    /// Batches that an emulator ran: verified, and no speed.
    pub simulated: usize,
    /// Cases without.
    pub not_measured: usize,
    /// The shortest time of a pass in ms, and the key of its batch.
    pub best_latency_ms: Option<f64>,
    /// Its key.
    pub best_latency_batch: Option<String>,
    /// The most items a second.
    pub best_throughput_samples_per_second: Option<f64>,
    /// Its key.
    pub best_throughput_batch: Option<String>,
}

/// The machine, as far as a reader of models asks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct HardwareDetails {
    /// The CPU's name.
    pub cpu: Option<String>,
    /// Threads that worked, on a CPU.
    pub threads: Option<u64>,
    /// The GPU's name.
    pub gpu_model: Option<String>,
    /// Memory of the GPU in GB.
    pub gpu_memory_gb: Option<f64>,
    /// Memory of the machine in GB.
    pub system_memory_gb: Option<f64>,
    /// Version of the runtime.
    pub runtime_version: Option<String>,
}

/// How a family stands with a runtime on a backend in a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compatibility {
    /// It was measured and verified.
    Runs,
    /// It was verified on an emulator.
    Emulated,
    /// It was asked for and needs more memory than there was.
    DoesNotFit,
    /// The runtime lacks an operation that the model has.
    UnsupportedOperator,
    /// The runtime was not installed where it was asked for.
    MissingPackage,
    /// A rule, or the runtime itself, speaks against it.
    NotPossible,
    /// It ran, and broke or computed wrongly.
    Fails,
    /// Nobody tried, and no rule speaks against it.
    Unknown,
}

impl Compatibility {
    /// For people.
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

/// One field of the map: a family by a runtime on a backend in a precision.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelCompatibility {
    /// The family.
    pub family: String,
    /// What runs it.
    pub runtime: String,
    /// Where.
    pub backend: BackendId,
    /// In which precision.
    pub dtype: String,
    /// How it stands.
    pub standing: Compatibility,
    /// The model that was asked for; none where only the rules speak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The run that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What, why, and the nearest that works.
    #[serde(flatten)]
    #[schemars(with = "OptionalReason")]
    pub reason: Option<Reason>,
}

/// What runs where, by the rules and by what stored runs have seen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompatibilityDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Each family by each runtime in each precision.
    pub compatibility: Vec<ModelCompatibility>,
}

/// Which device for which model, from what was measured and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecommendDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// What the models are wanted for: `latency`, `throughput`, `cost`, `energy`.
    pub goal: String,
    /// What costs are told in, as the file of prices says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// One for each model and length, by family and size.
    pub models: Vec<ModelAdvice>,
}

/// The candidates for one model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelAdvice {
    /// Its name.
    pub model_id: String,
    /// Its family.
    pub architecture_type: String,
    /// Weights, one that stands in two places once.
    pub parameter_count: Option<u64>,
    /// Its size class.
    pub size: Option<String>,
    /// Positions of the input.
    pub sequence_length: u64,
    /// Whether one of them is the best.
    pub choice: ModelChoice,
    /// Machine, device, runtime, precision and threads, the best for the goal first.
    pub candidates: Vec<ModelCandidate>,
    /// Places of which nothing can be said, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub unknown: Vec<UnknownPlace>,
}

/// A place of which nothing can be said.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnknownPlace {
    /// The place.
    #[serde(flatten)]
    pub place: ModelPlace,
    /// What, why, cure.
    #[serde(flatten)]
    pub reason: Reason,
}

/// Where a model runs, and in what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelPlace {
    /// The machine's fingerprint.
    pub machine: String,
    /// Such as `cpu:0`.
    pub device: String,
    /// What runs it.
    pub backend: String,
    /// Of the weights.
    pub dtype: String,
    /// Threads of one operation, on a CPU.
    pub threads: Option<u64>,
}

/// Whether a figure was seen or follows from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelBasis {
    /// The model was measured at this place.
    Measured,
    /// From other models there, and this and others elsewhere.
    Predicted,
}

/// A stored figure that an answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelEvidence {
    /// The run that has it.
    pub run_id: String,
    /// The case.
    pub benchmark_id: String,
    /// The field of its result.
    pub field: String,
    /// Its value, in the field's unit.
    pub value: f64,
}

/// Whether one candidate is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// The first: no other's interval reaches into its own.
    Winner,
    /// Intervals overlap.
    NoClearWinner,
    /// Nothing was measured beside it.
    OnlyOne,
    /// Nothing was measured.
    Unknown,
}

/// One way to run a model, with the figures that speak for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelCandidate {
    /// Where.
    #[serde(flatten)]
    pub place: ModelPlace,
    /// Measured or predicted.
    pub basis: ModelBasis,
    /// Items handled together.
    pub batch_size: u64,
    /// Median time of an item in ms: that of a pass over its batch.
    pub time_per_item_ms: f64,
    /// From where to where eight in ten samples lie, in ms; of a prediction, where eight in ten
    /// measurements should.
    pub time_per_item_interval_ms: [f64; 2],
    /// What a million items cost, in the currency of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_million_items: Option<f64>,
    /// Energy of an item in J, by the power that was read in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_per_item_j: Option<f64>,
    /// max|x − ref| / max|ref|.
    pub accuracy_error: Option<f64>,
    /// The run that measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What it rests on, what counts most first.
    pub rests_on: Vec<ModelEvidence>,
}
