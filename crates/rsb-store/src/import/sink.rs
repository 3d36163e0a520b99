//! Where importers put what they find: one run, with stable and unique ids, and no figure that
//! cannot be.

use std::collections::HashMap;
use std::path::Path;

use rsb_model::field::FieldRole;
use rsb_model::record::EnvironmentSummary;
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
    /// Samples, where the tool keeps them, one list for each process.
    pub(super) samples: Vec<Samples>,
    /// What has no field.
    pub(super) metadata: Map<String, Value>,
}

impl ImportedCase {
    pub(super) fn of(fields: Fields) -> Self {
        Self { fields, ..Self::default() }
    }

    /// Samples of one process, of `iters` iterations each that took `seconds` for one iteration,
    /// kept in nanoseconds.
    pub(super) fn of_samples(iters: u64, seconds: &[f64]) -> Self {
        let mut samples = Samples::new(0);
        for time in seconds {
            samples.push(iters, time * SECOND * iters as f64);
        }
        let samples = if samples.is_empty() { Vec::new() } else { vec![samples] };
        Self { samples, ..Self::default() }
    }

    /// One sample of one iteration in each of several fresh processes.
    pub(super) fn of_processes(seconds: &[f64]) -> Self {
        let samples = (0..).zip(seconds).map(|(replicate, time)| {
            let mut samples = Samples::new(replicate);
            samples.push(1, time * SECOND);
            samples
        });
        Self { samples: samples.collect(), ..Self::default() }
    }

    /// Adds what has no field of its own, unless it is null.
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

    /// Takes the time that the tool recorded as `key` of `document`, if it did, for the cases that
    /// follow.
    ///
    /// # Errors
    /// When that is no time: the file's own one is that of a copy, and would silently reorder the
    /// history.
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
                let cure =
                    "correct it, or remove it: then the time counts at which the file was written";
                Problem::refusal(
                    format!("its `{key}` is {value}, which is no time of the calendar"),
                    cure,
                )
            })?;
        let is_first = self.run.benchmarks.is_empty();
        self.run.started = if is_first { dated.time } else { self.run.started.min(dated.time) };
        self.timestamp = dated.time;
        if dated.is_guess {
            self.note(format!(
                "the `{key}` {text} names no time zone, and the file's own time does not tell it: \
                 it is read as UTC, and may \
                 be up to 14 hours off"
            ));
        }
        Ok(())
    }

    /// What a reader of the run should know.
    pub(super) fn note(&mut self, text: String) {
        let note = Note::Text(text);
        if !self.run.notes.contains(&note) {
            self.run.notes.push(note);
        }
    }

    /// What was found of the case `name`, or why it cannot be read.
    pub(super) fn put(&mut self, name: &str, found: Result<ImportedCase, String>) {
        match found.and_then(check_case) {
            Ok(found) => self.put_measured(name, found),
            Err(problem) => self.unreadable(name, &problem),
        }
    }

    pub(super) fn unreadable(&mut self, name: &str, problem: &str) {
        let cure = "run the tool again, or restore its output from a copy";
        self.push(name, Outcome::Failed, Reason::new(UNREADABLE, problem, cure));
    }

    /// A case of which the tool itself says that it broke.
    pub(super) fn put_failed(&mut self, name: &str, why: &str) {
        let cure = "cure what the tool reports and run it again";
        self.push(name, Outcome::Failed, Reason::new("the tool reports a failure", why, cure));
    }

    pub(super) fn put_skipped(&mut self, name: &str, why: &str) {
        let cure = "nothing, unless it should have run here";
        self.push(name, Outcome::Skipped, Reason::new("the tool left the case out", why, cure));
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
            benchmark_id: self.id(name),
            timestamp: self.timestamp,
            benchmark_type: self.format.benchmark_type(),
            category: Some(self.format.as_str().to_owned()),
            outcome,
            reason: None,
            device_type: self.format.importer().device_type,
            environment: EnvironmentSummary::default(),
            results: Vec::new(),
            statistics: None,
            samples: Vec::new(),
            factors: None,
            metadata: Map::from_iter([("imported_from".to_owned(), self.format.as_str().into())]),
        }
    }

    /// A second case of the same name is another case, so it is numbered: neither may take the
    /// place of the other.
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

/// The one figure that is zero where all is well.
pub(super) const MAY_BE_ZERO: &str = "failed_runs_percent";

/// Refuses figures that no device can give: not finite, zero or below, or none at all.
fn check_case(mut found: ImportedCase) -> Result<ImportedCase, String> {
    for (name, value) in found.fields.iter() {
        let is_metric =
            Field::find(name).is_some_and(|field| matches!(field.role, FieldRole::Metric(_)));
        let fits = value.as_f64().is_some_and(|value| {
            value.is_finite() && (value > 0.0 || (name == MAY_BE_ZERO && value == 0.0))
        });
        if is_metric && !fits {
            return Err(format!("`{name}` is {value}; it must be finite and above zero"));
        }
    }
    if found.samples.is_empty() {
        let has_metric = found.fields.metrics().next().is_some();
        return if has_metric { Ok(found) } else { Err("it has no figure".to_owned()) };
    }
    let each: Result<Vec<Vec<f64>>, SamplesError> =
        found.samples.iter().map(Samples::per_iteration).collect();
    let mut times = each.map_err(|error| error.to_string())?.concat();
    found.fields.set("time_ms", median(&mut times) / 1e6);
    found.fields.set("num_runs", times.len());
    Ok(found)
}

/// The middle of `values`, of which there is at least one.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let [upper, lower] = [values.len() / 2, values.len().saturating_sub(1) / 2]
        .map(|at| values.get(at).copied().unwrap_or(f64::NAN));
    f64::midpoint(upper, lower)
}
