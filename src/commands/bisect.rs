//! `bisect GOOD BAD --case ID`: finds the first commit that made a case slower.

use rsb_app::{bisect as report, project};
use rsb_gate::revisions::bisect::{self, BisectRequest};
use rsb_report::Style;

use super::interrupt;
use crate::cli::BisectArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `bisect`.
///
/// # Errors
/// If the revisions or the case are invalid, or nothing can be built here.
pub fn run(args: &BisectArgs, style: Style) -> CliResult {
    let settings = project::open_at(&args.places.paths(), &args.good, "bisect")?;
    let policy = settings.project.policy(args.threshold, &mut console::tell)?;
    interrupt::listen();
    let project = args.project.options(&settings).map_err(CliError::usage)?;
    let request = BisectRequest {
        good: &args.good,
        bad: &args.bad,
        case: &args.case,
        budget: args.budget,
        by_instructions: args.decide_by.is_some(),
        project: &project,
    };
    let bisection = bisect::bisect(&request, &policy, &mut console::tell)?;
    let Some(case) = &bisection.case else {
        console::say("interrupted before anything was measured");
        return Ok(Exit::Interrupted);
    };
    if args.json {
        show::json(&report::document(&bisection, case))?;
    } else {
        show::text(&report::text(&bisection, case, style))?;
    }
    if let Some((commit, _)) = bisection.first_bad() {
        console::say(&format!("hint: see the change:\n  git show {}", commit.short()));
    }
    Ok(report::exit_of(&bisection.conclusion))
}
