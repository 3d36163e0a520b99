//! Every stored result, for other programs.

#[cfg(feature = "parquet")]
use std::path::Path;

#[cfg(feature = "parquet")]
use anyhow::Context as _;
use anyhow::anyhow;
use rsb_gate::gate;
use rsb_report::ItemWriter;
#[cfg(feature = "parquet")]
use rsb_store::output;
use rsb_store::{Store, export};

use super::report::pieces_to;
use super::settings;
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit::{CliError, CliResult};
#[cfg(feature = "parquet")]
use crate::exit::{Exit, output_error};
use crate::{console, show};

/// The verb `export`.
///
/// # Errors
/// When the results cannot be read, or the file cannot be written.
pub fn run(args: &ExportArgs) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    match args.format {
        ExportFormat::Csv => pieces_to(args.output.as_deref(), |take| csv(&store, take)),
        ExportFormat::Json => pieces_to(args.output.as_deref(), |take| json(&store, take)),
        ExportFormat::Parquet => parquet(args, &store),
        ExportFormat::Duckdb => duckdb(args, &store),
    }
}

/// The rows of one run after another.
fn csv(store: &Store, take: &mut show::TextSink<'_>) -> anyhow::Result<()> {
    take(&export::csv_header()?)?;
    for run in store.runs()? {
        take(&export::csv_lines(&store.history_of(&run.run_id)?)?)?;
    }
    Ok(())
}

/// One run after another.
fn json(store: &Store, take: &mut show::TextSink<'_>) -> anyhow::Result<()> {
    let (mut writer, begin) = ItemWriter::begin("runs");
    take(&begin)?;
    for run in store.runs()? {
        take(&writer.item(&store.run(&run.run_id.0)?)?)?;
    }
    Ok(take(writer.end())?)
}

#[cfg(feature = "parquet")]
fn parquet(args: &ExportArgs, store: &Store) -> CliResult {
    use rsb_store::parquet_file::{ParquetSink, write_all};

    let path = output_file(args, "Parquet")?;
    let cannot = || format!("cannot write {}", path.display());
    let file = output::create(path).map_err(output_error)?;
    let mut sink = ParquetSink::new(std::io::BufWriter::new(file)).with_context(cannot)?;
    write_all(store, &mut sink).with_context(cannot)?;
    let file = sink
        .finish()
        .with_context(cannot)?
        .into_inner()
        .context("the disk did not take the last rows")?;
    file.sync_all().with_context(cannot)?;
    Ok(Exit::Pass)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &ExportArgs, _: &Store) -> CliResult {
    Err(without("Parquet", "parquet", TEXT_FORMATS))
}

#[cfg(feature = "duckdb")]
fn duckdb(args: &ExportArgs, store: &Store) -> CliResult {
    use super::query::of_sql;

    let path = output_file(args, "a database of DuckDB")?;
    let library = rsb_store::duckdb::library().map_err(of_sql)?;
    output::check(path).map_err(output_error)?;
    let exported = cached_export(store)?;
    // A database is written in many places: whole, it takes the name.
    let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir =
        tempfile::tempdir_in(beside).with_context(|| format!("cannot write {}", path.display()))?;
    let made = dir.path().join("made.duckdb");
    rsb_store::duckdb::write_database(&library, &exported.path, &made).map_err(of_sql)?;
    output::put(&made, path).map_err(output_error)?;
    Ok(Exit::Pass)
}

#[cfg(not(feature = "duckdb"))]
fn duckdb(_: &ExportArgs, _: &Store) -> CliResult {
    Err(without("DuckDB", "duckdb", TEXT_FORMATS))
}

/// The file that a format needs which is no text.
#[cfg(feature = "parquet")]
fn output_file<'a>(args: &'a ExportArgs, format: &str) -> Result<&'a Path, CliError> {
    let path = super::report::file(args.output.as_deref());
    path.ok_or_else(|| {
        CliError::usage(anyhow!("{format} is no text: name a file with --output FILE"))
    })
}

/// An export in Parquet that has the runs of today.
#[cfg(feature = "duckdb")]
pub(super) struct CachedExport {
    /// Its file.
    pub(super) path: std::path::PathBuf,
    /// Where it is, if it goes with the program.
    _dir: Option<tempfile::TempDir>,
}

/// The export of `store`, which is kept beside the results where these can be written.
#[cfg(feature = "duckdb")]
pub(super) fn cached_export(store: &Store) -> Result<CachedExport, CliError> {
    use rsb_store::parquet_file::{ExportError, cached_export};

    let dir = store.results_dir();
    let exported = cached_export(store, dir, || {
        console::say(
            "note: the runs are exported to Parquet, which is kept beside them until they change",
        );
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

/// What every build writes.
#[cfg(not(all(feature = "parquet", feature = "duckdb")))]
pub(super) const TEXT_FORMATS: &str = "--format csv and --format json";

/// Why this build does not do something, which one does, and what every build does.
#[cfg(not(all(feature = "parquet", feature = "duckdb", feature = "png")))]
pub(super) fn without(what: &str, feature: &str, everywhere: &str) -> CliError {
    CliError::usage(anyhow!(
        "this build has no {what}: `cargo install --path . --features {feature}` builds one that \
         has; {everywhere} are in \
         every build"
    ))
}
