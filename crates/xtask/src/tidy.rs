//! Executable form of the rules in ARCHITECTURE.md.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::links;
use crate::steps::{root, tracked_files};

/// Files at the top level of the repository, where stray files are committed most easily.
const TOP_LEVEL: &[&str] = &[
    ".gitignore",
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "METHODOLOGY.md",
    "README.md",
    "action.yml",
    "analyze_performance_trends.sh",
    "clippy.toml",
    "deny.toml",
    "run_benchmarks.sh",
    "rustfmt.toml",
    "typos.toml",
];

/// Crates of this workspace that each crate may use, in addition to rsb-model, which all may use.
const EDGES: &[(&str, &[&str])] = &[
    ("rsb-model", &[]),
    ("rsb-stats", &[]),
    ("rsb-probe", &["cuda-sys", "timed-child"]),
    ("rsb-device", &["timed-child"]),
    ("rsb-gemm", &["rsb-device"]),
    ("rsb-cpu", &["rsb-device", "rsb-gemm"]),
    (
        "rsb-gpu",
        &[
            "rsb-device",
            "cuda-sys",
            "hip-runtime-sys",
            "hipblaslt-sys",
            "nccl-sys",
            "rocblas-sys",
            "runtime-loading",
        ],
    ),
    ("rsb-portable", &["cuda-sys", "rsb-device", "rsb-probe"]),
    ("rsb-workloads", &["rsb-device", "rsb-probe"]),
    ("rsb-store", &["duckdb-sys"]),
    ("rsb-fleet", &["rsb-stats"]),
    ("rsb-report", &["rsb-stats"]),
    ("rsb-tui", &["rsb-report"]),
    ("rsb-web", &["rsb-report"]),
    ("rsb-fake-gpu", &["cuda-sys", "hip-runtime-sys", "hipblaslt-sys", "nccl-sys", "rocblas-sys"]),
    ("rsb-python", &[]),
    ("rsb-pdf", &[]),
    (
        "rsb-catalog",
        &[
            "rsb-cpu",
            "rsb-device",
            "rsb-gpu",
            "rsb-portable",
            "rsb-probe",
            "rsb-stats",
            "rsb-store",
            "rsb-workloads",
            "timed-child",
        ],
    ),
    (
        "rsb-engine",
        &[
            "rsb-catalog",
            "rsb-cpu",
            "rsb-device",
            "rsb-probe",
            "rsb-stats",
            "rsb-store",
            "rsb-workloads",
            "timed-child",
        ],
    ),
    (
        "rsb-gate",
        &[
            "rsb-catalog",
            "rsb-engine",
            "rsb-probe",
            "rsb-stats",
            "rsb-store",
            "rsb-workloads",
            "timed-child",
        ],
    ),
    ("rsb-insight", &["rsb-catalog", "rsb-probe", "rsb-stats", "rsb-store"]),
    ("rsb-notify", &["rsb-stats", "timed-child"]),
    (
        "rsb-app",
        &[
            "rsb-catalog",
            "rsb-device",
            "rsb-engine",
            "rsb-fleet",
            "rsb-gate",
            "rsb-insight",
            "rsb-notify",
            "rsb-probe",
            "rsb-report",
            "rsb-stats",
            "rsb-store",
            "rsb-tui",
            "rsb-web",
            "rsb-workloads",
            "timed-child",
        ],
    ),
    (
        "rsb-wheel",
        &[
            "rsb-catalog",
            "rsb-engine",
            "rsb-gate",
            "rsb-insight",
            "rsb-probe",
            "rsb-report",
            "rsb-stats",
            "rsb-store",
        ],
    ),
    ("runtime-loading", &[]),
    ("timed-child", &[]),
    ("test-needs", &[]),
    ("hip-runtime-sys", &["runtime-loading"]),
    ("hipblaslt-sys", &["hip-runtime-sys"]),
    ("rocblas-sys", &["hip-runtime-sys"]),
    ("cuda-sys", &["runtime-loading"]),
    ("nccl-sys", &["runtime-loading"]),
    ("duckdb-sys", &["runtime-loading"]),
    (
        "fuzz",
        &[
            "rsb-app",
            "rsb-catalog",
            "rsb-fleet",
            "rsb-model",
            "rsb-probe",
            "rsb-stats",
            "rsb-store",
            "rsb-tui",
            "rsb-web",
        ],
    ),
    ("studies", &["rsb-fleet", "rsb-model", "rsb-stats", "rsb-store", "test-needs"]),
    ("xtask", &[]),
];

/// Crates that never access files, processes, the network or the clock.
const PURE: &[&str] = &["rsb-fleet", "rsb-model", "rsb-stats", "rsb-report", "rsb-tui", "rsb-web"];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::process",
    "std::net",
    "std::env::",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
];

/// Paths that may contain `unsafe`; each block needs its `// SAFETY:`.
const UNSAFE: &[&str] = &[
    "crates/runtime-loading/src",
    "crates/hip-runtime-sys/src",
    "crates/hipblaslt-sys/src",
    "crates/rocblas-sys/src",
    "crates/cuda-sys/src",
    "crates/nccl-sys/src",
    "crates/duckdb-sys/src",
    "crates/rsb-cpu/src",
    "crates/rsb-gemm/src",
    "crates/rsb-gpu/src",
    "crates/rsb-portable/src",
    "crates/rsb-fake-gpu",
    "crates/rsb-python/src/interpreter.rs",
    "crates/rsb-app/src/tui/abort.rs",
    "crates/rsb-engine/src/memory_profile.rs",
    "crates/fuzz/src",
];
const UNSAFE_MARKS: &[&str] =
    &[concat!("unsafe", " {"), concat!("unsafe", " fn"), concat!("unsafe", " impl")];

/// Identifiers of a command line or terminal.
const SURFACE: &[&str] = &["println!", "print!(", "IsTerminal", "clap::", "indicatif", "ctrlc::"];

/// Words forbidden below a path, and why. They keep dependencies inside a crate in one direction,
/// and the engine silent.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    ("crates/rsb-catalog/src", SURFACE, "the catalog prints nothing and reads no command line"),
    (
        "crates/rsb-catalog/src/models",
        &["crate::frameworks", "crate::plan", "crate::suites", "crate::custom"],
        "models must not depend on the components that run them",
    ),
    (
        "crates/rsb-catalog/src/frameworks",
        &["crate::plan", "crate::suites", "crate::sweep", "crate::custom"],
        "the catalog of frameworks must not depend on its users",
    ),
    (
        "crates/rsb-catalog/src/suites",
        &["crate::plan", "crate::sweep", "crate::custom"],
        "suites must not depend on the plan",
    ),
    (
        "crates/rsb-engine/src",
        SURFACE,
        "the engine prints nothing, reads no command line and uses no terminal",
    ),
    (
        "crates/rsb-engine/src/measure",
        &["crate::run::", "crate::worker::", "crate::first_day"],
        "measuring must not depend on its callers",
    ),
    (
        "crates/rsb-gate/src",
        SURFACE,
        "the gate prints nothing, reads no command line and uses no terminal",
    ),
    (
        "crates/rsb-gate/src/gate",
        &["crate::revisions"],
        "the gate must not depend on how programs are built",
    ),
    ("crates/rsb-insight/src", SURFACE, "the crate prints nothing and reads no command line"),
    ("crates/rsb-notify/src", SURFACE, "the crate prints nothing and reads no command line"),
    (
        "crates/rsb-notify/src/policy",
        IMPURE,
        "messages must depend only on the state, the time and the given alerts",
    ),
    (
        "crates/rsb-app/src",
        &["println!", "print!(", "clap::", "indicatif"],
        "the application prints nothing and reads no command line",
    ),
    (
        "crates/rsb-app/src/config",
        &["crate::project", "crate::measure"],
        "the configuration must not depend on its users",
    ),
    ("src/cli", &["crate::commands", "crate::config", "crate::show"], "types and help text only"),
    ("src/show.rs", &["crate::commands"], "subcommands use this file, not the reverse"),
    ("src/console.rs", &["crate::commands"], "subcommands use this file, not the reverse"),
];

/// Modules of `src/commands` that subcommands share.
const SHARED_BY_SUBCOMMANDS: &[&str] =
    &["answer", "events", "interrupt", "measuring", "progress", "verdict"];

/// Maximum lines of a file; longer files have more than one purpose.
const MOST_LINES: usize = 800;

/// Checks every rule; fails with a list of all violations.
pub(crate) fn run() -> Result<()> {
    eprintln!("$ cargo xtask tidy");
    let root = root();
    let mut breaches = Vec::new();
    for (name, allowed) in EDGES {
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        breaches.extend(edge_breaches(name, allowed, &text));
    }
    for entry in std::fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if EDGES.iter().all(|(known, _)| *known != name) {
            breaches.push(format!(
                "crates/{name} has no row in the table of edges (crates/xtask/src/tidy.rs)"
            ));
        }
    }
    for path in rust_files(&root)? {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        breaches.extend(file_breaches(&shown, &text));
    }
    for path in tracked_files(&[":(top,glob)*"])? {
        if !TOP_LEVEL.contains(&path.as_str()) {
            breaches.push(format!(
                "unexpected top-level file {path}; move it, or add it to TOP_LEVEL in tidy.rs"
            ));
        }
    }
    breaches.extend(links::broken(&root)?);
    breaches.extend(crate::names::breaches(&root)?);
    breaches.extend(crate::circles::breaches(&root)?);
    if !breaches.is_empty() {
        bail!("{} violations of the rules:\n  {}", breaches.len(), breaches.join("\n  "));
    }
    Ok(())
}

/// Returns the workspace dependencies in `manifest` that are not allowed.
fn edge_breaches(name: &str, allowed: &[&str], manifest: &str) -> Vec<String> {
    dependencies(manifest)
        .filter(|dependency| {
            is_ours(dependency) && *dependency != "rsb-model" && !allowed.contains(dependency)
        })
        .map(|dependency| format!("{name} must not use {dependency}"))
        .collect()
}

/// Returns whether `dependency` is a crate of this workspace.
fn is_ours(dependency: &str) -> bool {
    dependency.starts_with("rsb-") || EDGES.iter().any(|(known, _)| *known == dependency)
}

/// Returns the dependencies of a manifest for all platforms, without dev-dependencies.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut listed = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            listed = line == "[dependencies]"
                || (line.starts_with("[target.") && line.ends_with(".dependencies]"));
            return None;
        }
        let name = line.split(['.', ' ', '=']).next().filter(|name| listed && !name.is_empty())?;
        (!name.starts_with('#')).then_some(name)
    })
}

fn file_breaches(shown: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    if !text.starts_with("//!") && !shown.ends_with("tests.rs") {
        breaches.push(format!("{shown} does not begin with a `//!` that describes its purpose"));
    }
    let lines = text.lines().count();
    if lines > MOST_LINES {
        breaches.push(format!("{shown} has {lines} lines, more than {MOST_LINES}: split it"));
    }
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: Vec<&str> =
        product.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    if code.iter().any(|line| UNSAFE_MARKS.iter().any(|mark| line.contains(mark)))
        && !UNSAFE.iter().any(|allowed| shown.starts_with(allowed))
    {
        breaches.push(format!(
            "{shown} contains unsafe code; it is allowed only in {}",
            UNSAFE.join(", ")
        ));
    }
    for (place, words, why) in FORBIDDEN.iter().filter(|(place, ..)| shown.starts_with(place)) {
        let found = words.iter().filter(|word| code.iter().any(|line| line.contains(**word)));
        breaches.extend(found.map(|word| format!("{shown} uses `{word}` below {place}: {why}")));
    }
    if shown.starts_with("src/commands/") {
        breaches.extend(subcommand_breaches(shown, &code));
    }
    let is_test =
        shown.starts_with("tests/") || shown.contains("/tests/") || shown.ends_with("tests.rs");
    if !is_test {
        breaches.extend(tuple_breaches(shown, &code.join("\n")));
    }
    let pure = PURE.iter().find(|name| shown.starts_with(&format!("crates/{name}/src/")));
    if let Some(name) = pure {
        let impure = IMPURE.iter().filter(|word| code.iter().any(|line| line.contains(**word)));
        breaches.extend(impure.map(|word| format!("{shown} uses `{word}`; {name} is pure")));
    }
    breaches
}

/// Returns the subcommand's imports from other subcommands; shared code belongs in rsb-app.
fn subcommand_breaches(shown: &str, code: &[&str]) -> Vec<String> {
    let is_nested = shown.matches('/').count() > 2;
    let mut breaches = Vec::new();
    for line in code {
        let Some(import) = line.trim_start().strip_prefix("use ") else { continue };
        let imported = match import.strip_prefix("super::") {
            Some(rest) if !is_nested => rest,
            _ => import.strip_prefix("crate::commands::").unwrap_or_default(),
        };
        let imported = imported.replace(" as ", "::");
        let names = imported.split(['{', '}', ',', ';', ' ']).filter(|name| !name.is_empty());
        for name in names.map(|name| name.split("::").next().unwrap_or_default()) {
            if name.starts_with(char::is_lowercase) && !SHARED_BY_SUBCOMMANDS.contains(&name) {
                breaches.push(format!(
                    "{shown} uses the subcommand `{name}`; move shared code to crates/rsb-app"
                ));
            }
        }
    }
    breaches
}

/// Returns the functions that destructure a tuple in their signature.
fn tuple_breaches(shown: &str, code: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    for function in code.split("fn ").skip(1) {
        let signature = function.split(['{', ';']).next().unwrap_or_default();
        if has_tuple_parameter(signature) {
            let name = signature.split(['(', '<']).next().unwrap_or_default();
            breaches.push(format!(
                "{shown}: `{name}` destructures a tuple; name each value, or define a type"
            ));
        }
    }
    breaches
}

/// Returns whether `signature` has a parameter such as `(x, y): (f64, f64)`.
fn has_tuple_parameter(signature: &str) -> bool {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (at, character) in signature.char_indices() {
        match character {
            '(' => {
                let rest = signature.get(at..).unwrap_or_default();
                let is_first = depth == 1 && matches!(previous, '(' | ',');
                if is_first && !rest.starts_with("()") && is_pattern(rest) {
                    return true;
                }
                depth += 1;
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !character.is_whitespace() {
            previous = character;
        }
    }
    false
}

/// Returns whether the parentheses at the beginning of `text` are followed by a type.
fn is_pattern(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let rest = text.get(at + 1..).unwrap_or_default().trim_start();
            return rest.starts_with(':') && !rest.starts_with("::");
        }
    }
    false
}

fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut dirs: Vec<PathBuf> =
        ["src", "benches", "tests", "crates"].iter().map(|name| root.join(name)).collect();
    while let Some(dir) = dirs.pop() {
        for entry in
            std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                dirs.push(path);
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
            edge_breaches(
                "rsb-stats",
                &[],
                "[dependencies]\nrsb-store.workspace = true\n\n[dev-dependencies]\n"
            ),
            ["rsb-stats must not use rsb-store"]
        );
        assert!(
            edge_breaches("rsb-stats", &[], "[dependencies]\nrsb-model.workspace = true\n")
                .is_empty()
        );
        let wide = "[dependencies]\nserde.workspace = true\ncuda-sys = { workspace = true }\n\n\
                    [target.'cfg(unix)'.dependencies]\ntimed-child.workspace = \
                    true\n\n[dev-dependencies]\nrsb-cpu = \"1\"\n";
        assert_eq!(
            edge_breaches("rsb-device", &["timed-child"], wide),
            ["rsb-device must not use cuda-sys"],
            "driver libraries must count as edges"
        );
        assert_eq!(
            edge_breaches("rsb-device", &["cuda-sys"], wide),
            ["rsb-device must not use timed-child"]
        );
        let long = format!("//! x\n{}", "\n".repeat(MOST_LINES));
        let unsafely = concat!("//! x\nlet y = uns", "afe { z };\n");
        for (shown, text, word) in [
            ("src/a.rs", "fn x() {}", "//!"),
            ("src/a.rs", long.as_str(), "lines"),
            ("src/a.rs", unsafely, "unsafe"),
            ("crates/rsb-stats/src/a.rs", "//! x\nuse std::fs;", "pure"),
            ("crates/rsb-engine/src/a.rs", "//! x\nfn f() { eprintln!(); }", "prints nothing"),
            ("crates/rsb-catalog/src/suites/a.rs", "//! x\nuse crate::plan;", "suites must not"),
            ("src/commands/a.rs", "//! x\nuse super::{interrupt, b};", "the subcommand `b`"),
            ("src/commands/a/c.rs", "//! x\nuse crate::commands::b;", "the subcommand `b`"),
            ("src/a.rs", "//! x\nfn f(a: u8, (b, c): (u8, u8)) {}", "`f` destructures a tuple"),
            ("src/a.rs", "//! x\npub fn g<T>(\n    (b, c): (u8, T),\n) {}", "`g` destructures"),
        ] {
            let breaches = file_breaches(shown, text);
            assert!(breaches.len() == 1 && breaches[0].contains(word), "{breaches:?}");
        }
        let whole = "//! x\nfn f(each: impl Fn((u8, u8)), pair: (u8, u8)) -> (u8, u8) {}";
        assert!(file_breaches("src/a.rs", whole).is_empty());
        assert!(file_breaches("crates/rsb-cpu/src/a.rs", unsafely).is_empty());
        assert_eq!(
            file_breaches("crates/rsb-device/src/a.rs", unsafely).len(),
            1,
            "rsb-device must not contain unsafe code"
        );
    }
}
