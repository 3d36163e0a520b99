//! Criterion's output directory of a Rust project, `target/criterion`, as a run: one replicate per
//! case.
//!
//! A case is a directory with `new/benchmark.json` and `new/sample.json`; a saved result has its
//! own name instead of `new`. Criterion does not guarantee this layout, so a case that cannot be
//! read becomes a failed case. Up to version 0.3.2 a sample is a list of two lists, and up to 0.2.4
//! there is no `benchmark.json`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rsb_model::json;
use rsb_model::samples::MOST_ITERATIONS;
use rsb_model::{
    BenchmarkResult, BenchmarkType, CaseId, Environment, Outcome, Run, RunId, Samples, Timestamp,
};
use serde_json::{Value, json};

use crate::error::ReadError;
use crate::input;
use crate::read;

/// Name of Criterion's latest result.
pub const LATEST: &str = "new";

/// Depth of directories searched. Criterion nests group, function and parameter.
const DEPTH: usize = 6;

/// Maximum number of directories to search, in case the path is a whole disk instead of Criterion's
/// directory.
const MOST_DIRECTORIES: usize = 300_000;

/// Reads the cases under `dir` that have a result called `name` ([`LATEST`] for the last one). The
/// machine is unknown, because Criterion does not record it.
///
/// # Errors
/// If the directory cannot be read or contains no such result.
pub fn read_criterion_dir(dir: &Path, name: &str) -> Result<Run, ReadError> {
    let mut cases = Vec::new();
    let mut left = MOST_DIRECTORIES;
    collect(dir, &|own| own == name, DEPTH, &mut left, &mut cases)
        .map_err(|source| ReadError::Io { path: dir.to_owned(), source })?;
    if left == 0 {
        return Err(ReadError::Unfit {
            path: dir.to_owned(),
            problem: format!(
                "it contains {MOST_DIRECTORIES} directories or more; name Criterion's own \
                 directory, such as target/criterion"
            ),
        });
    }
    cases.sort();
    if cases.is_empty() {
        return Err(ReadError::Shape {
            path: dir.to_owned(),
            expected: "a Criterion output directory",
            problem: format!("no case in it has a result named `{name}`{}", others(dir)),
        });
    }
    let mut results: Vec<BenchmarkResult> =
        cases.iter().enumerate().map(|(index, case)| result(dir, case, index)).collect();
    read::refuse_repeated(&mut results);
    let latest =
        results.iter().map(|result| result.timestamp).max().unwrap_or(Timestamp::UNIX_EPOCH);
    let run_id = RunId(format!("{}@{name}", dir.display()));
    let mut run = Run::begin(run_id, latest, "criterion", "criterion", Environment::default());
    run.finished = Some(latest);
    run.imported = true;
    for result in results {
        run.keep(result);
    }
    Ok(run)
}

/// Returns a list of the existing result names, to append to an error about an unknown name.
fn others(dir: &Path) -> String {
    let names: Vec<String> = saved_names(dir).unwrap_or_default().into_iter().collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; it has results named {}", names.join(", "))
    }
}

/// Returns the names of the results saved in `dir`, including the latest.
///
/// # Errors
/// If the directory cannot be read.
pub fn saved_names(dir: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut found = Vec::new();
    collect(dir, &|_| true, DEPTH, &mut MOST_DIRECTORIES.clone(), &mut found)?;
    Ok(found
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect())
}

/// Collects directories with a `wanted` name that contain a result, within `depth` levels. Stops
/// when no more directories are `left` to search.
fn collect(
    dir: &Path,
    wanted: &dyn Fn(&OsStr) -> bool,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(());
        }
        let is_result = path.join("benchmark.json").exists() || path.join("sample.json").exists();
        if is_result {
            if path.file_name().is_some_and(wanted) {
                found.push(path);
            }
        } else if depth > 0 {
            collect(&path, wanted, depth - 1, left, found)?;
        }
    }
    Ok(())
}

fn result(root: &Path, case: &Path, index: usize) -> BenchmarkResult {
    let timestamp = input::written(&case.join("sample.json"));
    let described = read_json(case, "benchmark.json").ok();
    let full_id = described.as_ref().and_then(|document| document.get("full_id")?.as_str());
    let place = case.parent().and_then(|parent| parent.strip_prefix(root).ok()).unwrap_or(case);
    let id = full_id.map_or_else(|| place.display().to_string(), str::to_owned);
    let unreadable =
        |problem: &str| read::unreadable(&json!({ "benchmark_id": id }), index, timestamp, problem);
    let (samples, id) = match (
        read_json(case, "sample.json").and_then(|document| samples(&document)),
        id.parse::<CaseId>(),
    ) {
        (Ok(samples), Ok(id)) => (samples, id),
        (Err(problem), _) => return unreadable(&problem),
        (_, Err(error)) => return unreadable(&error.to_string()),
    };
    BenchmarkResult {
        samples: vec![samples],
        benchmark_type: BenchmarkType::CpuPerformance,
        ..BenchmarkResult::new(id, timestamp, Outcome::Measured)
    }
}

fn read_json(case: &Path, name: &str) -> Result<Value, String> {
    let bytes = input::read(&case.join(name), input::MOST_OF_OTHERS)
        .map_err(|problem| format!("{name}: {problem}"))?;
    json::parse_bytes(&bytes).map_err(|error| format!("{name}: {error}"))
}

/// Parses a sample file. Criterion stores the number of iterations and the nanoseconds of each
/// sample as floating-point numbers: in two named lists or, up to version 0.3.2, in a list of the
/// two lists in that order.
fn samples(document: &Value) -> Result<Samples, String> {
    if document.as_array().is_some_and(|lists| lists.len() != 2) {
        return Err(
            "sample.json is a list, but not one of iterations and times, which Criterion wrote \
             before 0.3.3"
                .to_owned(),
        );
    }
    let mut samples = Samples::new(0);
    let (iters, times) = (list(document, "iters")?, list(document, "times")?);
    if iters.len() != times.len() {
        let (iters, times) = (iters.len(), times.len());
        return Err(format!("sample.json has {iters} iteration counts but {times} times"));
    }
    for (&iters, time) in iters.iter().zip(times) {
        samples.push(parse_iterations(iters)?, time);
    }
    Ok(samples)
}

fn list(document: &Value, name: &str) -> Result<Vec<f64>, String> {
    let old = document.get(usize::from(name == "times"));
    let values = document.get(name).or(old).and_then(Value::as_array);
    let values = values.ok_or(format!("sample.json has no list `{name}`"))?;
    values
        .iter()
        .map(|value| {
            value
                .as_f64()
                .ok_or(format!("sample.json: `{name}` contains {value}, which is not a number"))
        })
        .collect()
}

/// Parses an iteration count. A value that is not a whole number in range is an error, because
/// saturating or rounding it would invent a time.
fn parse_iterations(iters: f64) -> Result<u64, String> {
    let is_count = iters.fract() == 0.0 && (1.0..=MOST_ITERATIONS as f64).contains(&iters);
    if is_count {
        Ok(iters as u64)
    } else {
        Err(format!(
            "sample.json: `iters` contains {iters}, which is not a whole number from 1 to 2^53"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const SAMPLE: &str = r#"{"sampling_mode":"Linear","iters":[1.0,2.0],"times":[10.0,22.0]}"#;

    #[test]
    fn the_latest_and_saved_results_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["new", "main", "base"] {
            write(dir.path(), &format!("g/f/1/{name}/sample.json"), SAMPLE);
            write(dir.path(), &format!("g/f/1/{name}/benchmark.json"), r#"{"full_id":"g/f/1"}"#);
        }
        write(dir.path(), "g/h/new/sample.json", SAMPLE);
        write(dir.path(), "g/h/new/benchmark.json", r#"{"full_id":"g/h"}"#);
        write(dir.path(), "g/report/index.html", "");
        let latest = read_criterion_dir(dir.path(), LATEST).unwrap();
        let ids: Vec<&str> =
            latest.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        assert_eq!(ids, ["g/f/1", "g/h"]);
        assert_eq!(latest.benchmarks[0].samples[0].per_iteration(), Ok(vec![10.0, 11.0]));
        assert_eq!(read_criterion_dir(dir.path(), "main").unwrap().benchmarks.len(), 1);
    }

    #[test]
    fn samples_of_old_versions_are_lists_without_names_or_descriptions() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("old", "[[1.0, 2.0], [10.0, 22.0]]"),
            ("torn", "[[1.0, 2.0], [10.0]]"),
            ("three", "[[1.0], [10.0], [1.0]]"),
            ("flat", "[1.0, 10.0]"),
            ("none", "[]"),
        ] {
            write(dir.path(), &format!("{name}/base/sample.json"), text);
        }
        let run = read_criterion_dir(dir.path(), "base").unwrap();
        let measured: Vec<&BenchmarkResult> =
            run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured).collect();
        let [old] = &measured[..] else { panic!("{run:?}") };
        assert_eq!(
            (old.benchmark_id.as_str(), old.samples[0].per_iteration()),
            ("old", Ok(vec![10.0, 11.0]))
        );
        let three = run
            .benchmarks
            .iter()
            .find(|case| case.reason.is_some() && case.benchmark_id.as_str().contains("three"));
        let why = &three.unwrap().reason.as_ref().unwrap().why;
        assert!(why.contains("before 0.3.3"), "{run:?}");
    }

    #[test]
    fn a_sample_that_is_no_file_costs_its_own_case() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a/new/sample.json", SAMPLE);
        write(dir.path(), "b/new/benchmark.json", r#"{"full_id":"b"}"#);
        mknodat(CWD, dir.path().join("b/new/sample.json"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let run = read_criterion_dir(dir.path(), LATEST).unwrap();
        let outcomes: Vec<Outcome> = run.benchmarks.iter().map(|case| case.outcome).collect();
        assert_eq!(outcomes, [Outcome::Measured, Outcome::Failed]);
        assert!(run.benchmarks[1].reason.as_ref().unwrap().why.contains("a pipe"), "{run:?}");
    }

    #[test]
    fn what_is_broken_costs_its_own_case_and_an_empty_directory_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a", "{"),
            ("b", r#"{"iters":[1],"times":[]}"#),
            ("c", r#"{"iters":["x"],"times":[1]}"#),
            ("d", SAMPLE),
        ] {
            write(dir.path(), &format!("{name}/new/sample.json"), text);
            write(
                dir.path(),
                &format!("{name}/new/benchmark.json"),
                &format!(r#"{{"full_id":"{name}"}}"#),
            );
        }
        write(dir.path(), "e/new/sample.json", SAMPLE);
        for (name, iters) in
            [("f", "1e300"), ("g", "1.5"), ("h", "0.0"), ("i", "-1.0"), ("j", "9007199254740994.0")]
        {
            let text = format!(r#"{{"iters":[{iters}],"times":[1.0]}}"#);
            write(dir.path(), &format!("{name}/new/sample.json"), &text);
            write(
                dir.path(),
                &format!("{name}/new/benchmark.json"),
                &format!(r#"{{"full_id":"{name}"}}"#),
            );
        }
        let run = read_criterion_dir(dir.path(), LATEST).unwrap();
        for id in ["a", "b", "c", "f", "g", "h", "i", "j"] {
            assert_eq!(outcome_of(&run, id), Outcome::Failed, "{id}");
        }
        for id in ["d", "e"] {
            assert_eq!(outcome_of(&run, id), Outcome::Measured, "{id}");
        }
        let error = read_criterion_dir(dir.path(), "gone").unwrap_err().to_string();
        assert!(error.contains("`gone`") && error.contains("it has results named new"), "{error}");
        assert!(read_criterion_dir(&dir.path().join("nowhere"), LATEST).is_err());
    }

    fn outcome_of(run: &Run, id: &str) -> Outcome {
        run.benchmarks.iter().find(|case| case.benchmark_id.as_str() == id).unwrap().outcome
    }
}
