//! Collects the cases of an importer in one run, with stable and unique ids and without impossible
//! values.

use std::collections::HashMap;
use std::path::Path;

use rsb_model::field::FieldRole;
use rsb_model::samples::SamplesError;
use rsb_model::{
    BenchmarkResult, CaseId, Environment, Field, Fields, Note, Outcome, Reason, Run, RunId,
    Samples, Timestamp,
};
use serde_json::{Map, Value};

use super::Format;
use super::dates::{self, Unzoned};
use super::error::Problem;
use crate::read::UNREADABLE;

pub(super) const SECOND: f64 = 1e9;

#[derive(Debug, Default)]
pub(super) struct ImportedCase {
    pub(super) fields: Fields,
    /// Samples, if the tool keeps them; one list per process.
    pub(super) samples: Vec<Samples>,
    /// Metadata without a field of its own.
    pub(super) metadata: Map<String, Value>,
}

impl ImportedCase {
    pub(super) fn of(fields: Fields) -> Self {
        Self { fields, ..Self::default() }
    }

    /// Creates a case from samples of one process, of `iters` iterations each. `seconds` are the
    /// times per iteration.
    pub(super) fn of_samples(iters: u64, seconds: &[f64]) -> Self {
        let mut samples = Samples::new(0);
        for time in seconds {
            samples.push(iters, time * SECOND * iters as f64);
        }
        let samples = if samples.is_empty() { Vec::new() } else { vec![samples] };
        Self { samples, ..Self::default() }
    }

    /// Creates a case from several fresh processes, each with one sample of one iteration.
    pub(super) fn of_processes(seconds: &[f64]) -> Self {
        let samples = (0..).zip(seconds).map(|(replicate, time)| {
            let mut samples = Samples::new(replicate);
            samples.push(1, time * SECOND);
            samples
        });
        Self { samples: samples.collect(), ..Self::default() }
    }

    /// Returns whether the tool reports a time of exactly zero.
    fn has_zero_time(&self) -> bool {
        let in_samples = self.samples.iter().flat_map(|samples| &samples.times_ns);
        let in_fields = ["time_ms", "time_us"].map(|name| self.fields.number(name));
        in_samples.copied().chain(in_fields.into_iter().flatten()).any(|time| time == 0.0)
    }

    /// Adds metadata without a field of its own, unless it is null.
    pub(super) fn note(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.metadata.insert(name.to_owned(), value);
        }
    }
}

pub(super) struct Sink {
    format: Format,
    /// When the file was last written.
    written: Timestamp,
    timestamp: Timestamp,
    run: Run,
    seen: HashMap<String, usize>,
}

impl Sink {
    pub(super) fn new(format: Format, path: &Path, written: Timestamp) -> Self {
        let run_id = RunId(path.display().to_string());
        let mut run =
            Run::begin(run_id, written, format.as_str(), format.as_str(), Environment::default());
        run.imported = true;
        Self { format, written, timestamp: written, run, seen: HashMap::new() }
    }

    pub(super) fn finish(mut self) -> Run {
        self.run.finished =
            self.run.benchmarks.iter().map(|case| case.timestamp).max().or(Some(self.timestamp));
        self.run
    }

    /// Reads the time that the tool recorded as `key` of `document`, if any, and uses it for the
    /// following cases.
    ///
    /// # Errors
    /// If the value is not a time. The modification time is not used instead: it may be that of a
    /// copy and would silently reorder the history.
    pub(super) fn read_timestamp(
        &mut self,
        document: &Value,
        key: &str,
        unzoned: Unzoned,
    ) -> Result<(), Problem> {
        let value = document.get(key).unwrap_or(&Value::Null);
        if value.is_null() || value == "" {
            return Ok(());
        }
        let (text, dated) = value
            .as_str()
            .and_then(|text| Some((text, dates::read(text, unzoned, self.written)?)))
            .ok_or_else(|| {
                let cure = "correct it, or remove it to use the modification time of the file";
                Problem::refusal(
                    format!("its `{key}` is {value}, which is not a valid date and time"),
                    cure,
                )
            })?;
        let is_first = self.run.benchmarks.is_empty();
        self.run.started = if is_first { dated.time } else { self.run.started.min(dated.time) };
        self.timestamp = dated.time;
        if dated.is_guess {
            self.note(format!(
                "the `{key}` {text} has no time zone, and the modification time of the file does \
                 not reveal it: it is read as UTC, and may be up to 14 hours off"
            ));
        }
        Ok(())
    }

    /// Adds a note to the run.
    pub(super) fn note(&mut self, text: String) {
        let note = Note::Text(text);
        if !self.run.notes.contains(&note) {
            self.run.notes.push(note);
        }
    }

    /// Adds the case `name` or, if the case could not be read, a failed case with the reason.
    pub(super) fn put(&mut self, name: &str, found: Result<ImportedCase, String>) {
        if found.as_ref().is_ok_and(ImportedCase::has_zero_time) {
            let why = "its time is 0, which is below the resolution of the tool's clock";
            let cure = "measure more work, or more iterations, in one sample";
            let reason = Reason::new("the tool reports a time of 0", why, cure);
            return self.push(name, Outcome::Failed, reason);
        }
        match found.and_then(check_case) {
            Ok(found) => self.put_measured(name, found),
            Err(problem) => self.unreadable(name, &problem),
        }
    }

    pub(super) fn unreadable(&mut self, name: &str, problem: &str) {
        let cure = "run the tool again, or restore its output from a copy";
        self.push(name, Outcome::Failed, Reason::new(UNREADABLE, problem, cure));
    }

    /// Adds a case that the tool itself reported as failed.
    pub(super) fn put_failed(&mut self, name: &str, why: &str) {
        let cure = "fix what the tool reports and run it again";
        self.push(name, Outcome::Failed, Reason::new("the tool reports a failure", why, cure));
    }

    pub(super) fn put_skipped(&mut self, name: &str, why: &str) {
        let cure = "no action is needed, unless it should run here";
        self.push(name, Outcome::Skipped, Reason::new("the tool skipped the case", why, cure));
    }

    fn put_measured(&mut self, name: &str, found: ImportedCase) {
        let mut result = self.blank(name, Outcome::Measured);
        result.results = vec![found.fields];
        result.samples = found.samples;
        result.metadata.extend(found.metadata);
        self.run.benchmarks.push(result);
    }

    fn push(&mut self, name: &str, outcome: Outcome, reason: Reason) {
        let mut result = self.blank(name, outcome);
        result.reason = Some(reason);
        self.run.benchmarks.push(result);
    }

    fn blank(&mut self, name: &str, outcome: Outcome) -> BenchmarkResult {
        BenchmarkResult {
            benchmark_type: self.format.benchmark_type(),
            category: Some(self.format.as_str().to_owned()),
            device_type: self.format.importer().device_type,
            metadata: Map::from_iter([("imported_from".to_owned(), self.format.as_str().into())]),
            ..BenchmarkResult::new(self.id(name), self.timestamp, outcome)
        }
    }

    /// Returns the id for a case name. Repeated names are numbered, because they are different
    /// cases and must not overwrite each other.
    fn id(&mut self, name: &str) -> CaseId {
        let clean: String =
            name.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let clean = if clean.is_empty() { "unnamed".to_owned() } else { clean };
        let mut own = clean.clone();
        loop {
            let times = self.seen.entry(own.clone()).or_insert(0);
            *times += 1;
            if *times == 1 {
                return CaseId::from_segments(&[
                    self.format.benchmark_type().as_str(),
                    self.format.as_str(),
                    &own,
                ]);
            }
            own = format!("{clean}#{times}");
        }
    }
}

/// The only metric that may be zero.
pub(super) const MAY_BE_ZERO: &str = "failed_runs_percent";

/// Rejects a case without values, and values that are not finite and positive, or too small to
/// divide by. Computes the time from samples.
fn check_case(mut found: ImportedCase) -> Result<ImportedCase, String> {
    for (name, value) in found.fields.iter() {
        let is_metric =
            Field::find(name).is_some_and(|field| matches!(field.role, FieldRole::Metric(_)));
        let fits = value.as_f64().is_some_and(|value| {
            (value.is_normal() && value > 0.0) || (name == MAY_BE_ZERO && value == 0.0)
        });
        if is_metric && !fits {
            return Err(format!(
                "`{name}` is {value}; it must be finite and above zero (at least 2.3e-308)"
            ));
        }
    }
    if found.samples.is_empty() {
        let has_metric = found.fields.metrics().next().is_some();
        return if has_metric { Ok(found) } else { Err("it has no metric".to_owned()) };
    }
    let each: Result<Vec<Vec<f64>>, SamplesError> =
        found.samples.iter().map(Samples::per_iteration).collect();
    let mut times = each.map_err(|error| error.to_string())?.concat();
    found.fields.set("time_ms", median(&mut times) / 1e6);
    found.fields.set("num_runs", times.len());
    Ok(found)
}

/// Returns the median of `values`, which must not be empty.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let [upper, lower] = [values.len() / 2, values.len().saturating_sub(1) / 2]
        .map(|at| values.get(at).copied().unwrap_or(f64::NAN));
    f64::midpoint(upper, lower)
}
