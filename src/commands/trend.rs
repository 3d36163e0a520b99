//! `trend`: shows metrics over time, from the stored runs or a CSV file, with change points and how
//! users classified them.

use std::path::Path;

use rsb_app::trend::TrendHistory;
use rsb_app::{ProjectContext, health, next_step, notify, trend};
use rsb_gate::suggest::shell_quote;
use rsb_model::record::TrendDocument;
use rsb_report::Style;
use rsb_store::Store;

use crate::cli::{FollowedArgs, TrendArgs, TrendExportFormat, TrendVerb};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `trend`.
///
/// # Errors
/// If the input cannot be read, or no alert has the given name.
pub fn run(args: &TrendArgs, style: Style) -> CliResult {
    match &args.verb {
        Some(TrendVerb::Ack { alert, because, state, places }) => {
            let project = ProjectContext::open(&places.paths())?;
            super::notify::acknowledge(&project, alert, state.state(), because)?;
            Ok(Exit::Pass)
        }
        Some(TrendVerb::Export { file, format, followed }) => export(file, *format, followed),
        None => show_trend(args, style),
    }
}

fn show_trend(args: &TrendArgs, style: Style) -> CliResult {
    let paths = args.followed.places.paths_to_read()?;
    let project = ProjectContext::open(&paths)?;
    let query = args.followed.query();
    let (store, look) = trend::follow(&project, &query, &mut console::tell)?;
    // The series of one branch say nothing about the alerts of all runs.
    let notifies = store.is_some() && query.branch.is_none();
    let alerts = store
        .as_ref()
        .filter(|_| notifies)
        .map(|store| notify::trend_alerts(&project, store, &look, &query, &paths))
        .unwrap_or_default();
    let exit = print_trend(args, &project, store.as_ref(), look, style)?;
    if notifies {
        let results = &project.directories.results;
        notify::report(&project.config.notify, results, &alerts, &mut console::tell);
    }
    Ok(exit)
}

fn print_trend(
    args: &TrendArgs,
    project: &ProjectContext,
    store: Option<&Store>,
    look: TrendHistory,
    style: Style,
) -> CliResult {
    if args.json {
        show::json(&TrendDocument { changes: look.tracked.alerts, ..look.document })?;
        return Ok(Exit::Pass);
    }
    if look.document.series.is_empty() {
        let followed = &args.followed;
        let is_filtered = followed.query().filter.is_given() || followed.metric.is_some();
        let input = followed.input.as_ref().map_or_else(String::new, |file| {
            format!(" --input {}", shell_quote(&file.display().to_string()))
        });
        let all = project.directories.command(&format!("trend --metric all{input}"));
        let run = project.directories.command("run");
        show::text(&if is_filtered {
            format!("no stored series matches --benchmark, --case and --metric; `{all}` shows all")
        } else {
            format!("no stored values yet; each `{run}` adds a point to every metric")
        })?;
        return Ok(Exit::Pass);
    }
    let changes =
        store.is_some().then(|| rsb_report::tracked::text(&look.tracked.alerts, look.now, style));
    if args.summary {
        show::text(&rsb_report::trend::summary(&look.document, changes.as_deref(), style))?;
    } else {
        show::text(&rsb_report::trend::text(&look.document, changes.as_deref(), style))?;
    }
    if store.is_some() {
        let paths = args.followed.places.paths();
        for hint in next_step::after_changes(&look.tracked.alerts, &paths) {
            console::say(&format!("hint: {hint}"));
        }
    }
    if args.summary {
        return Ok(Exit::Pass);
    }
    if let (true, Some(store)) = (args.dashboard, store) {
        let page = health::page(store, &look, rsb_insight::health::HealthLimits::default())?;
        show::text(&format!("\n{}", rsb_report::health::text(&page, style)))?;
    }
    Ok(Exit::Pass)
}

fn export(file: &Path, format: TrendExportFormat, followed: &FollowedArgs) -> CliResult {
    let project = ProjectContext::open(&followed.places.paths_to_read()?)?;
    let (_, look) = trend::follow(&project, &followed.query(), &mut console::tell)?;
    let document = TrendDocument { changes: look.tracked.alerts, ..look.document };
    let text = match format {
        TrendExportFormat::Csv => rsb_report::trend::csv_rows(&document)?,
        TrendExportFormat::Json => rsb_report::json(&document)?,
        TrendExportFormat::Markdown => rsb_report::trend::markdown(&document),
        TrendExportFormat::Parquet => {
            trend::write_parquet(file, &document, &look.series)?;
            return Ok(Exit::Pass);
        }
    };
    show::to(Some(file), &text)
}
