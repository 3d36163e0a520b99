//! `store`: checks, copies and repairs a results directory.

use std::path::Path;

use rsb_app::{ProjectContext, store_copy};
use rsb_report::number::format_count;
use rsb_store::{FormerIndex, check};

use crate::cli::StoreVerb;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `store`.
///
/// # Errors
/// If the results directory does not exist, or a newer program wrote its index.
pub fn run(verb: &StoreVerb) -> CliResult {
    match verb {
        StoreVerb::Check { places } => {
            check_store(&ProjectContext::open(&places.paths())?.directories.results)
        }
        StoreVerb::Copy { from, to } => copy(from, to),
        StoreVerb::Repair { places } => {
            repair_store(&ProjectContext::open(&places.paths())?.directories.results)
        }
    }
}

fn check_store(results: &Path) -> CliResult {
    if !results.is_dir() {
        return Err(CliError::usage(anyhow::anyhow!(
            "no results directory `{}`; name one with --results-dir",
            results.display()
        )));
    }
    let found = check::check(results).map_err(CliError::usage)?;
    for problem in &found.problems {
        show::text(&format!("problem: {problem}"))?;
    }
    for (first, second) in &found.clock_jumps {
        console::say(&format!(
            "note: run {second} has a higher sequence number than {first} but an earlier time: the \
             clock went back, or a sequence number is wrong; runs are ordered by time"
        ));
    }
    let (runs, values) =
        (format_count(found.runs, "run", "runs"), format_count(found.values, "value", "values"));
    let problems = format_count(found.problems.len(), "problem", "problems");
    show::text(&format!("{runs} and {values} checked: {problems}"))?;
    Ok(if found.problems.is_empty() { Exit::Pass } else { Exit::Failure })
}

fn repair_store(results: &Path) -> CliResult {
    let repair = check::repair(results).map_err(CliError::usage)?;
    for note in rsb_store::notes(&repair.notices) {
        console::say(&format!("note: {note}"));
    }
    let former = match repair.former {
        FormerIndex::Absent => String::new(),
        FormerIndex::Sound => "; the old one was not damaged".to_owned(),
        FormerIndex::Damaged { kept } => {
            format!("; the old one was damaged and is kept as `{}`", kept.display())
        }
    };
    show::text(&format!(
        "rebuilt the index from {}{former}",
        format_count(repair.runs, "run", "runs")
    ))?;
    Ok(Exit::Pass)
}

fn copy(from: &str, to: &str) -> CliResult {
    let counts = store_copy::copy(from, to, &mut console::say)?;
    let runs = format_count(counts.copied, "run", "runs");
    let known =
        if counts.known > 0 { format!(", {} already there", counts.known) } else { String::new() };
    let left_out =
        if counts.left_out > 0 { format!(", {} left out", counts.left_out) } else { String::new() };
    show::text(&format!("{runs} copied{known}{left_out}"))?;
    Ok(if counts.left_out > 0 { Exit::Failure } else { Exit::Pass })
}
