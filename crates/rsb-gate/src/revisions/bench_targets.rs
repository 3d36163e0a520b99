//! The bench targets of a cargo project, built with `cargo bench --no-run` and found by what cargo
//! says of them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use rsb_engine::Listener;
use rsb_model::{Event, json};
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
pub(super) struct BuiltTargets {
    pub(super) executables: Vec<BenchExecutable>,
    pub(super) outputs: BuildOutputs,
}

/// Builds the bench targets of the project in `place`. `None` when they do not build.
///
/// # Errors
/// When it could not be tried, or the project has none.
pub(super) fn build(
    place: BuildTarget<'_>,
    request: &BenchTargets<'_>,
    listener: &mut Listener<'_>,
) -> Result<Option<BuiltTargets>> {
    let BuildTarget { tree, target } = place;
    let BenchTargets { top, directory, arguments } = *request;
    let project = tree.join(directory);
    let Some(metadata) = Metadata::of(&project)? else {
        return match dependency_outside(tree)? {
            Some(outside) => Err(outside.into()),
            None => Ok(None),
        };
    };
    metadata.take_over_lock(tree, top);
    let mut command = cargo(&project);
    command
        .args(["bench", "--no-run", "--quiet", "--message-format", "json", "--target-dir"])
        .arg(target);
    command.args(SMALL.iter().flat_map(|setting| ["--config", setting]));
    align_functions(&mut command, |name| std::env::var(name).ok());
    let is_chosen = arguments.iter().any(|argument| {
        CHOICES
            .iter()
            .any(|choice| argument == choice || argument.starts_with(&format!("{choice}=")))
    });
    if !is_chosen {
        let has_features = arguments
            .iter()
            .any(|argument| argument.starts_with("-F") || argument.contains("-features"));
        let (packages, targets) = metadata.benches(has_features);
        let wanting = if has_features { Vec::new() } else { metadata.wanting_features() };
        if packages.is_empty() {
            let manifest = directory.join("Cargo.toml");
            let text = match wanting.as_slice() {
                [] => "no bench target found; add `[[bench]]` to Cargo.toml or a file in benches/"
                    .to_owned(),
                wanting => format!("every bench target needs features: {}", wanting.join(", ")),
            };
            listener(&Event::warning(format!("{text} ({})", manifest.display())));
            return Ok(None);
        }
        if !wanting.is_empty() {
            listener(&Event::note(format!(
                "not measured, as by `cargo bench`: {}",
                wanting.join(", ")
            )));
        }
        // Only these: a library built as a test of itself is nothing to measure.
        command.args(targets.iter().flat_map(|target| ["--bench", target]));
        command.args(packages.iter().flat_map(|package| ["--package", package]));
    }
    let output = run_cargo(command.args(arguments))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        for error in errors(&messages) {
            listener(&Event::warning(error));
        }
        return Ok(None);
    }
    let library_directories = vec![target.join("release/deps"), target.join("release")];
    let outputs = BuildOutputs { library_directories, ..outputs(&messages, target) };
    Ok(Some(BuiltTargets { executables: executables(&messages), outputs }))
}

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
        let root = self.0["workspace_root"].as_str().map(Path::new);
        let Some(place) = root.and_then(|root| root.strip_prefix(tree).ok()) else { return };
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
fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What the compiler found wrong, as it would show it. Warnings of somebody's project are not this
/// program's to repeat.
fn errors(messages: &str) -> Vec<String> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    let errors = messages.filter(|message| message["message"]["level"] == "error");
    errors
        .filter_map(|message| message["message"]["rendered"].as_str().map(str::to_owned))
        .collect()
}

/// The executables of bench targets in cargo's `messages`, sorted by package and target.
fn executables(messages: &str) -> Vec<BenchExecutable> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    let mut found: Vec<BenchExecutable> = messages
        .filter(|message| message["reason"] == "compiler-artifact" && is_bench(&message["target"]))
        .filter_map(|message| {
            let manifest = PathBuf::from(message["manifest_path"].as_str()?);
            Some(BenchExecutable {
                program: message["executable"].as_str()?.into(),
                target: message["target"]["name"].as_str()?.to_owned(),
                package: manifest.parent()?.to_owned(),
            })
        })
        .collect();
    found.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    found
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

fn is_bench(target: &Value) -> bool {
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
        assert_eq!(names, ["one", "two"]);
        assert_eq!(
            (found[0].package.as_path(), found[0].program.as_path()),
            (Path::new("/w/a"), Path::new("/t/one-1"))
        );
    }

    fn artifact(kind: &str, name: &str, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"executable":{executable}}}"#
        )
    }
}
