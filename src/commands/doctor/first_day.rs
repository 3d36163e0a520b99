//! `doctor --first-day`: runs 16 checks of a card, prints a table, and writes a folder to attach to
//! an issue.

use rsb_app::ProjectContext;
use rsb_app::first_day::{self, CheckedCard};
use rsb_model::{Event, RunStatus};
use rsb_report::Style;

use crate::cli::DoctorArgs;
use crate::commands::interrupt;
use crate::commands::progress::{Progress, ResultLines};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the checks, shows their results and writes the folder.
///
/// # Errors
/// If the configuration is invalid or names a device that does not exist, or the folder cannot be
/// written.
pub(super) fn run(args: &DoctorArgs, style: Style) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    // The bar starts with the first check.
    let mut progress = Progress::new(ResultLines::First);
    let CheckedCard { day, folder } =
        first_day::check(&project, args.check, interrupt::listen, &mut |event: &Event| {
            progress.on_event(event);
        })?;
    if args.json {
        show::json(&day.document)?;
    } else {
        show::text(&rsb_report::first_day::text(&day.document, style))?;
    }
    console::say(&format!("attach this folder to an issue: {}", folder.display()));
    Ok(match (day.status, day.is_failed()) {
        (RunStatus::Interrupted, _) => Exit::Interrupted,
        (_, true) => Exit::Failure,
        (_, false) => Exit::Pass,
    })
}
