//! The project in a repository, and the builds of its revisions: this program, or the benchmarks of
//! any other project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use rsb_engine::measure::Limits;
use rsb_engine::{Listener, WorkerCommand};
use rsb_model::{Case, CaseId, Event, Reason};
use rsb_stats::glob;

use super::against::cases_of;
use super::bench_targets::{self, BenchTargets};
use super::builds::{Repository, git};
use super::cargo::{self, CargoProfile, PROGRAM};
use super::opened;
use super::worktree::{ProgramDirectory, TreeUse, Worktree};
use crate::build_place::{self, BuiltSide};
use crate::gate::SidePrograms;
use crate::harness::{self, BenchCommand, Benches, CommandBenches, CountedMetric, Executables};

/// Options to build and run another project's benchmarks.
#[derive(Debug, Clone, Default)]
pub struct ProjectOptions {
    /// Arguments for `cargo bench`, such as `--package` and `--features`.
    pub cargo: Vec<String>,
    /// Commands to use instead of cargo.
    pub command: Option<BenchCommand>,
    /// A file that defines commands as benchmarks, instead of cargo or a single command.
    pub custom: Option<CustomProject>,
    /// Configuration with which every revision is planned; `None` for that of the current
    /// directory.
    pub config: Option<PathBuf>,
}

/// The benchmarks of a file of commands, measured in the tree of each revision.
#[derive(Debug, Clone)]
pub struct CustomProject {
    /// The file of the first revision, which defines the measured cases.
    pub file: PathBuf,
    /// Path of the file relative to the top of the repository, if it is in the repository. The
    /// second revision then uses its own version of the file.
    pub in_repository: Option<PathBuf>,
    /// Shell command that builds a revision; `None` if nothing needs to be built.
    pub build: Option<String>,
}

/// Project in the current directory of a repository.
pub(super) enum Project {
    /// This program.
    ThisProgram,
    /// A cargo package or workspace with benchmarks.
    Cargo {
        /// Its directory, from the top of the repository.
        directory: PathBuf,
        /// Arguments for `cargo bench`.
        arguments: Vec<String>,
    },
    /// A project that is built and measured by commands.
    Commands {
        /// Their working directory, from the top of the repository.
        directory: PathBuf,
        /// The commands.
        command: BenchCommand,
    },
    /// The commands of a file, which this program measures.
    Custom {
        /// Their working directory, from the top of the repository.
        directory: PathBuf,
        /// The file, and its build command.
        custom: CustomProject,
        /// Configuration with which it is planned.
        config: Option<PathBuf>,
    },
}

/// Side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SideRole {
    /// The reference side.
    First,
    /// The judged side.
    Second,
}

impl SideRole {
    /// Returns the name of the side in paths. Both names have the same length.
    const fn name(self) -> &'static str {
        match self {
            Self::First => "a",
            Self::Second => "b",
        }
    }
}

/// Result of building one revision.
pub(super) enum Build {
    /// This program, at a path.
    ThisProgram(PathBuf),
    /// Another project's benchmarks.
    Benches(Arc<Benches>),
    /// Commands, measured by the running program.
    Custom {
        /// Their working directory.
        tree: PathBuf,
        /// The file that lists them.
        file: PathBuf,
        /// Their cases.
        cases: Vec<Case>,
    },
}

impl Project {
    /// Returns the project in the revisions `commits`, each given with the user's name for it.
    ///
    /// # Errors
    /// If one of them contains no project, or they contain different ones.
    pub(super) fn of(
        repository: &Repository,
        commits: &[(&str, &str)],
        options: &ProjectOptions,
    ) -> Result<Self> {
        let directory = PathBuf::from(git(Path::new("."), &["rev-parse", "--show-prefix"])?);
        if let Some(custom) = &options.custom {
            let config = options.config.clone();
            return Ok(Self::Custom { directory, custom: custom.clone(), config });
        }
        if let Some(command) = &options.command {
            return Ok(Self::Commands { directory, command: command.clone() });
        }
        let mut packages = Vec::new();
        for &(commit, name) in commits {
            packages.push((
                name,
                package(repository, commit, &directory)
                    .with_context(|| no_cargo(name, &directory))?,
            ));
        }
        let is_this_program = packages[0].1 == PROGRAM;
        match packages.iter().find(|(_, package)| (package == PROGRAM) != is_this_program) {
            Some((name, package)) => bail!(
                "{name} is the package `{package}`, and {} is `{}`: they have no benchmarks in \
                 common",
                packages[0].0,
                packages[0].1
            ),
            None if !is_this_program => {
                Ok(Self::Cargo { directory, arguments: options.cargo.clone() })
            }
            None if options.cargo.is_empty() => Ok(Self::ThisProgram),
            None => bail!(
                "{PROGRAM} is always built like a release: omit the arguments for cargo, which are \
                 for other projects"
            ),
        }
    }

    /// Returns whether the project is this program, which has suites and counts instructions.
    pub(super) const fn is_this_program(&self) -> bool {
        matches!(self, Self::ThisProgram)
    }

    /// Checks that `metrics` can be counted here.
    ///
    /// # Errors
    /// Fails if cargo does not build the benchmarks of another project here, or Valgrind is needed
    /// and not installed.
    pub(super) fn check_counting(&self, metrics: &[CountedMetric]) -> Result<()> {
        match self {
            Self::ThisProgram => bail!(
                "--decide-by only applies to the benchmarks of other projects; omit it, or use \
                 `gate --against REV --metric instructions`"
            ),
            Self::Cargo { .. } if !metrics.iter().any(|metric| metric.needs_valgrind()) => Ok(()),
            Self::Cargo { .. } => {
                harness::find_valgrind().map(drop).map_err(|reason| anyhow!("{reason}"))
            }
            _ => bail!("--decide-by only applies to benchmarks that cargo builds; omit it here"),
        }
    }

    /// Returns whether cargo builds executables of the project's benchmarks.
    pub(super) const fn has_executables(&self) -> bool {
        matches!(self, Self::Cargo { .. })
    }

    /// Returns whether the project is built by cargo, without user-defined commands.
    pub(super) const fn is_built_by_cargo(&self) -> bool {
        matches!(self, Self::ThisProgram | Self::Cargo { .. })
    }

    /// Returns how long builds of the project need their tree.
    pub(super) const fn tree_use(&self) -> TreeUse {
        match self {
            Self::ThisProgram => TreeUse::WhileBuilding,
            Self::Cargo { .. } | Self::Commands { .. } | Self::Custom { .. } => {
                TreeUse::WhileMeasuring
            }
        }
    }

    /// Builds `commit`, and keeps its executables in the directory of programs. Returns `None` if
    /// it does not build; the compiler prints the reason to standard error. A build may replace the
    /// previous one in the same `role`.
    ///
    /// # Errors
    /// If the build cannot be tried: no space, no cargo, a killed build, or no benchmarks.
    pub(super) fn build(
        &self,
        repository: &Repository,
        worktree: &Worktree,
        programs: &ProgramDirectory,
        commit: &str,
        role: SideRole,
        listener: &mut Listener<'_>,
    ) -> Result<Option<Build>> {
        // Keep all paths of equal length, because a longer path moves the stack of a process.
        let into = programs.path(commit);
        match self {
            Self::ThisProgram => {
                let is_built = worktree.with_revision(commit, listener, |place, _| {
                    cargo::build_this_program(place, CargoProfile::Release, &into)
                })?;
                Ok(is_built.then_some(Build::ThisProgram(into)))
            }
            Self::Cargo { directory, arguments } => {
                let targets = BenchTargets { top: repository.top(), directory, arguments };
                let built = worktree.with_revision(commit, listener, |place, listener| {
                    bench_targets::build(place, &targets, listener)
                })?;
                let Some(built) = built else { return Ok(None) };
                let side = BuiltSide::copy(worktree.place(), built.outputs, &into)?;
                let mut listed = Executables::list(built.executables, Some(side));
                listed.left_out.extend(built.left_out);
                for (_, reason) in &listed.left_out {
                    listener(&Event::note(format!("not measured: {reason}")));
                }
                Ok(Some(Build::Benches(Arc::new(Benches::Executables(listed)))))
            }
            Self::Commands { directory, command } => {
                let how = command.build.as_deref();
                let Some(tree) =
                    built_by_command(worktree, directory, commit, role, how, listener)?
                else {
                    return Ok(None);
                };
                let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
                let listed = CommandBenches::list(
                    command.clone(),
                    tree,
                    scratch.path(),
                    Limits::default().component,
                );
                let listed = match listed {
                    Ok(listed) => listed,
                    Err(reason) => {
                        listener(&Event::warning(reason.to_string()));
                        return Ok(None);
                    }
                };
                Ok(Some(Build::Benches(Arc::new(Benches::Command(listed)))))
            }
            Self::Custom { directory, custom, config } => {
                let how = custom.build.as_deref();
                let Some(tree) =
                    built_by_command(worktree, directory, commit, role, how, listener)?
                else {
                    return Ok(None);
                };
                let program =
                    std::env::current_exe().context("cannot find the path of this program")?;
                let own = custom.in_repository.as_ref().filter(|_| role == SideRole::Second);
                let own = own.map(|name| worktree.for_side(role.name()).tree().join(name));
                let file = own.unwrap_or_else(|| custom.file.clone());
                // If the revision has no such file, it has none of its cases.
                let cases = if file.exists() {
                    cases_of(&program, &["--custom", &file.to_string_lossy()], config.as_deref())?
                } else {
                    Vec::new()
                };
                Ok(Some(Build::Custom { tree, file, cases }))
            }
        }
    }
}

/// Returns the tree of `commit`, built by a command; `None` if it does not build. Each side has its
/// own tree, because the command builds in it.
fn built_by_command(
    worktree: &Worktree,
    directory: &Path,
    commit: &str,
    role: SideRole,
    command: Option<&str>,
    listener: &mut Listener<'_>,
) -> Result<Option<PathBuf>> {
    let worktree = worktree.for_side(role.name());
    let is_built = worktree.with_revision(commit, listener, |place, _| {
        harness::build(command, &place.tree.join(directory))
    })?;
    Ok(is_built.then(|| worktree.tree().join(directory)))
}

/// Returns the package in `directory` at `commit`; a workspace without one has no name.
pub(super) fn package(repository: &Repository, commit: &str, directory: &Path) -> Result<String> {
    let text = repository
        .git(&["show", &format!("{commit}:{}", directory.join("Cargo.toml").display())])?;
    let manifest = toml::from_str::<toml::Table>(&text).unwrap_or_default(); // Cargo says what is wrong with it.
    let package = manifest.get("package").and_then(toml::Value::as_table);
    let name = package.and_then(|package| package.get("name")?.as_str());
    Ok(name.unwrap_or_default().to_owned())
}

fn no_cargo(name: &str, directory: &Path) -> String {
    format!(
        "{name} has no {}: run this in the directory of a cargo project, or name the commands that \
         build and measure with --build CMD --bench CMD --bench-format NAME, or a file of commands \
         with --custom FILE",
        directory.join("Cargo.toml").display()
    )
}

impl Build {
    /// Returns the programs that measure this build and `after`.
    ///
    /// # Errors
    /// If they are not of the same project.
    pub(super) fn beside(&self, after: &Self) -> Result<SidePrograms> {
        match (self, after) {
            (Self::ThisProgram(before), Self::ThisProgram(after)) => Ok(SidePrograms::Workers(
                [before, after].map(|program| vec![WorkerCommand::of(program.clone())]),
            )),
            (Self::Benches(before), Self::Benches(after)) => {
                Ok(SidePrograms::Benches([Arc::clone(before), Arc::clone(after)]))
            }
            (
                Self::Custom { tree: before, file: listed, .. },
                Self::Custom { tree: after, file: own, .. },
            ) => {
                let program = WorkerCommand::this_program()?;
                let side =
                    |tree: &Path, file: &Path| vec![program.clone().at(tree).with_custom(file)];
                Ok(SidePrograms::Workers([side(before, listed), side(after, own)]))
            }
            _ => bail!("this program cannot be compared with another project"),
        }
    }

    /// Returns the measured bench targets of another project, by the directory of their package in
    /// the repository.
    pub(super) fn bench_places(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let Self::Benches(benches) = self else { return places };
        let Some(executables) = benches.executables() else { return places };
        let Some(side) = executables.side() else { return places };
        for executable in executables.all() {
            let place = side.path_in_tree(&executable.package);
            places.entry(place).or_default().insert(executable.target.clone());
        }
        places
    }

    /// Returns the versions of rustc that built it; none if a command built it.
    pub(super) fn compilers(&self) -> BTreeSet<String> {
        match self {
            Self::ThisProgram(program) => {
                let program = std::fs::read(program).unwrap_or_default();
                build_place::compilers(&program).into_iter().collect()
            }
            _ => self.executables().map(Executables::compilers).unwrap_or_default(),
        }
    }

    /// Returns the bench targets and cases of another project that cannot be measured, each with
    /// its reason.
    pub(super) fn left_out(&self) -> BTreeSet<String> {
        self.reasons_left_out().map(|reason| format!("{}: {}", reason.what, reason.why)).collect()
    }

    /// Returns the reasons why bench targets and cases of another project cannot be measured.
    pub(super) fn reasons_left_out(&self) -> impl Iterator<Item = &Reason> {
        let executables = self.executables().into_iter();
        executables.flat_map(|all| &all.left_out).map(|(_, reason)| reason)
    }

    /// Returns the cases of another project that match one of `wanted`, parts of ids; all if
    /// `wanted` is empty.
    pub(super) fn cases_fitting(&self, wanted: &[String]) -> Vec<Case> {
        match self {
            Self::ThisProgram(_) => Vec::new(),
            Self::Benches(benches) => benches
                .ids()
                .filter(|id| is_wanted(id, wanted))
                .cloned()
                .map(harness::case_of)
                .collect(),
            Self::Custom { cases, .. } => {
                cases.iter().filter(|case| is_wanted(&case.id, wanted)).cloned().collect()
            }
        }
    }

    /// Returns whether both builds behave the same for all cases although the `changed` files
    /// differ, so that nothing needs to be measured. Always false for commands, which may do
    /// anything.
    ///
    /// # Errors
    /// If an executable cannot be read.
    pub(super) fn does_as(&self, other: &Self, changed: &[PathBuf]) -> Result<bool> {
        match (self, other) {
            (Self::ThisProgram(one), Self::ThisProgram(other)) => do_the_same([one, other]),
            (Self::Benches(_), Self::Benches(_)) => {
                let [own, others] = [self, other].map(|build| build.cases_fitting(&[]));
                let is_whole = self.left_out().is_empty() && other.left_out().is_empty();
                if !is_whole || own.is_empty() || own.len() != others.len() {
                    return Ok(false);
                }
                Ok(self.cases_alike(other, &own, changed)?.len() == own.len())
            }
            _ => Ok(false),
        }
    }

    /// Returns whether both execute the same machine code for `case` on the same files, although
    /// the `changed` files differ.
    ///
    /// # Errors
    /// If an executable cannot be read.
    pub(super) fn measures_alike(
        &self,
        other: &Self,
        case: &Case,
        changed: &[PathBuf],
    ) -> Result<bool> {
        match self {
            Self::ThisProgram(_) | Self::Custom { .. } => self.does_as(other, changed),
            Self::Benches(_) => {
                Ok(self.cases_alike(other, std::slice::from_ref(case), changed)?.contains(&case.id))
            }
        }
    }

    /// Returns those of `cases` whose executables behave the same in both builds: they have the
    /// same machine code and build outputs, and open none of the `changed` files.
    ///
    /// # Errors
    /// If an executable cannot be read.
    pub(super) fn cases_alike(
        &self,
        other: &Self,
        cases: &[Case],
        changed: &[PathBuf],
    ) -> Result<BTreeSet<CaseId>> {
        let (Some(own), Some(others)) = (self.executables(), other.executables()) else {
            return Ok(BTreeSet::new());
        };
        if changed.iter().any(|path| is_setting(path)) {
            return Ok(BTreeSet::new());
        }
        if let (Some(own), Some(others)) = (own.side(), others.side())
            && !own.does_as(others)?
        {
            return Ok(BTreeSet::new());
        }
        let mut known: BTreeMap<PathBuf, bool> = BTreeMap::new();
        let mut alike = BTreeSet::new();
        for case in cases {
            let (Some(one), Some(two)) = (own.of(&case.id), others.of(&case.id)) else { continue };
            let same = if let Some(same) = known.get(&one.program) {
                *same
            } else {
                let same = do_the_same([&own.stored_program(one), &others.stored_program(two)])?
                    && !opened::may_open(own, one, changed)
                    && !opened::may_open(others, two, changed);
                known.insert(one.program.clone(), same);
                same
            };
            if same {
                alike.insert(case.id.clone());
            }
        }
        Ok(alike)
    }

    /// Returns the executables of another project; `None` for this program and for commands.
    pub(super) fn executables(&self) -> Option<&Executables> {
        match self {
            Self::Benches(benches) => benches.executables(),
            Self::ThisProgram(_) | Self::Custom { .. } => None,
        }
    }
}

fn is_wanted(id: &CaseId, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|part| glob::matches(&format!("*{part}*"), id.as_str()))
}

/// Returns whether `path` configures cargo or rustup. If such a file differs, the two sides are
/// different programs.
pub(super) fn is_setting(path: &Path) -> bool {
    ["config.toml", "config"].iter().any(|name| path.ends_with(Path::new(".cargo").join(name)))
        || ["rust-toolchain.toml", "rust-toolchain"].iter().any(|name| path.ends_with(name))
}

fn do_the_same(programs: [&Path; 2]) -> Result<bool> {
    let [one, other] = programs.map(|program| {
        std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))
    });
    Ok(build_place::is_same(&one?, &other?))
}
