//! Measures a suite or the benchmarks named: plan, measure, store, show.

use std::path::Path;

use anyhow::Context;
use rsb_catalog::frameworks;
use rsb_catalog::plan::Plan;
use rsb_engine::{WorkerCommand, machine, run as engine};
use rsb_gate::Directories;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::run::Counts;
use rsb_model::{Event, RunStatus};
use rsb_report::Style;
use rsb_store::{Store, output};

use super::progress::{Progress, ResultLines};
use super::{after_run, interrupt, judge, log, report, settings, shared};
use crate::cli::{MeasureArgs, RunArgs};
use crate::config::Config;
use crate::exit::{CliError, CliResult, Exit};
use crate::{cli, console, show};

/// The verb of one benchmark, or `all`.
///
/// # Errors
/// As [`run`].
pub fn benchmark(name: &str, args: &MeasureArgs, style: Style) -> CliResult {
    let names = if name == cli::ALL {
        let native = rsb_workloads::all().iter().map(|benchmark| benchmark.name());
        native
            .chain(frameworks::all().iter().map(|component| component.name))
            .map(str::to_owned)
            .collect()
    } else {
        vec![name.to_owned()]
    };
    run(&RunArgs { names, measure: args.clone(), ..RunArgs::default() }, style)
}

/// The verb `run`.
///
/// # Errors
/// When the arguments or the configuration are invalid, or the results cannot be kept.
pub fn run(args: &RunArgs, style: Style) -> CliResult {
    // Checked here and not by clap, which repeats what is wrong: an address may hold a password.
    if args.store.as_deref().is_some_and(|address| !rsb_store::address::is_address(address)) {
        return Err(CliError::usage(anyhow::anyhow!(
            "--store (or RSB_STORE) holds no address of PostgreSQL; write \
             postgres://USER@HOST/DATABASE"
        )));
    }
    if let Some(python) = &args.measure.python {
        rsb_probe::choose_python(python.clone());
    }
    report::can_write(&args.reports)?;
    let (config, directories) = settings::load(&args.measure.places)?;
    if let Some(path) = &args.id_file {
        output::refuse_link(path).map_err(CliError::usage)?;
    }
    after_run::check_baseline(&config, &directories)?;
    let is_verbose = args.measure.verbose || config.run.verbose;
    let lines = if is_verbose { ResultLines::Every } else { ResultLines::First };
    let (store, mut finished) = if let Some(id) = &args.resume {
        interrupt::listen();
        let store = open_store(&directories.results)?;
        let finished = with_progress(lines, |listener| {
            measure_on(id, &args.measure, &config, &store, listener)
        })?;
        (store, finished)
    } else {
        let (mut selection, settings) =
            settings::resolve(&args.names, args.suite, &args.measure, &config)?;
        selection.models = args.models.clone().unwrap_or_default();
        let plan = settings::plan(&selection, &machine::here(), &config)?;
        if args.dry_run {
            return show_plan(&plan, args.measure.json);
        }
        interrupt::listen();
        let store = open_store(&directories.results)?;
        let suite = engine::suite_name(&selection);
        let finished = with_progress(lines, |listener| {
            measure_with(&plan, &suite, &settings, &store, listener)
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
        show::text(&if is_verbose {
            rsb_report::run::text(run, style)
        } else {
            rsb_report::run::brief(run, style)
        })?;
        show_targets(args.measure.targets, &config, &directories, run, style)?;
        if let Ok(path) = &finished.stored {
            console::say(&format!("stored in {}", path.display()));
        }
    }
    finished.stored?;
    write_reports(args, &config, &directories, &store, run)?;
    if config.run.compare_with_baseline {
        let text = after_run::comparison_text(&config, &directories, &store, run, style);
        tell(args, &text)?;
    }
    if let Some(path) = &args.id_file {
        output::write(path, &run.run_id.0)?;
    }
    if let Some(address) = &args.store {
        shared::send_measured(&store, address);
    }
    let exit = match finished.status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Complete | RunStatus::OutOfTime => exit_of(run.counts()),
    };
    // A script that asks for the id goes on by itself, and a comparison has said what to do.
    let is_last = args.id_file.is_none() && !config.run.compare_with_baseline && !args.measure.json;
    if exit == Exit::Pass && is_last {
        console::say(after_run::next_step(&directories, run));
    }
    Ok(exit)
}

/// Says what follows a run; on standard error where standard output is a document.
fn tell(args: &RunArgs, text: &str) -> Result<(), CliError> {
    if args.measure.json {
        console::say(text);
        return Ok(());
    }
    Ok(show::text(text)?)
}

/// Writes the reports that were asked for, and says where.
fn write_reports(
    args: &RunArgs,
    config: &Config,
    directories: &Directories,
    store: &Store,
    run: &rsb_model::Run,
) -> Result<(), CliError> {
    let forms = after_run::forms(&args.reports, config);
    if forms.is_empty() {
        return Ok(());
    }
    for path in report::write_beside(&forms, config, directories, store, run)? {
        tell(args, &format!("report: {}", path.display()))?;
    }
    Ok(())
}

/// Measures `plan` as a run of `suite`, with a progress bar and a log.
pub(super) fn measure(
    plan: &Plan,
    suite: &str,
    settings: &rsb_engine::measure::Settings,
    store: &Store,
) -> Result<engine::FinishedRun, CliError> {
    with_progress(ResultLines::First, |listener| {
        measure_with(plan, suite, settings, store, listener)
    })
}

/// Runs `measures` and shows its progress, with the result lines that `lines` names.
fn with_progress(
    lines: ResultLines,
    measures: impl FnOnce(&mut rsb_engine::Listener<'_>) -> Result<engine::FinishedRun, CliError>,
) -> Result<engine::FinishedRun, CliError> {
    let mut progress = Progress::new(lines);
    measures(&mut |event: &Event| progress.on_event(event))
}

/// Measures what the stored run `id` still lacks, by its own profile, with a log.
pub(super) fn measure_on(
    id: &str,
    args: &MeasureArgs,
    config: &Config,
    store: &Store,
    listener: &mut rsb_engine::Listener<'_>,
) -> Result<engine::FinishedRun, CliError> {
    let run = match id {
        "latest" => {
            rsb_gate::gate::latest(store).map_err(|problem| CliError::usage(problem.error))?
        }
        id => store.run(id).map_err(CliError::usage)?,
    };
    let profile = run.profile.parse().ok().or(args.profile);
    let (_, settings) =
        settings::resolve(&[], None, &MeasureArgs { profile, ..args.clone() }, config)?;
    let workers = this_program()?;
    let results = store.results_dir().to_owned();
    engine::resume(run, &settings, store, &workers, &mut with_log(&results, listener))
}

fn this_program() -> Result<WorkerCommand, CliError> {
    Ok(WorkerCommand::this_program().context("cannot find this program to start workers")?)
}

/// `listener`, with a log in `results`.
fn with_log<'a>(
    results: &'a Path,
    listener: &'a mut rsb_engine::Listener<'_>,
) -> impl FnMut(&Event) + 'a {
    |event| {
        log::on_event(results, event);
        listener(event);
    }
}

/// As [`measure`], for whoever shows the progress in another way.
pub(super) fn measure_with(
    plan: &Plan,
    suite: &str,
    settings: &rsb_engine::measure::Settings,
    store: &Store,
    listener: &mut rsb_engine::Listener<'_>,
) -> Result<engine::FinishedRun, CliError> {
    let workers = this_program()?;
    let results = store.results_dir().to_owned();
    engine::measure(
        plan,
        suite,
        settings,
        store,
        machine::environment(),
        &workers,
        &mut with_log(&results, listener),
    )
}

/// Shows the targets that the user's policy sets; with `built_in`, also those that come with the
/// program.
fn show_targets(
    built_in: bool,
    config: &Config,
    directories: &Directories,
    run: &rsb_model::Run,
    style: Style,
) -> Result<(), CliError> {
    let targets = if built_in {
        judge::targets_met(config, directories, run)
    } else {
        after_run::own_targets(config, directories, run)
    };
    match targets {
        Ok(targets) if targets.is_empty() => {}
        Ok(targets) => {
            show::text(&format!("\n{}", rsb_report::targets::text(&targets, style).trim_end()))?;
        }
        Err(error) => {
            console::say(&format!("warning: no targets are shown: {}", show::chain(&error.error)));
        }
    }
    Ok(())
}

/// What would be measured, and what not and why.
fn show_plan(plan: &Plan, json: bool) -> CliResult {
    if json {
        let skipped: Vec<_> = plan
            .without_figures()
            .map(|(case, outcome, reason)| serde_json::json!({ "case": case, "outcome": outcome, "reason": reason }))
            .collect();
        show::json(
            &serde_json::json!({ "format_version": FORMAT_VERSION, "cases": plan.cases, "skipped": skipped }),
        )?;
    } else {
        let cases = plan.cases.iter().map(|case| case.id.to_string());
        let others = plan
            .without_figures()
            .map(|(case, outcome, reason)| format!("{}: {outcome}: {reason}", case.id));
        show::text(&cases.chain(others).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Pass)
}

/// 0 when something was measured and nothing failed, 1 when anything failed, 5 when everything was
/// skipped.
pub(super) fn exit_of(counts: Counts) -> Exit {
    match counts {
        counts if counts.failed > 0 => Exit::Failure,
        counts if counts.measured + counts.simulated > 0 => Exit::Pass,
        _ => Exit::Nothing,
    }
}

/// Opened before anything is measured: a directory that cannot be written is the user's to choose
/// again.
pub(crate) fn open_store(results: &Path) -> Result<Store, CliError> {
    let store = Store::open_for_writing(results)
        .with_context(|| {
            format!(
                "cannot keep results in {}; choose another directory with --results-dir",
                results.display()
            )
        })
        .map_err(CliError::usage)?;
    for note in rsb_store::notes(&store.notices()) {
        console::say(&format!("note: {note}"));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_a_run_follows_its_outcomes() {
        for (measured, skipped, failed, simulated, exit) in [
            (1, 5, 0, 0, Exit::Pass),
            (0, 0, 0, 1, Exit::Pass),
            (9, 0, 1, 0, Exit::Failure),
            (0, 3, 0, 0, Exit::Nothing),
            (0, 0, 0, 0, Exit::Nothing),
        ] {
            assert_eq!(exit_of(Counts { measured, skipped, failed, simulated }), exit);
        }
    }
}
