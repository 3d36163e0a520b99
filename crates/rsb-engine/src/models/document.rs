//! The document of a run's models. Pure.

use rsb_model::record::{HardwareDetails, ModelFigures, ModelRecord, ModelSummary, ModelsDocument, SkippedModel};
use rsb_model::{BenchmarkResult, Fields, Outcome, Run};

use super::MODELS;
use super::compatibility::GENERATE;

/// What the results of `run` say of each model, device and runtime.
pub fn document(run: &Run) -> ModelsDocument {
    let own = || run.benchmarks.iter().filter(|result| result.category.as_deref() == Some(MODELS));
    let mut models: Vec<ModelRecord> = Vec::new();
    for result in own().filter(|result| result.outcome == Outcome::Measured) {
        let Some(fields) = result.fields() else { continue };
        let record = record_of(&mut models, run, result, fields);
        let Some(key) = key(result) else { continue };
        add(record.batch_results.entry(key).or_default(), result, fields);
    }
    let mut skipped = Vec::new();
    for result in own().filter(|result| result.outcome != Outcome::Measured) {
        let missing = SkippedModel {
            benchmark_id: result.benchmark_id.to_string(),
            outcome: result.outcome,
            reason: result.reason.clone(),
        };
        let known = models.iter_mut().find(|record| is_of(record, result));
        match (known, key(result)) {
            (Some(record), Some(key)) => record.batch_results.entry(key).or_default().missing.push(missing),
            _ => skipped.push(missing),
        }
    }
    for record in &mut models {
        record.summary = summary(record);
    }
    ModelsDocument { format_version: rsb_model::format::FORMAT_VERSION, run_id: run.run_id.0.clone(), models, skipped }
}

/// A parameter of the case that was planned.
pub(super) fn parameter<'a>(result: &'a BenchmarkResult, name: &str) -> Option<&'a str> {
    result.metadata.get("parameters")?.get(name)?.as_str()
}

/// `b1_s128_fp16`.
fn key(result: &BenchmarkResult) -> Option<String> {
    let dtype = match parameter(result, "dtype")? {
        "f32" => "fp32",
        "f16" => "fp16",
        "i8" => "int8",
        other => other,
    };
    Some(format!("b{}_s{}_{dtype}", parameter(result, "batch_size")?, parameter(result, "sequence_length")?))
}

fn is_of(record: &ModelRecord, result: &BenchmarkResult) -> bool {
    parameter(result, "model") == Some(&record.model_id)
        && parameter(result, "runtime") == Some(&record.backend)
        && result.benchmark_id.device().to_string() == record.device
}

/// The record that `result` belongs to, which is made where there is none.
fn record_of<'m>(
    models: &'m mut Vec<ModelRecord>,
    run: &Run,
    result: &BenchmarkResult,
    fields: &Fields,
) -> &'m mut ModelRecord {
    let at = models.iter().position(|record| is_of(record, result)).unwrap_or_else(|| {
        let text = |name: &str| parameter(result, name).unwrap_or_default().to_owned();
        models.push(ModelRecord {
            model_id: text("model"),
            device: result.benchmark_id.device().to_string(),
            backend: text("runtime"),
            architecture_type: fields.text("architecture_type").map(str::to_owned),
            parameter_count: count(fields, "parameter_count"),
            batch_results: std::collections::BTreeMap::new(),
            summary: ModelSummary::default(),
            hardware_details: hardware(run, result, fields),
        });
        models.len() - 1
    });
    &mut models[at]
}

fn count(fields: &Fields, name: &str) -> Option<u64> {
    fields.get(name)?.as_u64()
}

fn hardware(run: &Run, result: &BenchmarkResult, fields: &Fields) -> HardwareDetails {
    let here = &result.environment;
    HardwareDetails {
        cpu: run.environment.cpu.as_ref().and_then(|cpu| cpu.model.clone()),
        threads: count(fields, "threads"),
        gpu_model: here.gpu_model.clone(),
        gpu_memory_gb: here.gpu_memory_gb,
        system_memory_gb: here.system_memory_gb,
        runtime_version: fields.text("component_version").map(str::to_owned),
    }
}

/// What a pass says goes before what the writing of tokens says: the two share a batch.
fn add(figures: &mut ModelFigures, result: &BenchmarkResult, fields: &Fields) {
    let number = |name: &str| fields.number(name);
    if parameter(result, "workload") == Some(GENERATE) {
        figures.ttft_ms = number("ttft_ms");
        figures.tpot_ms = number("tpot_ms");
        figures.tokens_per_second = number("tokens_per_second");
        if figures.inference_time_ms.is_some() {
            return;
        }
    }
    let percentiles = result.statistics.as_ref().map(|times| &times.percentiles);
    *figures = ModelFigures {
        inference_time_ms: number("time_ms"),
        latency_p50_ms: percentiles.map(|times| times.p50),
        latency_p90_ms: percentiles.map(|times| times.p90),
        latency_p99_ms: percentiles.map(|times| times.p99),
        iterations: count(fields, "num_runs"),
        throughput_samples_per_second: number("throughput_samples_per_second"),
        tokens_per_second: figures.tokens_per_second.or_else(|| number("tokens_per_second")),
        images_per_second: number("images_per_second"),
        real_time_factor: number("real_time_factor"),
        steps_per_second: number("steps_per_second"),
        expert_balance_percent: number("expert_balance_percent"),
        ttft_ms: figures.ttft_ms,
        tpot_ms: figures.tpot_ms,
        memory_peak_mb: number("gpu_memory_peak_mb").or_else(|| number("memory_used_mb")),
        memory_average_mb: number("memory_average_mb"),
        accuracy_error: number("accuracy_error"),
        missing: std::mem::take(&mut figures.missing),
    };
}

fn summary(record: &ModelRecord) -> ModelSummary {
    let with = |figure: fn(&ModelFigures) -> Option<f64>| {
        record.batch_results.iter().filter_map(move |(key, figures)| Some((key.clone(), figure(figures)?)))
    };
    let fastest = with(|figures| figures.inference_time_ms).min_by(|a, b| a.1.total_cmp(&b.1));
    let most = with(|figures| figures.throughput_samples_per_second).max_by(|a, b| a.1.total_cmp(&b.1));
    ModelSummary {
        measured: with(|figures| figures.inference_time_ms).count(),
        not_measured: record.batch_results.values().map(|figures| figures.missing.len()).sum(),
        best_latency_ms: fastest.as_ref().map(|(_, value)| *value),
        best_latency_batch: fastest.map(|(key, _)| key),
        best_throughput_samples_per_second: most.as_ref().map(|(_, value)| *value),
        best_throughput_batch: most.map(|(key, _)| key),
    }
}
