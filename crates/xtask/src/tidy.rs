//! The rules of ARCHITECTURE.md, executable.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::steps::root;

/// Which of our crates each may use, beside rsb-model, which every crate may.
const EDGES: &[(&str, &[&str])] = &[
    ("rsb-model", &[]),
    ("rsb-stats", &[]),
    ("rsb-probe", &[]),
    ("rsb-device", &[]),
    ("rsb-cpu", &["rsb-device"]),
    ("rsb-gpu", &["rsb-device"]),
    ("rsb-portable", &["rsb-device"]),
    ("rsb-workloads", &["rsb-device", "rsb-probe"]),
    ("rsb-store", &[]),
    ("rsb-report", &["rsb-stats"]),
    ("rsb-lookalike", &[]),
    ("rsb-python", &[]),
    ("rsb-engine", &["rsb-device", "rsb-probe", "rsb-stats", "rsb-store", "rsb-workloads"]),
    ("rsb-wheel", &["rsb-engine", "rsb-probe", "rsb-store"]),
    ("runtime-loading", &[]),
    ("hip-runtime-sys", &[]),
    ("rocblas-sys", &[]),
    ("cuda-sys", &[]),
    ("level-zero-sys", &[]),
    ("xtask", &["rsb-model", "rsb-stats"]),
];

/// Crates that never touch files, processes, the network or the clock.
const PURE: &[&str] = &["rsb-model", "rsb-stats", "rsb-report"];
const IMPURE: &[&str] =
    &["std::fs", "std::process", "std::net", "std::env::", "Instant::now", "SystemTime::now", "Timestamp::now"];

/// Where `unsafe` may stand, each block with its `// SAFETY:`.
const UNSAFE: &[&str] = &[
    "crates/runtime-loading/src",
    "crates/hip-runtime-sys/src",
    "crates/rocblas-sys/src",
    "crates/cuda-sys/src",
    "crates/level-zero-sys/src",
    "crates/rsb-cpu/src",
    "crates/rsb-gpu/src",
    "crates/rsb-portable/src",
    "crates/rsb-lookalike",
    "crates/rsb-python/src/interpreter.rs",
    "crates/rsb-engine/src/memory_profile.rs",
];
const UNSAFE_MARKS: &[&str] = &[concat!("unsafe", " {"), concat!("unsafe", " fn"), concat!("unsafe", " impl")];

/// Files longer than this are two things.
const MOST_LINES: usize = 500;

/// Checks every rule; prints every breach.
pub(crate) fn run() -> Result<()> {
    eprintln!("$ cargo xtask tidy");
    let root = root();
    let mut breaches = Vec::new();
    for (name, allowed) in EDGES {
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        breaches.extend(edge_breaches(name, allowed, &text));
    }
    for entry in std::fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if EDGES.iter().all(|(known, _)| *known != name) {
            breaches.push(format!("crates/{name} has no row in the table of edges (crates/xtask/src/tidy.rs)"));
        }
    }
    for path in rust_files(&root)? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        breaches.extend(file_breaches(&shown, &text));
    }
    if !breaches.is_empty() {
        bail!("{} breaches of the rules:\n  {}", breaches.len(), breaches.join("\n  "));
    }
    Ok(())
}

fn edge_breaches(name: &str, allowed: &[&str], manifest: &str) -> Vec<String> {
    let dependencies =
        manifest.split("[dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let ours = dependencies
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|dependency| dependency.starts_with("rsb-"));
    ours.filter(|dependency| *dependency != "rsb-model" && !allowed.contains(dependency))
        .map(|dependency| format!("{name} must not use {dependency}"))
        .collect()
}

fn file_breaches(shown: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    if !text.starts_with("//!") && !shown.ends_with("tests.rs") {
        breaches.push(format!("{shown} does not begin with a `//!` that says what it is for"));
    }
    let lines = text.lines().count();
    if lines > MOST_LINES {
        breaches.push(format!("{shown} has {lines} lines, more than {MOST_LINES}: is it one thing?"));
    }
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = || product.lines().filter(|line| !line.trim_start().starts_with("//"));
    if code().any(|line| UNSAFE_MARKS.iter().any(|mark| line.contains(mark)))
        && !UNSAFE.iter().any(|allowed| shown.starts_with(allowed))
    {
        breaches.push(format!("{shown} holds unsafe code; it lives in {}", UNSAFE.join(", ")));
    }
    let pure = PURE.iter().find(|name| shown.starts_with(&format!("crates/{name}/src/")));
    if let Some(name) = pure {
        let impure = IMPURE.iter().filter(|word| code().any(|line| line.contains(**word)));
        breaches.extend(impure.map(|word| format!("{shown} uses `{word}`; {name} is pure")));
    }
    breaches
}

fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "benches", "tests", "crates"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_tree_is_tidy() {
        run().unwrap();
    }

    #[test]
    fn each_breach_is_found() {
        assert_eq!(
            edge_breaches("rsb-stats", &[], "[dependencies]\nrsb-store.workspace = true\n\n[dev-dependencies]\n"),
            ["rsb-stats must not use rsb-store"]
        );
        assert!(edge_breaches("rsb-stats", &[], "[dependencies]\nrsb-model.workspace = true\n").is_empty());
        let long = format!("//! x\n{}", "\n".repeat(MOST_LINES));
        let unsafely = concat!("//! x\nlet y = uns", "afe { z };\n");
        for (shown, text, word) in [
            ("src/a.rs", "fn x() {}", "//!"),
            ("src/a.rs", long.as_str(), "lines"),
            ("src/a.rs", unsafely, "unsafe"),
            ("crates/rsb-stats/src/a.rs", "//! x\nuse std::fs;", "pure"),
        ] {
            let breaches = file_breaches(shown, text);
            assert!(breaches.len() == 1 && breaches[0].contains(word), "{breaches:?}");
        }
        assert!(file_breaches("crates/rsb-cpu/src/a.rs", unsafely).is_empty());
    }
}
