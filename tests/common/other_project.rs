//! A cargo project unrelated to this program. Its bench target has the command line and output
//! files of Criterion, but made-up times, so that Criterion need not be compiled and noise cannot
//! affect verdicts.
#![allow(dead_code)] // Each test uses its own part.

use super::Bench;
use super::revisions::git;

/// Source of the bench target, except the constant `CASES`: names, and nanoseconds per iteration.
/// Every process that measures a case appends the name to the file `measured`.
const TARGET: &str = r##"
use std::io::Write;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|own| own == word);
    // Processes differ by tenths of a percent.
    let process = 1.0 + f64::from(std::process::id() % 7) / 1000.0;
    if has("--list") {
        CASES.iter().for_each(|(name, _)| println!("{name}: benchmark"));
    } else if has("--test") {
        for (_, level) in CASES {
            let _took = level * process * f64::from(1);
        }
    } else {
        let filter = words.last().unwrap();
        let wanted = filter.trim_start_matches('^').trim_end_matches('$').replace('\\', "");
        // `.+` matches the part of a name that changes from process to process.
        let (start, end) = wanted.split_once(".+").unwrap_or((&wanted, ""));
        let fits = |name: &str| name == wanted || (wanted.contains(".+") && name.starts_with(start) && name.ends_with(end));
        let (name, level) = CASES.iter().find(|(name, _)| fits(name)).expect("a filter that fits one case");
        assert!(other::ready(), "the case cannot be measured");
        if let Some(at) = words.iter().position(|word| word == "--profile-time") {
            // Run as many iterations as fit into the time, estimated from the first one.
            let seconds: f64 = words[at + 1].parse().unwrap();
            let each = iterate(1, name, *level);
            iterate(((seconds - each) / each) as u64, name, *level);
            return;
        }
        // Like a benchmark that sets long times itself and waits in real time: it takes a minute,
        // unless run with `--quick` and without `RSB_CLOCK_SCALE`.
        let is_hurried = !has("--quick") || std::env::var_os("RSB_CLOCK_SCALE").is_some();
        if name.starts_with("waits") && is_hurried {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        let home = std::path::PathBuf::from(std::env::var("CRITERION_HOME").unwrap());
        let dir = home.join(name.replace('/', "_")).join("rsb");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("benchmark.json"), format!(r#"{{"full_id":"{name}"}}"#)).unwrap();
        let times: Vec<f64> = (1..=10).map(|at| level * process * f64::from(at)).collect();
        let iters: Vec<f64> = (1..=10).map(f64::from).collect();
        std::fs::write(dir.join("sample.json"), format!(r#"{{"iters":{iters:?},"times":{times:?}}}"#)).unwrap();
        let log = std::env::var("MEASURED").unwrap();
        writeln!(std::fs::File::options().append(true).create(true).open(log).unwrap(), "{name}").unwrap();
    }
}

fn iterate(iterations: u64, name: &str, level: f64) -> f64 {
    let set_up = std::hint::black_box(vec![1_u8; 1_000_000]);
    drop(set_up);
    let start = std::time::Instant::now();
    let measurement = std::time::Instant::now();
    for _ in 0..iterations {
        if name.starts_with("allocates") {
            drop(std::hint::black_box(vec![1_u8; level as usize]));
        } else {
            (0..level as u64).for_each(|step| drop(std::hint::black_box(step)));
        }
    }
    std::hint::black_box(measurement.elapsed());
    start.elapsed().as_secs_f64()
}
"##;

/// A bench target and its cases.
pub type Target<'a> = (&'a str, &'a [(&'a str, f64)]);

/// Returns a repository with a project in `directory`, without commits.
pub fn repository(directory: &str) -> Bench {
    let bench = Bench::new();
    let log = bench.path("measured");
    let bench = bench.set("CARGO_TARGET_DIR", "target").set("MEASURED", log.to_str().unwrap());
    let at = |name: &str| {
        if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
    };
    bench.write(&at("src/lib.rs"), "pub fn ready() -> bool { true }\n");
    bench.write(".gitignore", "target\nmeasured\nbenchmark_results\n");
    git(&bench, &["init", "--quiet", "--initial-branch", "main"]);
    bench
}

/// Writes `targets` to the project in `directory`.
pub fn write(bench: &Bench, directory: &str, targets: &[Target<'_>]) {
    let at = |name: &str| {
        if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
    };
    let mut manifest = String::from(
        "[package]\nname = \"other\"\nversion = \"0.0.0\"\nedition = \
         \"2021\"\n\n[workspace]\n\n[lib]\nbench = false\n\n\
         [profile.bench]\nopt-level = 0\n",
    );
    for (name, cases) in targets {
        manifest.extend(["\n[[bench]]\nname = \"", name, "\"\nharness = false\n"]);
        let text = format!("const CASES: &[(&str, f64)] = &{cases:?};\n{TARGET}");
        bench.write(&at(&format!("benches/{name}.rs")), &text);
    }
    bench.write(&at("Cargo.toml"), &manifest);
}

/// Commits everything.
pub fn commit(bench: &Bench, subject: &str) -> String {
    git(bench, &["add", "--all"]);
    git(bench, &["commit", "--quiet", "-m", subject]);
    git(bench, &["rev-parse", "HEAD"])
}

/// Returns the distinct cases that were measured since the last call.
pub fn measured(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("measured")).unwrap_or_default();
    drop(std::fs::remove_file(bench.path("measured")));
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}
