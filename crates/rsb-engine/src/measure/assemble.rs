//! Conversion of replicates into the record of a case; pure functions.

use std::collections::BTreeMap;
use std::time::Duration;

use rsb_catalog::factors;
use rsb_model::factor;
use rsb_model::record::EnvironmentSummary;
use rsb_model::{
    BenchmarkResult, Case, DeviceType, Environment, Field, FieldRole, Fields, Outcome, Reason,
    Samples, Timestamp,
};
use serde_json::{Map, Value, json};

use super::session::{Replicate, ReplicateCost};
use super::telemetry;

/// Progress of one case.
#[derive(Debug, Clone, Default)]
pub struct CaseProgress {
    /// Completed replicates.
    pub replicates: Vec<Replicate>,
    /// Outcome of a case that could not be completed, and the reason.
    pub ended: Option<(Outcome, Reason)>,
    /// Disturbances during the measurement; one sentence for each.
    pub noise: Vec<String>,
}

/// Returns the record of `case`.
pub fn result(
    case: &Case,
    progress: &CaseProgress,
    environment: &Environment,
    timestamp: Timestamp,
) -> BenchmarkResult {
    let device_type = progress.replicates.first().map(|replicate| replicate.device_type);
    let (outcome, reason) = match &progress.ended {
        Some((outcome, reason)) => (*outcome, Some(reason.clone())),
        None if device_type == Some(DeviceType::Simulated) => (Outcome::Simulated, None),
        None => (Outcome::Measured, None),
    };
    let times: Vec<f64> = progress
        .replicates
        .iter()
        .filter_map(|replicate| replicate.samples.per_iteration().ok())
        .flatten()
        .collect();
    BenchmarkResult {
        benchmark_id: case.id.clone(),
        timestamp,
        benchmark_type: case.benchmark_type,
        category: Some(case.benchmark.clone()),
        outcome,
        reason,
        device_type,
        factors: Some(factors::of(case, environment)),
        environment: EnvironmentSummary::of(environment),
        results: if progress.replicates.is_empty() {
            Vec::new()
        } else {
            vec![fields(progress, &times)]
        },
        statistics: rsb_stats::statistics(&times),
        samples: progress.replicates.iter().map(|replicate| replicate.samples.clone()).collect(),
        metadata: metadata(case, progress),
    }
}

/// Returns the fields of the last replicate, with metrics and facts replaced by their median over
/// all replicates.
fn fields(progress: &CaseProgress, times: &[f64]) -> Fields {
    let mut merged =
        progress.replicates.last().map(|replicate| replicate.fields.clone()).unwrap_or_default();
    set_figures(&mut merged, &by_replicate(&progress.replicates));
    let warm_up: u64 = progress.replicates.iter().map(|replicate| replicate.warm_up).sum();
    spread_and_counts(&mut merged, times, warm_up);
    merged
}

fn metadata(case: &Case, progress: &CaseProgress) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert(
        "parameters".into(),
        case.params
            .iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect::<Map<_, _>>()
            .into(),
    );
    if !progress.replicates.is_empty() {
        let replicates = &progress.replicates;
        metadata.insert("replicates".into(), json!(replicates.len()));
        metadata.insert("by_replicate".into(), json!(by_replicate(&progress.replicates)));
        metadata.insert("estimator".into(), json!(rsb_stats::ESTIMATOR));
        metadata.insert("prepare_ms".into(), total_ms(replicates, |cost| cost.prepare).into());
        metadata.insert("measure_ms".into(), total_ms(replicates, |cost| cost.measure).into());
        metadata.insert("harness_ms".into(), total_ms(replicates, ReplicateCost::harness).into());
        let known: Vec<_> =
            progress.replicates.iter().map(|replicate| replicate.telemetry.clone()).collect();
        telemetry::record(&mut metadata, &known);
    }
    if !progress.noise.is_empty() {
        metadata.insert("notes".into(), json!(progress.noise));
    }
    for held_back in progress
        .replicates
        .iter()
        .filter_map(|replicate| telemetry::note(replicate.telemetry.as_ref()?))
    {
        note(&mut metadata, &held_back);
    }
    // One note is enough, although each process has its own numbers.
    if let Some(ramp) =
        progress.replicates.iter().find_map(|replicate| replicate.clock_ramp.as_deref())
    {
        note(&mut metadata, ramp);
    }
    metadata
}

/// Returns the cost that `of` selects, summed over `replicates`, in milliseconds rounded to
/// hundredths.
fn total_ms(replicates: &[Replicate], of: fn(&ReplicateCost) -> Duration) -> f64 {
    let total: f64 =
        replicates.iter().map(|replicate| of(&replicate.cost).as_secs_f64() * 1e3).sum();
    (total * 100.0).round() / 100.0
}

/// Returns `result`, which a Python program measured on this machine, completed with the machine,
/// the software that it may depend on, and the spread of its samples.
pub fn complete(mut result: BenchmarkResult, environment: &Environment) -> BenchmarkResult {
    let times: Vec<f64> = result
        .samples
        .iter()
        .filter_map(|samples| samples.per_iteration().ok())
        .flatten()
        .collect();
    result.statistics = rsb_stats::statistics(&times);
    result.environment = EnvironmentSummary::of(environment);
    if result.factors.is_none() {
        let device = result.benchmark_id.device();
        let names = factor::of_device(device)
            .iter()
            .copied()
            .chain([factor::PYTHON, factor::ALL_FRAMEWORKS]);
        result.factors = Some(factor::versions(environment, device, names));
    }
    if let Some(fields) = result.results.first_mut() {
        let warm_up = warm_up_of(fields);
        spread_and_counts(fields, &times, warm_up);
    }
    result.metadata.insert("estimator".into(), json!(rsb_stats::ESTIMATOR));
    result
}

/// Returns `result` with the replicates of `more`, a remeasurement of the same case. No measured
/// data is lost: if `more` has no samples, `result` gets a note only.
pub fn extend(result: &BenchmarkResult, more: &BenchmarkResult) -> BenchmarkResult {
    let mut extended = result.clone();
    if let Some(reason) = &more.reason {
        note(&mut extended.metadata, &format!("remeasurement {}: {reason}", more.outcome));
    }
    for text in more
        .metadata
        .get("notes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        note(&mut extended.metadata, text);
    }
    if more.samples.is_empty() {
        return extended;
    }
    let first = result.samples.iter().map(|samples| samples.replicate + 1).max().unwrap_or(0);
    let mut known = telemetry::replicate_telemetry(&result.metadata, result.samples.len());
    known.extend(telemetry::replicate_telemetry(&more.metadata, more.samples.len()));
    telemetry::record(&mut extended.metadata, &known);
    for (replicate, samples) in (first..).zip(&more.samples) {
        extended.samples.push(Samples { replicate, ..samples.clone() });
    }
    let times: Vec<f64> = extended
        .samples
        .iter()
        .filter_map(|samples| samples.per_iteration().ok())
        .flatten()
        .collect();
    extended.statistics = rsb_stats::statistics(&times);
    let figures = join_figures(&by_replicate_of(result), &by_replicate_of(more));
    for (fields, new) in extended.results.iter_mut().zip(&more.results) {
        let warm_up = warm_up_of(fields) + warm_up_of(new);
        set_figures(fields, &figures);
        spread_and_counts(fields, &times, warm_up);
    }
    extended.metadata.insert("by_replicate".into(), json!(figures));
    extended.metadata.insert("replicates".into(), json!(extended.samples.len()));
    if let Some(profile) = more.metadata.get("profile") {
        extended.metadata.insert("profile".into(), profile.clone());
    }
    for name in ["prepare_ms", "measure_ms", "harness_ms"] {
        let sum =
            [result, more].iter().filter_map(|side| side.metadata.get(name)?.as_f64()).sum::<f64>();
        extended.metadata.insert(name.into(), json!(sum));
    }
    extended
}

/// Adds a note, unless it is already there.
pub(super) fn note(metadata: &mut Map<String, Value>, text: &str) {
    let notes = metadata.entry("notes").or_insert_with(|| json!([]));
    if let Some(notes) = notes.as_array_mut().filter(|notes| !notes.contains(&json!(text))) {
        notes.push(json!(text));
    }
}

/// Values of each metric of a case, one per replicate.
type Figures = BTreeMap<String, Vec<f64>>;

fn by_replicate(replicates: &[Replicate]) -> Figures {
    let mut figures = Figures::new();
    for (name, value) in replicates.iter().flat_map(|replicate| replicate.fields.iter()) {
        let is_figure = Field::find(name).is_some_and(|field| field.role != FieldRole::Parameter);
        if let Some(value) = value.as_f64().filter(|_| is_figure) {
            figures.entry(name.to_owned()).or_default().push(value);
        }
    }
    figures
}

fn by_replicate_of(result: &BenchmarkResult) -> Figures {
    let kept = result.metadata.get("by_replicate");
    kept.and_then(|kept| serde::Deserialize::deserialize(kept).ok()).unwrap_or_default()
}

fn join_figures(old: &Figures, new: &Figures) -> Figures {
    let mut joined = old.clone();
    for (name, values) in new {
        joined.entry(name.clone()).or_default().extend(values);
    }
    joined
}

/// Sets each metric to its median over the replicates, and `accuracy_error` to the maximum.
fn set_figures(fields: &mut Fields, figures: &Figures) {
    for (name, values) in figures {
        let Some(field) = Field::find(name) else { continue };
        let value = match field.name {
            "accuracy_error" => values.iter().copied().reduce(f64::max),
            _ => rsb_stats::median(values),
        };
        if let Some(value) = value {
            fields.set(field.name, value);
        }
    }
}

/// Returns the iterations before sampling, which programs of other languages may store as a float.
fn warm_up_of(fields: &Fields) -> u64 {
    fields.number("warmup_runs").map_or(0, |count| count.round() as u64)
}

fn spread_and_counts(fields: &mut Fields, times: &[f64], warm_up: u64) {
    if let Some(statistics) =
        rsb_stats::statistics(times).filter(|statistics| statistics.mean > 0.0)
    {
        fields.set("std_dev", statistics.std_dev);
        fields.set("cv", statistics.std_dev / statistics.mean);
    }
    fields.set("num_runs", times.len());
    fields.set("warmup_runs", warm_up);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{BenchmarkType, CaseId, Params};

    fn case() -> Case {
        Case {
            id: CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", "f32"]),
            benchmark: "gemm".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new().with("dtype", "f32"),
        }
    }

    fn replicate(number: u32, time_ns: f64) -> Replicate {
        Replicate {
            samples: Samples { replicate: number, iters: vec![1; 4], times_ns: vec![time_ns; 4] },
            fields: Fields::new().with("dtype", "f32").with("gflops", 1e6 / time_ns),
            device_type: DeviceType::Cpu,
            warm_up: 3,
            cost: ReplicateCost::default(),
            telemetry: None,
            clock_ramp: None,
        }
    }

    fn measured_result(times_ns: &[f64]) -> BenchmarkResult {
        let replicates =
            (0..).zip(times_ns).map(|(number, &time_ns)| replicate(number, time_ns)).collect();
        let progress = CaseProgress { replicates, ..CaseProgress::default() };
        result(&case(), &progress, &Environment::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_case_shows_the_median_of_its_replicates() {
        let result = measured_result(&[1000.0, 5000.0, 2000.0]);
        let fields = result.fields().unwrap();
        assert_eq!(
            (fields.number("gflops"), fields.number("num_runs"), fields.text("dtype")),
            (Some(500.0), Some(12.0), Some("f32"))
        );
        assert_eq!((result.outcome, result.samples.len()), (Outcome::Measured, 3));
        assert_eq!(fields.get("warmup_runs"), Some(&json!(9)), "a whole number");
    }

    #[test]
    fn what_ended_it_is_kept_beside_what_was_measured() {
        let reason = Reason::new("case", "it hung", "wait");
        let progress = CaseProgress {
            replicates: vec![replicate(0, 1.0)],
            ended: Some((Outcome::Failed, reason.clone())),
            noise: vec!["loud".into()],
        };
        let result = result(&case(), &progress, &Environment::default(), Timestamp::UNIX_EPOCH);
        assert_eq!((result.outcome, result.reason), (Outcome::Failed, Some(reason)));
        assert_eq!(result.samples.len(), 1);
        assert_eq!(result.metadata["notes"], json!(["loud"]));
    }

    #[test]
    fn what_was_measured_survives_a_failure_to_measure_it_again() {
        let before = measured_result(&[1000.0, 1100.0]);
        let reason = Reason::new("case", "it crashed", "wait");
        let ended = Some((Outcome::Failed, reason));
        let failed = result(
            &case(),
            &CaseProgress { ended, ..CaseProgress::default() },
            &Environment::default(),
            Timestamp::UNIX_EPOCH,
        );
        let after = extend(&before, &failed);
        assert_eq!(
            (after.outcome, &after.samples, &after.results),
            (Outcome::Measured, &before.samples, &before.results)
        );
        assert!(after.metadata["notes"][0].as_str().unwrap().contains("it crashed"));
    }

    #[test]
    fn a_clock_that_rose_while_samples_were_taken_is_a_note() {
        let mut replicates = vec![replicate(0, 1000.0), replicate(1, 1000.0), replicate(2, 1000.0)];
        replicates[1].clock_ramp = Some("it rose from 1 to 2 MHz".to_owned());
        replicates[2].clock_ramp = Some("it rose from 1 to 3 MHz".to_owned());
        let progress = CaseProgress { replicates, ..CaseProgress::default() };
        let result = result(&case(), &progress, &Environment::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(
            result.metadata["notes"],
            json!(["it rose from 1 to 2 MHz"]),
            "the note must appear once"
        );
    }

    #[test]
    fn a_replicate_that_was_held_back_is_named_also_when_more_join() {
        let before = result_of(vec![replicate(0, 1000.0), throttled_replicate(1)]);
        assert_eq!(before.metadata["throttled_replicates"], json!([1]));
        assert!(before.metadata["notes"][0].as_str().unwrap().contains("power limit"));
        let after = extend(&before, &result_of(vec![throttled_replicate(0), replicate(1, 1000.0)]));
        assert_eq!(after.metadata["throttled_replicates"], json!([1, 2]));
        assert_eq!(
            after.metadata["notes"].as_array().unwrap().len(),
            1,
            "the note must appear once"
        );
        let measured = measured_result(&[1000.0]);
        assert!(
            measured.metadata.get("telemetry").is_none()
                && measured.metadata.get("notes").is_none()
        );
    }

    fn throttled_replicate(number: u32) -> Replicate {
        let telemetry = rsb_model::telemetry::GpuTelemetry {
            throttled: Some(true),
            throttle_reasons: vec!["power limit".into()],
            ..Default::default()
        };
        Replicate { telemetry: Some(telemetry), ..replicate(number, 1000.0) }
    }

    fn result_of(replicates: Vec<Replicate>) -> BenchmarkResult {
        let progress = CaseProgress { replicates, ..CaseProgress::default() };
        result(&case(), &progress, &Environment::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn more_replicates_join_the_others() {
        let extended = extend(&measured_result(&[1000.0, 1000.0]), &measured_result(&[4000.0]));
        let numbers: Vec<u32> = extended.samples.iter().map(|samples| samples.replicate).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(
            extended.fields().unwrap().number("gflops"),
            Some(1000.0),
            "the median of three replicates"
        );
        assert_eq!(extended.fields().unwrap().number("num_runs"), Some(12.0));
        let outvoted = extend(
            &measured_result(&[1000.0, 1000.0]),
            &measured_result(&[4000.0, 4000.0, 4000.0]),
        );
        assert_eq!(
            outvoted.fields().unwrap().number("gflops"),
            Some(250.0),
            "each replicate must count once"
        );
        assert_eq!(extended.metadata["replicates"], json!(3));
    }
}
