//! `doctor`: diagnoses this machine and suggests fixes; on request, it also measures bandwidths and
//! peak rates.

mod first_day;
mod installation;

use rsb_app::built_in;
use rsb_model::finding::FindingSeverity;
use rsb_probe::ProbeOptions;
use rsb_report::Style;

use crate::cli::DoctorArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Runs the subcommand `doctor`.
///
/// # Errors
/// If the given directory does not exist, or a requested baseline or first-day check cannot be
/// measured or stored.
pub fn run(args: &DoctorArgs, style: Style) -> CliResult {
    if args.baseline {
        return installation::establish(args, style);
    }
    if args.first_day {
        return first_day::run(args, style);
    }
    let options = ProbeOptions { sysfs_root: args.sysfs_root.clone() };
    options.check().map_err(CliError::usage)?;
    let findings = rsb_probe::doctor::examine(&options);
    let parts = built_in::parts();
    let text = if args.json {
        rsb_report::doctor::json(&findings, &parts)?
    } else {
        rsb_report::doctor::text_with_build(&findings, env!("CARGO_PKG_VERSION"), &parts, style)
    };
    show::text(&text)?;
    let is_wrong = findings.iter().any(|finding| finding.severity == FindingSeverity::Error);
    Ok(if is_wrong { Exit::Failure } else { Exit::Pass })
}
