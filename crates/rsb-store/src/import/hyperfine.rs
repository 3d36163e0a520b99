//! `hyperfine --export-json`: the wall time of each run of each command, in seconds. Each run is a
//! fresh process and therefore a separate replicate.

use rsb_model::{BenchmarkType, DeviceType, Fields};
use serde_json::Value;

use super::error::Problem;
use super::json;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};

pub(super) const IMPORTER: Importer = Importer {
    name: "hyperfine",
    benchmark_type: BenchmarkType::CpuPerformance,
    device_type: Some(DeviceType::Cpu),
    is_document: |document| document.pointer("/results/0/command").is_some(),
    keys: &["/results", "/results/0/command", "/results/0/median"],
    marks: &[],
    read,
};

fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    for document in json::documents(input.text)? {
        for result in json::list(&document, "results")? {
            let name = &name(result);
            match reported_failure(result) {
                Some(why) => sink.put_failed(name, why),
                None => sink.put(name, command(result)),
            }
        }
    }
    Ok(())
}

/// Returns the command and its parameters, because `--command-name` gives all of them one name.
/// Versions 1.6 to 1.10 write the value of the only parameter, without its name.
fn name(result: &Value) -> String {
    let mut parameters: Vec<String> = result
        .get("parameters")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
        .chain(result.get("parameter").map(|value| ("parameter", value)))
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={text}")
        })
        .collect();
    parameters.sort();
    let command = json::text(result, "command").unwrap_or_default().to_owned();
    std::iter::once(command).chain(parameters).collect::<Vec<_>>().join("/")
}

/// Returns why the times of a command do not count. hyperfine records a killed run as an exit code
/// of null, and a run that was not longer than the start of the shell as 0 s.
fn reported_failure(result: &Value) -> Option<&'static str> {
    let list = |key| result.get(key).and_then(Value::as_array).into_iter().flatten();
    if list("exit_codes").any(Value::is_null) {
        return Some("a run of the command was ended by a signal, so its time does not count");
    }
    list("times").any(|time| time.as_f64() == Some(0.0)).then_some(
        "a run took 0 s after hyperfine subtracted the start of the shell; measure with \
         `hyperfine -N`, or a longer command",
    )
}

fn command(result: &Value) -> Result<ImportedCase, String> {
    let mut found = match json::numbers(result, "times")? {
        Some(times) if !times.is_empty() => ImportedCase::of_processes(&times),
        _ => read_summary(result)?,
    };
    if let Some(peak) =
        json::numbers(result, "memory_usage_byte")?.and_then(|all| all.into_iter().reduce(f64::max))
    {
        // hyperfine writes zero if the system does not report the memory usage.
        if peak != 0.0 {
            found.fields.set("memory_used_mb", peak / 1e6);
        }
    }
    if let Some(percent) = failed_percent(result) {
        found.fields.set("failed_runs_percent", percent);
    }
    Ok(found)
}

/// Creates a case from the median, which versions before 1.6 do not write, or else from the mean.
fn read_summary(result: &Value) -> Result<ImportedCase, String> {
    let (estimator, seconds) = match json::number(result, "median")? {
        Some(median) => ("median", median),
        None => ("mean", json::number(result, "mean")?.ok_or("it has neither times nor a mean")?),
    };
    let mut found = ImportedCase::of(Fields::new().with("time_ms", seconds * 1e3));
    found.note("estimator", estimator);
    Ok(found)
}

/// Returns the percentage of failed runs, if the file has exit codes. Files have different numbers
/// of runs, so a count would not be comparable. Failures matter because a command that fails is
/// often faster.
fn failed_percent(result: &Value) -> Option<f64> {
    let codes = result.get("exit_codes")?.as_array().filter(|codes| !codes.is_empty())?;
    let failed = codes.iter().filter(|code| code.as_i64() != Some(0)).count();
    Some(100.0 * failed as f64 / codes.len() as f64)
}

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn seconds_become_nanoseconds() {
        let run = read(Format::Hyperfine, sample(Format::Hyperfine)).unwrap();
        let [sleep, list] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(sleep.benchmark_id.as_str(), "cpu_performance/hyperfine/sleep 0.02");
        let replicates: Vec<(u32, f64)> = sleep
            .samples
            .iter()
            .map(|process| (process.replicate, process.per_iteration().unwrap()[0]))
            .collect();
        let expected = [(0, 21e6), (1, 22e6), (2, 23e6)];
        assert!(replicates.iter().zip(expected).all(|(found, (replicate, time))| {
            found.0 == replicate && (found.1 / time - 1.0).abs() < 1e-12
        }));
        assert_eq!(replicates.len(), 3, "each run is one replicate");
        assert!((sleep.fields().unwrap().number("time_ms").unwrap() - 22.0).abs() < 1e-9);
        assert_eq!(sleep.fields().unwrap().number("memory_used_mb"), Some(2.5));
        assert!(list.samples.is_empty());
        assert_eq!(list.fields().unwrap().number("time_ms"), Some(1.5));
    }

    #[test]
    fn parameters_are_part_of_the_id() {
        let text = r#"{"results": [
            {"command": "a", "median": 1.0, "parameters": {"threads": "4", "size": 2}},
            {"command": "a", "median": 2.0, "parameters": {"threads": "1", "size": 2}}]}"#;
        let run = read(Format::Hyperfine, text).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let head = "cpu_performance/hyperfine/a/size=2";
        assert_eq!(ids, [format!("{head}/threads=4"), format!("{head}/threads=1")]);
    }

    #[test]
    fn results_of_old_versions_have_one_parameter_and_no_median() {
        let text = r#"{"results": [
            {"command": "a", "mean": 1.5, "times": [1.0, 2.0], "parameter": 4},
            {"command": "a", "mean": 2.5, "parameter": "5"}]}"#;
        let run = read(Format::Hyperfine, text).unwrap();
        let [first, second] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert!(first.benchmark_id.as_str().ends_with("/a/parameter=4"));
        assert!(second.benchmark_id.as_str().ends_with("/a/parameter=5"));
        assert_eq!(first.fields().unwrap().number("time_ms"), Some(1500.0));
        assert_eq!(second.fields().unwrap().number("time_ms"), Some(2500.0));
        assert_eq!(second.metadata["estimator"], "mean");
    }

    #[test]
    fn a_killed_command_and_a_broken_time_cost_their_own_case() {
        let text = r#"{"results": [
            {"command": "a", "times": [0.1], "exit_codes": [null]}, {"command": "b", "times": [0.1, -0.2]},
            {"command": "c", "times": ["x"]}, {"command": "d"}, 7,
            {"command": "e", "times": [0.1], "exit_codes": [1]}, {"command": "e", "times": [0.2]},
            {"command": "f", "times": [1e-6, 0.0]}]}"#;
        let run = read(Format::Hyperfine, text).unwrap();
        let failed = run.benchmarks.iter().filter(|case| case.outcome == Outcome::Failed).count();
        assert_eq!((failed, run.benchmarks.len()), (6, 8));
        let zero = run.benchmarks[7].reason.as_ref().unwrap().to_string();
        assert!(zero.contains("0 s") && zero.contains("hyperfine -N"), "{zero}");
        assert_eq!(run.benchmarks[5].fields().unwrap().number("failed_runs_percent"), Some(100.0));
        assert_eq!(run.benchmarks[6].fields().unwrap().number("failed_runs_percent"), None);
        assert_eq!(run.benchmarks[6].benchmark_id.as_str(), "cpu_performance/hyperfine/e#2");
    }
}
