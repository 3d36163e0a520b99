//! Exports all stored results for other programs.

use std::path::Path;

#[cfg(feature = "parquet")]
use anyhow::Context as _;
#[cfg(feature = "parquet")]
use anyhow::anyhow;
#[cfg(feature = "duckdb")]
use rsb_engine::Event;
use rsb_engine::Listener;
use rsb_engine::first_day::Redaction;
use rsb_report::ItemWriter;
#[cfg(feature = "parquet")]
use rsb_store::output;
use rsb_store::{Store, export};

use crate::AppError;
#[cfg(feature = "parquet")]
use crate::{named_file, output_error};

/// Function that receives the output piece by piece.
pub type TextSink<'s> = dyn FnMut(&str) -> std::io::Result<()> + 's;

/// Writes the rows of all runs, one run after another, as CSV.
///
/// # Errors
/// If the results cannot be read or written.
pub fn csv(store: &Store, take: &mut TextSink<'_>) -> anyhow::Result<()> {
    take(&export::csv_header()?)?;
    for run in store.runs()? {
        take(&export::csv_lines(&store.history_of(&run.run_id)?)?)?;
    }
    Ok(())
}

/// Writes all runs, one after another, as JSON, without the names that `redaction` replaces.
///
/// # Errors
/// If the results cannot be read or written.
pub fn json(
    store: &Store,
    redaction: Option<&Redaction>,
    take: &mut TextSink<'_>,
) -> anyhow::Result<()> {
    let (mut writer, begin) = ItemWriter::begin("runs");
    take(&begin)?;
    for entry in store.runs()? {
        let run = store.run(&entry.run_id.0)?;
        let item = match redaction {
            None => writer.item(&run)?,
            Some(redaction) => {
                let mut value = serde_json::to_value(&run)?;
                redaction.value(&mut value);
                writer.item(&value)?
            }
        };
        take(&item)?;
    }
    Ok(take(writer.end())?)
}

/// Writes all runs to a Parquet file.
///
/// # Errors
/// If no file is named, or it cannot be written.
#[cfg(feature = "parquet")]
pub fn parquet(store: &Store, path: Option<&Path>) -> Result<(), AppError> {
    use rsb_store::parquet_file::{ParquetSink, write_all};

    let path = output_file(path, "Parquet")?;
    let cannot = || format!("cannot write {}", path.display());
    let file = output::OutputFile::create(path).map_err(output_error)?;
    let mut sink = ParquetSink::new(file).with_context(cannot)?;
    write_all(store, &mut sink).with_context(cannot)?;
    sink.finish().with_context(cannot)?.finish().map_err(output_error)
}

/// Returns an error, because this build does not write the format.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn parquet(_: &Store, _: Option<&Path>) -> Result<(), AppError> {
    Err(crate::without_feature("Parquet", "parquet", TEXT_FORMATS))
}

/// Writes all runs to a DuckDB database.
///
/// # Errors
/// If no file is named, or it cannot be written.
#[cfg(feature = "duckdb")]
pub fn duckdb(
    store: &Store,
    path: Option<&Path>,
    listener: &mut Listener<'_>,
) -> Result<(), AppError> {
    use crate::sql_error;

    let path = output_file(path, "a DuckDB database")?;
    let library = rsb_store::duckdb::library().map_err(sql_error)?;
    output::check(path).map_err(output_error)?;
    let exported = cached_export(store, listener)?;
    // DuckDB writes the file in random order, so a temporary file is renamed when it is complete.
    let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir =
        tempfile::tempdir_in(beside).with_context(|| format!("cannot write {}", path.display()))?;
    let made = dir.path().join("made.duckdb");
    rsb_store::duckdb::write_database(&library, &exported.path, &made).map_err(sql_error)?;
    output::put(&made, path).map_err(output_error)?;
    Ok(())
}

/// Returns an error, because this build does not write the format.
///
/// # Errors
/// Always.
#[cfg(not(feature = "duckdb"))]
pub fn duckdb(_: &Store, _: Option<&Path>, _: &mut Listener<'_>) -> Result<(), AppError> {
    Err(crate::without_feature("DuckDB", "duckdb", TEXT_FORMATS))
}

/// Returns the output file, which a binary format requires.
#[cfg(feature = "parquet")]
fn output_file<'a>(path: Option<&'a Path>, format: &str) -> Result<&'a Path, AppError> {
    named_file(path).ok_or_else(|| {
        AppError::usage(anyhow!("{format} is not text: name a file with --output FILE"))
    })
}

/// An export to Parquet that is up to date.
#[cfg(feature = "duckdb")]
pub(crate) struct CachedExport {
    /// Its file.
    pub(crate) path: std::path::PathBuf,
    /// Temporary directory of the file, removed when this value is dropped.
    _dir: Option<tempfile::TempDir>,
}

/// Exports `store` to a Parquet file that is kept next to the results. If that is not possible,
/// uses a temporary file.
#[cfg(feature = "duckdb")]
pub(crate) fn cached_export(
    store: &Store,
    listener: &mut Listener<'_>,
) -> Result<CachedExport, AppError> {
    use rsb_store::parquet_file::{ExportError, cached_export};

    let dir = store.results_dir();
    let exported = cached_export(store, dir, || {
        listener(&Event::note(
            "exporting the runs to Parquet; the file is kept next to them until they change",
        ));
    });
    match exported {
        Ok(path) => return Ok(CachedExport { path, _dir: None }),
        Err(ExportError::Io { .. } | ExportError::Parquet(_)) => {}
        Err(ExportError::Store(error)) => return Err(error.into()),
    }
    let dir = tempfile::tempdir()?;
    let path = cached_export(store, dir.path(), || ())
        .context("the runs cannot be exported to Parquet")?;
    Ok(CachedExport { path, _dir: Some(dir) })
}

/// Formats that every build writes.
#[cfg(not(all(feature = "parquet", feature = "duckdb")))]
pub(crate) const TEXT_FORMATS: &str = "--format csv and --format json";
