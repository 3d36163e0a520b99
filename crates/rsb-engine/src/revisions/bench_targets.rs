//! The bench targets of a cargo project, built with `cargo bench --no-run` and found by what cargo says of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rsb_model::Event;
use serde_json::Value;

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
        let packages = metadata.packages_with_benches();
        if packages.is_empty() {
            bail!(
                "{} has no bench target: `[[bench]]` in Cargo.toml, or a file in benches/, makes one",
                project.display()
            );
        }
        // Only these: a library built as a test of itself is nothing to measure.
        command.args(["--bench", "*"]).args(packages.iter().flat_map(|package| ["--package", package]));
    }
    let output = answered(command.args(arguments))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        for error in errors(&messages) {
            listener(&Event::warning(error));
        }
        return Ok(None);
    }
    let built = executables(&messages);
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
        let metadata = serde_json::from_slice(&output.stdout);
        Ok(Some(Self(metadata.context("what cargo says of the project is not JSON")?)))
    }

    /// The packages that have bench targets, as cargo wants them named.
    fn packages_with_benches(&self) -> Vec<String> {
        let packages = self.0["packages"].as_array().into_iter().flatten();
        let has_bench = |package: &&Value| package["targets"].as_array().into_iter().flatten().any(is_bench);
        let id = |package: &Value| package["id"].as_str().map(str::to_owned);
        packages.filter(has_bench).filter_map(id).collect()
    }

    /// A library seldom commits its Cargo.lock. The user's own then counts for both sides, as it does for the user: without
    /// it each would get what is the newest when it is built.
    fn take_over_lock(&self, (tree, top): (&Path, &Path)) {
        let root = self.0["workspace_root"].as_str().map(Path::new);
        let Some(place) = root.and_then(|root| root.strip_prefix(tree).ok()) else { return };
        let lock = tree.join(place).join("Cargo.lock");
        if !lock.exists() {
            // Without one, cargo makes it.
            drop(std::fs::copy(top.join(place).join("Cargo.lock"), lock));
        }
    }
}

/// What the compiler found wrong, as it would show it. Warnings of somebody's project are not this program's to repeat.
fn errors(messages: &str) -> Vec<String> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let errors = messages.filter(|message| message["message"]["level"] == "error");
    errors.filter_map(|message| message["message"]["rendered"].as_str().map(str::to_owned)).collect()
}

/// The executables of bench targets in cargo's `messages`, sorted by package and target.
fn executables(messages: &str) -> Vec<BenchExecutable> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
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

fn is_bench(target: &Value) -> bool {
    target["kind"].as_array().into_iter().flatten().any(|kind| kind == "bench")
}

#[cfg(test)]
mod tests {
    use super::*;

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
