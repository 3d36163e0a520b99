//! Feeds every reader with mutated inputs; `cargo xtask fuzz` starts it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool of the project itself")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use fuzz::session::{self, End};
use fuzz::target::{self, FuzzTarget, TARGETS};
use fuzz::{corpus, limits};

#[cfg(feature = "memory-limit")]
#[global_allocator]
static ALLOCATOR: limits::CountingAllocator = limits::CountingAllocator;

const USAGE: &str = "\
Usage: cargo xtask fuzz [--minutes N] [--seed S] [--keep] [TARGET...]
       cargo xtask fuzz --replay TARGET FILE

Feeds each reader with mutated inputs, on every CPU, for N minutes in all (default 2), and prints
inputs, rate and coverage of each. An input at which a reader panics, needs more than a second of
CPU time or too much memory is written to target/fuzz/. --keep adds the smallest inputs that reach
new code to the corpus.";

#[derive(Debug)]
struct Options {
    minutes: f64,
    seed: u64,
    keep: bool,
    targets: Vec<&'static FuzzTarget>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["--help" | "-h", ..] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["--replay", name, file] => replay(name, Path::new(file)),
        ["--session", name, seed, seconds, keep] => session(name, seed, seconds, *keep == "keep"),
        _ => options(&words).and_then(|options| all(&options)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn options(words: &[&str]) -> Result<Options> {
    let mut options = Options { minutes: 2.0, seed: 1, keep: false, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--minutes" => {
                options.minutes = value()?.parse().context("--minutes takes a number")?;
            }
            "--seed" => options.seed = value()?.parse().context("--seed takes a whole number")?,
            "--keep" => options.keep = true,
            name if !name.starts_with('-') => options.targets.push(target::find(name)?),
            flag => bail!("there is no flag `{flag}`\n\n{USAGE}"),
        }
    }
    if options.targets.is_empty() {
        options.targets.extend(TARGETS);
    }
    Ok(options)
}

fn output() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz")
}

/// Returns the file with the input that the session `process` of `target` is reading.
fn current_input(target: &str, process: u32) -> PathBuf {
    session::scratch_root().join(format!("rsb-fuzz-{target}-{process}"))
}

/// Runs a session for each target, one per CPU at a time. Returns whether all passed.
fn all(options: &Options) -> Result<bool> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[allow(clippy::cast_precision_loss, reason = "few targets and CPUs")]
    let seconds = options.minutes * 60.0 * cpus.min(options.targets.len()) as f64
        / options.targets.len() as f64;
    println!(
        "{:<12} {:>11} {:>9} {:>9} {:>16} {:>9}",
        "target", "inputs", "per s", "accepted", "edges", "failures"
    );
    let mut waiting = options.targets.iter();
    let mut running: Vec<(&str, Child, Instant)> = Vec::new();
    let mut passed = true;
    loop {
        while running.len() < cpus
            && let Some(target) = waiting.next()
        {
            let child = Command::new(std::env::current_exe()?)
                .args(["--session", target.name, &options.seed.to_string(), &seconds.to_string()])
                .arg(if options.keep { "keep" } else { "-" })
                .spawn()
                .context("cannot start a session")?;
            running.push((target.name, child, Instant::now()));
        }
        if running.is_empty() {
            return Ok(passed);
        }
        let mut left = Vec::new();
        for (name, mut child, began) in running {
            let ended = child.try_wait()?;
            if ended.is_none() && began.elapsed().as_secs_f64() > 2.0 * seconds + 60.0 {
                child.kill()?;
            }
            let Some(status) = ended else {
                left.push((name, child, began));
                continue;
            };
            if status.code().is_none_or(|code| code > 1) {
                let saved = output().join(name).join("ended");
                println!("{name}: ended with {status}; its input is {}", saved.display());
                std::fs::create_dir_all(saved.parent().unwrap_or(&saved))?;
                let current = current_input(name, child.id());
                std::fs::copy(&current, &saved)
                    .with_context(|| format!("cannot copy {}", current.display()))?;
                std::fs::remove_file(&current)?;
            }
            passed &= status.success();
        }
        running = left;
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the session of one target. Returns whether its reader did not fail.
fn session(name: &str, seed: &str, seconds: &str, keep: bool) -> Result<bool> {
    let target = target::find(name)?;
    let current = current_input(name, std::process::id());
    limits::watch(|| {
        eprintln!("an input took more than {} s of CPU time", limits::CPU_SECONDS);
        std::process::abort();
    });
    session::catch_panics();
    let end = End::After(Duration::from_secs_f64(seconds.parse()?));
    let began = Instant::now();
    let summary = session::run(target, seed.parse()?, end, Some(&current))?;
    std::fs::remove_file(&current)?;
    #[allow(clippy::cast_precision_loss, reason = "printed with few digits")]
    let rate = summary.inputs as f64 / began.elapsed().as_secs_f64();
    let (reached, edges) = summary.edges;
    println!(
        "{name:<12} {:>11} {rate:>9.0} {:>9} {:>16} {:>9}",
        summary.inputs,
        summary.accepted,
        format!("{reached}/{edges}"),
        summary.failures.len()
    );
    let directory = output().join(name);
    for (at, (failure, input)) in summary.failures.iter().enumerate() {
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("failure-{at}"));
        std::fs::write(&path, input)?;
        println!("  {failure}\n  input: {}", path.display());
    }
    if keep {
        keep_smallest(name, summary.kept)?;
    }
    Ok(summary.failures.is_empty())
}

/// Adds the smallest of the `kept` inputs to the corpus, at most 20 kB in all.
fn keep_smallest(name: &str, mut kept: Vec<Vec<u8>>) -> Result<()> {
    kept.sort_by_key(Vec::len);
    let mut left = 20_000_usize;
    for (at, input) in kept.iter().enumerate() {
        let Some(rest) = left.checked_sub(input.len()) else { break };
        left = rest;
        std::fs::write(corpus::directory(name).join(format!("found-{at:03}")), input)?;
    }
    Ok(())
}

/// Reads one file, and shows the panic if there is one.
fn replay(name: &str, file: &Path) -> Result<bool> {
    let target = target::find(name)?;
    let input = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let scratch = tempfile::tempdir()?;
    match (target.read)(&input, scratch.path()) {
        Ok(()) => println!("accepted"),
        Err(error) => println!("refused: {error:#}"),
    }
    Ok(true)
}
