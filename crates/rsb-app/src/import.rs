//! Imports results of other tools, and runs of other directories.

use std::path::Path;

use anyhow::anyhow;
use rsb_engine::Listener;
use rsb_gate::Directories;
use rsb_model::{BenchmarkResult, Outcome, Run};
use rsb_store::import::{self, Format};
use rsb_store::{MergedFile, Store, new_run_id};

use crate::{AppError, ProjectContext, project};

/// A run that was imported.
#[derive(Debug)]
pub struct ImportedRun {
    /// The run.
    pub run: Run,
    /// Whether the run was not stored before.
    pub is_new: bool,
    /// Its file.
    pub path: std::path::PathBuf,
}

/// Imports the results in `file`; detects the format if `format` is `None`.
///
/// # Errors
/// If the file cannot be read in its format, or the results cannot be stored.
pub fn import(
    project: &ProjectContext,
    file: &Path,
    format: Option<&str>,
) -> Result<ImportedRun, AppError> {
    let format: Option<Format> = format
        .map(str::parse)
        .transpose()
        .map_err(|error| AppError::usage(anyhow!("--format: {error}")))?;
    let mut run = import::import(file, format).map_err(AppError::usage)?;
    run.run_id = new_run_id(run.started, None);
    let store = Store::open_for_writing(&project.directories.results).map_err(AppError::usage)?;
    let taken = store.take_in(&run)?;
    run.run_id = taken.run_id;
    Ok(ImportedRun { run, is_new: taken.is_new, path: taken.path })
}

/// Imports the runs of a directory or a Parquet file; calls `on_file` for each once it is on disk.
///
/// # Errors
/// If the runs cannot be read or stored.
pub fn merge(
    project: &ProjectContext,
    from: &Path,
    listener: &mut Listener<'_>,
    mut on_file: impl FnMut(&MergedFile),
) -> Result<(), AppError> {
    let unpacked = if from.is_dir() { None } else { Some(tempfile::tempdir()?) };
    if let Some(dir) = &unpacked {
        unpack(from, dir.path())?;
    }
    let store = Store::open_for_writing(&project.directories.results).map_err(AppError::usage)?;
    project::tell_notices(&store, listener);
    let dir = unpacked.as_ref().map_or(from, |dir| dir.path());
    store.merge(dir, |file| on_file(&file))?;
    Ok(())
}

/// Returns whether the file starts with the signature of Parquet.
pub fn is_parquet(path: &Path) -> bool {
    use std::io::Read as _;
    let mut begin = [0; 4];
    // Reading from a pipe would consume its data.
    path.is_file()
        && rsb_store::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
        && begin == *b"PAR1"
}

/// Writes each run of a Parquet file to `dir`.
#[cfg(feature = "parquet")]
fn unpack(path: &Path, dir: &Path) -> Result<(), AppError> {
    let runs = rsb_store::parquet_file::read_parquet(path).map_err(AppError::usage)?;
    let between = Store::open_for_writing(dir)?;
    for run in &runs {
        between.rewrite(run)?;
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn unpack(path: &Path, _: &Path) -> Result<(), AppError> {
    Err(AppError::usage(anyhow!(
        "`{}` is Parquet, which this build cannot read: `cargo install --path . --features \
         parquet` adds it",
        path.display()
    )))
}

/// Maximum number of failed cases that are named.
const SHOWN: usize = 20;

/// Returns a line for each failed case of `run`, a run in `directories`, with its reason.
pub fn failures(run: &Run, directories: &Directories) -> Vec<String> {
    let failed: Vec<&BenchmarkResult> =
        run.benchmarks.iter().filter(|case| case.outcome == Outcome::Failed).collect();
    let mut lines = Vec::new();
    for case in failed.iter().take(SHOWN) {
        let why = case.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        lines.push(format!("failed: {}{why}", case.benchmark_id));
    }
    let more = failed.len().saturating_sub(SHOWN);
    if more > 0 {
        let report = directories.command(&format!("report {}", run.run_id));
        lines.push(format!("and {more} more; `{report}` shows all"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_named_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hyperfine.json");
        let broken: Vec<String> =
            (0..22).map(|n| format!(r#"{{"command": "c{n}", "times": ["x"]}}"#)).collect();
        let text = format!(
            r#"{{"results": [{{"command": "good", "times": [0.1]}}, {}]}}"#,
            broken.join(", ")
        );
        std::fs::write(&path, text).unwrap();
        let run = import::import(&path, None).unwrap();
        let lines = failures(&run, &Directories::new(None, None, None));
        assert_eq!(lines.len(), SHOWN + 1);
        assert!(lines[0].starts_with("failed: cpu_performance/hyperfine/c0: "), "{lines:?}");
        assert!(
            lines[0].contains("`times`") && lines[SHOWN].starts_with("and 2 more"),
            "{lines:?}"
        );
    }
}
