//! First-day checks of a GPU: 16 checks, and a folder to attach to an issue.

use std::path::{Path, PathBuf};

use rsb_engine::first_day::{self, FirstDay, FirstDayRequest, Redaction};
use rsb_engine::{Listener, WorkerCommand, machine};
use rsb_probe::ProbeOptions;
use rsb_report::{Color, Style};
use rsb_store::output;

use crate::measure::{self, MeasureOptions};
use crate::{AppError, ProjectContext, output_error};

/// Width of the table in the folder, in columns.
const WIDTH: usize = 120;

/// Completed checks, and their folder.
pub struct CheckedCard {
    /// The checks.
    pub day: FirstDay,
    /// The folder.
    pub folder: PathBuf,
}

/// Runs all checks, or only one, and writes their folder; calls `begin` before the first.
///
/// # Errors
/// If the configuration is invalid or names a device that is not here, or the folder cannot be
/// written.
pub fn check(
    project: &ProjectContext,
    only: Option<u8>,
    begin: impl FnOnce(),
    listener: &mut Listener<'_>,
) -> Result<CheckedCard, AppError> {
    let options = MeasureOptions::default();
    let (selection, _) = measure::resolve(&[], None, &options, &project.config)?;
    let facts = rsb_probe::doctor::facts(&ProbeOptions::here());
    // Created before measuring: half an hour of checks must not end without a place for the
    // results.
    let folder = folder_in(&project.directories.results)?;
    begin();
    let machine = machine::here();
    let mut environment = machine::environment();
    // The tree in the current directory is unrelated to the card, and its branch name may be
    // private.
    environment.git = None;
    let workers = WorkerCommand::this_program()
        .map_err(|error| anyhow::anyhow!("cannot find this program to start workers: {error}"))?;
    let request = FirstDayRequest {
        only,
        selection,
        machine: &machine,
        environment,
        findings: rsb_probe::doctor::findings(&facts),
        workers: &workers,
    };
    let day = first_day::check(request, listener)?;
    let redaction = Redaction::here(facts.host.as_ref().map(|host| host.user.as_str()));
    write(&folder, &day, &redaction)?;
    Ok(CheckedCard { day, folder })
}

/// Creates a new folder, named after the current time, next to the results.
fn folder_in(results: &Path) -> Result<PathBuf, AppError> {
    let parent = results.join(first_day::NAME);
    let now = rsb_model::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let names =
        std::iter::once(now.clone()).chain((2..1000).map(|number| format!("{now}-{number}")));
    let free =
        names.map(|name| parent.join(name)).find(|folder| !folder.exists()).unwrap_or(parent);
    output::create_dir(&free).map_err(|error| {
        let what = format!(
            "cannot store results in {}; choose another directory with --results-dir",
            results.display()
        );
        AppError::usage(anyhow::Error::new(error).context(what))
    })?;
    Ok(free)
}

/// Writes the document, the table and the run to `folder`, without the names of the host and the
/// user.
fn write(folder: &Path, day: &FirstDay, redaction: &Redaction) -> Result<(), AppError> {
    let without_names =
        |document: serde_json::Result<serde_json::Value>| -> anyhow::Result<serde_json::Value> {
            let mut document = document?;
            redaction.value(&mut document);
            Ok(document)
        };
    let document = without_names(serde_json::to_value(&day.document))?;
    output::write(&folder.join("first-day.json"), &rsb_report::json(&document)?)
        .map_err(output_error)?;
    let style = Style { color: Color::Never, width: WIDTH };
    let text = redaction.text(&rsb_report::first_day::text(&day.document, style));
    output::write(&folder.join("first-day.txt"), &text).map_err(output_error)?;
    let run = without_names(serde_json::to_value(&day.run))?;
    let sealed = rsb_store::sealed_text(&run).map_err(anyhow::Error::new)?;
    output::write(&folder.join("run.json"), &sealed).map_err(output_error)?;
    Ok(())
}
