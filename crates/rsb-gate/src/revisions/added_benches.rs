//! Adds the benchmarks of a change to the revision before it (`--benches-from this`), so that they
//! can be measured on both sides.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::builds::Repository;

/// Names of directories with benchmarks, at any depth.
const DIRECTORIES: [&str; 2] = ["bench", "benches"];

/// Commits the contents of `base` with the benchmarks that only `current` has: new files in
/// directories called `bench` or `benches`, and new `[[bench]]` tables and dev-dependencies in
/// manifests. Existing contents of `base` do not change.
///
/// # Errors
/// If git fails, or a manifest is not TOML.
pub(super) fn commit_with_benches(
    repository: &Repository,
    base: &str,
    current: &str,
) -> Result<String> {
    let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
    let index = scratch.path().join("index");
    repository.git_with_index(&index, &["read-tree", base])?;
    let changes = ["diff", "--name-status", "--no-renames", "-z", base, current];
    let changes = repository.git(&changes)?;
    let mut words = changes.split('\0');
    while let (Some(status), Some(path)) = (words.next(), words.next()) {
        let in_directory = path.split('/').rev().skip(1).any(|part| DIRECTORIES.contains(&part));
        let is_manifest = path.rsplit('/').next() == Some("Cargo.toml");
        let entry = if status == "A" && in_directory {
            let listed = repository.git(&["ls-tree", current, "--", path])?;
            // `100644 blob HASH<tab>PATH`
            let mut fields = listed.split_whitespace();
            let (mode, hash) = (fields.next(), fields.nth(1));
            mode.zip(hash).map(|(mode, hash)| format!("{mode},{hash},{path}"))
        } else if status == "M" && is_manifest {
            let [old, new] = [base, current]
                .map(|commit| repository.git(&["show", &format!("{commit}:{path}")]));
            let merged = with_new_benches(&old?, &new?).with_context(|| path.to_owned())?;
            let file = scratch.path().join("Cargo.toml");
            std::fs::write(&file, merged).with_context(|| format!("cannot write {path}"))?;
            let name = file.display().to_string();
            let hash = repository.git(&["hash-object", "-w", "--no-filters", &name])?;
            Some(format!("100644,{hash},{path}"))
        } else {
            None
        };
        if let Some(entry) = entry {
            let update = ["update-index", "--add", "--cacheinfo", &entry];
            repository.git_with_index(&index, &update)?;
        }
    }
    let subject = repository.git(&["log", "-1", "--format=%s", base])?;
    repository.commit_index(&index, base, &format!("{subject} (with this tree's benchmarks)"))
}

/// Returns the manifest `base` with the additional bench targets and dev-dependencies of `current`.
fn with_new_benches(base: &str, current: &str) -> Result<String> {
    let mut merged: Table = toml::from_str(base)?;
    let current: Table = toml::from_str(current)?;
    if let Some(Value::Array(new)) = current.get("bench") {
        let empty = Value::Array(Vec::new());
        if let Value::Array(known) = merged.entry("bench").or_insert(empty) {
            let names: Vec<_> = known.iter().map(|bench| bench.get("name").cloned()).collect();
            let is_new = |bench: &&Value| !names.contains(&bench.get("name").cloned());
            known.extend(new.iter().filter(is_new).cloned());
        }
    }
    add_missing(&mut merged, &current, &["dev-dependencies"]);
    if merged.contains_key("workspace") {
        add_missing(&mut merged, &current, &["workspace", "dependencies"]);
    }
    for target in current.get("target").and_then(Value::as_table).into_iter().flatten() {
        add_missing(&mut merged, &current, &["target", target.0, "dev-dependencies"]);
    }
    Ok(toml::to_string(&merged)?)
}

/// Adds the additional keys of the table at `path` of `current` to that of `base`.
fn add_missing(base: &mut Table, current: &Table, path: &[&str]) {
    let Some((name, rest)) = path.split_first() else {
        for (key, value) in current {
            if !base.contains_key(key) {
                base.insert(key.clone(), value.clone());
            }
        }
        return;
    };
    let Some(current) = current.get(*name).and_then(Value::as_table) else { return };
    let known = base.entry((*name).to_owned()).or_insert_with(|| Value::Table(Table::new()));
    if let Some(known) = known.as_table_mut() {
        add_missing(known, current, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_gets_new_targets_and_dev_dependencies_and_keeps_its_own() {
        let base = r#"
            [package]
            name = "x"
            version = "1.0.0"
            [dependencies]
            a = "1"
            [dev-dependencies]
            criterion = "0.5"
            [[bench]]
            name = "old"
            harness = false
        "#;
        let current = r#"
            [package]
            name = "x"
            version = "2.0.0"
            [dependencies]
            a = "2"
            b = "1"
            [dev-dependencies]
            criterion = "0.8"
            rand = "0.9"
            [target."cfg(unix)".dev-dependencies]
            nix = "0.30"
            [[bench]]
            name = "old"
            harness = true
            [[bench]]
            name = "new"
            harness = false
        "#;
        let dependency = "criterion = \"0.5\"";
        let expected = base.replace(dependency, &format!("{dependency}\nrand = \"0.9\""))
            + r#"
            [[bench]]
            name = "new"
            harness = false
            [target."cfg(unix)".dev-dependencies]
            nix = "0.30"
        "#;
        let merged: Table = toml::from_str(&with_new_benches(base, current).unwrap()).unwrap();
        assert_eq!(merged, toml::from_str::<Table>(&expected).unwrap());
    }
}
