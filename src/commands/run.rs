//! Measures a suite or the benchmarks named: plan, measure, store, show.

use std::process::ExitCode;

use anyhow::Context;
use rsb_device::{Absence, DeviceInfo};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::run::Counts;
use rsb_model::{BackendId, BenchmarkResult, Case, Environment, Note, Outcome, Reason};
use rsb_report::Style;
use rsb_store::Store;

use super::progress::Progress;
use super::recorder::Recorder;
use super::settings::{self, Folders};
use super::{alone, judge};
use crate::cli::{MeasureArgs, Places, RunArgs};
use crate::exit::{Ended, Exit, Trouble};
use crate::measure::{self, Observer, Profile, Settings, WorkerCommand, interrupt};
use crate::plan::{self, Machine, Plan, Selection};
use crate::{cli, show};

/// The verb of one benchmark, or `all`.
///
/// # Errors
/// As [`run`].
pub fn benchmark(name: &str, args: &MeasureArgs, style: Style) -> Ended {
    let names = if name == cli::ALL {
        rsb_workloads::all().iter().map(|benchmark| benchmark.name().to_owned()).collect()
    } else {
        vec![name.to_owned()]
    };
    run(&RunArgs { names, measure: args.clone(), ..RunArgs::default() }, style)
}

/// The verb `run`.
///
/// # Errors
/// When the words or the configuration are off, or the results cannot be kept.
pub fn run(args: &RunArgs, style: Style) -> Ended {
    if let Some(python) = &args.measure.python {
        rsb_probe::choose_python(python.clone());
    }
    let (config, folders) = settings::load(&args.measure.places)?;
    let (selection, settings) = settings::resolve(&args.names, args.suite, &args.measure, &config)?;
    let plan = plan::plan(&selection, &machine()).map_err(Trouble::usage)?;
    if args.dry_run {
        return show_plan(&plan, args.measure.json);
    }
    interrupt::listen();
    // Before anything is reserved: without a scratch folder nothing can be measured.
    tempfile::tempdir().context("cannot make a scratch folder; set TMPDIR to one with room").map_err(Trouble::usage)?;
    let store = open_store(&folders)?;
    let environment = environment_here();
    let mut kept = Kept::begin(&store, &suite_name(&selection), settings.profile.as_str(), environment, &plan)?;
    let _alone = alone::claim([&mut kept.recorder.run]);
    super::log::to_file(&folders.results, &kept.recorder.run.run_id);
    let outcome = measure_all(&plan, &settings, &mut kept)?;
    let stored = kept.recorder.finish();
    let run = &kept.recorder.run;
    if args.measure.json {
        show::json(run)?;
    } else {
        show::text(&rsb_report::run::text(run, style))?;
        match judge::targets_met(&config, &folders, run) {
            Ok(targets) if targets.is_empty() => {}
            Ok(targets) => show::text(&format!("\n{}", rsb_report::targets::text(&targets, style).trim_end()))?,
            Err(trouble) => eprintln!("warning: no targets are shown: {}", show::chain(&trouble.error)),
        }
        if let Ok(path) = &stored {
            eprintln!("stored in {}", path.display());
        }
    }
    stored?;
    Ok(match outcome {
        measure::Ended::Interrupted => Exit::Interrupted,
        measure::Ended::Complete | measure::Ended::OutOfTime => exit_of(run.counts()),
    })
}

/// What would be measured, and what not and why.
fn show_plan(plan: &Plan, json: bool) -> Ended {
    if json {
        let skipped: Vec<_> = plan
            .without_figures()
            .map(|(case, outcome, reason)| serde_json::json!({ "case": case, "outcome": outcome, "reason": reason }))
            .collect();
        show::json(&serde_json::json!({ "format_version": FORMAT_VERSION, "cases": plan.cases, "skipped": skipped }))?;
    } else {
        let cases = plan.cases.iter().map(|case| case.id.to_string());
        let others = plan.without_figures().map(|(case, outcome, reason)| format!("{}: {outcome}: {reason}", case.id));
        show::text(&cases.chain(others).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Pass)
}

/// 0 when something was measured and nothing failed, 1 when anything failed, 5 when everything was skipped.
fn exit_of(counts: Counts) -> Exit {
    match counts {
        counts if counts.failed > 0 => Exit::Failure,
        counts if counts.measured + counts.simulated > 0 => Exit::Pass,
        _ => Exit::Nothing,
    }
}

/// The devices here, and why the other backends have none.
pub(super) fn machine() -> Machine {
    let readiness = crate::frameworks::readiness;
    let sensors = rsb_probe::telemetry::cards(&rsb_probe::ProbeOptions::here());
    let sensors = sensors.into_iter().filter_map(|card| card.pci_address).collect();
    let mut machine = Machine { devices: Vec::new(), missing: Vec::new(), broken: Vec::new(), sensors, readiness };
    for (backend, answer) in every_backend() {
        match answer {
            Ok(devices) => machine.devices.extend(devices),
            Err(Absence::Missing(reason)) => machine.missing.push((backend, reason)),
            Err(Absence::Broken(reason)) => {
                machine.missing.push((backend, reason));
                machine.broken.push(backend);
            }
        }
    }
    let absent = crate::suites::absent_backends();
    machine.missing.extend(absent.into_iter().filter(|(id, _)| !rsb_device::has_backend(*id)));
    machine
}

/// What each backend of this build has here. Each is asked in a child, all at once: loading drivers takes a while.
fn every_backend() -> Vec<(BackendId, Result<Vec<DeviceInfo>, Absence>)> {
    let known: Vec<BackendId> = rsb_device::backends().iter().map(|backend| backend.id()).collect();
    let ask = |id: BackendId| {
        let found = rsb_device::backends().into_iter().find(|backend| backend.id() == id);
        found.map_or(Ok(Vec::new()), |backend| measure::devices_of(&*backend))
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = known.into_iter().map(|id| (id, scope.spawn(move || ask(id)))).collect();
        let answer = |(id, thread): (BackendId, std::thread::ScopedJoinHandle<'_, _>)| {
            let died = || Reason::new(format!("devices of {id}"), "asking for them failed", "report this as a bug");
            (id, thread.join().unwrap_or_else(|_| Err(died().into())))
        };
        asked.into_iter().map(answer).collect()
    })
}

pub(super) fn environment_here() -> Environment {
    let mut environment = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    environment.git = rsb_probe::git(std::path::Path::new("."));
    environment.state = Some(rsb_probe::state());
    environment
}

/// Opened before anything is measured: a folder that cannot be written is the user's to choose again.
fn open_store(folders: &Folders) -> Result<Store, Trouble> {
    let store = Store::open_for_writing(&folders.results)
        .with_context(|| {
            format!("cannot keep results in {}; choose another folder with --results-dir", folders.results.display())
        })
        .map_err(Trouble::usage)?;
    for notice in store.notices().iter() {
        eprintln!("note: {notice}");
    }
    Ok(store)
}

/// What is kept and what is shown while measuring.
struct Kept {
    recorder: Recorder,
    progress: Option<Progress>,
}

impl Kept {
    fn begin(
        store: &Store,
        suite: &str,
        profile: &str,
        environment: Environment,
        plan: &Plan,
    ) -> Result<Self, Trouble> {
        let mut recorder = Recorder::begin(store, suite, profile, environment, plan).map_err(Trouble::usage)?;
        recorder.run.notes.extend(plan.notes.iter().cloned());
        Ok(Self { recorder, progress: None })
    }
}

/// The suite, or for benchmarks named one by one a name that does not depend on their order and can be a file's.
fn suite_name(selection: &Selection) -> String {
    if selection.names.is_empty() {
        return selection.suite.as_str().to_owned();
    }
    let names: std::collections::BTreeSet<&str> = selection.names.iter().map(String::as_str).collect();
    if names.len() == rsb_workloads::all().len() {
        return cli::ALL.to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join("_")
}

impl Observer for Kept {
    fn started(&mut self, case: &Case, step: usize, steps: usize) {
        self.progress.get_or_insert_with(|| Progress::begin(steps)).started(case, step, steps);
    }

    fn known(&mut self, result: &BenchmarkResult) {
        tracing::info!(outcome = %result.outcome, "{}", result.benchmark_id);
        self.recorder.keep(result);
    }
}

impl measure::bench::Keeper for Kept {
    fn keep(&mut self, result: &BenchmarkResult) {
        self.recorder.keep(result);
    }
}

fn measure_all(plan: &Plan, settings: &Settings, kept: &mut Kept) -> anyhow::Result<measure::Ended> {
    let command = WorkerCommand::this_program().context("cannot find this program to start workers")?;
    let environment = kept.recorder.run.environment.clone();
    let ended = measure::measure(plan, settings, &command, &environment, kept)
        .context("cannot make a scratch folder; set TMPDIR to one with room")?;
    if let Some(progress) = &kept.progress {
        progress.end();
    }
    match ended {
        measure::Ended::Complete => {}
        measure::Ended::Interrupted => {
            kept.recorder.run.notes.push(Note::Interrupted);
        }
        measure::Ended::OutOfTime => kept.recorder.run.notes.push(Note::OutOfTime),
    }
    Ok(ended)
}

/// A bench target: the same plan and store, under Criterion's own command line.
pub fn under_criterion(selections: impl Fn(Profile, &Machine) -> Vec<Selection>) -> ExitCode {
    match criterion_run(&selections) {
        Ok(exit) => exit.into(),
        Err(Trouble { exit, error }) => {
            eprintln!("error: {}", show::chain(&error));
            exit.into()
        }
    }
}

fn criterion_run(selections: &impl Fn(Profile, &Machine) -> Vec<Selection>) -> Ended {
    super::environment::check()?;
    for note in super::environment::not_of_bench() {
        eprintln!("note: {note}");
    }
    let folder = |name: &str| std::env::var_os(name).map(Into::into);
    let places = Places { results_dir: folder("RSB_RESULTS_DIR"), config: folder("RSB_CONFIG"), ..Places::default() };
    let (_, folders) = settings::load(&places)?;
    let profile = std::env::var("RSB_PROFILE").ok().map(|name| clap::ValueEnum::from_str(&name, true));
    let profile =
        profile.transpose().map_err(|message: String| Trouble::usage(anyhow::anyhow!("RSB_PROFILE: {message}")))?;
    let machine = machine();
    let selections = selections(profile.unwrap_or(Profile::Quick), &machine);
    let plan = measure::bench::planned(&selections, &machine).map_err(Trouble::usage)?;
    let environment = environment_here();
    let suite = selections.first().map(suite_name).unwrap_or_default();
    let mut results = Lazily {
        folders: &folders,
        suite: &suite,
        plan: &plan,
        environment: &environment,
        counts: Counts::default(),
        kept: None,
    };
    measure::bench::run(&plan, &environment, &mut results).context("cannot start workers")?;
    let counts = results.counts;
    if let Some(mut kept) = results.kept {
        let path = kept.recorder.finish()?;
        eprintln!("stored in {}", path.display());
        eprintln!("{}", in_words(counts));
    }
    Ok(if counts.failed > 0 { Exit::Failure } else { Exit::Pass })
}

/// `28 measured, 6 skipped, 0 failed`; what was simulated is said where there is any.
fn in_words(counts: Counts) -> String {
    let Counts { measured, skipped, failed, simulated } = counts;
    let simulated = if simulated > 0 { format!("{simulated} simulated, ") } else { String::new() };
    format!("{measured} measured, {simulated}{skipped} skipped, {failed} failed")
}

/// Opens the store with the first result, so that `--list` and `--test` leave nothing behind.
struct Lazily<'a> {
    folders: &'a Folders,
    suite: &'a str,
    plan: &'a Plan,
    environment: &'a Environment,
    counts: Counts,
    kept: Option<Kept>,
}

impl measure::bench::Keeper for Lazily<'_> {
    fn keep(&mut self, result: &BenchmarkResult) {
        match result.outcome {
            Outcome::Measured => self.counts.measured += 1,
            Outcome::Skipped => self.counts.skipped += 1,
            Outcome::Failed => self.counts.failed += 1,
            Outcome::Simulated => self.counts.simulated += 1,
        }
        if self.kept.is_none() {
            let begun = open_store(self.folders)
                .and_then(|store| Kept::begin(&store, self.suite, "criterion", self.environment.clone(), self.plan));
            match begun {
                Ok(kept) => self.kept = Some(kept),
                Err(trouble) => eprintln!("warning: results are not kept: {}", show::chain(&trouble.error)),
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.recorder.keep(result);
        }
    }
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
