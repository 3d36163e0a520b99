//! `bisect GOOD BAD --case ID`: the first commit that made a case slower, by binary search.
//!
//! Each step builds a commit and measures it in turn with the good one, as `gate --against` does. What does not build
//! or stays undecided is passed over and never guessed.

mod line;
mod pick;
mod report;
mod search;
mod trial;

use std::time::Duration;

use anyhow::{Result, anyhow};
use rsb_report::Style;
use rsb_report::number::format_count;

use super::builds::Repository;
use super::{judge, settings};
use crate::cli::BisectArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::measure::interrupt;
use crate::show;
use line::{Commit, Line};
use report::{Bisection, Conclusion};
use search::{Outcome, Search};
use trial::{Finding, Trials};

/// How long a step may measure when nothing is said.
const BUDGET: Duration = Duration::from_mins(1);

/// The verb `bisect`.
///
/// # Errors
/// When the revisions or the case make no sense, or nothing can be built here.
pub fn run(args: &BisectArgs, style: Style) -> Ended {
    let (config, folders) = settings::load(&args.places)?;
    let policy = judge::policy(&config, &folders, args.threshold)?;
    let repository = Repository::here("bisect").map_err(Trouble::usage)?;
    let line = Line::between(&repository, &args.good, &args.bad).map_err(Trouble::usage)?;
    repository.check_package(&line.good.hash, &args.good).map_err(Trouble::usage)?;
    interrupt::listen();
    let budget = (&policy, args.budget.unwrap_or(BUDGET));
    let trials = match Trials::begin(&repository, &line.good, &args.case, budget) {
        // What Ctrl-C cut off looks like a failure.
        Err(_) if interrupt::asked() => {
            eprintln!("interrupted before anything was measured");
            return Ok(Exit::Interrupted);
        }
        begun => begun?,
    };
    let case = trials.case().id.clone();
    let (steps, conclusion) = bisect(&line, trials)?;
    let bisection = Bisection { line: &line, case, steps, conclusion };
    if args.json {
        show::json(&report::document(&bisection))?;
    } else {
        show::text(&report::text(&bisection, style))?;
    }
    Ok(bisection.conclusion.exit())
}

/// Every commit that was tried, by its place on `line`, and what follows from it.
fn bisect(line: &Line, mut trials: Trials<'_>) -> Result<(Vec<(usize, Finding)>, Conclusion), Trouble> {
    let mut steps = Vec::new();
    let mut search = Search::new(line.after.len());
    let last = line.after.len() - 1;
    eprintln!("first of all: whether {} is slower than {} at all", line.after[last].short(), line.good.short());
    let Some(first) = attempt(&mut trials, &line.after[last])? else {
        return Ok((steps, Conclusion::Interrupted { left: search.left() }));
    };
    let outcome = first.outcome;
    if outcome == Outcome::Skipped {
        let (short, reason) = (line.after[last].short(), &first.reason);
        return Err(Trouble::usage(anyhow!("the bad commit {short} cannot be judged: {reason}; name another")));
    }
    steps.push((last, first));
    if outcome != Outcome::Bad {
        return Ok((steps, Conclusion::NotRegressed { outcome }));
    }
    while let Some(index) = search.next() {
        let about = format_count(search.steps_left() as usize, "step", "steps");
        eprintln!("{} commits are left, about {about}", search.left().count());
        let Some(finding) = attempt(&mut trials, &line.after[index])? else {
            return Ok((steps, Conclusion::Interrupted { left: search.left() }));
        };
        search.record(index, finding.outcome);
        steps.push((index, finding));
    }
    Ok((steps, Conclusion::Searched { left: search.left() }))
}

/// Tries `commit`; `None` when somebody asked to stop, whatever came of it until then.
fn attempt(trials: &mut Trials<'_>, commit: &Commit) -> Result<Option<Finding>> {
    let tried = trials.run(commit);
    if interrupt::asked() { Ok(None) } else { tried.map(Some) }
}
