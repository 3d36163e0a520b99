//! Writes a log of each run, by default to `logs/` in the results directory. `RSB_LOG` sets the
//! level.

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::anyhow;
use rsb_engine::Listener;
use rsb_model::{Event, RunId};
use rsb_store::{Store, output};
use tracing::level_filters::LevelFilter;

use crate::AppError;
use crate::config::{Config, LogFormat};

/// Directory and format of the log, as set by flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The directory.
    pub dir: Option<PathBuf>,
    /// The format.
    pub format: Option<LogFormat>,
}

/// Directory and format of the log of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    dir: PathBuf,
    format: LogFormat,
}

impl LogOptions {
    /// Returns where the log of a run in `store` is written: as set by flags, else by the
    /// environment, else by the configuration, else as text in the results directory.
    ///
    /// # Errors
    /// If the environment names an unknown format.
    pub fn place(&self, config: &Config, store: &Store) -> Result<LogPlace, AppError> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = match variable("RSB_LOG_FORMAT") {
            Some(name) => Some(LogFormat::find(&name).ok_or_else(|| {
                let known = LogFormat::ALL.map(LogFormat::as_str).join(" or ");
                AppError::usage(anyhow!("RSB_LOG_FORMAT is `{name}`; write {known}"))
            })?),
            None => None,
        };
        let dir = self.dir.clone().or_else(|| variable("RSB_LOG_DIR").map(PathBuf::from));
        Ok(LogPlace {
            dir: dir
                .or_else(|| config.run.log_dir.clone())
                .unwrap_or_else(|| store.results_dir().join("logs")),
            format: self.format.or(named).or(config.run.log_format).unwrap_or_default(),
        })
    }
}

/// Starts the log with a run, and logs each result.
pub(crate) fn on_event(place: &LogPlace, event: &Event, listener: &mut Listener<'_>) {
    match event {
        Event::RunStarted { run_id, .. } => to_file(place, run_id, listener),
        Event::CaseUpdated(result) => {
            tracing::info!(outcome = %result.outcome, "{}", result.benchmark_id);
        }
        _ => {}
    }
}

/// Starts logging to `<run id>.log` in the directory of `place`, `.jsonl` for JSON. A run does not
/// need a log, so a failure is only a warning.
fn to_file(place: &LogPlace, run_id: &RunId, listener: &mut Listener<'_>) {
    let extension = if place.format == LogFormat::Json { "jsonl" } else { "log" };
    let path = place.dir.join(format!("{run_id}.{extension}"));
    let file = output::create_dir(&place.dir).and_then(|()| output::create(&path));
    match file {
        Ok(file) => {
            let level = std::env::var("RSB_LOG")
                .ok()
                .and_then(|level| level.parse().ok())
                .unwrap_or(LevelFilter::INFO);
            let builder = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_max_level(level)
                .with_writer(Mutex::new(file))
                .log_internal_errors(false);
            // A second run in one process continues the log of the first one.
            let _ = match place.format {
                LogFormat::Text => tracing::subscriber::set_global_default(builder.finish()),
                LogFormat::Json => {
                    let subscriber = builder.json().finish();
                    tracing::subscriber::set_global_default(subscriber)
                }
            };
        }
        Err(error) => listener(&Event::warning(format!("cannot write the log: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_precedes_the_configuration_and_the_results_directory() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_for_writing(dir.path()).unwrap();
        let place = |options: &LogOptions, config: &Config| {
            let Ok(place) = options.place(config, &store) else { panic!("no place") };
            place
        };
        let unset = place(&LogOptions::default(), &Config::default());
        assert_eq!(unset.dir, store.results_dir().join("logs"));
        let mut config = Config::default();
        (config.run.log_dir, config.run.log_format) = (Some("/c".into()), Some(LogFormat::Json));
        let configured = place(&LogOptions::default(), &config);
        assert_eq!(configured, LogPlace { dir: "/c".into(), format: LogFormat::Json });
        let flags = LogOptions { dir: Some("/f".into()), format: Some(LogFormat::Text) };
        let named = LogPlace { dir: "/f".into(), format: LogFormat::Text };
        assert_eq!(place(&flags, &config), named);
    }
}
