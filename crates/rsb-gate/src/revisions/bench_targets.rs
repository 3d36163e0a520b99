//! The bench targets of a cargo project, built with `cargo bench --no-run` and found by what cargo
//! says of them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result};
use rsb_engine::Listener;
use rsb_model::{Event, Reason, json};
use serde_json::Value;

use super::builds::git;
use super::cargo::{align_functions, cargo, run_cargo};
use super::worktree::BuildTarget;
use crate::build_place::BuildOutputs;
use crate::harness::BenchExecutable;

/// The profile of the project, without what makes executables large and comments visible in them.
const SMALL: [&str; 2] = ["profile.bench.debug=false", "profile.bench.strip=\"debuginfo\""];

/// Arguments by which somebody chooses packages or targets, so that nothing is chosen for them.
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

/// Which bench targets of a repository.
#[derive(Clone, Copy)]
pub(super) struct BenchTargets<'a> {
    /// The user's own tree.
    pub(super) top: &'a Path,
    /// Where the project is in it.
    pub(super) directory: &'a Path,
    /// Arguments for cargo.
    pub(super) arguments: &'a [String],
}

/// A path dependency on something that is no part of a revision.
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

/// The first path dependency in the manifests of `tree` that leads out of it.
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

/// The name of the first entry of `table` whose `path`, from `directory`, leads out of the tree.
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

/// The bench targets of a revision, and what else was built for them.
#[derive(Default)]
pub(super) struct BuiltTargets {
    pub(super) executables: Vec<BenchExecutable>,
    /// Targets that did not build, by name, and why.
    pub(super) left_out: Vec<(String, Reason)>,
    /// Whether one of them needs a nightly toolchain.
    needs_nightly: bool,
    pub(super) outputs: BuildOutputs,
}

/// Builds the bench targets of the project in `place`: those of its own workspace, and those of the
/// packages below it that are in other workspaces. A target that does not build costs its own cases
/// only. `None` if none builds.
///
/// # Errors
/// When it could not be tried, or a path dependency leads out of the repository.
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
        listener(&Event::warning(format!("there is no {} in this revision", manifest.display())));
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
            "cargo refuses {manifest}, which is no member of the workspace above it: it is built \
             as a workspace of its own; add `[workspace]` to it, or take it in"
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
            listener(&Event::note(format!("not measured, as by `cargo bench`: {names}")));
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
    // Without any other, the reason is the answer.
    Ok((!built.executables.is_empty() || built.needs_nightly).then_some(built))
}

/// Whether `argument` chooses packages or targets.
fn is_choice(argument: &str) -> bool {
    CHOICES.iter().any(|choice| {
        argument.strip_prefix(choice).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

fn has_features(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("-F") || argument.contains("-features"))
}

/// The directory of the manifest that `--manifest-path` names, and the other arguments.
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

/// A workspace with what cargo says of it.
pub(super) struct Workspace {
    /// Where cargo is called.
    directory: PathBuf,
    metadata: Metadata,
    /// Whether its manifest was given a `[workspace]`.
    was_separated: bool,
}

/// Whose a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeOwner {
    /// The user's: nothing is changed there.
    User,
    /// The worktree of the gate.
    Gate,
}

/// Directories whose packages are data for tests or the code of others.
const FOREIGN: [&str; 5] = ["tests", "testdata", "fixtures", "vendor", "target"];

/// The workspace in `directory` of `tree`, and those of other packages below it that have bench
/// targets. A package that its manifest leaves neither inside nor outside the workspace above it
/// becomes one of its own, unless the tree is the user's. `None` if the manifests of the first are
/// wrong.
pub(super) fn find_workspaces(
    tree: &Path,
    directory: &Path,
    owner: TreeOwner,
) -> Result<Option<Vec<Workspace>>> {
    let project = tree.join(directory);
    let Some(metadata) = Metadata::of(&project)? else { return Ok(None) };
    let mut found = vec![Workspace { directory: project.clone(), metadata, was_separated: false }];
    let listing = git(&project, &["ls-files", "-z", "--", "*/Cargo.toml"])?;
    for name in listing.split('\0').filter(|name| !name.is_empty()) {
        let manifest = project.join(name);
        let Some(package) = manifest.parent() else { continue };
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
        // What cargo cannot read below the project is no part of it.
        let Some(metadata) = metadata else { continue };
        let is_known = found.iter().any(|other| other.metadata.root() == metadata.root());
        if !is_known && !metadata.benches(true).1.is_empty() {
            let directory = package.to_owned();
            found.push(Workspace { directory, metadata, was_separated });
        }
    }
    Ok(Some(found))
}

/// Makes the package of `manifest` a workspace of its own. Returns whether it did.
fn separate(manifest: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(manifest) else { return false };
    let is_one = text.parse::<toml::Table>().map_or(true, |table| table.contains_key("workspace"));
    !is_one && std::fs::write(manifest, format!("{text}\n[workspace]\n")).is_ok()
}

/// Those of `workspaces` that have the packages and targets which `arguments` name; the first if
/// none has, so that cargo says what is wrong.
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

/// The bench targets of `workspaces` that need features which `arguments` do not ask for, each with
/// the words that would build it.
fn unbuilt_targets(workspaces: &[Workspace], arguments: &[String]) -> Vec<String> {
    if has_features(arguments) {
        return Vec::new();
    }
    workspaces.iter().flat_map(|workspace| workspace.metadata.wanting_features()).collect()
}

impl Workspace {
    /// Its packages, as cargo describes them.
    pub(super) fn packages(&self) -> &Value {
        &self.metadata.0["packages"]
    }

    /// The bench targets that are built with `arguments`.
    fn bench_targets(&self, arguments: &[String]) -> BTreeSet<String> {
        self.metadata.benches(has_features(arguments)).1
    }

    /// Builds the bench targets that `arguments` choose, all if they choose none, and adds them to
    /// `built`.
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
            // Only these: a library built as a test of itself is nothing to measure.
            chosen.extend(targets.iter().flat_map(|target| ["--bench".to_owned(), target.clone()]));
            chosen
                .extend(packages.into_iter().flat_map(|package| ["--package".to_owned(), package]));
            wanted = targets;
        }
        chosen.extend_from_slice(arguments);
        let mut output = self.run_build(&["bench", "--no-run"], &chosen, place)?;
        if !output.status.success() {
            // `cargo bench` stops at the first target that does not compile; this builds the rest.
            let rest = ["build", "--profile", "bench", "--keep-going"];
            output = self.run_build(&rest, &chosen, place)?;
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let executables = executables(&messages);
        if !output.status.success() {
            let mut unstable = BTreeSet::new();
            for message in compiler_errors(&messages) {
                let text = message["message"]["rendered"].as_str().unwrap_or_default();
                listener(&Event::warning(text));
                if is_bench(&message["target"])
                    && let Some(target) = message["target"]["name"].as_str()
                {
                    wanted.insert(target.to_owned());
                    if message["message"]["code"]["code"] == UNSTABLE_FEATURE {
                        unstable.insert(target.to_owned());
                    }
                }
            }
            wanted.retain(|target| executables.iter().all(|built| built.target != *target));
            built.left_out.extend(wanted.into_iter().map(|target| {
                let what = format!("bench target `{target}`");
                let reason = if unstable.contains(&target) {
                    built.needs_nightly = true;
                    let cure = "set RUSTUP_TOOLCHAIN=nightly for this command";
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

    /// The output of cargo with `command` and the `chosen` targets.
    fn run_build(
        &self,
        command: &[&str],
        chosen: &[String],
        place: BuildTarget<'_>,
    ) -> Result<Output> {
        let mut cargo = cargo(&self.directory);
        cargo.args(command).args(["--quiet", "--message-format", "json", "--target-dir"]);
        cargo.arg(place.target).args(SMALL.iter().flat_map(|setting| ["--config", setting]));
        align_functions(&mut cargo, |name| std::env::var(name).ok());
        run_cargo(cargo.args(chosen))
    }
}

/// The error of a stable compiler for `#![feature]`.
const UNSTABLE_FEATURE: &str = "E0554";

/// What cargo says of a workspace.
struct Metadata(Value);

impl Metadata {
    /// Of the workspace around `directory`; `None` where its manifests are wrong.
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

    /// The directory of the workspace.
    fn root(&self) -> Option<&Path> {
        self.0["workspace_root"].as_str().map(Path::new)
    }

    /// Whether the workspace has a package called `name`, which may be the specification of one:
    /// `name@version` or a URL.
    fn has_package(&self, name: &str) -> bool {
        let short = name.rsplit('#').next().unwrap_or(name);
        let short = short.split(['@', ':']).next().unwrap_or(short);
        elements(&self.0["packages"]).iter().any(|package| package["name"] == *short)
    }

    /// The packages that have bench targets, as cargo wants them named, and the names of those
    /// targets. As `cargo bench` does, without those that need features, unless some are asked for.
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

    /// The bench targets that need features, each with the words that would build it.
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

    /// A library seldom commits its Cargo.lock. The user's own then counts for both sides, as it
    /// does for the user: without it each would get what is the newest when it is built.
    fn take_over_lock(&self, tree: &Path, top: &Path) {
        let Some(place) = self.root().and_then(|root| root.strip_prefix(tree).ok()) else { return };
        let lock = tree.join(place).join("Cargo.lock");
        let is_committed =
            git(tree, &["ls-files", "--error-unmatch", &lock.display().to_string()]).is_ok();
        if !is_committed {
            // Without one, cargo makes it.
            drop(std::fs::copy(top.join(place).join("Cargo.lock"), lock));
        }
    }
}

/// The elements of an array; none of anything else.
pub(super) fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The errors of the compiler in cargo's `messages`. Warnings of somebody's project are not this
/// program's to repeat.
fn compiler_errors(messages: &str) -> Vec<Value> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    messages.filter(|message: &Value| message["message"]["level"] == "error").collect()
}

/// The executables of bench targets in cargo's `messages`.
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

/// What cargo's `messages` name in the directory `target` that a process may open: executables,
/// shared libraries and `OUT_DIR`.
fn outputs(messages: &str, target: &Path) -> BuildOutputs {
    let mut found = BuildOutputs::default();
    for message in messages.lines().filter_map(|line| json::parse(line).ok()) {
        if message["reason"] == "compiler-artifact" {
            let executable = Value::Array(vec![message["executable"].clone()]);
            // A compiler plugin or a build script is no part of a benchmark.
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

/// The paths of an array that exist in the directory `target`.
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
