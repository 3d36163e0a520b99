//! Writes a log of each run to `logs/` in the results directory. `RSB_LOG` sets the level.

use std::path::Path;
use std::sync::Mutex;

use rsb_engine::Listener;
use rsb_model::{Event, RunId};
use rsb_store::output;
use tracing::level_filters::LevelFilter;

/// Starts the log with a run, and logs each result.
pub(crate) fn on_event(results: &Path, event: &Event, listener: &mut Listener<'_>) {
    match event {
        Event::RunStarted { run_id, .. } => to_file(results, run_id, listener),
        Event::CaseUpdated(result) => {
            tracing::info!(outcome = %result.outcome, "{}", result.benchmark_id);
        }
        _ => {}
    }
}

/// Starts logging to `<results>/logs/<run id>.log`. A run does not need a log, so a failure is only
/// a warning.
fn to_file(results: &Path, run_id: &RunId, listener: &mut Listener<'_>) {
    let dir = results.join("logs");
    let file =
        output::create_dir(&dir).and_then(|()| output::create(&dir.join(format!("{run_id}.log"))));
    match file {
        Ok(file) => {
            let level = std::env::var("RSB_LOG")
                .ok()
                .and_then(|level| level.parse().ok())
                .unwrap_or(LevelFilter::INFO);
            let subscriber = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_max_level(level)
                .with_writer(Mutex::new(file))
                .log_internal_errors(false)
                .finish();
            // A second run in one process continues the log of the first one.
            let _ = tracing::subscriber::set_global_default(subscriber);
        }
        Err(error) => listener(&Event::warning(format!("cannot write the log: {error}"))),
    }
}
