//! Events of a run as JSON lines, for `run --events`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rsb_app::{named_file, output_error};
use rsb_model::record::RunEventDocument;
use rsb_model::{Event, Timestamp};
use rsb_store::output;

use crate::exit::CliError;
use crate::{console, show};

/// Writer of events. Each line is written at once, so that other programs can follow.
pub(super) struct EventWriter {
    /// `None` for standard output.
    file: Option<File>,
    /// Whether a line could not be written; the rest is left out then.
    is_broken: bool,
}

impl EventWriter {
    /// Creates the file `path`, or writes to standard output if it is `-`.
    ///
    /// # Errors
    /// If the file is a link or cannot be created.
    pub(super) fn create(path: &Path) -> Result<Self, CliError> {
        let path = named_file(Some(path));
        let file = path.map(output::create).transpose().map_err(output_error)?;
        Ok(Self { file, is_broken: false })
    }

    /// Writes `event` if it belongs to a run. A failure is a warning, because it must not end the
    /// measurement.
    pub(super) fn on_event(&mut self, event: &Event) {
        if self.is_broken {
            return;
        }
        let Some(document) = RunEventDocument::new(event, Timestamp::now()) else { return };
        if let Err(error) = self.write(&document) {
            self.is_broken = true;
            console::say(&format!("warning: cannot write further events: {error}"));
        }
    }

    fn write(&mut self, document: &RunEventDocument) -> std::io::Result<()> {
        let line = serde_json::to_string(document)?;
        match &mut self.file {
            Some(file) => file.write_all(format!("{line}\n").as_bytes()),
            None => show::text(&line),
        }
    }
}
