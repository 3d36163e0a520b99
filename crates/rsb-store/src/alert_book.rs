//! The alert book: all reported change points, in one file next to the runs. It is the only copy of
//! the users' answers to the alerts.

use std::fs::File;
use std::path::{Path, PathBuf};

use rsb_model::format;
use rsb_model::json;
use rsb_model::record::TrackedAlert;
use serde::{Deserialize, Serialize};

use crate::error::{ReadError, StoreError};
use crate::{document, files, read};

const FILE: &str = "alerts.json";

/// All reported change points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertBook {
    /// See [`rsb_model::format`].
    pub format_version: u32,
    /// Alerts, oldest first.
    pub alerts: Vec<TrackedAlert>,
}

impl Default for AlertBook {
    fn default() -> Self {
        Self { format_version: format::FORMAT_VERSION, alerts: Vec::new() }
    }
}

impl AlertBook {
    /// Returns the path of the alert book of `results_dir`.
    pub fn path(results_dir: &Path) -> PathBuf {
        results_dir.join(FILE)
    }

    /// Reads the alert book of `results_dir`; empty if there is none yet.
    ///
    /// # Errors
    /// If the file exists and cannot be read; writing a new one would lose users' answers.
    pub fn read(results_dir: &Path) -> Result<Self, ReadError> {
        let path = Self::path(results_dir);
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = read::read_bytes(&path)?;
        let document =
            json::parse_bytes(&bytes).map_err(|error| read::syntax(&path, &bytes, &error))?;
        read::check_format(&path, &document)?;
        let book: Self = serde::Deserialize::deserialize(&document)
            .map_err(|error| read::shape(&path, "alerts", &error))?;
        Ok(Self { format_version: format::FORMAT_VERSION, ..book })
    }

    /// Locks the alert book of `results_dir` against changes by other programs until the guard is
    /// dropped. Returns `None` if locking fails, in which case the file cannot be written either.
    pub fn lock(results_dir: &Path) -> Option<File> {
        let file = files::lock_file(results_dir).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// Writes the alert book to `results_dir`, replacing the previous one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, results_dir: &Path) -> Result<(), StoreError> {
        let path = Self::path(results_dir);
        let text =
            document::to_text(self).map_err(|error| StoreError::write(&path, error.into()))?;
        files::write_atomically(&path, &text)
    }

    /// Returns the alert that `text` refers to: its id, or a unique prefix of it.
    ///
    /// # Errors
    /// If no alert or several alerts match.
    pub fn find(&mut self, text: &str) -> Result<&mut TrackedAlert, NoSuchAlert> {
        let known = self
            .alerts
            .iter()
            .filter(|alert| !alert.state.is_closed())
            .map(|alert| alert.id.clone())
            .collect();
        let exact = self.alerts.iter().position(|alert| alert.id == text);
        if let Some(at) = exact {
            return self
                .alerts
                .get_mut(at)
                .ok_or(NoSuchAlert::Unknown { text: text.to_owned(), known });
        }
        let mut found: Vec<&mut TrackedAlert> = self
            .alerts
            .iter_mut()
            .filter(|alert| !text.is_empty() && alert.id.starts_with(text))
            .collect();
        match (found.pop(), found.as_slice()) {
            (Some(only), []) => Ok(only),
            (Some(last), others) => Err(NoSuchAlert::Ambiguous {
                text: text.to_owned(),
                matches: others
                    .iter()
                    .map(|alert| alert.id.clone())
                    .chain([last.id.clone()])
                    .collect(),
            }),
            (None, _) => Err(NoSuchAlert::Unknown { text: text.to_owned(), known }),
        }
    }
}

/// Reason why a text does not identify an alert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchAlert {
    /// No alert has this id.
    #[error("there is no alert `{text}`; {}", there_are(known))]
    Unknown {
        /// The text given.
        text: String,
        /// Ids of the open alerts.
        known: Vec<String>,
    },
    /// Several alerts have this prefix.
    #[error("`{text}` is ambiguous, it matches {}; give a longer prefix", matches.join(", "))]
    Ambiguous {
        /// The text given.
        text: String,
        /// Ids of the matching alerts.
        matches: Vec<String>,
    },
}

fn there_are(known: &[String]) -> String {
    match known {
        [] => "no alert is open; `rusty-stack-bench trend` finds alerts".to_owned(),
        some => format!("open alerts: {}", some.join(", ")),
    }
}
