//! The bench targets of a cargo project according to its manifests and sources. `init` reads them
//! before anything is built.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::bench_targets::{TreeOwner, elements, find_workspaces, is_bench};

/// A bench target, as its manifest and source describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedTarget {
    /// Its name.
    pub name: String,
    /// Directory of its package, relative to the project.
    pub package: PathBuf,
    /// Name of the harness.
    pub harness: &'static str,
    /// Whether `gate --against` can measure it.
    pub is_supported: bool,
    /// Features that cargo needs to build it.
    pub features: Vec<String>,
}

/// Words in a source that identify its harness; the first match counts.
const HARNESSES: [(&str, &str, bool); 8] = [
    ("iai_callgrind", "iai-callgrind, which needs Valgrind and iai-callgrind-runner", true),
    ("gungraun", "gungraun, which needs Valgrind and gungraun-runner", true),
    ("tango_bench", "tango", false),
    ("codspeed_divan_compat", "Divan", true),
    ("divan", "Divan", true),
    ("criterion", "Criterion", true),
    ("bencher", "bencher", true),
    ("#[bench]", "#[bench], which needs a nightly toolchain", true),
];

/// Finds the bench targets of the project in `directory`, and those of other workspaces below it.
/// Returns `None` if it is not a cargo project or its manifests are invalid.
///
/// # Errors
/// Fails if cargo or git cannot be started.
pub fn survey(directory: &Path) -> Result<Option<Vec<SurveyedTarget>>> {
    if !directory.join("Cargo.toml").is_file() {
        return Ok(None);
    }
    let directory = directory.canonicalize()?;
    let Some(workspaces) = find_workspaces(&directory, Path::new(""), TreeOwner::User)? else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for workspace in &workspaces {
        for package in elements(workspace.packages()) {
            let benches = elements(&package["targets"]).iter().filter(|target| is_bench(target));
            found.extend(benches.filter_map(|target| surveyed(&directory, package, target)));
        }
    }
    Ok(Some(found))
}

fn surveyed(directory: &Path, package: &Value, target: &Value) -> Option<SurveyedTarget> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let source = std::fs::read_to_string(target["src_path"].as_str()?).unwrap_or_default();
    let (harness, is_supported) = harness_of(&source, package);
    let features = elements(&target["required-features"]).iter().filter_map(Value::as_str);
    Some(SurveyedTarget {
        name: target["name"].as_str()?.to_owned(),
        package: manifest.parent()?.strip_prefix(directory).ok()?.to_owned(),
        harness,
        is_supported,
        features: features.map(str::to_owned).collect(),
    })
}

/// Returns the harness named in a `source`, else one that its package depends on, and whether it is
/// supported. A source that names none may still use one through a macro or a module.
fn harness_of(source: &str, package: &Value) -> (&'static str, bool) {
    let depends_on = |crate_name: &str| {
        elements(&package["dependencies"]).iter().any(|dependency| {
            dependency["name"].as_str().is_some_and(|name| name.replace('-', "_") == crate_name)
        })
    };
    let named = HARNESSES.iter().find(|(word, ..)| source.contains(word));
    let known = named.or_else(|| HARNESSES.iter().find(|(word, ..)| depends_on(word)));
    known.map_or(("an unknown harness", false), |(_, name, supported)| (name, *supported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_that_of_the_source_and_then_of_the_package() {
        let package = serde_json::json!({ "dependencies": [{ "name": "criterion" }] });
        for (source, harness, is_supported) in [
            ("use criterion::Criterion;", "Criterion", true),
            ("fn main() { divan::main(); }", "Divan", true),
            ("bencher::benchmark_main!(a);", "bencher", true),
            ("use tango_bench::tango_main; // as criterion", "tango", false),
            ("mod cases; cases::main!();", "Criterion", true),
        ] {
            assert_eq!(harness_of(source, &package), (harness, is_supported), "{source}");
        }
        assert!(!harness_of("fn main() {}", &Value::Null).1);
    }
}
