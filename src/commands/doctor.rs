//! What is wrong here, and how to cure it.

use rsb_model::finding::FindingSeverity;
use rsb_report::Style;

use crate::cli::ProbeArgs;
use crate::exit::{CliResult, Exit};
use crate::show;

/// The verb `doctor`.
///
/// # Errors
/// When the directory named is not there.
pub fn run(args: &ProbeArgs, style: Style) -> CliResult {
    let findings = rsb_probe::doctor::examine(&super::probe::options(args)?);
    let text =
        if args.json { rsb_report::doctor::json(&findings)? } else { rsb_report::doctor::text(&findings, style) };
    show::text(&text)?;
    let is_wrong = findings.iter().any(|finding| finding.severity == FindingSeverity::Error);
    Ok(if is_wrong { Exit::Failure } else { Exit::Pass })
}
