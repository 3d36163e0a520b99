//! A tiny git repository whose program implements the worker protocol with made-up times, so that
//! differences between its revisions do not depend on this machine's noise.
#![allow(dead_code)] // Each test uses its own part.

use std::process::Command;

use super::Bench;

/// Source of the program, except the constants of [`Source`]. Each iteration busy-waits for its
/// nominal time, because Criterion plans with real time, but the reported time is exact. The noisy
/// variant alternates between 0.2 and 5 times the nominal time. One case is always skipped. If
/// `ALIGNED` is set, cases fail unless all functions begin at cache lines.
const PROGRAM: &str = r##"
use std::io::{BufRead, Write};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("run") if words.iter().any(|word| word == "custom") => std::process::exit(2),
        Some("run") => {
            let first = ["made-up/cpu:0/one", "made-up/cpu:0/two", "absent/cpu:0/counters"].map(case);
            let more = (first.len()..CASES).map(|at| case(&format!("made-up/cpu:0/more-{at}")));
            let named = words.iter().position(|word| word == "--config").and_then(|at| words.get(at + 1));
            let config = std::fs::read_to_string(named.map_or("rusty-stack-bench.toml", String::as_str));
            // With a `thorough` configuration, list only one case.
            let most = if config.unwrap_or_default().contains("thorough") { 1 } else { CASES };
            let cases: Vec<String> = first.into_iter().take(CASES).chain(more).take(most).collect();
            println!(r#"{{"format_version":3,"mark":"{MARK}","cases":[{}]}}"#, cases.join(","));
        }
        Some("__worker") => {
            note_layout();
            serve()
        }
        _ => std::process::exit(2),
    }
}

fn case(name: &str) -> String {
    let benchmark = name.split('/').next().unwrap();
    format!(
        r#"{{"id":"cpu_performance/{name}","benchmark":"{benchmark}","benchmark_type":"cpu_performance","device":"cpu:0","params":[]}}"#
    )
}

fn serve() {
    let mut level = LEVEL_NS * if NOISY { factor() } else { 1.0 };
    for (turn, line) in std::io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        if line.contains("absent") {
            println!(r#"{{"answer":"skipped","reason":{{"what":"counters","why":"there are none","cure":"another machine"}}}}"#);
        } else if line.contains(r#""ask":"prepare""#) {
            if line.contains("/two") {
                level *= TWO;
            }
            if std::env::var_os("ALIGNED").is_some() && !is_aligned() {
                println!(r#"{{"answer":"failed","reason":{{"what":"functions","why":"not at cache lines","cure":"align them"}}}}"#);
            } else {
                println!(r#"{{"answer":"ready","device_type":"cpu"}}"#);
            }
        } else if line.contains(r#""ask":"sample""#) {
            disturb();
            let digits = line.split(r#""iters":"#).nth(1).unwrap();
            let iters: f64 = digits.trim_end_matches('}').parse().unwrap();
            let began = std::time::Instant::now();
            while (began.elapsed().as_nanos() as f64) < iters * LEVEL_NS {}
            let time_ns = iters * level * (1.0 + (turn % 3) as f64 / 1000.0);
            println!(r#"{{"answer":"sampled","time_ns":{time_ns}}}"#);
        } else if line.contains(r#""ask":"count""#) {
            if INSTRUCTIONS == 0 {
                return; // A program that does not know the word.
            }
            let digits = line.split(r#""iters":"#).nth(1).unwrap();
            let count = digits.trim_end_matches('}').parse::<u64>().unwrap() * INSTRUCTIONS;
            eprintln!("==1== Collected : {count}");
            println!(r#"{{"answer":"counted","instructions":{count}}}"#);
        } else {
            println!(r#"{{"answer":"finished","fields":{{"provider":"native"}}}}"#);
        }
        std::io::stdout().flush().unwrap();
    }
}

/// If `NOTE_LAYOUTS` is set, creates a file in that directory for each function layout and each
/// stack offset.
fn note_layout() {
    let Ok(dir) = std::env::var("NOTE_LAYOUTS") else { return };
    let begin = main as usize;
    let functions = [serve as fn() as usize, disturb as fn() as usize, case as fn(&str) -> String as usize, factor as fn() -> f64 as usize];
    let distances: Vec<String> = functions.iter().map(|at| at.wrapping_sub(begin).to_string()).collect();
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(format!("{dir}/{}", distances.join("_")), "").unwrap();
    let offset = std::env::var("RSB_STACK_OFFSET").map_or(0, |text| text.len());
    std::fs::write(format!("{dir}/stack-{offset}"), "").unwrap();
}

/// Sends the signal in `DISTURB` to the bisection (the parent process) once. A second signal would
/// end it immediately.
fn disturb() {
    let Ok(signal) = std::env::var("DISTURB") else { return };
    if std::fs::File::create_new(format!("disturbed-{signal}")).is_ok() {
        let kill = format!("kill -{signal} {}", std::os::unix::process::parent_id());
        std::process::Command::new("sh").args(["-c", &kill]).status().unwrap();
    }
}

fn is_aligned() -> bool {
    let without_arguments: [fn(); 3] = [main, serve, disturb];
    let begins = without_arguments.map(|function| function as usize);
    let others = [case as fn(&str) -> String as usize, factor as fn() -> f64 as usize];
    begins.iter().chain(&others).all(|begin| begin % 64 == 0)
}

fn factor() -> f64 {
    let count = std::fs::read("noise").map_or(0, |bytes| bytes.len());
    std::fs::write("noise", vec![b'x'; count + 1]).unwrap();
    if count % 2 == 0 { 0.2 } else { 5.0 }
}
"##;

/// Nanoseconds per iteration.
pub const FAST: u32 = 20_000;
/// Nanoseconds per iteration of a program that is 20 % slower.
pub const SLOW: u32 = 24_000;

/// Runs git in the repository and returns its output.
pub fn git(bench: &Bench, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    let output = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns a repository with the program, without commits.
pub fn repository() -> Bench {
    let bench = Bench::new().set("CARGO_TARGET_DIR", "target");
    bench.write(
        "Cargo.toml",
        "[package]\nname = \"rusty-stack-bench\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [profile.release]\nopt-level = 0\n",
    );
    bench.write(
        "Cargo.lock",
        "version = 3\n\n[[package]]\nname = \"rusty-stack-bench\"\nversion = \"0.0.0\"\n",
    );
    bench.write(".gitignore", "target\nnoise\ndisturbed-*\n");
    git(&bench, &["init", "--quiet", "--initial-branch", "main"]);
    bench
}

/// Constants of the program.
#[derive(Clone, Copy)]
pub struct Source {
    /// `LEVEL_NS` of every case.
    pub level: u32,
    /// Factor for the time of the case `two`.
    pub two: &'static str,
    /// Text that makes the executable different, but not its behavior.
    pub mark: &'static str,
    /// Whether the times are too noisy for a verdict.
    pub noisy: bool,
    /// Number of cases.
    pub cases: usize,
    /// Instructions per iteration; 0 for a program that cannot count them.
    pub instructions: u32,
}

impl Source {
    /// Returns a program that takes `level` nanoseconds per iteration.
    pub const fn of(level: u32) -> Self {
        Self { level, two: "1.0", mark: "", noisy: false, cases: 3, instructions: 0 }
    }

    /// Writes the program to the working tree.
    pub fn write(&self, bench: &Bench) {
        let Self { level, two, mark, noisy, cases, instructions } = self;
        let constants = format!(
            "const LEVEL_NS: f64 = {level}.0;\nconst TWO: f64 = {two};\nconst MARK: &str = \
             \"{mark}\";\n\
             const NOISY: bool = {noisy};\nconst CASES: usize = {cases};\n\
             const INSTRUCTIONS: u64 = {instructions};\n"
        );
        bench.write("src/main.rs", &format!("{constants}{PROGRAM}"));
    }
}

/// A change of the program in a commit.
pub enum Change {
    Source(u32, &'static str),
    Noisy,
    Broken,
    Docs,
    /// Restores the source of the commit before the last one.
    Revert,
}

/// Commits `change` and returns the commit.
pub fn commit(bench: &Bench, change: &Change, subject: &str) -> String {
    match change {
        Change::Source(level, mark) => Source { mark, ..Source::of(*level) }.write(bench),
        Change::Noisy => Source { mark: "noisy", noisy: true, ..Source::of(FAST) }.write(bench),
        Change::Broken => drop(bench.write("src/main.rs", "fn main() { does not compile }\n")),
        Change::Docs => drop(bench.write("README.md", subject)),
        Change::Revert => drop(git(bench, &["checkout", "--quiet", "HEAD~1", "--", "."])),
    }
    git(bench, &["add", "."]);
    git(bench, &["commit", "--quiet", "-m", subject]);
    git(bench, &["rev-parse", "HEAD"])
}
