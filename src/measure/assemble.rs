//! From replicates to the record of a case. Pure.

use rsb_model::record::EnvironmentSummary;
use rsb_model::{BenchmarkResult, Case, DeviceType, Field, Fields, Outcome, Reason, Timestamp};
use serde_json::{Map, Value, json};

use super::session::{Cost, Replicate};

/// What is known of a case so far.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Its replicates.
    pub replicates: Vec<Replicate>,
    /// Why it was given up, and how.
    pub ended: Option<(Outcome, Reason)>,
    /// What disturbed it.
    pub noise: Vec<String>,
}

/// The record of `case`.
pub fn result(
    case: &Case,
    progress: &Progress,
    environment: &EnvironmentSummary,
    timestamp: Timestamp,
) -> BenchmarkResult {
    let device_type = progress.replicates.first().map(|replicate| replicate.device_type);
    let (outcome, reason) = match &progress.ended {
        Some((outcome, reason)) => (*outcome, Some(reason.clone())),
        None if device_type == Some(DeviceType::Simulated) => (Outcome::Simulated, None),
        None => (Outcome::Measured, None),
    };
    let times: Vec<f64> =
        progress.replicates.iter().filter_map(|replicate| replicate.samples.per_iteration().ok()).flatten().collect();
    BenchmarkResult {
        benchmark_id: case.id.clone(),
        timestamp,
        benchmark_type: case.benchmark_type,
        category: Some(case.benchmark.clone()),
        outcome,
        reason,
        device_type,
        environment: environment.clone(),
        results: if progress.replicates.is_empty() { Vec::new() } else { vec![fields(progress, &times)] },
        statistics: rsb_stats::statistics(&times),
        samples: progress.replicates.iter().map(|replicate| replicate.samples.clone()).collect(),
        metadata: metadata(case, progress),
    }
}

/// The fields of the last replicate, its metrics and facts replaced by their median over all replicates.
fn fields(progress: &Progress, times: &[f64]) -> Fields {
    let mut merged = progress.replicates.last().map(|replicate| replicate.fields.clone()).unwrap_or_default();
    let names: Vec<&'static Field> = merged.iter().filter_map(|(name, _)| Field::find(name)).collect();
    for field in names.into_iter().filter(|field| field.role != rsb_model::FieldRole::Parameter) {
        let values: Vec<f64> =
            progress.replicates.iter().filter_map(|replicate| replicate.fields.number(field.name)).collect();
        if let Some(median) = rsb_stats::median(&values) {
            merged.set(field.name, median);
        }
    }
    if let Some(statistics) = rsb_stats::statistics(times).filter(|statistics| statistics.mean > 0.0) {
        merged.set("std_dev", statistics.std_dev / statistics.mean);
    }
    merged.set("num_runs", times.len());
    merged.set("warmup_runs", progress.replicates.iter().map(|replicate| replicate.warm_up).sum::<u64>());
    merged
}

fn metadata(case: &Case, progress: &Progress) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert(
        "parameters".into(),
        case.params.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect::<Map<_, _>>().into(),
    );
    if !progress.replicates.is_empty() {
        let milliseconds = |of: fn(&Cost) -> std::time::Duration| {
            let total: f64 = progress.replicates.iter().map(|replicate| of(&replicate.cost).as_secs_f64() * 1e3).sum();
            json!((total * 100.0).round() / 100.0)
        };
        metadata.insert("replicates".into(), json!(progress.replicates.len()));
        metadata.insert("estimator".into(), json!(rsb_stats::ESTIMATOR));
        metadata.insert("prepare_ms".into(), milliseconds(|cost| cost.prepare));
        metadata.insert("measure_ms".into(), milliseconds(|cost| cost.measure));
        metadata.insert("harness_ms".into(), milliseconds(Cost::harness));
    }
    if !progress.noise.is_empty() {
        metadata.insert("notes".into(), json!(progress.noise));
    }
    metadata
}
