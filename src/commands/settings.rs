//! Defaults, then the configuration file, then the environment, then flags: one place that puts
//! them together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rsb_catalog::plan::{self, CustomEntry, Machine, Plan, Selection};
use rsb_catalog::{custom, sweep};
use rsb_engine::measure::{ComponentSettings, Count, Limits, Profiler, Settings};
use rsb_gate::revisions::RevisionTree;
use rsb_gate::{Directories, PolicyPath};
use rsb_model::{Profile, Suite};
use tempfile::NamedTempFile;

use crate::cli::{ExtraMetric, MeasureArgs, Places};
use crate::config::{self, ComponentSection, Config};
use crate::exit::CliError;

/// The configuration and the directories.
pub(crate) fn load(places: &Places) -> Result<(Config, Directories), CliError> {
    own_benchmarks(places.custom.as_deref())?; // Before the configuration, which may name them.
    let config = Config::find(places.config.as_deref()).map_err(CliError::usage)?;
    custom::configure(config.targets().collect());
    let directories = directories(places, &config);
    Ok((config, directories))
}

/// The directories that flags name, else the configuration, else the usual ones.
fn directories(places: &Places, config: &Config) -> Directories {
    let choose =
        |flag: &Option<PathBuf>, file: &Option<PathBuf>| flag.clone().or_else(|| file.clone());
    Directories::new(
        choose(&places.results_dir, &config.run.results_dir),
        choose(&places.baselines_dir, &config.run.baselines_dir),
        choose(&places.policy, &config.run.policy),
    )
}

/// Makes the benchmarks of `--custom` known.
pub(super) fn own_benchmarks(file: Option<&Path>) -> Result<(), CliError> {
    file.map_or(Ok(()), custom::load).map_err(CliError::usage)
}

/// The settings of a judgment against a revision.
pub(super) struct SettingsAtRevision {
    pub(super) config: Config,
    pub(super) directories: Directories,
    /// The configuration as a file, for programs that plan by it.
    pub(super) config_file: NamedTempFile,
    /// The file of `--custom` as the revision has it, if it is in the repository.
    pub(super) custom: Option<CustomAtRevision>,
}

/// The file of `--custom` as a revision has it.
pub(super) struct CustomAtRevision {
    /// A copy of it.
    pub(super) file: NamedTempFile,
    /// Its path from the top of the repository.
    pub(super) name: PathBuf,
}

/// As [`load`], with every file in the repository as `revision` has it: what is judged does not
/// choose its judge. A key that the configuration there lacks takes its default. Files outside the
/// repository are read as they are.
pub(super) fn load_at(
    places: &Places,
    revision: &str,
    flag: &str,
) -> Result<SettingsAtRevision, CliError> {
    let tree = RevisionTree::open(revision, flag).map_err(CliError::usage)?;
    let custom = match &places.custom {
        Some(path) => match tree.name_of(path).map_err(CliError::usage)? {
            Some(name) => {
                let text = read_named(&tree, revision, path, "--custom")?;
                Some(CustomAtRevision { file: write_temporary(&text)?, name })
            }
            None => None,
        },
        None => None,
    };
    own_benchmarks(custom.as_ref().map(|custom| custom.file.path()).or(places.custom.as_deref()))?;
    let path = places.config.as_deref().unwrap_or(Path::new(config::FILE_NAME));
    let text = match &places.config {
        Some(path) if is_in_repository(&tree, path)? => {
            read_named(&tree, revision, path, "--config")?
        }
        Some(path) => {
            let bytes = rsb_store::read_bytes(path).map_err(CliError::usage)?;
            String::from_utf8(bytes)
                .map_err(|_| CliError::usage(anyhow::anyhow!("{} is not UTF-8", path.display())))?
        }
        None => tree.read(path).map_err(CliError::usage)?.unwrap_or_default(),
    };
    let config = Config::of_text(&text, path).map_err(CliError::usage)?;
    rsb_catalog::custom::configure(config.targets().collect());
    let mut directories = directories(places, &config);
    let path = directories.policy.path().to_owned();
    if is_in_repository(&tree, &path)? {
        let text = match &directories.policy {
            PolicyPath::Named(_) => Some(read_named(&tree, revision, &path, "--policy")?),
            _ => tree.read(&path).map_err(CliError::usage)?,
        };
        directories.policy = PolicyPath::AtRevision { path, revision: revision.to_owned(), text };
    }
    Ok(SettingsAtRevision { config, directories, config_file: write_temporary(&text)?, custom })
}

fn is_in_repository(tree: &RevisionTree, path: &Path) -> Result<bool, CliError> {
    tree.name_of(path).map(|name| name.is_some()).map_err(CliError::usage)
}

/// Reads the file that `option` names, as `revision` has it.
fn read_named(
    tree: &RevisionTree,
    revision: &str,
    path: &Path,
    option: &str,
) -> Result<String, CliError> {
    let text = tree.read(path).map_err(CliError::usage)?;
    text.ok_or_else(|| {
        CliError::usage(anyhow::anyhow!(
            "{option}: {} does not exist at {revision}, and the working copy is part of the \
             change under test; use a file \
             that exists at {revision}, or one outside the repository",
            path.display()
        ))
    })
}

/// A temporary file that holds `text`.
fn write_temporary(text: &str) -> Result<NamedTempFile, CliError> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile();
    let file = file.and_then(|file| std::fs::write(file.path(), text).map(|()| file));
    file.map_err(|error| CliError::from(anyhow::anyhow!("cannot write a temporary file: {error}")))
}

/// What to run and how, from everything that was said.
pub(super) fn resolve(
    names: &[String],
    suite: Option<Suite>,
    args: &MeasureArgs,
    config: &Config,
) -> Result<(Selection, Settings), CliError> {
    // Who brings benchmarks and names nothing else means those.
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
    settings.count_instructions = args.metric == Some(ExtraMetric::Instructions);
    let profiler = args.profiler.as_deref().map(Profiler::here).transpose();
    settings.profiler =
        profiler.map_err(|reason| CliError::usage(anyhow::anyhow!("--profiler: {reason}")))?;
    let backend = args.backend.as_deref().or(config.run.backend.as_deref()).unwrap_or("auto");
    let backend = config::parse_backend(backend)
        .map_err(|message| CliError::usage(anyhow::anyhow!("--backend: {message}, or auto")))?;
    let swept = args.sweep.as_deref().map(|file| swept(file, &names)).transpose()?;
    let devices =
        if args.device.is_empty() { config.run.device.clone() } else { args.device.clone() };
    let (names, suite, custom) = match swept {
        Some(entries) => (Vec::new(), Suite::Custom, entries),
        None => (names, suite, config.custom_entries()),
    };
    let selection = Selection {
        names,
        suite,
        custom,
        backend,
        devices,
        models: Vec::new(),
        axes: args.axis.clone(),
        profile,
    };
    Ok((selection, settings))
}

/// What is to be measured on `machine`, without what the configuration disables.
pub(super) fn plan(
    selection: &Selection,
    machine: &Machine,
    config: &Config,
) -> Result<Plan, CliError> {
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
    let mut wanted = sweep::read(file).map_err(CliError::usage)?;
    wanted.retain(|entry| names.is_empty() || names.contains(&entry.benchmark));
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
    let case =
        |file: Option<u64>, default: Duration| config::seconds(timeout.or(file), default).min(most);
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

    fn resolve_settings(args: &MeasureArgs, config: &Config) -> Settings {
        let Ok((_, settings)) = resolve(&[], None, args, config) else {
            panic!("nothing is wrong with it")
        };
        settings
    }

    #[test]
    fn a_number_counts_as_asked_for_even_where_it_is_the_profile_s_own() {
        let untouched = resolve_settings(&MeasureArgs::default(), &Config::default());
        assert_eq!(untouched, Settings::of(untouched.profile));
        let (replicates, runs) = (untouched.replicates.usual, untouched.runs.usual as u64);
        assert!(untouched.replicates.long < replicates && (untouched.runs.long as u64) < runs);
        let args = MeasureArgs {
            replicates: Some(replicates),
            runs: Some(runs),
            ..MeasureArgs::default()
        };
        let mut file = Config::default();
        (file.run.replicates, file.run.runs) = (Some(replicates), Some(runs as usize));
        let more =
            MeasureArgs { replicates: Some(replicates + 1), runs: Some(runs + 1), ..args.clone() };
        for (args, config, extra) in
            [(&args, &Config::default(), 0), (&MeasureArgs::default(), &file, 0), (&more, &file, 1)]
        {
            let settings = resolve_settings(args, config);
            assert_eq!(settings.replicates, Count::exactly(replicates + extra));
            assert_eq!(settings.runs, Count::exactly(runs as usize + extra as usize));
        }
    }
}
