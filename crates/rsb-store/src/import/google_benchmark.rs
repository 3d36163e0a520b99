//! Google Benchmark's JSON: the time per iteration in the unit of each entry; repetitions are
//! samples of one case.
//!
//! Fits over several sizes (`_BigO`, `_RMS`) are coefficients instead of times, so they are not
//! imported.

use std::collections::HashSet;

use rsb_model::{BenchmarkType, DeviceType, Fields, Samples};
use serde_json::Value;

use super::dates::Unzoned;
use super::error::Problem;
use super::json;
use super::sink::{ImportedCase, SECOND, Sink, median};
use super::{Importer, Input};

/// Names of aggregates. Older versions only append them to the benchmark name.
const AGGREGATES: [&str; 7] = ["mean", "median", "stddev", "cv", "min", "max", "statistics"];

/// Names of the entries of a document.
type Names<'a> = HashSet<&'a str>;

/// All entries with the same name, in file order.
struct Group<'a> {
    name: &'a str,
    repetitions: Vec<&'a Value>,
    aggregates: Vec<(&'a str, &'a Value)>,
}

pub(super) const IMPORTER: Importer = Importer {
    name: "google-benchmark",
    benchmark_type: BenchmarkType::CpuPerformance,
    device_type: Some(DeviceType::Cpu),
    is_document: |document| json::has_keys(document, &["context", "benchmarks"]),
    keys: &["/context", "/benchmarks", "/benchmarks/0/time_unit"],
    marks: &[],
    read,
};

fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    json::documents(input.text)?.iter().try_for_each(|document| read_document(document, sink))
}

fn read_document(document: &Value, sink: &mut Sink) -> Result<(), Problem> {
    let entries = json::list(document, "benchmarks")?;
    let context = document.get("context").ok_or_else(|| Problem::shape("it has no `context`"))?;
    sink.read_timestamp(context, "date", Unzoned::Local)?;
    if json::text(context, "library_build_type") == Some("debug") {
        sink.note(
            "Google Benchmark itself was built without optimization: its times are too long"
                .to_owned(),
        );
    }
    for group in group_entries(entries) {
        match reported_failure(&group) {
            Some(ReportedFailure::Failed(why)) => sink.put_failed(group.name, why),
            Some(ReportedFailure::Skipped(why)) => sink.put_skipped(group.name, why),
            None => sink.put(group.name, figures(&group)),
        }
    }
    Ok(())
}

fn group_entries(entries: &[Value]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let names: Names<'_> = entries.iter().filter_map(|entry| json::text(entry, "name")).collect();
    for entry in entries {
        let full = json::text(entry, "name").unwrap_or_default();
        if is_complexity(entry) {
            continue;
        }
        let aggregate = aggregate_of(entry, full, &names);
        let short =
            aggregate.and_then(|kind| full.strip_suffix(kind)?.strip_suffix('_')).unwrap_or(full);
        let name = json::text(entry, "run_name").unwrap_or(short);
        let place = *places.entry(name).or_insert_with(|| {
            groups.push(Group { name, repetitions: Vec::new(), aggregates: Vec::new() });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(place) else { continue };
        match aggregate {
            Some(kind) => group.aggregates.push((kind, entry)),
            None => group.repetitions.push(entry),
        }
    }
    groups
}

/// Returns whether `entry` is a fit over other entries. In older versions, this can only be
/// detected by its keys.
fn is_complexity(entry: &Value) -> bool {
    let named =
        json::text(entry, "aggregate_name").is_some_and(|name| ["BigO", "RMS"].contains(&name));
    named
        || ["big_o", "rms"]
            .iter()
            .any(|key| entry.get(key).is_some() && entry.get("real_time").is_none())
}

fn aggregate_of<'a>(entry: &'a Value, name: &'a str, names: &Names<'_>) -> Option<&'a str> {
    match json::text(entry, "run_type") {
        Some("aggregate") => Some(json::text(entry, "aggregate_name").unwrap_or("unknown")),
        Some(_) => None,
        None => {
            // Without a mean and a deviation, this is a benchmark that is named like an aggregate.
            let (own, end) = name.rsplit_once('_')?;
            let is_summarized = ["mean", "stddev"]
                .iter()
                .all(|kind| names.contains(format!("{own}_{kind}").as_str()));
            Some(end).filter(|end| AGGREGATES.contains(end) && is_summarized)
        }
    }
}

/// A failure or skipped benchmark that the tool reports instead of values.
enum ReportedFailure<'a> {
    Failed(&'a str),
    Skipped(&'a str),
}

fn reported_failure<'a>(group: &Group<'a>) -> Option<ReportedFailure<'a>> {
    group.repetitions.iter().find_map(|entry| {
        if is_set(entry, "error_occurred") {
            return Some(ReportedFailure::Failed(
                json::text(entry, "error_message").unwrap_or("no message"),
            ));
        }
        is_set(entry, "skipped").then(|| {
            ReportedFailure::Skipped(json::text(entry, "skip_message").unwrap_or("no message"))
        })
    })
}

fn is_set(entry: &Value, key: &str) -> bool {
    entry.get(key).and_then(Value::as_bool) == Some(true)
}

fn figures(group: &Group<'_>) -> Result<ImportedCase, String> {
    if group.repetitions.is_empty() {
        return aggregate_case(group);
    }
    let mut samples = Samples::new(0);
    for entry in &group.repetitions {
        let iterations = json::count(entry, "iterations")?.ok_or("it has no `iterations`")?;
        let time_ns = json::required_number(entry, "real_time")? * nanoseconds(entry)?;
        samples.push(iterations, time_ns * iterations as f64);
    }
    let fields = rates(&group.repetitions)?;
    let mut found = ImportedCase { fields, samples: vec![samples], ..ImportedCase::default() };
    if let Some(threads) = group.repetitions.first().and_then(|entry| entry.get("threads")) {
        found.fields.set("threads", threads.clone());
    }
    Ok(found)
}

/// Creates a case from aggregates. With `--benchmark_report_aggregates_only` there are no
/// repetitions, so the median is used, or else the mean.
fn aggregate_case(group: &Group<'_>) -> Result<ImportedCase, String> {
    let (kind, entry) = ["median", "mean"]
        .into_iter()
        .find_map(|kind| {
            let (_, entry) = group.aggregates.iter().find(|(name, _)| *name == kind)?;
            Some((kind, *entry))
        })
        .ok_or("it has neither repetitions nor a median or mean")?;
    let time_ns = json::required_number(entry, "real_time")? * nanoseconds(entry)?;
    let mut fields = rates(&[entry])?;
    fields.set("time_ms", time_ns / 1e6);
    let mut found = ImportedCase::of(fields);
    found.note("estimator", kind);
    Ok(found)
}

/// Returns the median of each rate that every entry has.
fn rates(entries: &[&Value]) -> Result<Fields, String> {
    let mut fields = Fields::new();
    let named = [
        ("bytes_per_second", "bandwidth_gb_s", 1e9),
        ("items_per_second", "throughput_samples_per_second", 1.0),
    ];
    for (key, field, divisor) in named {
        let values: Vec<Option<f64>> =
            entries.iter().map(|entry| json::number(entry, key)).collect::<Result<_, _>>()?;
        if let Some(mut values) = values.into_iter().collect::<Option<Vec<f64>>>() {
            fields.set(field, median(&mut values) / divisor);
        }
    }
    Ok(fields)
}

fn nanoseconds(entry: &Value) -> Result<f64, String> {
    match entry.get("time_unit").map(|unit| unit.as_str().unwrap_or_default()) {
        None | Some("ns") => Ok(1.0),
        Some("us") => Ok(1e3),
        Some("ms") => Ok(1e6),
        Some("s") => Ok(SECOND),
        Some(other) => Err(format!("`time_unit` is `{other}`, not ns, us, ms or s")),
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn repetitions_are_samples_and_every_unit_is_read() {
        let run = read(Format::GoogleBenchmark, sample(Format::GoogleBenchmark)).unwrap();
        let [copy, sort] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(copy.benchmark_id.as_str(), "cpu_performance/google-benchmark/BM_Copy/1024");
        assert_eq!(copy.samples[0].iters, [1000, 1000]);
        assert_eq!(copy.samples[0].per_iteration().unwrap(), [50_000.0, 52_000.0]);
        assert_eq!(copy.fields().unwrap().number("bandwidth_gb_s"), Some(21.0));
        assert_eq!(sort.fields().unwrap().number("time_ms"), Some(3.0));
        assert_eq!(sort.metadata["estimator"], "median");
        for (unit, expected) in [("ns", 2.0), ("us", 2e3), ("ms", 2e6), ("s", 2e9)] {
            let text = format!(
                r#"{{"context":{{}},"benchmarks":[{{"name":"a","iterations":1,"real_time":2,"time_unit":"{unit}"}}]}}"#
            );
            let run = read(Format::GoogleBenchmark, &text).unwrap();
            assert_eq!(run.benchmarks[0].samples[0].times_ns, [expected]);
        }
    }

    #[test]
    fn errors_skips_and_foreign_units_cost_their_own_case() {
        let text = r#"{"context": {}, "benchmarks": [
            {"name": "a", "run_type": "iteration", "error_occurred": true, "error_message": "no file", "iterations": 0},
            {"name": "b", "run_type": "iteration", "skipped": true, "skip_message": "no GPU", "iterations": 0},
            {"name": "c", "iterations": 1, "real_time": 2, "time_unit": "h"},
            {"name": "d", "iterations": 1, "real_time": -2},
            {"name": "e_mean", "real_time": 2, "time_unit": "ms"}, {"name": "e_stddev", "real_time": 0},
            {"name": "f_cv", "real_time": 2}]}"#;
        let run = read(Format::GoogleBenchmark, text).unwrap();
        let outcomes: Vec<Outcome> = run.benchmarks.iter().map(|case| case.outcome).collect();
        let (failed, skipped, measured) = (Outcome::Failed, Outcome::Skipped, Outcome::Measured);
        assert_eq!(outcomes, [failed, skipped, failed, failed, measured, failed]);
        assert_eq!(run.benchmarks[0].reason.as_ref().unwrap().why, "no file");
        assert_eq!(run.benchmarks[4].fields().unwrap().number("time_ms"), Some(2.0));
    }

    #[test]
    fn old_documents_summarize_only_what_has_a_mean_and_a_deviation() {
        let text = r#"{"context": {"date": "09/15/19 12:34:56"}, "benchmarks": [
            {"name": "BM_std_min", "iterations": 10, "real_time": 5},
            {"name": "BM_std_max", "iterations": 10, "real_time": 7},
            {"name": "BM_a", "iterations": 10, "real_time": 2}, {"name": "BM_a", "iterations": 10, "real_time": 4},
            {"name": "BM_a_mean", "iterations": 10, "real_time": 3}, {"name": "BM_a_stddev", "iterations": 0, "real_time": 1}]}"#;
        let run = read(Format::GoogleBenchmark, &format!("{text}\n{text}")).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let names = ["BM_std_min", "BM_std_max", "BM_a"];
        let expected = ["", "#2"]
            .map(|end| names.map(|name| format!("cpu_performance/google-benchmark/{name}{end}")));
        assert_eq!(ids, expected.concat(), "a second document is a second set of cases");
        assert_eq!(run.started.to_string(), "2019-09-15T12:34:56Z");
    }

    #[test]
    fn a_time_of_zero_is_a_failure_with_its_cause() {
        let text = r#"{"context": {}, "benchmarks": [
            {"name": "a", "iterations": 1000, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
            {"name": "b_mean", "real_time": 0}, {"name": "b_stddev", "real_time": 0}]}"#;
        let run = read(Format::GoogleBenchmark, text).unwrap();
        assert_eq!((run.counts().failed, run.benchmarks.len()), (2, 2));
        for case in &run.benchmarks {
            let reason = case.reason.as_ref().unwrap().to_string();
            assert!(reason.contains("resolution") && !reason.contains("unreadable"), "{reason}");
        }
    }

    #[test]
    fn what_is_fitted_to_the_times_is_no_case() {
        let text = r#"{"context": {}, "benchmarks": [
            {"name": "BM_Sort/8", "run_name": "BM_Sort/8", "run_type": "iteration", "iterations": 1, "real_time": 9},
            {"name": "BM_Sort_BigO", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "BigO",
             "cpu_coefficient": 1.5, "real_coefficient": 1.5, "big_o": "NlgN", "time_unit": "ns"},
            {"name": "BM_Sort_RMS", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "RMS", "rms": 0.02},
            {"name": "BM_Old_BigO", "cpu_coefficient": 2, "real_coefficient": 2, "big_o": "N", "time_unit": "ns"},
            {"name": "BM_Old_RMS", "rms": 0},
            {"name": "BM_BigO", "run_type": "iteration", "iterations": 1, "real_time": 2, "big_o": 3}]}"#;
        let run = read(Format::GoogleBenchmark, text).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let head = "cpu_performance/google-benchmark";
        assert_eq!(ids, [format!("{head}/BM_Sort/8"), format!("{head}/BM_BigO")]);
        assert_eq!(
            run.counts().measured,
            2,
            "a benchmark named like an aggregate must be kept: {run:?}"
        );
    }
}
