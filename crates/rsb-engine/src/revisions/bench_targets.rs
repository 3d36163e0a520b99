//! The bench targets of a cargo project, built with `cargo bench --no-run` and found by what cargo says of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rsb_model::{Event, json};
use serde_json::Value;

use super::builds::git;
use super::cargo::{align_functions, answered, cargo};
use crate::Listener;
use crate::harness::BenchExecutable;

/// The profile of the project, without what makes executables large and comments visible in them.
const SMALL: [&str; 2] = ["profile.bench.debug=false", "profile.bench.strip=\"debuginfo\""];

/// Arguments by which somebody chooses packages or targets, so that nothing is chosen for them.
const CHOICES: [&str; 8] =
    ["-p", "--package", "--workspace", "--all", "--bench", "--benches", "--all-targets", "--exclude"];

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

/// Builds the bench targets of the project in `tree` and copies them into `into`. `None` when they do not
/// build.
///
/// # Errors
/// When it could not be tried, or the project has none.
pub(super) fn build(
    (tree, target): (&Path, &Path),
    request: &BenchTargets<'_>,
    into: &Path,
    listener: &mut Listener<'_>,
) -> Result<Option<Vec<BenchExecutable>>> {
    let BenchTargets { top, directory, arguments } = *request;
    let project = tree.join(directory);
    let Some(metadata) = Metadata::of(&project)? else { return Ok(None) };
    metadata.take_over_lock((tree, top));
    let mut command = cargo(&project);
    command.args(["bench", "--no-run", "--quiet", "--message-format", "json", "--target-dir"]).arg(target);
    command.args(SMALL.iter().flat_map(|setting| ["--config", setting]));
    align_functions(&mut command, |name| std::env::var(name).ok());
    let is_chosen = arguments
        .iter()
        .any(|argument| CHOICES.iter().any(|choice| argument == choice || argument.starts_with(&format!("{choice}="))));
    if !is_chosen {
        let has_features =
            arguments.iter().any(|argument| argument.starts_with("-F") || argument.contains("-features"));
        let (packages, targets) = metadata.benches(has_features);
        let wanting = if has_features { Vec::new() } else { metadata.wanting_features() };
        if packages.is_empty() {
            let manifest = directory.join("Cargo.toml");
            let text = match wanting.as_slice() {
                [] => {
                    "there is no bench target: `[[bench]]` in Cargo.toml, or a file in benches/, makes one".to_owned()
                }
                wanting => format!("every bench target needs features: {}", wanting.join(", ")),
            };
            listener(&Event::warning(format!("{text} ({})", manifest.display())));
            return Ok(None);
        }
        if !wanting.is_empty() {
            listener(&Event::note(format!("not measured, as by `cargo bench`: {}", wanting.join(", "))));
        }
        // Only these: a library built as a test of itself is nothing to measure.
        command.args(targets.iter().flat_map(|target| ["--bench", target]));
        command.args(packages.iter().flat_map(|package| ["--package", package]));
    }
    let output = answered(command.args(arguments))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        for error in errors(&messages) {
            listener(&Event::warning(error));
        }
        return Ok(None);
    }
    let mut built = executables(&messages);
    for bench in &mut built {
        bench.unfit = started(&bench.program, &messages)?;
    }
    std::fs::create_dir_all(into).with_context(|| format!("cannot create {}", into.display()))?;
    built.into_iter().enumerate().map(|(number, built)| copied(built, number, into)).collect::<Result<_>>().map(Some)
}

/// Takes `built` out of the directory that the next revision is built in.
fn copied(built: BenchExecutable, number: usize, into: &Path) -> Result<BenchExecutable> {
    let program = into.join(format!("{number}-{}", built.target));
    std::fs::copy(&built.program, &program).with_context(|| format!("cannot copy {}", built.program.display()))?;
    Ok(BenchExecutable { program, ..built })
}

/// What cargo says of a workspace.
struct Metadata(Value);

impl Metadata {
    /// Of the workspace around `directory`; `None` where its manifests are wrong.
    fn of(directory: &Path) -> Result<Option<Self>> {
        let mut command = cargo(directory);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = answered(&mut command)?;
        if !output.status.success() {
            return Ok(None);
        }
        let metadata = json::parse_bytes(&output.stdout);
        Ok(Some(Self(metadata.context("what cargo says of the project is not JSON")?)))
    }

    /// The packages that have bench targets, as cargo wants them named, and the names of those targets. As `cargo bench` does,
    /// without those that need features, unless some are asked for.
    fn benches(&self, has_features: bool) -> (BTreeSet<String>, BTreeSet<String>) {
        let needs_none = |target: &Value| target["required-features"].as_array().is_none_or(Vec::is_empty);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut found = (BTreeSet::new(), BTreeSet::new());
        for package in list(&self.0["packages"]) {
            let targets = list(&package["targets"]);
            for target in targets.iter().filter(|target| is_bench(target) && (has_features || needs_none(target))) {
                found.0.extend(package["id"].as_str().map(str::to_owned));
                found.1.extend(target["name"].as_str().map(str::to_owned));
            }
        }
        found
    }

    /// The bench targets that need features, each with the words that would build it.
    fn wanting_features(&self) -> Vec<String> {
        let packages = self.0["packages"].as_array().into_iter().flatten();
        let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
        let named = targets.filter(|target| is_bench(target)).filter_map(|target| {
            let features = target["required-features"].as_array()?.iter().filter_map(Value::as_str);
            let features: Vec<&str> = features.collect();
            let name = target["name"].as_str()?;
            (!features.is_empty()).then(|| format!("`{name}` (`-- --features {}` builds it)", features.join(",")))
        });
        named.collect()
    }

    /// A library seldom commits its Cargo.lock. The user's own then counts for both sides, as it does for the user: without
    /// it each would get what is the newest when it is built.
    fn take_over_lock(&self, (tree, top): (&Path, &Path)) {
        let root = self.0["workspace_root"].as_str().map(Path::new);
        let Some(place) = root.and_then(|root| root.strip_prefix(tree).ok()) else { return };
        let lock = tree.join(place).join("Cargo.lock");
        let is_committed = git(tree, &["ls-files", "--error-unmatch", &lock.display().to_string()]).is_ok();
        if !is_committed {
            // Without one, cargo makes it.
            drop(std::fs::copy(top.join(place).join("Cargo.lock"), lock));
        }
    }
}

/// What the compiler found wrong, as it would show it. Warnings of somebody's project are not this program's to repeat.
fn errors(messages: &str) -> Vec<String> {
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    let errors = messages.filter(|message| message["message"]["level"] == "error");
    errors.filter_map(|message| message["message"]["rendered"].as_str().map(str::to_owned)).collect()
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
                unfit: None,
            })
        })
        .collect();
    rsb_model::order::by(&mut found, |a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    found
}

/// Why the bench target at `program` cannot be judged where it starts a program of its own project (`CARGO_BIN_EXE_…`): it does
/// so by a path that both sides share.
fn started(program: &Path, messages: &str) -> Result<Option<String>> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let messages = messages.lines().filter_map(|line| json::parse(line).ok());
    let is_program = |message: &Value| message["target"]["kind"] == serde_json::json!(["bin"]);
    let mut programs =
        messages.filter(is_program).filter_map(|message| message["executable"].as_str().map(str::to_owned));
    let starts_one = programs.any(|path| bytes.windows(path.len()).any(|part| part == path.as_bytes()));
    let why = "it starts a program of its project, and both sides would start the one that was built last";
    Ok(starts_one.then(|| why.to_owned()))
}

fn is_bench(target: &Value) -> bool {
    target["kind"].as_array().into_iter().flatten().any(|kind| kind == "bench")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_need_features_are_named_with_what_builds_them() {
        let target = |name: &str, features: &[&str]| serde_json::json!({ "name": name, "kind": ["bench"], "required-features": features });
        let library = serde_json::json!({ "name": "a", "kind": ["lib"] });
        let targets = [target("plain", &[]), target("dice", &["rand", "std"]), library];
        let metadata = Metadata(serde_json::json!({ "packages": [{ "id": "a", "targets": targets }] }));
        assert_eq!(metadata.wanting_features(), ["`dice` (`-- --features rand,std` builds it)"]);
        let names = |has_features| metadata.benches(has_features).1.into_iter().collect::<Vec<_>>();
        assert_eq!(names(false), ["plain"]);
        assert_eq!(names(true), ["dice", "plain"]);
    }

    #[test]
    fn bench_targets_are_found_in_what_cargo_says() {
        let artifact = |kind: &str, name: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"executable":{executable}}}"#
            )
        };
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
}
