//! `prune`: deletes old runs and lists them.

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use rsb_app::ProjectContext;
use rsb_report::number::format_count;
use rsb_store::{Baselines, PruneRule};

use crate::cli::PruneArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `prune`.
///
/// # Errors
/// If the results or a baseline cannot be read, or a file cannot be deleted.
pub fn run(args: &PruneArgs) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    let store = project.store(&mut console::tell)?;
    let of_baselines = Baselines::new(&project.directories.baselines).run_ids();
    let of_baselines =
        of_baselines.context("nothing is deleted, because the runs of a baseline are unknown");
    let of_baselines = of_baselines.map_err(CliError::usage)?;
    let age = SignedDuration::from_hours(24 * i64::from(args.days));
    let rule = PruneRule { before: Timestamp::now() - age, keep: args.keep as usize };
    let plan = store.plan_prune(rule, &of_baselines)?;
    for id in &plan.of_baselines {
        console::say(&format!(
            "note: the run {id} is old but kept, because a baseline was made from it"
        ));
    }
    let stay = plan.kept + plan.of_baselines.len();
    if args.dry_run {
        for run in &plan.deleted {
            show::text(&format!("would be deleted: {}", run.run_id))?;
        }
        let count = format_count(plan.deleted.len(), "run", "runs");
        show::text(&format!("{count} would be deleted, {stay} kept"))?;
        return Ok(Exit::Pass);
    }
    let mut shown = Ok(());
    store.delete(&plan.deleted, |run| {
        let result = show::text(&format!("deleted: {}", run.run_id));
        shown = std::mem::replace(&mut shown, Ok(())).and(result);
    })?;
    shown?;
    show::text(&format!(
        "{} deleted, {stay} kept",
        format_count(plan.deleted.len(), "run", "runs")
    ))?;
    Ok(Exit::Pass)
}
