//! Feeds every reader with mutated inputs; `cargo xtask fuzz` starts it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool of the project itself")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use fuzz::session::{self, CurrentInput, End};
use fuzz::target::{self, FuzzTarget, TARGETS};
use fuzz::{corpus, limits};

#[cfg(feature = "memory-limit")]
#[global_allocator]
static ALLOCATOR: limits::CountingAllocator = limits::CountingAllocator;

const USAGE: &str = "\
Usage: cargo xtask fuzz [--minutes N] [--inputs I] [--seed S] [--keep] [TARGET...]
       cargo xtask fuzz --replay TARGET FILE

Feeds each reader with mutated inputs, on every CPU, for N minutes in all (default 2), and prints
inputs, rate and coverage of each. After I inputs, a reader leaves its time to the next ones. An
input at which a reader panics, needs more than a second of CPU time or too much memory is written
to target/fuzz/. --keep adds the smallest inputs that reach new code to the corpus.";

#[derive(Debug)]
struct Options {
    minutes: f64,
    inputs: u64,
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
        ["--session", name, seed, seconds, inputs, keep] => {
            session(name, seed, seconds, inputs, *keep == "keep")
        }
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
    let mut options =
        Options { minutes: 2.0, inputs: u64::MAX, seed: 1, keep: false, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--minutes" => {
                options.minutes = value()?.parse().context("--minutes takes a number")?;
            }
            "--inputs" => {
                options.inputs = value()?.parse().context("--inputs takes a whole number")?;
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

/// A running session.
struct Session {
    target: &'static FuzzTarget,
    process: Child,
    began: Instant,
    /// Seconds that it may take.
    seconds: f64,
}

impl Session {
    fn start(target: &'static FuzzTarget, seconds: f64, options: &Options) -> Result<Self> {
        // This program, even if it was built anew since.
        let process = Command::new("/proc/self/exe")
            .args(["--session", target.name, &options.seed.to_string(), &seconds.to_string()])
            .args([&*options.inputs.to_string(), if options.keep { "keep" } else { "-" }])
            // Errors would otherwise capture the stack.
            .env("RUST_LIB_BACKTRACE", "0")
            // Keeps freed memory, which the next input needs again.
            .env("MALLOC_TRIM_THRESHOLD_", (1_u64 << 30).to_string())
            .env("MALLOC_MMAP_THRESHOLD_", (1_u64 << 30).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a session")?;
        Ok(Self { target, process, began: Instant::now(), seconds })
    }

    /// Prints the result of a session that has ended. Returns whether it passed, and its inputs.
    fn finish(mut self) -> Result<(bool, u64)> {
        let name = self.target.name;
        let mut text = String::new();
        if let Some(mut stdout) = self.process.stdout.take() {
            stdout.read_to_string(&mut text)?;
        }
        print!("{text}");
        let inputs = text.split_whitespace().nth(1).and_then(|inputs| inputs.parse().ok());
        let status = self.process.wait()?;
        if status.code().is_none_or(|code| code > 1) {
            let saved = output().join(name).join("ended");
            println!("{name}: ended with {status}; its input is {}", saved.display());
            std::fs::create_dir_all(saved.parent().unwrap_or(&saved))?;
            let current = current_input(name, self.process.id());
            std::fs::write(&saved, CurrentInput::read(&current)?)?;
            std::fs::remove_file(&current)?;
        }
        Ok((status.success(), inputs.unwrap_or_default()))
    }
}

/// Runs a session for each target, one per CPU at a time. Returns whether all passed.
fn all(options: &Options) -> Result<bool> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!(
        "{:<12} {:>11} {:>9} {:>11} {:>16} {:>9}",
        "target", "inputs", "per CPU s", "accepted", "edges", "failures"
    );
    let began = Instant::now();
    // Seconds of all CPUs that no session has been given, or that one did not need.
    #[allow(clippy::cast_precision_loss, reason = "few CPUs")]
    let mut left = options.minutes * 60.0 * cpus.min(options.targets.len()) as f64;
    let mut waiting = options.targets.iter();
    let mut running: Vec<Session> = Vec::new();
    let (mut passed, mut inputs) = (true, 0);
    loop {
        while running.len() < cpus
            && let Some(target) = waiting.next()
        {
            #[allow(clippy::cast_precision_loss, reason = "few targets")]
            let seconds = left / (1 + waiting.len()) as f64;
            left -= seconds;
            running.push(Session::start(target, seconds, options)?);
        }
        if running.is_empty() {
            let seconds = began.elapsed().as_secs();
            println!("{:<12} {inputs:>11} in {seconds} s", "all");
            return Ok(passed);
        }
        let mut unfinished = Vec::new();
        for mut session in running {
            let elapsed = session.began.elapsed().as_secs_f64();
            if session.process.try_wait()?.is_some() {
                left += (session.seconds - elapsed).max(0.0);
                let (has_passed, read) = session.finish()?;
                passed &= has_passed;
                inputs += read;
                continue;
            }
            if elapsed > 2.0 * session.seconds + 60.0 {
                session.process.kill()?;
            }
            unfinished.push(session);
        }
        running = unfinished;
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the session of one target. Returns whether its reader did not fail.
fn session(name: &str, seed: &str, seconds: &str, inputs: &str, keep: bool) -> Result<bool> {
    let target = target::find(name)?;
    let path = current_input(name, std::process::id());
    let mut current = CurrentInput::create(&path)?;
    limits::watch(|| {
        eprintln!("an input took more than {} s of CPU time", limits::CPU_TIME.as_secs());
        std::process::abort();
    });
    session::catch_panics();
    let end = End { after: Duration::from_secs_f64(seconds.parse()?), inputs: inputs.parse()? };
    let summary = session::run(target, seed.parse()?, end, Some(&mut current))?;
    std::fs::remove_file(&path)?;
    #[allow(clippy::cast_precision_loss, reason = "printed with few digits")]
    let rate = summary.inputs as f64 / limits::cpu_time().as_secs_f64();
    let (reached, edges) = summary.edges;
    println!(
        "{name:<12} {:>11} {rate:>9.0} {:>11} {:>16} {:>9}",
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
    if keep && !summary.kept.is_empty() {
        let mut inputs = corpus::read_found(name)?;
        inputs.extend(summary.kept);
        corpus::write_found(name, &session::minimize(target, inputs)?)?;
    }
    Ok(summary.failures.is_empty())
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
