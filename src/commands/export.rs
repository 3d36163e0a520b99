//! `export`: writes all stored results for other programs.

use rsb_app::{ProjectContext, export, fleet, metrics};
use rsb_engine::first_day::Redaction;
use rsb_report::MetricsFormat;

use crate::cli::{ExportArgs, ExportFormat};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `export`.
///
/// # Errors
/// If the results cannot be read, or the file cannot be written.
pub fn run(args: &ExportArgs) -> CliResult {
    if args.max_series.is_some() && args.format != ExportFormat::Openmetrics {
        return Err(CliError::usage(anyhow::anyhow!(
            "--max-series limits only metrics; add --format openmetrics"
        )));
    }
    if args.anonymous && args.format != ExportFormat::Json {
        return Err(CliError::usage(anyhow::anyhow!(
            "--anonymous works only for JSON; add --format json"
        )));
    }
    let redaction = args.anonymous.then(|| Redaction::here(None));
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let path = args.output.as_deref();
    match args.format {
        ExportFormat::Csv => return show::pieces_to(path, |take| export::csv(&store, take)),
        ExportFormat::Json => {
            let redaction = redaction.as_ref();
            return show::pieces_to(path, |take| export::json(&store, redaction, take));
        }
        ExportFormat::Parquet => export::parquet(&store, path)?,
        ExportFormat::Duckdb => export::duckdb(&store, path, &mut console::tell)?,
        ExportFormat::Openmetrics => {
            let max_series = args.max_series.unwrap_or(metrics::DEFAULT_MAX_SERIES);
            let stored = metrics::stored(&store, max_series)?;
            let campaign = fleet::metrics()?;
            let text = metrics::text(stored, &store, campaign, MetricsFormat::OpenMetrics);
            return show::pieces_to(path, |take| Ok(take(&text)?));
        }
    }
    Ok(Exit::Pass)
}
