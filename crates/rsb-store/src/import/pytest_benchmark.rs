//! `pytest --benchmark-json`: seconds per call, for each round if `--benchmark-save-data` was
//! given.

use rsb_model::{BenchmarkType, DeviceType, Fields};
use serde_json::Value;

use super::dates::Unzoned;
use super::error::Problem;
use super::json;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};

pub(super) const IMPORTER: Importer = Importer {
    name: "pytest-benchmark",
    benchmark_type: BenchmarkType::CpuPerformance,
    device_type: Some(DeviceType::Cpu),
    is_document: |document| json::has_keys(document, &["machine_info", "benchmarks"]),
    keys: &["/machine_info", "/benchmarks", "/benchmarks/0/stats"],
    marks: &[],
    read,
};

fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    for document in json::documents(input.text)? {
        let tests = json::list(&document, "benchmarks")?;
        // Up to version 4.0, the time is from `utcnow` and has no zone; since 5.0, it is from
        // `now(timezone.utc)` and has one.
        sink.read_timestamp(&document, "datetime", Unzoned::Utc)?;
        for one in tests {
            let name =
                json::text(one, "fullname").or_else(|| json::text(one, "name")).unwrap_or_default();
            if one.get("has_error").and_then(Value::as_bool).unwrap_or(false) {
                sink.put_failed(name, "the test ended with an error");
            } else {
                sink.put(name, test(one));
            }
        }
    }
    Ok(())
}

/// Creates the case of a test. The tool has already divided the time of a round by its iterations.
fn test(one: &Value) -> Result<ImportedCase, String> {
    let stats = one.get("stats").ok_or("it has no `stats`")?;
    let data = json::numbers(stats, "data")?.filter(|data| !data.is_empty());
    let mut found = match data {
        Some(data) => {
            ImportedCase::of_samples(json::count(stats, "iterations")?.unwrap_or(1), &data)
        }
        None => ImportedCase::of(
            Fields::new().with("time_ms", json::required_number(stats, "median")? * 1e3),
        ),
    };
    if let Some(group) = json::text(one, "group") {
        found.note("group", group);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn rounds_keep_their_iterations() {
        let run = read(Format::PytestBenchmark, sample(Format::PytestBenchmark)).unwrap();
        assert_eq!(run.started.to_string(), "2026-01-02T03:04:05.5Z");
        let [fib, sum] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(
            fib.benchmark_id.as_str(),
            "cpu_performance/pytest-benchmark/tests/test_fib.py::test_fib[10]"
        );
        assert_eq!(fib.samples[0].iters, [5, 5]);
        assert!((fib.samples[0].times_ns[0] - 10_000.0).abs() < 1e-6);
        assert!((fib.fields().unwrap().number("time_ms").unwrap() - 0.0025).abs() < 1e-12);
        assert!(sum.samples.is_empty());
        assert_eq!(sum.fields().unwrap().number("time_ms"), Some(1.0));
    }

    #[test]
    fn a_date_without_a_zone_is_utc() {
        let old = sample(Format::PytestBenchmark).replace("05.500000+00:00", "05.500000");
        let run = read(Format::PytestBenchmark, &old).unwrap();
        assert_eq!(
            (run.started.to_string().as_str(), run.notes.len()),
            ("2026-01-02T03:04:05.5Z", 0)
        );
    }

    #[test]
    fn what_failed_or_cannot_be_is_not_measured() {
        let text = r#"{"machine_info": {}, "benchmarks": [
            {"fullname": "a", "has_error": true, "stats": {"median": 1}}, {"fullname": "b"},
            {"fullname": "c", "stats": {"data": [1e-6], "iterations": 0}}, {"fullname": "d", "stats": {"median": 0}},
            {"fullname": "e", "stats": {"median": 1e-320}}, {"fullname": "f", "stats": {"data": [1e-310]}}]}"#;
        let run = read(Format::PytestBenchmark, text).unwrap();
        assert!(run.benchmarks.iter().all(|case| case.outcome == Outcome::Failed), "{run:?}");
    }
}
