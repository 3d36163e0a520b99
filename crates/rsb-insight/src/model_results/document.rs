//! Document of a run's model results. Pure.

use itertools::Itertools as _;
use rsb_model::record::{
    HardwareDetails, ModelFigures, ModelRecord, ModelSummary, ModelsDocument, SkippedModel,
    Statistics,
};
use rsb_model::telemetry::{self, GpuTelemetry, Spread};
use rsb_model::{BenchmarkResult, Fields, Outcome, Run};
use rsb_stats::estimate::OutlierRule;
use serde_json::Value;

use rsb_catalog::models::{GENERATE, LOAD, MODELS};

/// Treatment of samples beyond Tukey's fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outliers {
    /// Count them, and keep them in the values.
    Marked,
    /// Count them, and exclude them from the values.
    LeftOut,
}

/// Builds the document of the results of `run`, by model, device and runtime.
pub fn document(run: &Run, outliers: Outliers) -> ModelsDocument {
    let mut models: Vec<ModelRecord> = Vec::new();
    for result in model_results(run).filter(|result| has_figures(result)) {
        let Some(fields) = result.fields() else { continue };
        let record = record_of(&mut models, run, result, fields);
        let Some(key) = key(result) else { continue };
        add(record.batch_results.entry(key).or_default(), result, fields, outliers);
    }
    let mut skipped = Vec::new();
    for result in model_results(run).filter(|result| !has_figures(result)) {
        let missing = SkippedModel {
            benchmark_id: result.benchmark_id.to_string(),
            outcome: result.outcome,
            reason: result.reason.clone(),
        };
        let known = models.iter_mut().find(|record| is_of(record, result));
        match (known, key(result)) {
            (Some(record), Some(key)) => {
                record.batch_results.entry(key).or_default().missing.push(missing);
            }
            _ => skipped.push(missing),
        }
    }
    for record in &mut models {
        record.summary = summary(record);
    }
    ModelsDocument {
        format_version: rsb_model::format::FORMAT_VERSION,
        run_id: run.run_id.0.clone(),
        models,
        skipped,
    }
}

fn model_results(run: &Run) -> impl Iterator<Item = &BenchmarkResult> {
    run.benchmarks.iter().filter(|result| result.category.as_deref() == Some(MODELS))
}

/// Returns whether the result has values. A simulated result counts: its times are not used, but it
/// shows that the model runs and how large the error is.
const fn has_figures(result: &BenchmarkResult) -> bool {
    matches!(result.outcome, Outcome::Measured | Outcome::Simulated)
}

/// Returns a parameter of the planned case.
pub(super) fn parameter<'a>(result: &'a BenchmarkResult, name: &str) -> Option<&'a str> {
    result.metadata.get("parameters")?.get(name)?.as_str()
}

/// Returns the key of a batch, such as `b1_s128_fp16`.
fn key(result: &BenchmarkResult) -> Option<String> {
    let dtype = match parameter(result, "dtype")? {
        "f32" => "fp32",
        "f16" => "fp16",
        "i8" => "int8",
        other => other,
    };
    let batch = parameter(result, "batch_size")?;
    let length = parameter(result, "sequence_length")?;
    let mut key = format!("b{batch}_s{length}_{dtype}");
    if parameter(result, "performance_hint") == Some("throughput") {
        key.push_str("_throughput");
    }
    if parameter(result, "workload") == Some(LOAD) {
        let rate = parameter(result, "request_rate").unwrap_or_default();
        let concurrency = parameter(result, "concurrency").unwrap_or_default();
        key = format!("{key}_r{rate}_c{concurrency}");
    }
    Some(key)
}

fn is_of(record: &ModelRecord, result: &BenchmarkResult) -> bool {
    parameter(result, "model") == Some(&record.model_id)
        && parameter(result, "runtime") == Some(&record.backend)
        && result.benchmark_id.device().to_string() == record.device
}

/// Returns the record that `result` belongs to, creating it if there is none.
fn record_of<'m>(
    models: &'m mut Vec<ModelRecord>,
    run: &Run,
    result: &BenchmarkResult,
    fields: &Fields,
) -> &'m mut ModelRecord {
    let at = models.iter().position(|record| is_of(record, result)).unwrap_or_else(|| {
        models.push(ModelRecord {
            model_id: parameter(result, "model").unwrap_or_default().to_owned(),
            device: result.benchmark_id.device().to_string(),
            backend: parameter(result, "runtime").unwrap_or_default().to_owned(),
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

/// Adds the values of a result. Forward passes have priority over token generation, since both
/// share a batch.
fn add(figures: &mut ModelFigures, result: &BenchmarkResult, fields: &Fields, outliers: Outliers) {
    let is_simulated = result.outcome == Outcome::Simulated;
    let number = |name: &str| fields.number(name).filter(|_| !is_simulated);
    if parameter(result, "workload") == Some(GENERATE) {
        figures.ttft_ms = number("ttft_ms");
        figures.tpot_ms = number("tpot_ms");
        figures.tokens_per_second = number("tokens_per_second");
        if figures.inference_time_ms.is_some() {
            return;
        }
    }
    let seen = Times::of(result, outliers);
    // Under load, and with several concurrent passes, the time of an iteration is not that of a
    // pass.
    let is_pass = !is_simulated && number("num_requests").is_none();
    let times = seen.statistics.as_ref().filter(|_| is_pass);
    let percentiles = times.map(|times| &times.percentiles);
    *figures = ModelFigures {
        // Consistent with the recorded time, on which the rates of the result are based.
        inference_time_ms: times.and_then(|_| seen.fast_ms.or_else(|| number("time_ms"))),
        latency_p50_ms: number("latency_p50_ms").or_else(|| percentiles.map(|of| of.p50)),
        latency_p90_ms: number("latency_p90_ms").or_else(|| percentiles.map(|of| of.p90)),
        latency_p99_ms: number("latency_p99_ms").or_else(|| percentiles.map(|of| of.p99)),
        outliers: times.and(seen.outliers),
        requests_per_second: number("requests_per_second"),
        queue_time_ms: number("queue_time_ms"),
        memory_fragmentation_percent: number("memory_fragmentation_percent"),
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
        accuracy_error: fields.number("accuracy_error"),
        outcome: Some(result.outcome),
        device_metrics: fields.get("device_metrics").map(|counted| with_sensors(counted, result)),
        missing: std::mem::take(&mut figures.missing),
    };
}

/// Returns the metrics that a backend counted, plus, for a GPU, its sensor readings while the case
/// was sampled.
fn with_sensors(counted: &Value, result: &BenchmarkResult) -> Value {
    let mut counted = counted.clone();
    let is_gpu = ["rocm", "cuda"].iter().any(|backend| counted["backend"] == *backend);
    let Some(metrics) = counted.as_object_mut().filter(|_| is_gpu) else { return counted };
    if let Some(fields) = result.fields() {
        for name in SENSORS {
            insert_known(metrics, name, fields.number(name).into());
        }
    }
    let replicates = telemetry::of_replicates(&result.metadata);
    let watched: Vec<GpuTelemetry> = replicates.into_iter().flatten().collect();
    let clock = mean_clock(&watched, |one| one.sclk_mhz);
    insert_known(metrics, "gpu_clock_mhz", clock.into());
    let clock = mean_clock(&watched, |one| one.mclk_mhz);
    insert_known(metrics, "gpu_memory_clock_mhz", clock.into());
    if watched.iter().any(|one| one.throttled.is_some()) {
        let is_throttled = watched.iter().any(|one| one.throttled == Some(true));
        insert_known(metrics, "throttled", is_throttled.into());
        let reasons = watched.iter().flat_map(|one| &one.throttle_reasons);
        let reasons = reasons.map(String::as_str).sorted_unstable().dedup().collect_vec();
        insert_known(metrics, "throttle_reasons", reasons.into());
    }
    counted
}

fn insert_known(metrics: &mut serde_json::Map<String, Value>, name: &str, value: Value) {
    if !value.is_null() {
        metrics.insert(name.to_owned(), value);
    }
}

/// Returns the mean over the replicates in which `clock` was read.
fn mean_clock(watched: &[GpuTelemetry], clock: fn(&GpuTelemetry) -> Option<Spread>) -> Option<f64> {
    let means = watched.iter().map(|one| Some(clock(one)?.mean));
    Some(Spread::of(means)?.mean)
}

/// Result fields with sensor readings.
const SENSORS: [&str; 5] = [
    "gpu_power_w",
    "gpu_temperature_c",
    "gpu_memory_used_mb",
    "gpu_memory_total_mb",
    "gpu_utilization_percent",
];

/// Times of a result's samples.
struct Times {
    statistics: Option<Statistics>,
    /// Number of outliers; `None` if the samples were not kept.
    outliers: Option<u64>,
    /// 10 % quantile of the remaining samples, in ms, if some were excluded. It corresponds to the
    /// recorded time.
    fast_ms: Option<f64>,
}

impl Times {
    fn of(result: &BenchmarkResult, wish: Outliers) -> Self {
        let all: Vec<f64> =
            result.samples.iter().filter_map(|one| one.per_iteration().ok()).flatten().collect();
        let is_outlier = rsb_stats::estimate::outliers(&all, OutlierRule::Iqr(1.5));
        let outliers =
            (!all.is_empty()).then(|| is_outlier.iter().filter(|is| **is).count() as u64);
        if wish == Outliers::Marked || outliers.is_none_or(|count| count == 0) {
            return Self { statistics: result.statistics.clone(), outliers, fast_ms: None };
        }
        let kept: Vec<f64> =
            all.iter().zip(&is_outlier).filter(|(_, is)| !**is).map(|(time, _)| *time).collect();
        let fast_ms = rsb_stats::estimate::quantile(&kept, 0.1).map(|time| time / 1e6);
        Self { statistics: rsb_stats::statistics(&kept), outliers, fast_ms }
    }
}

fn summary(record: &ModelRecord) -> ModelSummary {
    let fastest = values_by_batch(record, |figures| figures.inference_time_ms)
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let most = values_by_batch(record, |figures| figures.throughput_samples_per_second)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    ModelSummary {
        measured: count_outcome(record, Outcome::Measured),
        simulated: count_outcome(record, Outcome::Simulated),
        not_measured: record.batch_results.values().map(|figures| figures.missing.len()).sum(),
        best_latency_ms: fastest.as_ref().map(|(_, value)| *value),
        best_latency_batch: fastest.map(|(key, _)| key),
        best_throughput_samples_per_second: most.as_ref().map(|(_, value)| *value),
        best_throughput_batch: most.map(|(key, _)| key),
    }
}

/// Returns the known values of one field, each with the key of its batch.
fn values_by_batch(
    record: &ModelRecord,
    figure: fn(&ModelFigures) -> Option<f64>,
) -> impl Iterator<Item = (String, f64)> {
    record
        .batch_results
        .iter()
        .filter_map(move |(key, figures)| Some((key.clone(), figure(figures)?)))
}

fn count_outcome(record: &ModelRecord, outcome: Outcome) -> usize {
    record.batch_results.values().filter(|figures| figures.outcome == Some(outcome)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: Outcome, times_ns: Vec<f64>) -> BenchmarkResult {
        let text = r#"{"benchmark_id": "component_specific/models/cpu:0/forward/bert-tiny/i8", "timestamp": "2026-11-23T00:00:00Z",
            "benchmark_type": "component_specific", "category": "models", "outcome": "measured", "environment": {},
            "results": [{"time_ms": 1.4, "accuracy_error": 0.01, "device_metrics": {"backend": "cpu"}}],
            "metadata": {"parameters": {"model": "bert-tiny", "runtime": "pytorch", "dtype": "i8", "batch_size": "1",
            "sequence_length": "16", "workload": "forward"}}}"#;
        let mut result: BenchmarkResult = serde_json::from_str(text).unwrap();
        result.outcome = outcome;
        result.statistics = rsb_stats::statistics(&times_ns);
        result.samples =
            vec![rsb_model::Samples { replicate: 0, iters: vec![1; times_ns.len()], times_ns }];
        result
    }

    fn figures(outcome: Outcome, outliers: Outliers) -> ModelFigures {
        let times = (0..20).map(|n| 1e6 + f64::from(n) * 1e3).chain([9e6]).collect();
        let (mut figures, result) = (ModelFigures::default(), result(outcome, times));
        add(&mut figures, &result, result.fields().unwrap(), outliers);
        assert_eq!(key(&result).as_deref(), Some("b1_s16_int8"));
        figures
    }

    #[test]
    fn an_outlier_is_marked_and_left_out_only_on_request() {
        let [marked, filtered] =
            [Outliers::Marked, Outliers::LeftOut].map(|wish| figures(Outcome::Measured, wish));
        assert_eq!((marked.outliers, filtered.outliers), (Some(1), Some(1)));
        assert!(
            marked.inference_time_ms == Some(1.4) && filtered.inference_time_ms == Some(1.0019),
            "{filtered:?}"
        );
    }

    #[test]
    fn what_was_measured_counts_with_and_without_the_time_of_a_pass() {
        let times = vec![1e6; 20];
        let mut loaded = result(Outcome::Measured, times.clone());
        loaded.results[0].set("num_requests", 8);
        let parameters = loaded.metadata.get_mut("parameters").unwrap();
        parameters["workload"] = LOAD.into();
        let mut emulated = result(Outcome::Simulated, times.clone());
        emulated.metadata.get_mut("parameters").unwrap()["batch_size"] = "2".into();
        let run = r#"{"format_version": 3, "run_id": "a", "started": "2026-11-23T00:00:00Z", "suite": "models",
            "profile": "quick", "environment": {}, "benchmarks": []}"#;
        let mut run: Run = serde_json::from_str(run).unwrap();
        run.benchmarks = vec![result(Outcome::Measured, times), loaded, emulated];
        let found = document(&run, Outliers::Marked);
        let record = &found.models[0];
        assert_eq!(
            (record.summary.measured, record.summary.simulated, record.batch_results.len()),
            (2, 1, 3)
        );
        assert!(
            record.batch_results.values().any(|one| one.inference_time_ms.is_none()),
            "the load workload has no inference time"
        );
    }

    #[test]
    fn the_sensors_of_a_gpu_stand_beside_what_its_backend_counted() {
        let mut result = result(Outcome::Measured, vec![1e6; 20]);
        let of_gpu = serde_json::json!({"backend": "rocm", "kernel_time_us": 9.0});
        for (name, value) in [("gpu_power_w", 250.0), ("gpu_temperature_c", 70.0)] {
            result.results[0].set(name, value);
        }
        let replicates = serde_json::json!([
            {"samples": 3, "sclk_mhz": clock(1700.0), "throttled": false},
            null,
            {"samples": 3, "sclk_mhz": clock(1500.0), "throttled": true, "throttle_reasons": ["power"]},
        ]);
        result.metadata.insert(telemetry::TELEMETRY.to_owned(), replicates);
        let expected = serde_json::json!({"backend": "rocm", "kernel_time_us": 9.0, "gpu_power_w": 250.0,
            "gpu_temperature_c": 70.0, "gpu_clock_mhz": 1600.0, "throttled": true, "throttle_reasons": ["power"]});
        assert_eq!(with_sensors(&of_gpu, &result), expected);
        let of_cpu = serde_json::json!({"backend": "cpu"});
        assert_eq!(with_sensors(&of_cpu, &result), of_cpu, "CPU records have no sensor fields");
    }

    fn clock(mhz: f64) -> Value {
        serde_json::json!({"mean": mhz, "min": mhz, "max": mhz})
    }

    #[test]
    fn an_emulator_says_how_exactly_and_never_how_fast() {
        let found = figures(Outcome::Simulated, Outliers::Marked);
        assert_eq!((found.accuracy_error, found.outcome), (Some(0.01), Some(Outcome::Simulated)));
        assert!(
            found.inference_time_ms.is_none()
                && found.latency_p50_ms.is_none()
                && found.device_metrics.is_some()
        );
    }
}
