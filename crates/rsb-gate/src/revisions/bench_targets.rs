//! The bench targets of a cargo project, built with `cargo bench --no-run` and found in cargo's
//! messages.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use rsb_engine::Listener;
use rsb_model::{Event, Reason, json};
use serde_json::Value;

use super::builds::git;
use super::cargo::{PROGRAM, align_functions, cargo, run_cargo, run_cargo_build};
use super::worktree::BuildTarget;
use crate::build_place::BuildOutputs;
use crate::harness::BenchExecutable;

/// Settings that drop debug information, which makes executables large, and whose line numbers
/// would differ after a change of a comment.
const SMALL: [&str; 2] = ["profile.bench.debug=false", "profile.bench.strip=\"debuginfo\""];

/// Arguments that choose packages or targets. If one of them is given, no packages or targets are
/// chosen automatically.
const CHOICES: [&str; 8] = [
    "-p",
    "--package",
    "--workspace",
    "--all",
    "--bench",
    "--benches",
    "--all-targets",
    "--exclude",
];

/// Bench targets to build in a repository.
#[derive(Clone, Copy)]
pub(super) struct BenchTargets<'a> {
    /// The user's own tree.
    pub(super) top: &'a Path,
    /// Directory of the project in it.
    pub(super) directory: &'a Path,
    /// Arguments for cargo.
    pub(super) arguments: &'a [String],
}

/// A path dependency outside the repository, which is not part of a revision.
#[derive(Debug, thiserror::Error)]
#[error(
    "{manifest}: the path dependency `{dependency}` is outside the repository, so both revisions \
     would build the same code; move \
     it into the repository, or use a git or version dependency"
)]
pub(super) struct DependencyOutside {
    manifest: String,
    dependency: String,
}

/// Returns the first path dependency in the manifests of `tree` that leads out of it.
fn dependency_outside(tree: &Path) -> Result<Option<DependencyOutside>> {
    let listing = git(tree, &["ls-files", "-z", "--", "Cargo.toml", "*/Cargo.toml"])?;
    for manifest in listing.split('\0').filter(|name| !name.is_empty()) {
        let text = std::fs::read_to_string(tree.join(manifest)).unwrap_or_default();
        let Ok(table) = toml::from_str::<toml::Table>(&text) else { continue };
        let directory = Path::new(manifest).parent().unwrap_or(Path::new(""));
        if let Some(dependency) = leading_out(&table, directory) {
            return Ok(Some(DependencyOutside { manifest: manifest.to_owned(), dependency }));
        }
    }
    Ok(None)
}

/// Returns the name of the first entry of `table` whose `path`, from `directory`, leads out of the
/// tree.
fn leading_out(table: &toml::Table, directory: &Path) -> Option<String> {
    for (name, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let depth = inner.get("path").and_then(toml::Value::as_str).map(|path| {
            let mut depth = 0_i32;
            for part in directory.join(path).components() {
                match part {
                    Component::ParentDir => depth -= 1,
                    Component::Normal(_) => depth += 1,
                    Component::RootDir | Component::Prefix(_) => return -1,
                    Component::CurDir => {}
                }
                if depth < 0 {
                    return depth;
                }
            }
            depth
        });
        if depth.is_some_and(|depth| depth < 0) {
            return Some(name.clone());
        }
        if let Some(found) = leading_out(inner, directory) {
            return Some(found);
        }
    }
    None
}

/// The bench targets of a revision, and the other outputs of their build.
#[derive(Default)]
pub(super) struct BuiltTargets {
    pub(super) executables: Vec<BenchExecutable>,
    /// Targets that did not build, by name, with the reason.
    pub(super) left_out: Vec<(String, Reason)>,
    /// Whether one of them needs a nightly toolchain.
    needs_nightly: bool,
    pub(super) outputs: BuildOutputs,
}

/// Builds the bench targets of the project in `place`: those of its own workspace, and those of
/// packages below it that are in other workspaces. If a target does not build, only its own cases
/// are missing. Returns `None` if none builds, unless one of them needs a nightly toolchain.
///
/// # Errors
/// If cargo cannot be run, or a path dependency leads out of the repository.
pub(super) fn build(
    place: BuildTarget<'_>,
    request: &BenchTargets<'_>,
    listener: &mut Listener<'_>,
) -> Result<Option<BuiltTargets>> {
    let BenchTargets { top, directory, arguments } = *request;
    let (chosen, arguments) = take_manifest_path(arguments);
    let directory = chosen.map_or_else(|| directory.to_owned(), |found| directory.join(found));
    let manifest = directory.join("Cargo.toml");
    if !place.tree.join(&manifest).is_file() {
        listener(&Event::warning(format!("this revision has no {}", manifest.display())));
        return Ok(None);
    }
    let Some(workspaces) = find_workspaces(place.tree, &directory, TreeOwner::Gate)? else {
        return match dependency_outside(place.tree)? {
            Some(outside) => Err(outside.into()),
            None => Ok(None),
        };
    };
    let workspaces = choose(workspaces, &arguments);
    for workspace in workspaces.iter().filter(|workspace| workspace.was_separated) {
        let manifest = workspace.directory.join("Cargo.toml");
        let manifest = manifest.strip_prefix(place.tree).unwrap_or(&manifest).display();
        listener(&Event::note(format!(
            "cargo refuses {manifest}, which is not a member of the workspace above it, so it is \
             built as a separate workspace; add `[workspace]` to it, or make it a member"
        )));
    }
    let is_chosen = arguments.iter().any(|argument| is_choice(argument));
    if !is_chosen {
        let unbuilt = unbuilt_targets(&workspaces, &arguments);
        if workspaces.iter().all(|found| found.bench_targets(&arguments).is_empty()) {
            let text = if unbuilt.is_empty() {
                "no bench target found; add `[[bench]]` to Cargo.toml or a file in benches/"
                    .to_owned()
            } else {
                format!("every bench target needs features: {}", unbuilt.join(", "))
            };
            listener(&Event::warning(format!("{text} ({})", manifest.display())));
            return Ok(None);
        }
        if !unbuilt.is_empty() {
            let names = unbuilt.join(", ");
            listener(&Event::note(format!("not measured, as with `cargo bench`: {names}")));
        }
    }
    let mut built = BuiltTargets::default();
    for workspace in &workspaces {
        workspace.metadata.take_over_lock(place.tree, top);
        workspace.build(place, &arguments, &mut built, listener)?;
    }
    built.executables.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    built.outputs.library_directories =
        vec![place.target.join("release/deps"), place.target.join("release")];
    // If no executable was built, report the missing nightly toolchain as the reason.
    Ok((!built.executables.is_empty() || built.needs_nightly).then_some(built))
}

/// Returns whether `argument` chooses packages or targets.
fn is_choice(argument: &str) -> bool {
    CHOICES.iter().any(|choice| {
        argument.strip_prefix(choice).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

fn has_features(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("-F") || argument.contains("-features"))
}

/// Returns the directory of the manifest that `--manifest-path` names, and the other arguments.
fn take_manifest_path(arguments: &[String]) -> (Option<PathBuf>, Vec<String>) {
    const FLAG: &str = "--manifest-path";
    let (mut manifest, mut others) = (None, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == FLAG {
            manifest = words.next().cloned();
        } else if let Some(path) = word.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('=')) {
            manifest = Some(path.to_owned());
        } else {
            others.push(word.clone());
        }
    }
    let directory = manifest.map(|path| Path::new(&path).parent().unwrap_or(Path::new("")).into());
    (directory, others)
}

/// A workspace and its cargo metadata.
pub(super) struct Workspace {
    /// Directory in which cargo is called.
    directory: PathBuf,
    metadata: Metadata,
    /// Whether `[workspace]` was added to its manifest.
    was_separated: bool,
}

/// Owner of a tree, which determines whether manifests in it may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeOwner {
    /// The user, so manifests are left unchanged.
    User,
    /// The gate, which may change manifests in its worktree.
    Gate,
}

/// Directories whose packages are test data or third-party code.
const FOREIGN: [&str; 5] = ["tests", "testdata", "fixtures", "vendor", "target"];

/// Finds the workspace in `directory` of `tree`, and those of other packages below it that have
/// bench targets. A package that is neither inside nor excluded from the workspace above it becomes
/// its own workspace, unless the tree is the user's. A copy of this program is left out, like test
/// data and third-party code. Returns `None` if the manifests of the first workspace are invalid.
pub(super) fn find_workspaces(
    tree: &Path,
    directory: &Path,
    owner: TreeOwner,
) -> Result<Option<Vec<Workspace>>> {
    let project = tree.join(directory);
    let Some(metadata) = Metadata::of(&project)? else { return Ok(None) };
    let mut found = vec![Workspace { directory: project.clone(), metadata, was_separated: false }];
    let listing = git(&project, &["ls-files", "-z", "--", "*/Cargo.toml"])?;
    let names = || listing.split('\0').filter(|name| !name.is_empty());
    let copies: Vec<PathBuf> = names().filter_map(|name| program_in(&project.join(name))).collect();
    for name in names() {
        let manifest = project.join(name);
        let Some(package) = manifest.parent() else { continue };
        if copies.iter().any(|copy| package.starts_with(copy)) {
            continue;
        }
        let is_foreign = Path::new(name)
            .components()
            .any(|part| FOREIGN.iter().any(|foreign| part.as_os_str() == *foreign));
        let may_have_benches = package.join("benches").is_dir()
            || std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("[[bench]]"));
        if is_foreign || !may_have_benches {
            continue;
        }
        let mut metadata = Metadata::of(package)?;
        let was_separated = metadata.is_none() && owner == TreeOwner::Gate && separate(&manifest);
        if was_separated {
            metadata = Metadata::of(package)?;
        }
        // Skip packages below the project that cargo cannot read.
        let Some(metadata) = metadata else { continue };
        let is_known = found.iter().any(|other| other.metadata.root() == metadata.root());
        if !is_known && !metadata.benches(true).1.is_empty() {
            let directory = package.to_owned();
            found.push(Workspace { directory, metadata, was_separated });
        }
    }
    Ok(Some(found))
}

/// Returns the directory of `manifest` if it is a copy of this program with its GitHub action.
fn program_in(manifest: &Path) -> Option<PathBuf> {
    let directory = manifest.parent()?;
    if !directory.join("action.yml").is_file() {
        return None;
    }
    let text = std::fs::read_to_string(manifest).ok()?;
    let table: toml::Table = text.parse().ok()?;
    let is_program = table.get("package")?.get("name")?.as_str()? == PROGRAM;
    is_program.then(|| directory.to_owned())
}

/// Makes the package of `manifest` its own workspace. Returns whether it did.
fn separate(manifest: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(manifest) else { return false };
    let is_one = text.parse::<toml::Table>().map_or(true, |table| table.contains_key("workspace"));
    !is_one && std::fs::write(manifest, format!("{text}\n[workspace]\n")).is_ok()
}

/// Returns those of `workspaces` that have the packages and targets named in `arguments`; the first
/// if none has, so that cargo reports the error.
fn choose(workspaces: Vec<Workspace>, arguments: &[String]) -> Vec<Workspace> {
    let named = |flags: &[&str]| {
        let follows = arguments.windows(2).filter(|pair| flags.contains(&pair[0].as_str()));
        let attached = arguments.iter().filter_map(|argument| {
            let (flag, name) = argument.split_once('=')?;
            flags.contains(&flag).then_some(name)
        });
        follows.map(|pair| pair[1].as_str()).chain(attached).collect::<Vec<_>>()
    };
    let (packages, targets) = (named(&["-p", "--package"]), named(&["--bench"]));
    let fits = |workspace: &Workspace| {
        packages.iter().all(|name| workspace.metadata.has_package(name))
            && targets.iter().all(|name| workspace.metadata.benches(true).1.contains(*name))
    };
    let fitting: Vec<bool> = workspaces.iter().map(fits).collect();
    let is_any = fitting.iter().any(|fits| *fits);
    let kept = workspaces.into_iter().zip(fitting).enumerate();
    kept.filter(|(at, (_, fits))| if is_any { *fits } else { *at == 0 })
        .map(|(_, (workspace, _))| workspace)
        .collect()
}

/// Returns the bench targets of `workspaces` that need features which `arguments` do not request,
/// each with the arguments that build it.
fn unbuilt_targets(workspaces: &[Workspace], arguments: &[String]) -> Vec<String> {
    if has_features(arguments) {
        return Vec::new();
    }
    workspaces.iter().flat_map(|workspace| workspace.metadata.wanting_features()).collect()
}

impl Workspace {
    /// Returns its packages, as described by cargo.
    pub(super) fn packages(&self) -> &Value {
        &self.metadata.0["packages"]
    }

    /// Returns the bench targets that are built with `arguments`.
    fn bench_targets(&self, arguments: &[String]) -> BTreeSet<String> {
        self.metadata.benches(has_features(arguments)).1
    }

    /// Builds the bench targets that `arguments` choose, or all if they choose none, and adds them
    /// to `built`.
    ///
    /// # Errors
    /// If cargo cannot be started, or was killed.
    fn build(
        &self,
        place: BuildTarget<'_>,
        arguments: &[String],
        built: &mut BuiltTargets,
        listener: &mut Listener<'_>,
    ) -> Result<()> {
        let mut chosen = Vec::new();
        let mut wanted = BTreeSet::new();
        if !arguments.iter().any(|argument| is_choice(argument)) {
            let (packages, targets) = self.metadata.benches(has_features(arguments));
            if targets.is_empty() {
                return Ok(());
            }
            // Choose only bench targets, because a library built as a test of itself has nothing to
            // measure.
            chosen.extend(targets.iter().flat_map(|target| ["--bench".to_owned(), target.clone()]));
            chosen
                .extend(packages.into_iter().flat_map(|package| ["--package".to_owned(), package]));
            wanted = targets;
        }
        chosen.extend_from_slice(arguments);
        let mut output = self.run_build(&["bench", "--no-run"], &chosen, place, None, listener)?;
        if !output.status.success() {
            // `cargo bench` stops at the first target that does not compile, so build the remaining
            // ones.
            output = self.run_build(&BUILD_REST, &chosen, place, None, listener)?;
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let mut executables = executables(&messages);
        if !output.status.success() {
            let mut unstable = BTreeSet::new();
            let errors = compiler_errors(&messages);
            for message in errors.iter().filter(|message| is_bench(&message["target"])) {
                let Some(target) = message["target"]["name"].as_str() else { continue };
                wanted.insert(target.to_owned());
                if message["message"]["code"]["code"] == UNSTABLE_FEATURE {
                    unstable.insert(target.to_owned());
                }
            }
            let by_nightly = self.build_with_nightly(&chosen, &unstable, place, built, listener)?;
            let names: Vec<&str> =
                by_nightly.iter().map(|executable| executable.target.as_str()).collect();
            for message in &errors {
                if !names.iter().any(|name| message["target"]["name"] == **name) {
                    let text = message["message"]["rendered"].as_str().unwrap_or_default();
                    listener(&Event::warning(text));
                }
            }
            if !names.is_empty() {
                listener(&Event::note(format!(
                    "built with the nightly toolchain, because of `#![feature]`: bench target {}",
                    names.join(", ")
                )));
            }
            executables.extend(by_nightly);
            wanted.retain(|target| executables.iter().all(|built| built.target != *target));
            built.left_out.extend(wanted.into_iter().map(|target| {
                let what = format!("bench target `{target}`");
                let reason = if unstable.contains(&target) {
                    built.needs_nightly = true;
                    let cure = "install one (`rustup toolchain install nightly`), or set \
                                RUSTUP_TOOLCHAIN=nightly";
                    Reason::new(what, "it needs a nightly toolchain (`#![feature]`)", cure)
                } else {
                    let cure = format!("run `cargo bench --no-run --bench {target}` to see why");
                    Reason::new(what, "it does not build", cure)
                };
                (target, reason)
            }));
        }
        built.executables.extend(executables);
        built.outputs.add(outputs(&messages, place.target));
        Ok(())
    }

    /// Builds those of the `chosen` targets that are in `unstable` with the nightly toolchain, if
    /// one is installed and the user's environment chooses no toolchain.
    ///
    /// # Errors
    /// If cargo cannot be started, or was killed.
    fn build_with_nightly(
        &self,
        chosen: &[String],
        unstable: &BTreeSet<String>,
        place: BuildTarget<'_>,
        built: &mut BuiltTargets,
        listener: &mut Listener<'_>,
    ) -> Result<Vec<BenchExecutable>> {
        if unstable.is_empty() || !is_nightly_installed(&self.directory) {
            return Ok(Vec::new());
        }
        let mut arguments = Vec::new();
        let mut words = chosen.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--bench" && words.peek().is_some_and(|name| !unstable.contains(*name)) {
                words.next();
            } else {
                arguments.push(word.clone());
            }
        }
        let output = self.run_build(&BUILD_REST, &arguments, place, Some(NIGHTLY), listener)?;
        let messages = String::from_utf8_lossy(&output.stdout);
        built.outputs.add(outputs(&messages, place.target));
        let mut executables = executables(&messages);
        executables.retain(|executable| unstable.contains(&executable.target));
        Ok(executables)
    }

    /// Runs cargo with `command`, the `chosen` targets and a toolchain of rustup, if one is given,
    /// and returns its output.
    fn run_build(
        &self,
        command: &[&str],
        chosen: &[String],
        place: BuildTarget<'_>,
        toolchain: Option<&str>,
        listener: &mut Listener<'_>,
    ) -> Result<Output> {
        let mut cargo = cargo(&self.directory);
        cargo.envs(toolchain.map(|name| (TOOLCHAIN, name)));
        cargo.args(command).args(["--quiet", "--message-format", "json", "--target-dir"]);
        cargo.arg(place.target).args(SMALL.iter().flat_map(|setting| ["--config", setting]));
        align_functions(&mut cargo, |name| std::env::var(name).ok());
        run_cargo_build(cargo.args(chosen), listener)
    }
}

/// Arguments of cargo that build every target, even if another one does not compile.
const BUILD_REST: [&str; 4] = ["build", "--profile", "bench", "--keep-going"];

/// Environment variable by which rustup chooses a toolchain.
const TOOLCHAIN: &str = "RUSTUP_TOOLCHAIN";
const NIGHTLY: &str = "nightly";

/// Returns whether rustup has a nightly toolchain and the environment chooses none.
fn is_nightly_installed(directory: &Path) -> bool {
    if std::env::var_os(TOOLCHAIN).is_some() {
        return false;
    }
    let mut rustc = Command::new("rustc");
    rustc.arg("--version").current_dir(directory).stdin(Stdio::null()).stderr(Stdio::null());
    // Without rustup, these variables have no effect.
    rustc.env(TOOLCHAIN, NIGHTLY).env("RUSTUP_AUTO_INSTALL", "0");
    let output = rustc.output();
    output.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains(NIGHTLY)
    })
}

/// Error of a stable compiler for `#![feature]`.
const UNSTABLE_FEATURE: &str = "E0554";

/// Cargo metadata of a workspace.
struct Metadata(Value);

impl Metadata {
    /// Reads the metadata of the workspace around `directory`; `None` if its manifests are invalid.
    fn of(directory: &Path) -> Result<Option<Self>> {
        let mut command = cargo(directory);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = run_cargo(&mut command)?;
        if !output.status.success() {
            return Ok(None);
        }
        let metadata = json::parse_bytes(&output.stdout);
        Ok(Some(Self(metadata.context("the output of `cargo metadata` is not valid JSON")?)))
    }

    /// Returns the directory of the workspace.
    fn root(&self) -> Option<&Path> {
        self.0["workspace_root"].as_str().map(Path::new)
    }

    /// Returns whether the workspace has a package `name`, which may be a package specification:
    /// `name@version` or a URL.
    fn has_package(&self, name: &str) -> bool {
        let short = name.rsplit('#').next().unwrap_or(name);
        let short = short.split(['@', ':']).next().unwrap_or(short);
        elements(&self.0["packages"]).iter().any(|package| package["name"] == *short)
    }

    /// Returns the ids of packages with bench targets, and the names of those targets. Like `cargo
    /// bench`, leaves out targets that need features, unless features are requested.
    fn benches(&self, has_features: bool) -> (BTreeSet<String>, BTreeSet<String>) {
        let mut found = (BTreeSet::new(), BTreeSet::new());
        for package in elements(&self.0["packages"]) {
            for target in elements(&package["targets"]) {
                let needs_features = !elements(&target["required-features"]).is_empty();
                if !is_bench(target) || (needs_features && !has_features) {
                    continue;
                }
                found.0.extend(package["id"].as_str().map(str::to_owned));
                found.1.extend(target["name"].as_str().map(str::to_owned));
            }
        }
        found
    }

    /// Returns the bench targets that need features, each with the arguments that build it.
    fn wanting_features(&self) -> Vec<String> {
        let packages = self.0["packages"].as_array().into_iter().flatten();
        let targets =
            packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
        let named = targets.filter(|target| is_bench(target)).filter_map(|target| {
            let features = target["required-features"].as_array()?.iter().filter_map(Value::as_str);
            let features: Vec<&str> = features.collect();
            let name = target["name"].as_str()?;
            (!features.is_empty())
                .then(|| format!("`{name}` (`-- --features {}` builds it)", features.join(",")))
        });
        named.collect()
    }

    /// Copies the user's Cargo.lock to `tree` unless one is committed, as it seldom is for
    /// libraries. Both sides then use the user's versions; otherwise each would get the newest ones
    /// at the time of its build.
    fn take_over_lock(&self, tree: &Path, top: &Path) {
        let Some(place) = self.root().and_then(|root| root.strip_prefix(tree).ok()) else { return };
        let lock = tree.join(place).join("Cargo.lock");
        let is_committed =
            git(tree, &["ls-files", "--error-unmatch", &lock.display().to_string()]).is_ok();
        if !is_committed {
            // If the user has no Cargo.lock, cargo creates one.
            drop(std::fs::copy(top.join(place).join("Cargo.lock"), lock));
        }
    }
}

/// Returns the elements of an array; none for any other value.
pub(super) fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the compiler errors in cargo's `messages`. Warnings of other projects are not repeated.
fn compiler_errors(messages: &str) -> Vec<Value> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    messages.filter(|message: &Value| message["message"]["level"] == "error").collect()
}

/// Returns the executables of bench targets in cargo's `messages`.
fn executables(messages: &str) -> Vec<BenchExecutable> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    messages
        .filter(|message| message["reason"] == "compiler-artifact" && is_bench(&message["target"]))
        .filter_map(|message| {
            let manifest = PathBuf::from(message["manifest_path"].as_str()?);
            Some(BenchExecutable {
                program: message["executable"].as_str()?.into(),
                target: message["target"]["name"].as_str()?.to_owned(),
                package: manifest.parent()?.to_owned(),
            })
        })
        .collect()
}

/// Returns the files in the directory `target`, according to cargo's `messages`, that a process may
/// open: executables, shared libraries and `OUT_DIR`.
fn outputs(messages: &str, target: &Path) -> BuildOutputs {
    let mut found = BuildOutputs::default();
    for message in messages.lines().filter_map(|line| json::parse(line).ok()) {
        if message["reason"] == "compiler-artifact" {
            let executable = Value::Array(vec![message["executable"].clone()]);
            // A compiler plugin or build script is not part of a benchmark.
            if !["proc-macro", "custom-build"]
                .iter()
                .any(|kind| message["target"]["kind"] == serde_json::json!([kind]))
            {
                let executables = existing_paths(&executable, target);
                if is_bench(&message["target"]) {
                    found.benches.extend(executables);
                } else {
                    found.own.extend(executables);
                }
                let files = existing_paths(&message["filenames"], target);
                found.own.extend(files.into_iter().filter(|path| is_library(path)));
            }
        } else if message["reason"] == "build-script-executed" {
            let directory = existing_paths(&Value::Array(vec![message["out_dir"].clone()]), target);
            let is_own = message["package_id"].as_str().is_some_and(|id| id.starts_with("path+"));
            if is_own { found.own.extend(directory) } else { found.shared.extend(directory) }
        }
    }
    for paths in [&mut found.own, &mut found.shared] {
        paths.sort();
        paths.dedup();
    }
    found
}

/// Returns the paths of an array that exist in the directory `target`.
fn existing_paths(value: &Value, target: &Path) -> Vec<PathBuf> {
    let paths = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    paths.map(PathBuf::from).filter(|path| path.starts_with(target) && path.exists()).collect()
}

fn is_library(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["so", "dylib", "dll"].iter().any(|known| ending == *known))
}

pub(super) fn is_bench(target: &Value) -> bool {
    target["kind"].as_array().into_iter().flatten().any(|kind| kind == "bench")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_need_features_are_named_with_what_builds_them() {
        let library = serde_json::json!({ "name": "a", "kind": ["lib"] });
        let targets = [target("plain", &[]), target("dice", &["rand", "std"]), library];
        let metadata =
            Metadata(serde_json::json!({ "packages": [{ "id": "a", "targets": targets }] }));
        assert_eq!(metadata.wanting_features(), ["`dice` (`-- --features rand,std` builds it)"]);
        assert_eq!(bench_names(&metadata, false), ["plain"]);
        assert_eq!(bench_names(&metadata, true), ["dice", "plain"]);
    }

    fn target(name: &str, features: &[&str]) -> Value {
        serde_json::json!({ "name": name, "kind": ["bench"], "required-features": features })
    }

    fn bench_names(metadata: &Metadata, has_features: bool) -> Vec<String> {
        metadata.benches(has_features).1.into_iter().collect()
    }

    #[test]
    fn bench_targets_are_found_in_what_cargo_says() {
        let messages = [
            artifact("lib", "a", "null"),
            artifact("bench", "two", r#""/t/two-1""#),
            "warning: not JSON".to_owned(),
            artifact("bench", "one", r#""/t/one-1""#),
            artifact("bin", "tool", r#""/t/tool""#),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = executables(&messages.join("\n"));
        let names: Vec<&str> = found.iter().map(|each| each.target.as_str()).collect();
        assert_eq!(names, ["two", "one"]);
        assert_eq!(
            (found[1].package.as_path(), found[1].program.as_path()),
            (Path::new("/w/a"), Path::new("/t/one-1"))
        );
    }

    fn artifact(kind: &str, name: &str, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"executable":{executable}}}"#
        )
    }
}
