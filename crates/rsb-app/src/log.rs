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
    /// Returns the directory and format of the log of a run in `store`: from flags, else from the
    /// environment, else from the configuration. The default is text in `logs` of the results
    /// directory.
    ///
    /// # Errors
    /// If the environment names an unknown format.
    pub fn place(&self, config: &Config, store: &Store) -> Result<LogPlace, AppError> {
        self.place_in(config, store, |name| std::env::var(name).ok())
    }

    fn place_in(
        &self,
        config: &Config,
        store: &Store,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<LogPlace, AppError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let format = match variable("RSB_LOG_FORMAT") {
            Some(name) => Some(LogFormat::find(&name).ok_or_else(|| {
                let known = LogFormat::ALL.map(LogFormat::as_str).join(" or ");
                AppError::usage(anyhow!("RSB_LOG_FORMAT is `{name}`; write {known}"))
            })?),
            None => config.run.log_format,
        };
        let dir = variable("RSB_LOG_DIR").map(PathBuf::from).or_else(|| config.run.log_dir.clone());
        Ok(LogPlace {
            dir: self.dir.clone().or(dir).unwrap_or_else(|| store.results_dir().join("logs")),
            format: self.format.or(format).unwrap_or_default(),
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
    fn flags_precede_the_environment_and_that_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_for_writing(dir.path()).unwrap();
        let unset = LogOptions::default();
        let place = |options: &LogOptions, config: &Config, variables: [&str; 2]| {
            let variable = |name: &str| {
                let [dir, format] = variables;
                Some(if name == "RSB_LOG_DIR" { dir } else { format }.to_owned())
            };
            options.place_in(config, &store, variable).ok().unwrap()
        };
        let expected = |dir: &str, format| LogPlace { dir: dir.into(), format };
        let default = place(&unset, &Config::default(), ["", ""]);
        assert_eq!(default.dir, store.results_dir().join("logs"));
        assert_eq!(default.format, LogFormat::Text);
        let mut config = Config::default();
        (config.run.log_dir, config.run.log_format) = (Some("/c".into()), Some(LogFormat::Json));
        assert_eq!(place(&unset, &config, ["", ""]), expected("/c", LogFormat::Json));
        assert_eq!(place(&unset, &config, ["/e", "text"]), expected("/e", LogFormat::Text));
        let flags = LogOptions { dir: Some("/f".into()), format: Some(LogFormat::Json) };
        assert_eq!(place(&flags, &config, ["/e", "text"]), expected("/f", LogFormat::Json));
        assert!(unset.place_in(&config, &store, |_| Some("xml".to_owned())).is_err());
    }
}
