//! Entry points of the `cargo bench` targets: the same plan, engine and store, behind Criterion's
//! command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use rsb_app::{ProjectContext, environment, project};
use rsb_catalog::plan::{Machine, Plan, Selection};
use rsb_engine::measure::bench;
use rsb_engine::recorder::Recorder;
use rsb_engine::{EngineError, machine, run, worker};
use rsb_model::run::{CRITERION_PROFILE, Counts};
use rsb_model::{Environment, Event, Outcome, Profile, Suite};

use crate::cli::Places;
use crate::commands;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs a bench target that measures the benchmarks `names`, with the axis values of the profile in
/// `RSB_PROFILE` (quick by default).
pub fn main(names: &[&str]) -> ExitCode {
    of(names, machine::here)
}

/// Runs a bench target like [`main`], for benchmarks that run on the host.
pub(crate) fn on_host(names: &[&str]) -> ExitCode {
    of(names, machine::host)
}

fn of(names: &[&str], machine: fn() -> Machine) -> ExitCode {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    as_bench(machine, |profile, _| {
        vec![Selection { names: names.clone(), ..Selection::new(Suite::Quick, profile) }]
    })
}

/// Runs a bench target that measures `suite`, with the axis values of the profile in `RSB_PROFILE`
/// (quick by default).
pub fn suite(suite: Suite) -> ExitCode {
    as_bench(machine::here, |profile, machine| bench::selections_of(suite, profile, machine))
}

fn as_bench(
    machine: fn() -> Machine,
    selections: impl Fn(Profile, &Machine) -> Vec<Selection>,
) -> ExitCode {
    if let Some(ended) = worker::as_child() {
        return ended;
    }
    commands::finish(under_criterion(machine, &selections))
}

fn under_criterion(
    machine: fn() -> Machine,
    selections: &impl Fn(Profile, &Machine) -> Vec<Selection>,
) -> CliResult {
    environment::check()?;
    for note in environment::not_of_bench() {
        console::say(&format!("note: {note}"));
    }
    let places = Places {
        results_dir: path_in("RSB_RESULTS_DIR"),
        config: path_in("RSB_CONFIG"),
        custom: path_in("RSB_CUSTOM"),
        ..Places::default()
    };
    let directories = ProjectContext::open(&places.paths())?.directories;
    let profile = match std::env::var("RSB_PROFILE") {
        Ok(name) => {
            name.parse().map_err(|error| CliError::usage(anyhow!("RSB_PROFILE: {error}")))?
        }
        Err(_) => Profile::Quick,
    };
    let machine = machine();
    let selections = selections(profile, &machine);
    let plan = bench::plan_all(&selections, &machine).map_err(CliError::usage)?;
    let environment = machine::environment_for(&plan);
    let suite = selections.first().map(run::suite_name).unwrap_or_default();
    let mut results = Results { recorder: None, counts: Counts::default() };
    bench::run(&plan, &environment, &mut |event| {
        results.on_event(event, &|| begin(&directories.results, &suite, &environment, &plan));
    })
    .context("cannot start workers")?;
    let counts = results.counts;
    if let Some(mut recorder) = results.recorder {
        let path = recorder.finish()?;
        console::say(&format!("stored in {}", path.display()));
        console::say(&in_words(counts));
    }
    Ok(if counts.failed > 0 { Exit::Failure } else { Exit::Pass })
}

/// Returns the path in an environment variable, if set.
fn path_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

fn begin(
    results: &std::path::Path,
    suite: &str,
    environment: &Environment,
    plan: &Plan,
) -> Result<Recorder, EngineError> {
    let store = project::open_results(results, &mut console::tell)?;
    let mut recorder = Recorder::begin(&store, suite, CRITERION_PROFILE, environment.clone(), plan)
        .map_err(CliError::usage)?;
    recorder.run.notes.extend(plan.notes.iter().cloned());
    Ok(recorder)
}

/// Returns a summary such as `28 measured, 6 skipped, 0 failed`, with the number of simulated cases
/// if there are any.
fn in_words(counts: Counts) -> String {
    let Counts { measured, skipped, failed, simulated } = counts;
    let simulated = if simulated > 0 { format!("{simulated} simulated, ") } else { String::new() };
    format!("{measured} measured, {simulated}{skipped} skipped, {failed} failed")
}

/// The results of a bench target. The store is opened on the first result, so that `--list` and
/// `--test` create no files.
struct Results {
    recorder: Option<Recorder>,
    counts: Counts,
}

impl Results {
    fn on_event(&mut self, event: &Event, begin: &impl Fn() -> Result<Recorder, EngineError>) {
        console::tell(event);
        let Event::CaseUpdated(result) = event else { return };
        if let Some(reason) = &result.reason {
            console::say(&format!("{}: {}: {reason}", result.benchmark_id, result.outcome));
        }
        match result.outcome {
            Outcome::Measured => self.counts.measured += 1,
            Outcome::Skipped => self.counts.skipped += 1,
            Outcome::Failed => self.counts.failed += 1,
            Outcome::Simulated => self.counts.simulated += 1,
        }
        if self.recorder.is_none() {
            match begin() {
                Ok(recorder) => self.recorder = Some(recorder),
                Err(error) => console::say(&format!(
                    "warning: results are not stored: {}",
                    show::chain(&error.error)
                )),
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_event(event);
        }
    }
}
