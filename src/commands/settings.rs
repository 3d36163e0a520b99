//! Defaults, then the configuration file, then the environment, then flags: one place that puts them together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rsb_engine::directories::PolicyPath;
use rsb_engine::measure::{ComponentSettings, Count, Limits, Profiler, Settings};
use rsb_engine::plan::{self, CustomEntry, Machine, Plan, Selection};
use rsb_engine::{Directories, custom, revisions, sweep};
use rsb_model::order;
use rsb_model::{Profile, Suite, renamed};

use crate::cli::{ExtraMetric, MeasureArgs, Places};
use crate::config::{self, ComponentSection, Config};
use crate::console;
use crate::exit::CliError;

/// The configuration and the directories.
pub(crate) fn load(places: &Places) -> Result<(Config, Directories), CliError> {
    own_benchmarks(places.custom.as_deref())?; // Before the configuration, which may name them.
    let config = Config::find(places.config.as_deref()).map_err(CliError::usage)?;
    custom::configure(config.targets().collect());
    let choose = |flag: &Option<PathBuf>, file: &Option<PathBuf>| flag.clone().or_else(|| file.clone());
    let directories = Directories::new(
        choose(&places.results_dir, &config.run.results_dir),
        choose(&places.baselines_dir, &config.run.baselines_dir),
        choose(&places.policy, &config.run.policy),
    );
    Ok((config, directories))
}

/// Makes the benchmarks of `--custom` known.
pub(super) fn own_benchmarks(file: Option<&Path>) -> Result<(), CliError> {
    file.map_or(Ok(()), custom::load).map_err(CliError::usage)
}

/// As [`load`], with the thresholds of the configuration, the policy and the directory of baselines as `revision` has them,
/// unless they are named: what is judged does not choose its judge.
pub(super) fn load_at(places: &Places, revision: &str) -> Result<(Config, Directories), CliError> {
    let (mut config, mut directories) = load(places)?;
    let at_revision = |path: &Path| revisions::text_at(revision, path);
    if places.config.is_none() {
        let path = Path::new(config::FILE_NAME);
        let base = at_revision(path).map_or_else(|| Ok(Config::default()), |text| Config::of_text(&text, path));
        let base = base.map_err(CliError::usage)?;
        config.thresholds = base.thresholds;
        let baselines = places.baselines_dir.clone().or(base.run.baselines_dir);
        let of_base = Directories::new(None, baselines, base.run.policy);
        directories.baselines = of_base.baselines;
        if places.policy.is_none() {
            directories.policy = of_base.policy;
        }
    }
    let path = directories.policy.path().to_owned();
    if places.policy.is_none() && revisions::is_in_repository(&path) {
        let text = at_revision(&path);
        directories.policy = PolicyPath::AtRevision { path, revision: revision.to_owned(), text };
    }
    Ok((config, directories))
}

/// What to run and how, from everything that was said.
pub(super) fn resolve(
    names: &[String],
    suite: Option<Suite>,
    args: &MeasureArgs,
    config: &Config,
) -> Result<(Selection, Settings), CliError> {
    // Who brings benchmarks and names nothing else means those.
    let own = rsb_workloads::registered().into_iter().filter(|_| suite.is_none() && args.sweep.is_none());
    let names: Vec<String> = match names {
        [] => own.map(|benchmark| benchmark.name().to_owned()).collect(),
        names => names.to_vec(),
    };
    let suite = suite.or(config.run.suite).unwrap_or(Suite::Quick);
    let quick = if names.is_empty() && args.sweep.is_none() { suite.profile() } else { Profile::Quick };
    let profile = args.profile.or(config.run.profile).unwrap_or(quick);
    let mut settings = Settings::of(profile);
    settings.runs = args.runs.map(|runs| runs as usize).or(config.run.runs).map_or(settings.runs, Count::asked);
    settings.warmup = args.warmup.or(config.run.warmup).unwrap_or(settings.warmup);
    settings.replicates = args.replicates.or(config.run.replicates).map_or(settings.replicates, Count::asked);
    settings.limits = limits(args.timeout, config);
    settings.prepare_workers = config.prepare_workers();
    settings.components =
        order::map(config.components.iter().map(|(name, component)| (name.clone(), of_component(component, args))));
    settings.count_instructions = args.metric == Some(ExtraMetric::Instructions);
    let profiler = args.profiler.as_deref().map(Profiler::here).transpose();
    settings.profiler = profiler.map_err(|reason| CliError::usage(anyhow::anyhow!("--profiler: {reason}")))?;
    let backend = args.backend.as_deref().or(config.run.backend.as_deref()).unwrap_or("auto");
    let backend = config::parse_backend(backend)
        .map_err(|message| CliError::usage(anyhow::anyhow!("--backend: {message}, or auto")))?;
    let swept = args.sweep.as_deref().map(|file| swept(file, &names)).transpose()?;
    let devices = if args.device.is_empty() { config.run.device.clone() } else { args.device.clone() };
    let (names, suite, custom) = match swept {
        Some(entries) => (Vec::new(), Suite::Custom, entries),
        None => (names, suite, config.custom_entries()),
    };
    let configured = custom.iter().flat_map(|entry| &entry.axes);
    if let Some(note) = renamed::note(args.axis.iter().chain(configured).map(|(name, _)| name.as_str())) {
        console::say(&format!("note: {note}"));
    }
    let selection =
        Selection { names, suite, custom, backend, devices, models: Vec::new(), axes: args.axis.clone(), profile };
    Ok((selection, settings))
}

/// What is to be measured on `machine`, without what the configuration disables.
pub(super) fn plan(selection: &Selection, machine: &Machine, config: &Config) -> Result<Plan, CliError> {
    let mut plan = plan::plan(selection, machine).map_err(CliError::usage)?;
    config.leave_out(&mut plan);
    Ok(plan)
}

/// What the configuration says of a component, under the flags.
fn of_component(component: &ComponentSection, args: &MeasureArgs) -> ComponentSettings {
    let said = component.settings();
    ComponentSettings {
        limit: said.limit.filter(|_| args.timeout.is_none()),
        runs: said.runs.filter(|_| args.runs.is_none()),
        warmup: said.warmup.filter(|_| args.warmup.is_none()),
    }
}

/// The scenarios of `file`, of the benchmarks named where any are.
fn swept(file: &Path, names: &[String]) -> Result<Vec<CustomEntry>, CliError> {
    let entries = sweep::read(file).map_err(CliError::usage)?;
    let is_wanted = |entry: &CustomEntry| names.is_empty() || names.contains(&entry.benchmark);
    let wanted: Vec<CustomEntry> = entries.into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let file = file.display();
        return Err(CliError::usage(anyhow::anyhow!(
            "{file} has no scenario of {}; `run --sweep {file}` measures them all",
            names.join(", ")
        )));
    }
    Ok(wanted)
}

fn limits(timeout: Option<u64>, config: &Config) -> Limits {
    let defaults = Limits::default();
    // A month is as good as for ever, and later than any clock has problem with.
    let most = Duration::from_hours(30 * 24);
    let case = |file: Option<u64>, default: Duration| config::seconds(timeout.or(file), default).min(most);
    Limits {
        component: case(config.time_limits.component_seconds, defaults.component),
        gpu: case(config.gpu.timeout_seconds.or(config.time_limits.gpu_seconds), defaults.gpu),
        suite: config::seconds(config.time_limits.suite_seconds, defaults.suite).min(most),
    }
}

/// A pattern that fits every id which holds `text`, where `*` and `?` stand for anything.
pub(super) fn anywhere(text: &str) -> String {
    if text.contains(['*', '?']) { format!("*{text}*") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(args: &MeasureArgs, config: &Config) -> Settings {
        let Ok((_, settings)) = resolve(&[], None, args, config) else { panic!("nothing is wrong with it") };
        settings
    }

    #[test]
    fn a_number_counts_as_asked_for_even_where_it_is_the_profile_s_own() {
        let untouched = resolved(&MeasureArgs::default(), &Config::default());
        assert_eq!(untouched, Settings::of(untouched.profile));
        let (replicates, runs) = (untouched.replicates.usual, untouched.runs.usual as u64);
        assert!(untouched.replicates.long < replicates && (untouched.runs.long as u64) < runs);
        let args = MeasureArgs { replicates: Some(replicates), runs: Some(runs), ..MeasureArgs::default() };
        let mut file = Config::default();
        (file.run.replicates, file.run.runs) = (Some(replicates), Some(runs as usize));
        let more = MeasureArgs { replicates: Some(replicates + 1), runs: Some(runs + 1), ..args.clone() };
        for (args, config, extra) in
            [(&args, &Config::default(), 0), (&MeasureArgs::default(), &file, 0), (&more, &file, 1)]
        {
            let settings = resolved(args, config);
            assert_eq!(settings.replicates, Count::asked(replicates + extra));
            assert_eq!(settings.runs, Count::asked(runs as usize + extra as usize));
        }
    }
}
