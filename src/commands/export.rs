//! Every stored result, for other programs.

use rsb_engine::gate;
use rsb_store::{HistoryFilter, Store, export};

use super::settings;
use crate::cli::{ExportArgs, ExportFormat};
use crate::console;
use crate::exit::{CliError, CliResult};

/// The verb `export`.
///
/// # Errors
/// When the results cannot be read, or the file cannot be written.
pub fn run(args: &ExportArgs) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let text = match args.format {
        ExportFormat::Csv => {
            let mut bytes = Vec::new();
            export::write_csv(&store.history(&HistoryFilter::default())?, &mut bytes)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        ExportFormat::Json => {
            let ids = store.runs()?.into_iter().map(|run| run.run_id);
            let runs = ids.map(|id| store.run(&id.0)).collect::<Result<Vec<_>, _>>()?;
            rsb_report::document("runs", &runs)?
        }
        ExportFormat::Parquet => return parquet(args, &store),
    };
    super::report::to(args.output.as_deref(), &text)
}

#[cfg(feature = "parquet")]
fn parquet(args: &ExportArgs, store: &Store) -> CliResult {
    use anyhow::{Context as _, anyhow};
    use rsb_store::output;
    use rsb_store::parquet_file::{ParquetSink, Verdicts};

    use crate::exit::{Exit, refused};

    let path = args.output.as_deref().filter(|path| *path != std::path::Path::new("-"));
    let path = path.ok_or_else(|| CliError::usage(anyhow!("Parquet is no text: name a file with --output FILE")))?;
    let mut verdicts = Verdicts::new();
    // Oldest first: what was said of a run last is what counts.
    for row in store.comparisons()?.into_iter().rev() {
        let Ok(comparison) = rsb_store::read_comparison(&row.path) else { continue };
        let of_time = comparison.comparisons.into_iter().filter(|row| row.metric == "time_ms");
        let run = rsb_model::RunId(comparison.current_run_id);
        verdicts.extend(of_time.map(|row| ((run.clone(), row.id), row.verdict)));
    }
    let cannot = || format!("cannot write {}", path.display());
    let file = output::create(path).map_err(refused)?;
    let mut sink = ParquetSink::new(std::io::BufWriter::new(file)).with_context(cannot)?;
    for run in store.runs()?.into_iter().rev() {
        sink.add(&store.run(&run.run_id.0)?, &verdicts).with_context(cannot)?;
    }
    let file = sink.finish().with_context(cannot)?.into_inner().context("the disk did not take the last rows")?;
    file.sync_all().with_context(cannot)?;
    Ok(Exit::Pass)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &ExportArgs, _: &Store) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no Parquet: `cargo install --path . --features parquet` builds one that has; --format csv and json \
         need nothing"
    )))
}
