//! Measurements for `run` and `models`: plan, measure, store, show.

use rsb_app::{ProjectContext, after_run, judge, measure, named_file, project, report, store_copy};
use rsb_catalog::plan::{Machine, Plan};
use rsb_engine::{Listener, machine, run as engine};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::run::Counts;
use rsb_model::{Case, Event, Run, RunStatus};
use rsb_report::Style;
use rsb_store::{Store, output};
use serde_json::json;

use super::events::EventWriter;
use super::interrupt;
use super::progress::{Progress, ResultLines};
use crate::cli::RunArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Measures the cases selected by `args`, then stores and shows the run.
///
/// # Errors
/// If the arguments or the configuration are invalid, or the results cannot be stored.
pub(super) fn run(args: &RunArgs, style: Style) -> CliResult {
    check(args)?;
    if let Some(python) = &args.measure.python {
        rsb_probe::choose_python(python.clone());
    }
    report::can_write(&args.reports)?;
    let project = ProjectContext::open(&args.measure.places.paths())?;
    let (config, results) = (&project.config, &project.directories.results);
    if let Some(path) = &args.id_file {
        output::refuse_link(path).map_err(CliError::usage)?;
    }
    after_run::check_baseline(&project)?;
    let options = args.measure.options();
    let is_verbose = args.measure.verbose || config.run.verbose;
    let events = args.events.as_deref().map(EventWriter::create).transpose()?;
    let lines = if is_verbose { ResultLines::Every } else { ResultLines::First };
    let (store, mut finished) = if let Some(id) = &args.resume {
        interrupt::listen();
        let store = project::open_results(results, &mut console::tell)?;
        let finished = show_progress(lines, events, |listener| {
            measure::resume(id, &options, config, &store, listener)
        })?;
        (store, finished)
    } else {
        let (mut selection, settings) =
            measure::resolve(&args.names, args.suite, &options, config)?;
        selection.models = args.models.clone().unwrap_or_default();
        let machine = machine::here();
        let plan = measure::plan(&selection, &machine, config)?;
        if args.measure.dry_run {
            return show_plan(&plan, &machine, args.measure.json);
        }
        interrupt::listen();
        let store = project::open_results(results, &mut console::tell)?;
        let suite = engine::suite_name(&selection);
        let log = options.log.place(config, &store)?;
        let finished = show_progress(lines, events, |listener| {
            measure::measure(&plan, &suite, &settings, &store, &log, listener)
        })?;
        (store, finished)
    };
    if !config.run.save_raw_results {
        after_run::drop_samples(&mut finished, &store)?;
    }
    let run = &finished.run;
    if args.measure.json && args.models.is_some() {
        show::json(&rsb_insight::model_results::document(
            run,
            rsb_insight::model_results::Outliers::Marked,
        ))?;
    } else if args.measure.json {
        show::text(&rsb_store::sealed_text(run)?)?;
    } else {
        let text = if is_verbose {
            rsb_report::run::text(run, style)
        } else {
            rsb_report::run::brief(run, style)
        };
        tell(args, &text)?;
        show_targets(args, &project, run, style)?;
        if let Ok(path) = &finished.stored {
            console::say(&format!("stored in {}", path.display()));
        }
    }
    finished.stored?;
    write_reports(args, &project, &store, run)?;
    if config.run.compare_with_baseline {
        let text = after_run::comparison_text(&project, &store, run, style, &mut console::tell);
        tell(args, &text)?;
    }
    if let Some(path) = &args.id_file {
        output::write(path, &run.run_id.0)?;
    }
    if let Some(address) = &args.store {
        store_copy::send_measured(&store, address, &mut console::say);
    }
    let exit = match finished.status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Complete | RunStatus::OutOfTime => measure::exit_of(run.counts()),
    };
    // No hint for scripts, which read the id from the file, or after a comparison, which prints its
    // own.
    let is_last = args.id_file.is_none() && !config.run.compare_with_baseline && !args.measure.json;
    if exit == Exit::Pass && is_last {
        console::say(&after_run::next_step(&project.directories, run));
    }
    Ok(exit)
}

/// Checks the values that clap cannot check.
fn check(args: &RunArgs) -> Result<(), CliError> {
    // clap would print the invalid value, and an address may contain a password.
    if args.store.as_deref().is_some_and(|address| !rsb_store::address::is_address(address)) {
        return Err(CliError::usage(anyhow::anyhow!(
            "--store (or RSB_STORE) is not a PostgreSQL address; write \
             postgres://USER@HOST/DATABASE"
        )));
    }
    if args.measure.json && writes_events_to_stdout(args) {
        return Err(CliError::usage(anyhow::anyhow!(
            "--events - and --json both write to standard output; write the events to a file with \
             --events FILE"
        )));
    }
    Ok(())
}

fn writes_events_to_stdout(args: &RunArgs) -> bool {
    args.events.is_some() && named_file(args.events.as_deref()).is_none()
}

/// Prints `text` to standard output, or to standard error if standard output carries documents.
fn tell(args: &RunArgs, text: &str) -> Result<(), CliError> {
    if args.measure.json || writes_events_to_stdout(args) {
        console::say(text);
        return Ok(());
    }
    Ok(show::text(text)?)
}

/// Writes the requested reports and prints their paths.
fn write_reports(
    args: &RunArgs,
    project: &ProjectContext,
    store: &Store,
    run: &Run,
) -> Result<(), CliError> {
    let forms = after_run::forms(&args.reports, &project.config, &mut console::tell);
    if forms.is_empty() {
        return Ok(());
    }
    for path in report::write_beside(&forms, project, store, run, &mut console::tell)? {
        tell(args, &format!("report: {}", path.display()))?;
    }
    Ok(())
}

/// Runs `measures` and shows its progress.
pub(super) fn with_progress<R>(
    measures: impl FnOnce(&mut Listener<'_>) -> Result<R, CliError>,
) -> Result<R, CliError> {
    show_progress(ResultLines::First, None, measures)
}

/// Runs `measures` and shows its progress, with the result lines selected by `lines`. Also writes
/// its events to `events`.
fn show_progress<R>(
    lines: ResultLines,
    mut events: Option<EventWriter>,
    measures: impl FnOnce(&mut Listener<'_>) -> Result<R, CliError>,
) -> Result<R, CliError> {
    let mut progress = Progress::new(lines);
    measures(&mut |event: &Event| {
        progress.on_event(event);
        if let Some(events) = &mut events {
            events.on_event(event);
        }
    })
}

/// Shows the targets set by the user's policy; with `--targets`, also the built-in ones.
fn show_targets(
    args: &RunArgs,
    project: &ProjectContext,
    run: &Run,
    style: Style,
) -> Result<(), CliError> {
    match judge::targets_met(project, args.measure.targets, run, &mut console::tell) {
        Ok(targets) if targets.is_empty() => {}
        Ok(targets) => {
            tell(args, &format!("\n{}", rsb_report::targets::text(&targets, style).trim_end()))?;
        }
        Err(error) => {
            console::say(&format!("warning: cannot show targets: {}", show::chain(&error.error)));
        }
    }
    Ok(())
}

/// Prints the cases that would be measured, and the others with the reasons. Returns the exit code
/// of the run.
fn show_plan(plan: &Plan, machine: &Machine, json: bool) -> CliResult {
    // Frameworks bring runtimes of their own, which only they can try.
    let doubt = |case: &Case| {
        let backend = case.device.backend()?;
        machine.missing.iter().find(|(missing, _)| *missing == backend).map(|(_, reason)| reason)
    };
    if json {
        let skipped: Vec<_> = plan
            .without_figures()
            .map(|(case, outcome, reason)| json!({ "case": case, "outcome": outcome, "reason": reason }))
            .collect();
        let uncertain: Vec<_> = plan
            .cases
            .iter()
            .filter_map(|case| Some(json!({ "benchmark_id": case.id, "reason": doubt(case)? })))
            .collect();
        show::json(&json!({
            "format_version": FORMAT_VERSION,
            "cases": plan.cases,
            "uncertain": uncertain,
            "skipped": skipped,
        }))?;
    } else {
        let cases = plan.cases.iter().map(|case| match doubt(case) {
            Some(reason) => format!("{}: if its framework finds the device: {reason}", case.id),
            None => case.id.to_string(),
        });
        let others = plan
            .without_figures()
            .map(|(case, outcome, reason)| format!("{}: {outcome}: {reason}", case.id));
        show::text(&cases.chain(others).collect::<Vec<_>>().join("\n"))?;
    }
    let counts = Counts {
        measured: plan.cases.len(),
        skipped: plan.skipped.len(),
        failed: plan.failed.len(),
        simulated: 0,
    };
    if plan.cases.is_empty() {
        console::say("nothing can run here: every requested case is skipped, for the reason shown");
    }
    Ok(measure::exit_of(counts))
}
