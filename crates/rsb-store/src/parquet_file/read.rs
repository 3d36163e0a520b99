//! Reading runs from a Parquet file.

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

/// Maximum number of rows in a file; more would not fit into memory.
const MOST_ROWS: i64 = 20_000_000;

/// Reads the runs in the file at `path`, in file order.
///
/// # Errors
/// If the file cannot be read, or was not written by `ParquetSink`.
pub fn read_parquet(path: &Path) -> Result<Vec<Run>, ParquetFileError> {
    let file = input::open(path)
        .map_err(|source| ParquetFileError::Io { path: path.to_owned(), source })?;
    // For a damaged file the library returns an error in most places, and panics in some.
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_runs(file)));
    read.unwrap_or_else(|_| Err("it is damaged".to_owned()))
        .map_err(|problem| ParquetFileError::Unfit { path: path.to_owned(), problem })
}

fn read_runs(file: File) -> Result<Vec<Run>, String> {
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let metadata = reader.metadata().file_metadata();
    let rows = metadata.num_rows();
    if rows > MOST_ROWS {
        return Err(format!("it has {rows} rows, and the limit is {MOST_ROWS}"));
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

/// Parses JSON with the checks of [`rsb_model::json::parse`].
fn strict<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let value = serde_json::from_str(text)?;
    rsb_model::json::check(text)?;
    Ok(value)
}

/// The runs read until now. Rows of a run need not be adjacent.
#[derive(Default)]
struct Runs {
    all: Vec<Run>,
    places: HashMap<String, usize>,
    /// Text of the last parsed case, so that the rows of its other processes do not have to parse
    /// it again.
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
                return Err(format!("the rows of run `{id}` do not contain that run"));
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

/// Returns whether `samples` are from another process of the last case of `run`, as opposed to a
/// repeated measurement with the same record.
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
