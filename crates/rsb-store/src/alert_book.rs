//! The changes of level that were told, in one file beside the runs: what people said of them is
//! nowhere else.

use std::fs::File;
use std::path::{Path, PathBuf};

use rsb_model::format;
use rsb_model::json;
use rsb_model::record::TrackedAlert;
use serde::{Deserialize, Serialize};

use crate::error::{ReadError, StoreError};
use crate::{document, files, read};

const FILE: &str = "alerts.json";

/// Every change of level that was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertBook {
    /// See [`rsb_model::format`].
    pub format_version: u32,
    /// Oldest first.
    pub alerts: Vec<TrackedAlert>,
}

impl Default for AlertBook {
    fn default() -> Self {
        Self { format_version: format::FORMAT_VERSION, alerts: Vec::new() }
    }
}

impl AlertBook {
    /// Where that of `results_dir` lies.
    pub fn path(results_dir: &Path) -> PathBuf {
        results_dir.join(FILE)
    }

    /// That of `results_dir`; empty where there is none yet.
    ///
    /// # Errors
    /// When there is one that cannot be read: what people said would be lost by writing another.
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

    /// Keeps other programs from changing that of `results_dir` until the guard is dropped. `None`
    /// where nothing can be locked there, since nothing can be written either.
    pub fn lock(results_dir: &Path) -> Option<File> {
        let file = files::lock_file(results_dir).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// Writes it in place of what `results_dir` held.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, results_dir: &Path) -> Result<(), StoreError> {
        let path = Self::path(results_dir);
        let text =
            document::to_text(self).map_err(|error| StoreError::write(&path, error.into()))?;
        files::write_atomically(&path, &text)
    }

    /// The alert that `text` names: its id, or the beginning of one.
    ///
    /// # Errors
    /// When there is none, or several begin so.
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

/// Why a text names no alert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchAlert {
    /// None is called so.
    #[error("no alert is called `{text}`; {}", there_are(known))]
    Unknown {
        /// What was asked for.
        text: String,
        /// Those that are open.
        known: Vec<String>,
    },
    /// Several begin so.
    #[error("`{text}` is the beginning of {}; give more of it", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// Those that begin so.
        matches: Vec<String>,
    },
}

fn there_are(known: &[String]) -> String {
    match known {
        [] => "none is open; `rusty-stack-bench trend` finds them".to_owned(),
        some => format!("open are {}", some.join(", ")),
    }
}
