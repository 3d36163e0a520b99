//! `notify`: sends alerts that are due, tests a receiver, shows the outbox and silences alerts.

use rsb_app::decision::{self, DecisionInput};
use rsb_app::{ProjectContext, notify};
use rsb_model::record::AlertState;

use crate::cli::{NotifyArgs, NotifyVerb};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `notify`.
///
/// # Errors
/// If no receiver is configured, a test message is not accepted, or the outbox cannot be used.
pub fn run(args: &NotifyArgs) -> CliResult {
    match &args.verb {
        Some(NotifyVerb::Test { name, places }) => {
            notify::send_test(&ProjectContext::open(&places.paths())?, name)?;
            show::text(&format!("`{name}` accepted a test message"))?;
        }
        Some(NotifyVerb::Status { places }) => {
            show::text(&notify::status(&ProjectContext::open(&places.paths())?)?)?;
        }
        Some(NotifyVerb::Ack { alert, because, places }) => {
            let project = ProjectContext::open(&places.paths())?;
            acknowledge(&project, alert, AlertState::Acknowledged, because)?;
        }
        Some(NotifyVerb::Silence { pattern, end: true, places, .. }) => {
            notify::end_silence(&ProjectContext::open(&places.paths())?, pattern)?;
            show::text(&format!("alerts that match `{pattern}` are sent again"))?;
        }
        Some(NotifyVerb::Silence { pattern, period, because, places, .. }) => {
            let project = ProjectContext::open(&places.paths())?;
            let until = notify::silence(&project, pattern, *period, because.clone())?;
            let until = until.strftime("%Y-%m-%d %H:%M UTC");
            show::text(&format!("alerts that match `{pattern}` are held back until {until}"))?;
        }
        None => send(args)?,
    }
    Ok(Exit::Pass)
}

/// Records the user's decision on the alert whose id begins with `alert`, and prints it.
///
/// # Errors
/// If there is no such alert, or the files cannot be read or written.
pub(super) fn acknowledge(
    project: &ProjectContext,
    alert: &str,
    state: AlertState,
    because: &str,
) -> Result<(), CliError> {
    let input = DecisionInput {
        alert: alert.to_owned(),
        state,
        because: because.to_owned(),
        author: decision::default_author(),
        caused_by: None,
        seen: None,
    };
    let recorded = decision::decide(&project.directories.results, &[], &input)
        .map_err(decision::decision_error)?;
    show::text(&recorded.text())?;
    if let Some(warning) = &recorded.warning {
        console::say(&format!("warning: {warning}"));
    }
    Ok(())
}

fn send(args: &NotifyArgs) -> Result<(), CliError> {
    let paths = args.places.paths();
    let project = ProjectContext::open(&paths)?;
    let sections = notify::configured(&project)?;
    let store = project.store(&mut console::tell)?;
    if args.dry_run {
        show::text(&notify::preview(&project, &store, &paths)?)?;
        return Ok(());
    }
    let alerts = notify::kept_alerts(&store, &paths)?;
    let results = &project.directories.results;
    notify::report_patiently(sections, results, &alerts, &mut console::tell);
    Ok(())
}
