//! A project: its configuration, its directories, its store. Combines the defaults, the
//! configuration files of the user and the project, the environment and the flags in one place.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rsb_catalog::custom;
use rsb_engine::{Event, Listener, judged};
use rsb_gate::PolicyPath;
use rsb_gate::gate::{self, Judge};
use rsb_gate::revisions::RevisionTree;
use rsb_gate::suggest::shell_quote;
use rsb_gate::{Directories, policy};
use rsb_model::Run;
use rsb_notify::NotifySection;
use rsb_stats::Policy;
use rsb_store::Store;
use tempfile::NamedTempFile;

use crate::AppError;
use crate::config::{self, Config, UserConfig};

/// Files and directories named by the user; the others come from the configuration, or are the
/// defaults.
#[derive(Debug, Clone, Default)]
pub struct ProjectPaths {
    /// The results directory.
    pub results_dir: Option<PathBuf>,
    /// The baselines directory.
    pub baselines_dir: Option<PathBuf>,
    /// The policy file.
    pub policy: Option<PathBuf>,
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// A TOML file of user-defined benchmarks.
    pub custom: Option<PathBuf>,
}

impl ProjectPaths {
    /// Returns the named paths with their flags.
    pub fn named(&self) -> Vec<(&'static str, &Path)> {
        let all = [
            ("--results-dir", &self.results_dir),
            ("--baselines-dir", &self.baselines_dir),
            ("--policy", &self.policy),
            ("--config", &self.config),
            ("--custom", &self.custom),
        ];
        all.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))).collect()
    }

    /// Like [`Self::arguments`], without the file of user-defined benchmarks: with it, a subcommand
    /// may measure only these.
    pub fn arguments_of_store(&self) -> String {
        Self { custom: None, ..self.clone() }.arguments()
    }

    /// Returns the arguments that name the paths again, each after a space.
    pub fn arguments(&self) -> String {
        let mut arguments = String::new();
        for (flag, path) in self.named() {
            arguments.extend([" ", flag, " ", &shell_quote(&path.display().to_string())]);
        }
        arguments
    }
}

/// The configuration and the directories of a project.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    /// The configuration.
    pub config: Config,
    /// The directories.
    pub directories: Directories,
}

impl ProjectContext {
    /// Reads the configuration and registers user-defined benchmarks.
    ///
    /// # Errors
    /// If one of the files cannot be read or is invalid.
    pub fn open(paths: &ProjectPaths) -> Result<Self, AppError> {
        load_custom(paths.custom.as_deref())?; // Before the configuration, which may name them.
        let mut config = Config::find(paths.config.as_deref()).map_err(AppError::usage)?;
        UserConfig::find().map_err(AppError::usage)?.fill(&mut config.run);
        custom::configure(config.targets().collect());
        hide_secrets(&config);
        let directories = directories(paths, &config);
        Ok(Self { config, directories })
    }

    /// Opens the store to read it.
    ///
    /// # Errors
    /// If the index cannot be opened.
    pub fn store(&self, listener: &mut Listener<'_>) -> Result<Store, AppError> {
        gate::open(&self.directories, listener)
    }

    /// Reads the policy; `percent` replaces its default threshold.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn policy(
        &self,
        percent: Option<f64>,
        listener: &mut Listener<'_>,
    ) -> Result<Policy, AppError> {
        policy::load(&self.directories, &self.config.thresholds, percent, listener)
    }

    /// Opens the store and the policy for judging across the factors in `across`.
    ///
    /// # Errors
    /// If the store or the policy cannot be read.
    pub fn judge(
        &self,
        across: Vec<String>,
        listener: &mut Listener<'_>,
    ) -> Result<Judge, AppError> {
        Judge::load(self.directories.clone(), &self.config.thresholds, None, across, listener)
    }
}

/// Returns the named run, else the latest.
///
/// # Errors
/// If it cannot be read, or there is none.
pub fn chosen_run(
    store: &Store,
    named: Option<&str>,
    listener: &mut Listener<'_>,
) -> Result<Run, AppError> {
    match named {
        Some(text) => store.run(text).map_err(AppError::usage),
        None => {
            gate::latest_lenient(store, listener).map_err(|problem| AppError::usage(problem.error))
        }
    }
}

/// Opens the store in `results` for writing. Called before anything is measured, so that the user
/// can choose another directory if it is not writable.
///
/// # Errors
/// If it cannot be written.
pub fn open_results(results: &Path, listener: &mut Listener<'_>) -> Result<Store, AppError> {
    let store = Store::open_for_writing(results)
        .with_context(|| {
            format!(
                "cannot store results in {}; choose another directory with --results-dir",
                results.display()
            )
        })
        .map_err(AppError::usage)?;
    tell_notices(&store, listener);
    Ok(store)
}

/// Reports problems with the files of `store` that were found when it was opened.
pub(crate) fn tell_notices(store: &Store, listener: &mut Listener<'_>) {
    for note in rsb_store::notes(&store.notices()) {
        listener(&Event::note(note));
    }
}

/// Returns the directories from flags, else from the configuration, else the defaults.
fn directories(paths: &ProjectPaths, config: &Config) -> Directories {
    let choose =
        |flag: &Option<PathBuf>, file: &Option<PathBuf>| flag.clone().or_else(|| file.clone());
    let mut directories = Directories::new(
        choose(&paths.results_dir, &config.run.results_dir),
        choose(&paths.baselines_dir, &config.run.baselines_dir),
        choose(&paths.policy, &config.run.policy),
    );
    directories.arguments = paths.arguments();
    directories
}

/// Registers the benchmarks in the file of `--custom`.
///
/// # Errors
/// If it cannot be read or is invalid.
pub fn load_custom(file: Option<&Path>) -> Result<(), AppError> {
    file.map_or(Ok(()), custom::load).map_err(AppError::usage)
}

/// A project as of a revision.
pub struct ProjectAtRevision {
    /// The project.
    pub project: ProjectContext,
    /// The configuration as a file, for programs that plan with it.
    pub config_file: NamedTempFile,
    /// The file of `--custom` as of the revision, if it is in the repository.
    pub custom: Option<CustomAtRevision>,
}

/// The file of `--custom` as of a revision.
pub struct CustomAtRevision {
    /// Temporary copy of the file.
    pub file: NamedTempFile,
    /// Path of the original file, relative to the top of the repository.
    pub name: PathBuf,
}

/// Opens a project like [`ProjectContext::open`], with every file in the repository as of
/// `revision`, because a change under test must not choose its own policy. Keys that its
/// configuration lacks take their defaults. Files outside the repository are read as they are.
///
/// # Errors
/// If `revision`, which the option `flag` names, or one of the files cannot be read.
pub fn open_at(
    paths: &ProjectPaths,
    revision: &str,
    flag: &str,
) -> Result<ProjectAtRevision, AppError> {
    let tree = RevisionTree::open(revision, flag).map_err(AppError::usage)?;
    let at_revision = match &paths.custom {
        Some(path) => match tree.name_of(path).map_err(AppError::usage)? {
            Some(name) => {
                let text = read_named(&tree, revision, path, "--custom")?;
                Some(CustomAtRevision { file: write_temporary(&text)?, name })
            }
            None => None,
        },
        None => None,
    };
    load_custom(at_revision.as_ref().map(|custom| custom.file.path()).or(paths.custom.as_deref()))?;
    let path = paths.config.as_deref().unwrap_or(Path::new(config::FILE_NAME));
    let text = match &paths.config {
        Some(path) if is_in_repository(&tree, path)? => {
            read_named(&tree, revision, path, "--config")?
        }
        Some(path) => Config::read_text(path).map_err(AppError::usage)?,
        None => tree.read(path).map_err(AppError::usage)?.unwrap_or_default(),
    };
    let mut config = Config::of_text(&text, path).map_err(AppError::usage)?;
    UserConfig::find().map_err(AppError::usage)?.fill(&mut config.run);
    custom::configure(config.targets().collect());
    hide_secrets(&config);
    let mut directories = directories(paths, &config);
    let path = directories.policy.path().to_owned();
    if is_in_repository(&tree, &path)? {
        let text = match &directories.policy {
            PolicyPath::Named(_) => Some(read_named(&tree, revision, &path, "--policy")?),
            _ => tree.read(&path).map_err(AppError::usage)?,
        };
        directories.policy = PolicyPath::AtRevision { path, revision: revision.to_owned(), text };
    }
    Ok(ProjectAtRevision {
        project: ProjectContext { config, directories },
        config_file: write_temporary(&text)?,
        custom: at_revision,
    })
}

/// Hides the variables of `[[notify]]` from judged code.
fn hide_secrets(config: &Config) {
    judged::hide(config.notify.iter().flat_map(NotifySection::variables));
}

fn is_in_repository(tree: &RevisionTree, path: &Path) -> Result<bool, AppError> {
    tree.name_of(path).map(|name| name.is_some()).map_err(AppError::usage)
}

/// Reads the file that `option` names, as of `revision`.
fn read_named(
    tree: &RevisionTree,
    revision: &str,
    path: &Path,
    option: &str,
) -> Result<String, AppError> {
    let text = tree.read(path).map_err(AppError::usage)?;
    text.ok_or_else(|| {
        AppError::usage(anyhow::anyhow!(
            "{option}: {} does not exist at {revision}, and the working copy is part of the \
             change under test; use a file \
             that exists at {revision}, or one outside the repository",
            path.display()
        ))
    })
}

/// Writes `text` to a temporary file.
fn write_temporary(text: &str) -> Result<NamedTempFile, AppError> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile();
    let file = file.and_then(|file| std::fs::write(file.path(), text).map(|()| file));
    file.map_err(|error| AppError::from(anyhow::anyhow!("cannot write a temporary file: {error}")))
}

/// Returns a pattern that matches every id containing `text`, in which `*` and `?` are wildcards.
pub(crate) fn anywhere(text: &str) -> String {
    if text.contains(['*', '?']) { format!("*{text}*") } else { text.to_owned() }
}
