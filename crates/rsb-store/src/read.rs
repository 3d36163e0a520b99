//! Reading documents that may have been cut off, edited, or written by a later program.
//!
//! A document that cannot be trusted as a whole is refused. A single case that cannot be read
//! becomes a failed case, so that the other cases keep their verdicts. Cases are therefore parsed
//! one by one from their own text; parsing the whole document into a tree first would take twice as
//! long.

use std::collections::HashMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use rsb_model::json;
use rsb_model::{
    BenchmarkResult, BenchmarkType, CaseId, ComparisonResult, Environment, Outcome, Reason, Run,
    Timestamp, format,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::input;
use crate::seal::{self, Seal};
use crate::{files, page};

/// Value of the field `what` in the reason of a case whose record could not be read.
pub const UNREADABLE: &str = "unreadable";

/// Reads the run in `path`.
///
/// # Errors
/// If the file cannot be read, is not JSON, has a newer format, or is not a run. A single bad case
/// is not an error.
pub fn read_run(path: &Path) -> Result<Run, ReadError> {
    parse_run(path, &read_bytes(path)?)
}

/// Parses the run in `bytes`; `path` is for errors.
pub(crate) fn parse_run(path: &Path, bytes: &[u8]) -> Result<Run, ReadError> {
    let document = Document::parse(path, bytes)?;
    document.check_seal(path)?;
    document.into_run(path)
}

/// Reads the run in `path` without its cases, which take most of the time to read.
///
/// # Errors
/// As [`read_run`].
pub(crate) fn read_head(path: &Path) -> Result<Run, ReadError> {
    let bytes = read_bytes(path)?;
    let document = Document::parse(path, &bytes)?;
    document.check_seal(path)?;
    if document.benchmarks.is_none() {
        return Err(no_cases(path));
    }
    head(path, document.fields)
}

/// Reads the comparison in `path`.
///
/// # Errors
/// If the file cannot be read, is not JSON, has a newer format, or is not a comparison.
pub fn read_comparison(path: &Path) -> Result<ComparisonResult, ReadError> {
    let bytes = read_bytes(path)?;
    let document = json::parse_bytes(&bytes).map_err(|error| syntax(path, &bytes, &error))?;
    check_format(path, &document)?;
    let text = String::from_utf8_lossy(&bytes);
    serde_json::from_str(&text).map_err(|error| shape(path, "a comparison", &error))
}

/// Parses the machine in the output of `probe --json` or in a run.
///
/// # Errors
/// If the text is not JSON, or describes no machine.
pub fn environment_in(text: &str) -> serde_json::Result<Environment> {
    let document = json::parse(text)?;
    serde::Deserialize::deserialize(document.get("environment").unwrap_or(&document))
}

/// Reads the whole file `path`, which must be a regular file of at most the size that this program
/// writes. For an HTML page, returns the run embedded in it.
///
/// # Errors
/// If the file is anything else, or cannot be read.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let bytes = input::read(path, input::MOST_OF_OURS).map_err(|problem| problem.at(path))?;
    page::document_in(&bytes, input::MOST_OF_OURS)
        .unwrap_or(Ok(bytes))
        .map_err(|problem| ReadError::Unfit { path: path.to_owned(), problem })
}

pub(crate) fn check_format(path: &Path, document: &Value) -> Result<(), ReadError> {
    format::check(document).map_err(|source| ReadError::Format { path: path.to_owned(), source })
}

/// A run or a baseline whose list of cases or runs is not parsed yet.
#[derive(Deserialize)]
pub(crate) struct Document<'a> {
    #[serde(borrow)]
    benchmarks: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(crate) runs: Option<Vec<&'a RawValue>>,
    #[serde(flatten)]
    pub(crate) fields: Value,
    #[serde(skip)]
    seal: Option<Seal>,
}

impl<'a> Document<'a> {
    /// Parses the document in `bytes`, which must have a supported format; `path` is for errors.
    pub(crate) fn parse(path: &Path, bytes: &'a [u8]) -> Result<Self, ReadError> {
        let text = json::text(bytes).map_err(|error| syntax(path, bytes, &error))?;
        let mut document: Self = match serde_json::from_str(text) {
            Ok(document) => {
                json::check(text).map_err(|error| syntax(path, bytes, &error))?;
                document
            }
            // Valid JSON, but not an object with the expected lists.
            Err(error) if error.is_data() => {
                let fields = json::parse(text).map_err(|error| syntax(path, bytes, &error))?;
                if !fields.is_object() {
                    return Err(no_version(path));
                }
                check_format(path, &fields)?;
                if ["benchmarks", "runs"]
                    .iter()
                    .any(|list| fields.get(list).is_some_and(Value::is_array))
                {
                    return Err(shape(path, "a run or a baseline", &error));
                }
                Self { benchmarks: None, runs: None, fields, seal: None }
            }
            Err(error) => return Err(syntax(path, bytes, &error)),
        };
        check_format(path, &document.fields)?;
        document.seal = Some(seal::check(bytes));
        if let Value::Object(fields) = &mut document.fields {
            fields.shift_remove("checksum");
        }
        Ok(document)
    }

    /// Checks that a run or baseline was not changed after it was written.
    pub(crate) fn check_seal(&self, path: &Path) -> Result<(), ReadError> {
        let problem = match self.seal {
            Some(Seal::Broken) => "was changed after it was written: its checksum does not match",
            Some(Seal::Missing) => {
                "has no checksum, although every file of its format has one: it was changed after \
                 it was written"
            }
            // The checksum matches, or this is only a part of a document.
            _ => return Ok(()),
        };
        Err(ReadError::Changed { path: path.to_owned(), problem })
    }

    /// Converts the document to a run.
    pub(crate) fn into_run(self, path: &Path) -> Result<Run, ReadError> {
        let cases = self.benchmarks.ok_or_else(|| no_cases(path))?;
        let mut run = head(path, self.fields)?;
        run.benchmarks = results_of(&cases, run.started);
        Ok(run)
    }
}

fn no_version(path: &Path) -> ReadError {
    ReadError::Format { path: path.to_owned(), source: format::FormatError::Missing }
}

fn no_cases(path: &Path) -> ReadError {
    ReadError::Shape {
        path: path.to_owned(),
        expected: "a run",
        problem: "it has no list `benchmarks`".to_owned(),
    }
}

/// Parses the run in `fields`, without its cases.
pub(crate) fn head(path: &Path, mut fields: Value) -> Result<Run, ReadError> {
    if let Value::Object(fields) = &mut fields {
        fields.insert("benchmarks".to_owned(), Value::Array(Vec::new()));
    }
    let run: Run =
        serde::Deserialize::deserialize(&fields).map_err(|error| shape(path, "a run", &error))?;
    // The id becomes a file name, so an id that contains a path is refused.
    files::check_name(&run.run_id.0).map_err(|error| ReadError::Shape {
        path: path.to_owned(),
        expected: "a run",
        problem: format!("its `run_id`: {error}"),
    })?;
    Ok(run)
}

/// Minimum number of cases per thread: parsing fewer takes less time than starting a thread.
const CASES_OF_A_THREAD: usize = 200;

/// Parses `cases`, in order. Many cases are parsed on all CPUs, because parsing takes nearly all of
/// the time for comparing two runs of 10,000 cases.
fn results_of(cases: &[&RawValue], fallback: Timestamp) -> Vec<BenchmarkResult> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let share = cases.len().div_ceil(cpus).max(CASES_OF_A_THREAD);
    let mut parts = cases.chunks(share).enumerate();
    let first = parts.next();
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|(part, cases)| scope.spawn(move || results_from(part * share, cases, fallback)))
            .collect();
        let mut results =
            first.map(|(_, cases)| results_from(0, cases, fallback)).unwrap_or_default();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        refuse_repeated(&mut results);
        results
    })
}

/// Parses `cases`, the first of which has the position `index`.
fn results_from(index: usize, cases: &[&RawValue], fallback: Timestamp) -> Vec<BenchmarkResult> {
    let each = (index..).zip(cases);
    each.map(|(index, case)| result_of(case, index, fallback)).collect()
}

/// Marks cases with a repeated id as failed, since it is unclear which of them is correct.
pub(crate) fn refuse_repeated(results: &mut [BenchmarkResult]) {
    let mut counts: HashMap<CaseId, usize> = HashMap::new();
    for result in results.iter() {
        *counts.entry(result.benchmark_id.clone()).or_default() += 1;
    }
    for result in results.iter_mut() {
        let count = counts.get(&result.benchmark_id).copied().unwrap_or_default();
        if count > 1 {
            let why = format!("{count} cases have this id, so it is ambiguous");
            let reason = Reason::new(
                UNREADABLE,
                why,
                "give each case a unique id, or remove the results of an earlier one",
            );
            (result.outcome, result.reason) = (Outcome::Failed, Some(reason));
        }
    }
}

/// Parses a result; returns a failed case with the reason if that is not possible.
fn result_of(text: &RawValue, index: usize, fallback: Timestamp) -> BenchmarkResult {
    serde_json::from_str(text.get()).unwrap_or_else(|error| {
        let document = json::parse(text.get()).unwrap_or_default();
        unreadable(&document, index, fallback, &json::without_place(&error))
    })
}

/// Converts `document` to a result; returns a failed case with the reason if that is not possible.
pub(crate) fn result_from(document: &Value, index: usize, fallback: Timestamp) -> BenchmarkResult {
    match serde::Deserialize::deserialize(document) {
        Ok(result) => result,
        Err(error) => unreadable(document, index, fallback, &error.to_string()),
    }
}

pub(crate) fn unreadable(
    document: &Value,
    index: usize,
    fallback: Timestamp,
    problem: &str,
) -> BenchmarkResult {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let id = text("benchmark_id").and_then(|id| id.parse().ok());
    let id: CaseId =
        id.unwrap_or_else(|| CaseId::from_segments(&[UNREADABLE.to_owned(), index.to_string()]));
    let recorded = text("benchmark_type").and_then(|kind| kind.parse().ok());
    let kind = recorded.or_else(|| Some(id.parts()?.benchmark_type));
    BenchmarkResult {
        benchmark_type: kind.unwrap_or(BenchmarkType::CpuPerformance),
        category: id.benchmark().map(str::to_owned),
        reason: Some(Reason::new(
            UNREADABLE,
            problem,
            "measure the case again, or restore the file from a copy",
        )),
        ..BenchmarkResult::new(
            id,
            text("timestamp").and_then(|time| time.parse().ok()).unwrap_or(fallback),
            Outcome::Failed,
        )
    }
}

pub(crate) fn syntax(path: &Path, bytes: &[u8], error: &serde_json::Error) -> ReadError {
    let cure = if error.is_eof() || is_at_the_end(bytes, error) {
        "the file was cut off: restore it from a copy, or measure again"
    } else {
        "correct the file, restore it from a copy, or measure again"
    };
    let problem = json::without_place(error);
    ReadError::Syntax {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        problem,
        cure,
    }
}

/// Returns whether the error is at the end of the text, so that the text may be cut off. For a
/// number that ends after its `e`, the parser reports a syntax error.
fn is_at_the_end(bytes: &[u8], error: &serde_json::Error) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.nth(error.line().saturating_sub(1)).is_some_and(|line| error.column() >= line.len())
        && lines.next().is_none()
}

pub(crate) fn shape(path: &Path, expected: &'static str, error: &serde_json::Error) -> ReadError {
    ReadError::Shape { path: path.to_owned(), expected, problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::testing::{case_id, measured_case, moment, run, skipped_case};
    use crate::testing::{junk, mutate};

    const PATH: &str = "some/run.json";

    fn parse(text: &str) -> Result<Run, ReadError> {
        Document::parse(Path::new(PATH), text.as_bytes())?.into_run(Path::new(PATH))
    }

    fn sample() -> Run {
        Run {
            benchmarks: vec![measured_case("a", 1.5), skipped_case("b"), measured_case("c", 2.0)],
            ..run("20260101T000000Z_1a2b3c4", 0)
        }
    }

    fn sample_document() -> Value {
        serde_json::to_value(sample()).unwrap()
    }

    #[test]
    fn a_run_survives_a_round_trip() {
        assert_eq!(parse(&document::to_text(&sample()).unwrap()).unwrap(), sample());
    }

    #[test]
    fn what_cannot_be_trusted_is_refused_with_place_and_cure() {
        let text = document::to_text(&sample()).unwrap();
        let newer = text.replacen("\"format_version\": 3", "\"format_version\": 99", 1);
        for (text, expected) in [
            ("", &["some/run.json", "line 1", "cut off"][..]),
            ("{\n\"time\": 1.5e", &["some/run.json", "line 2", "cut off"]),
            ("{\n\"time\": 1.5e\n}", &["some/run.json", "line 3", "correct the file"]),
            (&text[..text.len() / 2], &["some/run.json", "column", "cut off"]),
            ("{\n  \"format_version\": 3,,\n}", &["line 2, column 23", "correct the file"]),
            (&newer, &["99", "newer than 3", "update"]),
            (
                &text.replacen("\"suite\"", "\"run_id\"", 1),
                &["`run_id` appears twice", "correct the file"],
            ),
            (
                &text.replacen("\"suite\"", "\"benchmarks\": [], \"suite\"", 1),
                &["`benchmarks` appears twice"],
            ),
            (&text.replacen("1.5", "1.5e-400", 1), &["1.5e-400", "too small"]),
            ("{}", &["format_version"]),
            ("[1]", &["format_version"]),
            ("{\"format_version\": 3}", &["not a run", "benchmarks"]),
            ("{\"format_version\": 3, \"benchmarks\": {}}", &["not a run", "benchmarks"]),
            ("{\"format_version\": 3, \"benchmarks\": []}", &["not a run", "run_id"]),
            (
                "{\"format_version\": 3, \"benchmarks\": [], \"runs\": 3}",
                &["not a run or a baseline", "sequence"],
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            for part in expected {
                assert!(error.contains(part), "`{error}` lacks `{part}`");
            }
        }
        let missing = read_run(Path::new("/nowhere/run.json")).unwrap_err().to_string();
        assert!(
            missing.contains("/nowhere/run.json") && missing.contains("check the path"),
            "{missing}"
        );
    }

    #[test]
    fn one_unreadable_case_costs_no_other() {
        let mut document = sample_document();
        document["benchmarks"][0]["results"] = Value::from("not a list");
        document["benchmarks"][1] = Value::from(17);
        let run = parse(&document.to_string()).unwrap();
        assert_eq!(run.benchmarks[2], measured_case("c", 2.0));
        assert_eq!(run.benchmarks[0].benchmark_id, case_id("a"));
        assert_eq!(run.benchmarks[0].timestamp, moment(60));
        assert_eq!(run.benchmarks[1].benchmark_id.as_str(), "unreadable/1");
        for broken in &run.benchmarks[..2] {
            assert_eq!(broken.outcome, Outcome::Failed);
            assert_eq!(broken.reason.as_ref().map(|reason| reason.what.as_str()), Some(UNREADABLE));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_mutation_panics_or_loses_a_case(steps in proptest::collection::vec(0_usize..40, 1..7), value in junk()) {
            let mut document = sample_document();
            mutate(&mut document, &steps, value);
            let cases = document["benchmarks"].as_array().map(Vec::len);
            if let Ok(run) = parse(&document.to_string()) {
                proptest::prop_assert_eq!(Some(run.benchmarks.len()), cases);
            }
        }

        #[test]
        fn no_bytes_panic(at in 0_usize..4000, with in proptest::collection::vec(proptest::num::u8::ANY, 0..8)) {
            let mut bytes = sample_document().to_string().into_bytes();
            let at = at % bytes.len();
            let end = (at + with.len()).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
            let path = Path::new(PATH);
            if let Err(error) = Document::parse(path, &bytes).and_then(|document| document.into_run(path)) {
                proptest::prop_assert!(error.to_string().contains(PATH));
            }
        }
    }
}
