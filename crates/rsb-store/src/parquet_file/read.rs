//! Runs out of a file of Parquet.

use std::collections::HashMap;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{ListAccessor as _, Row, RowAccessor};
use rsb_model::{BenchmarkResult, Run, Samples};
use serde::de::DeserializeOwned;

use crate::input;

use super::ParquetFileError;
use super::columns::{RUN_COLUMNS, schema};

/// A file with more than this many rows is not read: it would not fit into memory.
const MOST_ROWS: i64 = 20_000_000;

/// The runs in the file at `path`, in the order in which they stand there.
///
/// # Errors
/// When it cannot be read, or is not a file that [`ParquetSink`] wrote.
pub fn read_parquet(path: &Path) -> Result<Vec<Run>, ParquetFileError> {
    let file = input::open(path)
        .map_err(|source| ParquetFileError::Io { path: path.to_owned(), source })?;
    // A damaged file is an error of the library in most places, and a panic in some.
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_runs(file)));
    read.unwrap_or_else(|_| Err("it is damaged".to_owned()))
        .map_err(|problem| ParquetFileError::Unfit { path: path.to_owned(), problem })
}

fn read_runs(file: File) -> Result<Vec<Run>, String> {
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let metadata = reader.metadata().file_metadata();
    let rows = metadata.num_rows();
    if rows > MOST_ROWS {
        return Err(format!("it has {rows} rows, and at most {MOST_ROWS} are read"));
    }
    let ours = schema(RUN_COLUMNS.map(|(declaration, _)| declaration));
    let ours = ours.map_err(|error| error.to_string())?;
    let known = metadata.schema().get_fields();
    let lacking =
        ours.get_fields().iter().find(|own| !known.iter().any(|field| field.name() == own.name()));
    if let Some(lacking) = lacking {
        return Err(format!("it has no column `{}`", lacking.name()));
    }
    let mut runs = Runs::default();
    let rows = reader.get_row_iter(Some(ours.as_ref().clone()));
    for row in rows.map_err(|error| error.to_string())? {
        runs.take(&row.map_err(|error| error.to_string())?)?;
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
        let id = row.get_string(0).map_err(|error| error.to_string())?;
        let place = if let Some(place) = self.places.get(id) {
            *place
        } else {
            let text = row.get_string(14).map_err(|error| error.to_string())?;
            let run: Run = strict(text).map_err(|error| format!("run `{id}`: {error}"))?;
            if run.run_id.0 != *id || !run.benchmarks.is_empty() {
                return Err(format!("the rows of run `{id}` do not hold that run"));
            }
            self.all.push(run);
            self.places.insert(id.clone(), self.all.len() - 1);
            self.all.len() - 1
        };
        let run = self.all.get_mut(place).ok_or("a run is missing")?;
        let rest = row.get_string(13).map_err(|error| error.to_string())?;
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
    let Ok(replicate) = row.get_int(10) else { return Ok(None) };
    let iters = row.get_list(11).map_err(|error| error.to_string())?;
    let times = row.get_list(12).map_err(|error| error.to_string())?;
    let mut samples =
        Samples { replicate: replicate.cast_unsigned(), iters: Vec::new(), times_ns: Vec::new() };
    for at in 0..iters.len() {
        let count = iters.get_long(at).map_err(|error| error.to_string())?;
        samples.iters.push(count.cast_unsigned());
    }
    for at in 0..times.len() {
        samples.times_ns.push(times.get_double(at).map_err(|error| error.to_string())?);
    }
    Ok(Some(samples))
}
