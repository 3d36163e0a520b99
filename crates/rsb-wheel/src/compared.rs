//! Metric-by-metric comparison of two sides.

use rsb_model::{Better, Field, Run, Unit};
use rsb_store::Store;
use serde_json::{Value, json};
use std::path::Path;

use crate::keep::{GateAnswer, KeepError, text};

/// Returns the category of a metric.
fn group(field: &Field) -> &'static str {
    match (field.name, field.unit) {
        ("efficiency" | "speedup" | "communication_overhead_percent", _) => "scalability",
        (_, Unit::GigabytesPerSecond | Unit::Gigaflops | Unit::Teraflops | Unit::PerSecond) => {
            "throughput"
        }
        (_, Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds | Unit::Seconds) => {
            "latency"
        }
        (_, Unit::Bytes | Unit::Megabytes | Unit::Gigabytes) => "memory",
        _ => "other",
    }
}

/// Returns every metric that a case has on both sides. A value is the median over the runs of a
/// side.
pub(crate) fn metrics(baseline: &[Run], current: &[Run]) -> Vec<Value> {
    let Some(first) = current.first() else { return Vec::new() };
    let rows = first.benchmarks.iter().flat_map(|result| {
        let fields = result.fields().into_iter().flat_map(rsb_model::Fields::metrics);
        fields.filter_map(|(field, _)| row(result.benchmark_id.as_str(), field, baseline, current))
    });
    rows.collect()
}

fn row(id: &str, field: &'static Field, baseline: &[Run], current: &[Run]) -> Option<Value> {
    let (before, after) = (median_of(baseline, id, field)?, median_of(current, id, field)?);
    let change = (before != 0.0).then(|| 100.0 * (after - before) / before);
    // Above 1 means an improvement.
    let speedup = match field.better()? {
        Better::Higher => after / before,
        Better::Lower => before / after,
    };
    Some(json!({
        "id": id,
        "metric": field.name,
        "unit": field.unit,
        "group": group(field),
        "better": field.better(),
        "baseline_value": before,
        "current_value": after,
        "difference_percent": change,
        "speedup": speedup.is_finite().then_some(speedup),
    }))
}

/// Returns the median of one field of one case over several runs.
fn median_of(runs: &[Run], id: &str, field: &Field) -> Option<f64> {
    let of_case = runs
        .iter()
        .flat_map(|run| &run.benchmarks)
        .filter(|result| result.benchmark_id.as_str() == id);
    let values: Vec<f64> = of_case.filter_map(|result| result.figure(field.name)).collect();
    rsb_stats::median(&values)
}

/// Returns the whole comparison as JSON.
pub(crate) fn document(answer: &GateAnswer) -> Result<String, KeepError> {
    let rows = metrics(&answer.baseline, &answer.current);
    let result =
        rsb_stats::with_statistics(answer.result.clone(), &answer.baseline, &answer.current);
    text(&json!({ "comparison": result, "metrics": rows }))
}

/// Stores the comparison next to the results, and returns the path of its file.
pub(crate) fn save_comparison(answer: &GateAnswer, results_dir: &str) -> Result<String, KeepError> {
    let store = Store::open_for_writing(Path::new(results_dir)).map_err(KeepError::Store)?;
    let path = store.save_comparison(&answer.result).map_err(KeepError::Store)?;
    Ok(path.to_string_lossy().into_owned())
}
