//! Measures a run: combines selection and settings from flags and configuration, and stores the
//! run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use rsb_catalog::plan::{self, CustomEntry, Machine, Plan, Selection};
use rsb_catalog::sweep;
use rsb_engine::measure::{ComponentSettings, Count, Limits, Profiler, Settings};
use rsb_engine::run as engine;
use rsb_engine::{Event, Listener, WorkerCommand, machine};
use rsb_gate::gate;
use rsb_model::run::Counts;
use rsb_model::{BackendId, Field, Profile, Suite};
use rsb_store::Store;

use crate::config::{self, ComponentSection, Config};
use crate::log::{self, LogOptions, LogPlace};
use crate::{AppError, Exit};

/// How to measure, as set by flags.
#[derive(Debug, Clone, Default)]
pub struct MeasureOptions {
    /// The backends, separated by commas, or `auto`.
    pub backend: Option<String>,
    /// Indices of the devices; empty means all.
    pub device: Vec<u32>,
    /// Axes whose values are replaced.
    pub axis: Vec<(String, Vec<String>)>,
    /// How thoroughly to measure.
    pub profile: Option<Profile>,
    /// Samples per round.
    pub runs: Option<u64>,
    /// Iterations to warm up.
    pub warmup: Option<u64>,
    /// Fresh processes per case.
    pub replicates: Option<u32>,
    /// Seconds for one replicate of a case.
    pub timeout: Option<u64>,
    /// Whether instructions are counted.
    pub count_instructions: bool,
    /// The tool that profiles each case.
    pub profiler: Option<String>,
    /// A file of scenarios.
    pub sweep: Option<PathBuf>,
    /// Directory and format of the log.
    pub log: LogOptions,
}

/// Returns the selection and the settings from flags and configuration.
///
/// # Errors
/// If a value is invalid, or the sweep has no scenario of `names`.
pub fn resolve(
    names: &[String],
    suite: Option<Suite>,
    args: &MeasureOptions,
    config: &Config,
) -> Result<(Selection, Settings), AppError> {
    // If neither benchmarks, a suite nor a sweep is given, user-defined benchmarks are selected.
    let own = rsb_workloads::registered_benchmarks()
        .into_iter()
        .filter(|_| suite.is_none() && args.sweep.is_none());
    let names: Vec<String> = match names {
        [] => own.map(|benchmark| benchmark.name().to_owned()).collect(),
        names => names.to_vec(),
    };
    let suite = suite.or(config.run.suite).unwrap_or(Suite::Quick);
    let quick =
        if names.is_empty() && args.sweep.is_none() { suite.profile() } else { Profile::Quick };
    let profile = args.profile.or(config.run.profile).unwrap_or(quick);
    let mut settings = Settings::of(profile);
    settings.runs = args
        .runs
        .map(|runs| runs as usize)
        .or(config.run.runs)
        .map_or(settings.runs, Count::exactly);
    settings.warmup = args.warmup.or(config.run.warmup).unwrap_or(settings.warmup);
    settings.replicates =
        args.replicates.or(config.run.replicates).map_or(settings.replicates, Count::exactly);
    settings.limits = limits(args.timeout, config);
    settings.prepare_workers = config.prepare_workers();
    settings.components = config
        .components
        .iter()
        .map(|(name, component)| (name.clone(), of_component(component, args)))
        .collect::<BTreeMap<_, _>>();
    settings.count_instructions = args.count_instructions;
    let profiler = args.profiler.as_deref().map(Profiler::here).transpose();
    settings.profiler =
        profiler.map_err(|reason| AppError::usage(anyhow::anyhow!("--profiler: {reason}")))?;
    let backends = backends(args, config)?;
    let swept = args.sweep.as_deref().map(|file| swept(file, &names)).transpose()?;
    let devices =
        if args.device.is_empty() { config.run.device.clone() } else { args.device.clone() };
    let (names, suite, custom) = match swept {
        Some(entries) => (Vec::new(), Suite::Custom, entries),
        None => (names, suite, config.custom_entries()),
    };
    let selection = Selection {
        names,
        custom,
        backends,
        devices,
        axes: canonical_axes(&args.axis),
        ..Selection::new(suite, profile)
    };
    Ok((selection, settings))
}

/// Returns the selected backends; none for `auto`.
fn backends(args: &MeasureOptions, config: &Config) -> Result<Vec<BackendId>, AppError> {
    let names = args.backend.as_deref().or(config.run.backend.as_deref()).unwrap_or("auto");
    config::parse_backends(names)
        .map_err(|message| AppError::usage(anyhow::anyhow!("--backend: {message}, or auto")))
}

/// Replaces alternative field names in `axes` with the main names, except names that are axes of a
/// user-defined benchmark.
fn canonical_axes(axes: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    let own: Vec<&str> = rsb_workloads::registered_benchmarks()
        .into_iter()
        .flat_map(|benchmark| benchmark.axes().iter().map(|axis| axis.name))
        .collect();
    let name = |given: &str| match Field::resolve(given) {
        Some(field) if !own.contains(&given) => field.name.to_owned(),
        _ => given.to_owned(),
    };
    axes.iter().map(|(given, values)| (name(given), values.clone())).collect()
}

/// Plans the selected cases on `machine`, without those that the configuration disables.
///
/// # Errors
/// If the selection is invalid.
pub fn plan(selection: &Selection, machine: &Machine, config: &Config) -> Result<Plan, AppError> {
    let mut plan = plan::plan(selection, machine).map_err(AppError::usage)?;
    config.leave_out(&mut plan);
    Ok(plan)
}

/// Returns the settings of a component from the configuration, overridden by flags.
fn of_component(component: &ComponentSection, args: &MeasureOptions) -> ComponentSettings {
    let configured = component.settings();
    ComponentSettings {
        limit: configured.limit.filter(|_| args.timeout.is_none()),
        runs: configured.runs.filter(|_| args.runs.is_none()),
        warmup: configured.warmup.filter(|_| args.warmup.is_none()),
    }
}

/// Returns the scenarios of `file`, only of the named benchmarks if any are named.
fn swept(file: &Path, names: &[String]) -> Result<Vec<CustomEntry>, AppError> {
    let mut wanted = sweep::read(file).map_err(AppError::usage)?;
    wanted.retain(|entry| names.is_empty() || names.contains(&entry.benchmark));
    if wanted.is_empty() {
        let file = file.display();
        return Err(AppError::usage(anyhow::anyhow!(
            "{file} has no scenario of {}; `run --sweep {file}` measures them all",
            names.join(", ")
        )));
    }
    Ok(wanted)
}

fn limits(timeout: Option<u64>, config: &Config) -> Limits {
    let defaults = Limits::default();
    // A month is as good as unlimited, and does not overflow any clock.
    let most = Duration::from_hours(30 * 24);
    let case = |file: Option<u64>, default: Duration| {
        config::seconds(timeout.or(file).or(config.run.timeout), default).min(most)
    };
    Limits {
        component: case(config.time_limits.component_seconds, defaults.component),
        gpu: case(config.gpu.timeout_seconds.or(config.time_limits.gpu_seconds), defaults.gpu),
        suite: config::seconds(config.time_limits.suite_seconds, defaults.suite).min(most),
    }
}

/// Returns this program as the workers' command.
fn this_program() -> Result<WorkerCommand, AppError> {
    Ok(WorkerCommand::this_program().context("cannot find this program to start workers")?)
}

/// Returns `listener` with the log of a run.
fn with_log<'a>(place: &'a LogPlace, listener: &'a mut Listener<'_>) -> impl FnMut(&Event) + 'a {
    |event| {
        log::on_event(place, event, listener);
        listener(event);
    }
}

/// Measures `plan` as a run of `suite`, with the log of [`LogOptions::place`].
///
/// # Errors
/// If the run cannot be started.
pub fn measure(
    plan: &Plan,
    suite: &str,
    settings: &Settings,
    store: &Store,
    place: &LogPlace,
    listener: &mut Listener<'_>,
) -> Result<engine::FinishedRun, AppError> {
    let workers = this_program()?;
    engine::measure(
        plan,
        suite,
        settings,
        store,
        machine::environment_for(plan),
        &workers,
        &mut with_log(place, listener),
    )
}

/// Measures the missing cases of the stored run `id`, with its own profile and a log.
///
/// # Errors
/// If the run cannot be read or continued.
pub fn resume(
    id: &str,
    options: &MeasureOptions,
    config: &Config,
    store: &Store,
    listener: &mut Listener<'_>,
) -> Result<engine::FinishedRun, AppError> {
    let run = match id {
        "latest" => gate::latest(store).map_err(|problem| AppError::usage(problem.error))?,
        id => store.run(id).map_err(AppError::usage)?,
    };
    let profile = run.profile.parse().ok().or(options.profile);
    let (_, settings) = resolve(&[], None, &MeasureOptions { profile, ..options.clone() }, config)?;
    let workers = this_program()?;
    let place = options.log.place(config, store)?;
    engine::resume(run, &settings, store, &workers, &mut with_log(&place, listener))
}

/// Returns the exit code of a run: 0 if something was measured and nothing failed, 1 if anything
/// failed, 5 if everything was skipped.
pub fn exit_of(counts: Counts) -> Exit {
    match counts {
        counts if counts.failed > 0 => Exit::Failure,
        counts if counts.measured + counts.simulated > 0 => Exit::Pass,
        _ => Exit::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_settings(args: &MeasureOptions, config: &Config) -> Settings {
        let Ok((_, settings)) = resolve(&[], None, args, config) else {
            panic!("the options must be valid")
        };
        settings
    }

    #[test]
    fn a_number_counts_as_asked_for_even_where_it_is_the_profile_s_own() {
        let untouched = resolve_settings(&MeasureOptions::default(), &Config::default());
        assert_eq!(untouched, Settings::of(untouched.profile));
        let (replicates, runs) = (untouched.replicates.usual, untouched.runs.usual as u64);
        assert!(untouched.replicates.long < replicates && (untouched.runs.long as u64) < runs);
        let args = MeasureOptions {
            replicates: Some(replicates),
            runs: Some(runs),
            ..MeasureOptions::default()
        };
        let mut file = Config::default();
        (file.run.replicates, file.run.runs) = (Some(replicates), Some(runs as usize));
        let more = MeasureOptions {
            replicates: Some(replicates + 1),
            runs: Some(runs + 1),
            ..args.clone()
        };
        for (args, config, extra) in [
            (&args, &Config::default(), 0),
            (&MeasureOptions::default(), &file, 0),
            (&more, &file, 1),
        ] {
            let settings = resolve_settings(args, config);
            assert_eq!(settings.replicates, Count::exactly(replicates + extra));
            assert_eq!(settings.runs, Count::exactly(runs as usize + extra as usize));
        }
    }

    #[test]
    fn several_backends_and_other_names_of_axes_are_selected() {
        let args = MeasureOptions {
            backend: Some("cuda, rocm,cuda".to_owned()),
            axis: vec![("precision".to_owned(), vec!["f32".to_owned()])],
            ..MeasureOptions::default()
        };
        let Ok((selection, _)) = resolve(&[], None, &args, &Config::default()) else {
            panic!("the options must be valid")
        };
        assert_eq!(selection.backends, [BackendId::Cuda, BackendId::Rocm]);
        assert_eq!(selection.axes, [("dtype".to_owned(), vec!["f32".to_owned()])]);
    }

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
