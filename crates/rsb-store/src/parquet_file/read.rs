//! Runs out of a file of Parquet.

use std::collections::HashMap;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{ListAccessor as _, Row, RowAccessor};
use parquet::schema::types::TypePtr;
use rsb_model::{BenchmarkResult, Run, Samples};
use serde::de::DeserializeOwned;

use crate::input;

use super::{ParquetFileError, RUN_COLUMNS, schema};

/// A file with more than this many rows is not read: it would not fit into memory.
const MOST_ROWS: i64 = 20_000_000;

/// The runs in the file at `path`, in the order in which they stand there.
///
/// # Errors
/// When it cannot be read, or is not a file that [`ParquetSink`] wrote.
pub fn read_parquet(path: &Path) -> Result<Vec<Run>, ParquetFileError> {
    let unfit = |problem: String| ParquetFileError::Unfit { path: path.to_owned(), problem };
    let io = |source| ParquetFileError::Io { path: path.to_owned(), source };
    let file = input::open(path).map_err(io)?;
    // A damaged file is an error of the library in most places, and a panic in some.
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_runs(file)));
    read.unwrap_or_else(|_| Err("it is damaged".to_owned())).map_err(unfit)
}

fn read_runs(file: File) -> Result<Vec<Run>, String> {
    let words = |error: ParquetError| error.to_string();
    let reader = SerializedFileReader::new(file).map_err(words)?;
    let metadata = reader.metadata().file_metadata();
    if metadata.num_rows() > MOST_ROWS {
        return Err(format!(
            "it has {} rows, and at most {MOST_ROWS} are read",
            metadata.num_rows()
        ));
    }
    let ours = schema(RUN_COLUMNS).map_err(words)?;
    let known = metadata.schema().get_fields();
    let is_same = |own: &TypePtr| known.iter().any(|field| field.name() == own.name());
    if let Some(lacking) = ours.get_fields().iter().find(|own| !is_same(own)) {
        return Err(format!("it has no column `{}`", lacking.name()));
    }
    let mut runs = Runs::default();
    for row in reader.get_row_iter(Some(ours.as_ref().clone())).map_err(words)? {
        runs.take(&row.map_err(words)?)?;
    }
    Ok(runs.all)
}

/// What the JSON `text` stands for, checked as [`rsb_model::json::parse`] checks it.
fn strict<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let value = serde_json::from_str(text)?;
    rsb_model::json::check(text)?;
    Ok(value)
}

/// The runs of the rows so far. Rows of a run may stand apart.
#[derive(Default)]
struct Runs {
    all: Vec<Run>,
    places: HashMap<String, usize>,
    /// The text of the last case, so that its other processes need not be parsed again.
    last: Option<(usize, String)>,
}

impl Runs {
    fn take(&mut self, row: &Row) -> Result<(), String> {
        let words = |error: ParquetError| error.to_string();
        let text = |at: usize| row.get_string(at).map_err(words);
        let id = text(0)?;
        let place = if let Some(place) = self.places.get(id) {
            *place
        } else {
            let run: Run = strict(text(14)?).map_err(|error| format!("run `{id}`: {error}"))?;
            if run.run_id.0 != *id || !run.benchmarks.is_empty() {
                return Err(format!("the rows of run `{id}` do not hold that run"));
            }
            self.all.push(run);
            self.places.insert(id.clone(), self.all.len() - 1);
            self.all.len() - 1
        };
        let run = self.all.get_mut(place).ok_or("a run is missing")?;
        let rest = text(13)?;
        let samples = samples(row)?;
        let is_same_case =
            self.last.as_ref().is_some_and(|(at, known)| *at == place && known == rest);
        if !(is_same_case && samples.as_ref().is_some_and(|samples| follows(run, samples))) {
            let case: BenchmarkResult =
                strict(rest).map_err(|error| format!("run `{id}`: {error}"))?;
            run.benchmarks.push(case);
            self.last = Some((place, rest.clone()));
        }
        if let (Some(case), Some(samples)) = (run.benchmarks.last_mut(), samples) {
            case.samples.push(samples);
        }
        Ok(())
    }
}

/// Whether `samples` are of another process of the last case of `run`, and not of an equal case
/// measured again.
fn follows(run: &Run, samples: &Samples) -> bool {
    let known = run.benchmarks.last().map_or(&[][..], |case| &case.samples);
    !known.iter().any(|own| own.replicate == samples.replicate)
}

fn samples(row: &Row) -> Result<Option<Samples>, String> {
    let words = |error: ParquetError| error.to_string();
    let Ok(replicate) = row.get_int(10) else { return Ok(None) };
    let (iters, times) = (row.get_list(11).map_err(words)?, row.get_list(12).map_err(words)?);
    let mut samples =
        Samples { replicate: replicate.cast_unsigned(), iters: Vec::new(), times_ns: Vec::new() };
    for at in 0..iters.len() {
        samples.iters.push(iters.get_long(at).map_err(words)?.cast_unsigned());
    }
    for at in 0..times.len() {
        samples.times_ns.push(times.get_double(at).map_err(words)?);
    }
    Ok(Some(samples))
}
