//! `health`: one page that lists changes for worse or better and cases that are too noisy, missing
//! or not measured for long, with advice.

use rsb_app::trend::{self, TrendQuery};
use rsb_app::{ProjectContext, health, notify};
use rsb_insight::health::HealthLimits;
use rsb_report::Style;

use crate::cli::HealthArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `health`.
///
/// # Errors
/// If the results cannot be read.
pub fn run(args: &HealthArgs, style: Style) -> CliResult {
    let paths = args.places.paths_to_read()?;
    let project = ProjectContext::open(&paths)?;
    let store = project.store(&mut console::tell)?;
    let limits = HealthLimits {
        noisy_percent: args.noisy,
        unmeasured_days: f64::from(args.unmeasured_days),
    };
    let look = trend::look(&store, &mut console::tell)?;
    let page = health::page(&store, &look, limits)?;
    if args.json {
        show::json(&page)?;
    } else {
        show::text(&rsb_report::health::text(&page, style))?;
    }
    let query = TrendQuery::default();
    let alerts = notify::trend_alerts(&project, &store, &look, &query, &paths);
    let results = &project.directories.results;
    notify::report(&project.config.notify, results, &alerts, &mut console::tell);
    Ok(Exit::Pass)
}
