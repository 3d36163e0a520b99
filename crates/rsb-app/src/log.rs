//! A log for each run in `logs/` beside the results. `RSB_LOG` says how much.

use std::path::Path;
use std::sync::Mutex;

use rsb_engine::Listener;
use rsb_model::{Event, RunId};
use rsb_store::output;
use tracing::level_filters::LevelFilter;

/// Begins with a run, and notes each result.
pub(crate) fn on_event(results: &Path, event: &Event, listener: &mut Listener<'_>) {
    match event {
        Event::RunStarted { run_id, .. } => to_file(results, run_id, listener),
        Event::CaseUpdated(result) => {
            tracing::info!(outcome = %result.outcome, "{}", result.benchmark_id);
        }
        _ => {}
    }
}

/// Begins to log to `<results>/logs/<run id>.log`. Without a log a run is still a run: problem is
/// said and passed over.
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
            // A second run in one process goes on with the first one's log.
            let _ = tracing::subscriber::set_global_default(subscriber);
        }
        Err(error) => listener(&Event::warning(format!("there is no log: {error}"))),
    }
}
