//! Follows docs/extending.md from nothing to a verdict, with a command and with a closure, and
//! tests the messages about mistakes.
//!
//! This is a separate test program, because a user's bench target is one. With an environment
//! variable, this program runs the example.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "common/mod.rs"]
mod common;
#[path = "../examples/own_benchmark.rs"]
mod own_benchmark;

use std::process::ExitCode;

use common::{Bench, ProgramOutput, says, steps};

/// Environment variable that turns this program and its workers into the bench target of the guide.
const AS_BENCH: &str = "EXTENDING_AS_BENCH";
/// Arguments for few processes with few samples each.
const FEW: [&str; 4] = ["--replicates", "3", "--runs", "10"];

/// Returns the first block of the guide in `language` that contains `part`.
fn block(language: &str, part: &str) -> String {
    let (guide, begin) = (include_str!("../docs/extending.md"), format!("```{language}\n"));
    let mut blocks = guide.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    blocks
        .find(|block| block.contains(part))
        .unwrap_or_else(|| panic!("no block of {language} has {part}"))
        .to_owned()
}

/// Follows the guide: lists, measures, saves a baseline, measures a slowdown, judges.
fn from_nothing_to_a_verdict(
    bench: Bench,
    name: &str,
    run: impl Fn(&Bench, &[&str]) -> ProgramOutput,
) {
    let listed = run(&bench, &["list"]).expect(0).stdout;
    assert!(listed.contains(name), "{listed}");
    let measured = run(&bench, &[&["run", "--json"], &FEW[..]].concat()).expect(0).json();
    let ids: Vec<&str> = measured["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["benchmark_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(
        ids.iter().all(|id| id.starts_with(&format!("cpu_performance/{name}/cpu:0/"))),
        "{ids:?}"
    );
    run(&bench, &["baseline", "save"]).expect(0);
    // A slowdown so large that concurrent tests cannot hide it.
    let slowed = bench.set("RSB_TEST_SLOWDOWN", &format!("/{name}/=50.0"));
    let shown = run(&slowed, &[&["run"], &FEW[..]].concat()).expect(0).stdout;
    assert!(shown.contains("time_ms"), "the run must show the metric of the target:\n{shown}");
    run(&slowed, &["gate", "--budget", "0s"]).expect(3);
}

fn a_command() {
    let bench = Bench::new();
    bench.write("mine.toml", &block("toml", "[[benchmark]]"));
    from_nothing_to_a_verdict(bench.set("RSB_CUSTOM", "mine.toml"), "count", |bench, words| {
        bench.run(words)
    });
}

fn a_closure() {
    let example = include_str!("../examples/own_benchmark.rs");
    let shown = block("rust", "Benchmark::new").replacen("// benches/mine.rs\n", "", 1);
    assert!(
        example.ends_with(&shown),
        "the guide and examples/own_benchmark.rs must show the same code:\n{shown}"
    );
    let bench = Bench::new().set(AS_BENCH, "1");
    let program = std::env::current_exe().unwrap();
    // Run the example with the arguments that cargo passes.
    let as_bench =
        |bench: &Bench, words: &[&str]| bench.run_of(&program, &[words, &["--bench"]].concat());
    let criterion = as_bench(&bench, &["--list"]).expect(0).stdout;
    assert!(criterion.contains("cpu_performance/sum/cpu:0/n=1000: benchmark"), "{criterion}");
    from_nothing_to_a_verdict(bench, "sum", as_bench);
}

fn mistakes() {
    let bench = Bench::new();
    let run = |more: &str| {
        bench.write("bad.toml", &format!("[[benchmark]]\nname = \"bad\"\n{more}\n"));
        bench.run("run --custom bad.toml --replicates 1 --runs 10")
    };
    for (more, code, told) in [
        ("comand = \"true\"", 2, "unknown field `comand`"),
        ("command = \"seq {n}\"", 2, "there is no axis `n`"),
        ("command = \"exit 3\"", 1, "exit status: 3"),
        ("command = \"echo nan\"\nfigure = { unit = \"ms\" }", 1, "NaN"),
        ("command = \"echo 41\"\noutput = \"42\"", 1, "but `42` is expected"),
        ("command = [\"/no/such/program\"]", 5, "install the program"),
    ] {
        let ended = run(more).expect(code);
        assert!(
            format!("{}{}", ended.stdout, ended.stderr).contains(told),
            "{}\n{}",
            ended.stdout,
            ended.stderr
        );
    }
    let missing = bench.run("run --custom none.toml").expect(2);
    assert!(missing.stderr.contains("[[benchmark]]"), "{}", missing.stderr);
}

/// Checks that suggested commands name the file of `--custom`, and that `gate` without it measures
/// nothing.
fn suggestions() {
    let bench = Bench::new();
    bench.write("mine.toml", "[[benchmark]]\nname = \"nothing\"\ncommand = [\"true\"]\n");
    let measure = [&["run", "--custom", "mine.toml"][..], &FEW].concat();
    let measured = bench.run(&measure).expect(0);
    says(&measured.stderr, &["next: `rusty-stack-bench baseline save --custom mine.toml` "]);
    let saved = bench.run("baseline save --custom mine.toml").expect(0);
    says(
        &saved.stdout,
        &[
            "`rusty-stack-bench run nothing --custom mine.toml`",
            "`rusty-stack-bench gate --custom mine.toml`",
        ],
    );
    let slowed = bench.set("RSB_TEST_SLOWDOWN", "/nothing/=50.0");
    let measured = slowed.run(&measure).expect(0);
    says(&measured.stderr, &["next: `rusty-stack-bench gate --custom mine.toml` "]);
    let judged = slowed.run("gate").expect(3);
    says(&judged.stderr, &["cases of `nothing` are not remeasured", "with --custom"]);
    assert!(!judged.stderr.contains("remeasuring"), "{}", judged.stderr);
}

/// Checks the keys of `[run]` about the steps after a run.
fn settings() {
    let bench = Bench::new();
    bench.write("mine.toml", "[[benchmark]]\nname = \"nothing\"\ncommand = [\"true\"]\n");
    let settings = "[run]\nsave_raw_results = false\nverbose = true\ngenerate_reports = \
                    true\ncompare_with_baseline = true\n";
    bench.write("rusty-stack-bench.toml", &format!("{settings}[report]\ngenerate_html = false\n"));
    let words = ["run", "--custom", "mine.toml", "--replicates", "2", "--runs", "10"];
    let ended = bench.run(&words).expect(0);
    assert!(ended.stderr.contains("\nnothing cpu:0 "), "{}", ended.stderr);
    says(&ended.stdout, &["not compared", "baseline save"]);
    let [run] = bench.run_files().try_into().unwrap();
    let stored: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run).unwrap()).unwrap();
    assert!(stored["benchmarks"][0].get("samples").is_none(), "samples must be dropped");
    assert!(
        stored["benchmarks"][0]["results"][0]["time_ms"].as_f64().is_some_and(|time| time > 0.0)
    );
    let reports = std::fs::read_dir(bench.path("benchmark_results")).unwrap();
    let mut endings: Vec<String> = reports
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .into_string()
                .ok()?
                .strip_prefix("benchmark_report_")
                .map(str::to_owned)
        })
        .filter_map(|name| name.rsplit_once('.').map(|(_, ending)| ending.to_owned()))
        .collect();
    endings.sort();
    assert_eq!(endings, ["md", "txt"]);
    baseline_by_name(&bench);
}

/// Checks that the baseline named in the configuration is looked up before anything is measured.
fn baseline_by_name(bench: &Bench) {
    let empty = Bench::new();
    empty.write("mine.toml", "[[benchmark]]\nname = \"nothing\"\ncommand = [\"true\"]\n");
    empty.write(
        "rusty-stack-bench.toml",
        "[run]\nbaseline_run_id = \"previous\"\ncompare_with_baseline = true\n",
    );
    let ended = empty.run("run --custom mine.toml").expect(2);
    assert!(ended.stderr.contains("no run"), "{}", ended.stderr);
    let stored = bench.run_files();
    let words = ["run", "--custom", "mine.toml", "--replicates", "2", "--runs", "10"];
    let named = |name: &str, is_compared: bool| {
        let text =
            format!("[run]\nbaseline_run_id = \"{name}\"\ncompare_with_baseline = {is_compared}\n");
        bench.write("rusty-stack-bench.toml", &text);
    };
    for (name, told) in [
        (
            "no-such-run",
            "name a run from `rusty-stack-bench \
                          history`",
        ),
        ("latest", "use `previous`"),
    ] {
        named(name, true);
        let ended = bench.run(&words).expect(2);
        says(&ended.stderr, &["baseline_run_id", told]);
    }
    assert_eq!(bench.run_files(), stored, "nothing was measured");
    named("previous", true);
    let ended = bench.run(&words).expect(0);
    assert!(!ended.stdout.contains("not compared"), "{}", ended.stdout);
    named("no-such-run", false);
    bench.run(&words).expect(0);
}

fn main() -> ExitCode {
    if std::env::var_os(AS_BENCH).is_some() {
        return own_benchmark::main();
    }
    steps::run(&[
        ("a_command_becomes_a_gated_benchmark", a_command),
        ("a_closure_becomes_a_gated_benchmark", a_closure),
        ("mistakes_are_told_with_their_cure", mistakes),
        ("suggested_commands_name_the_file_of_commands", suggestions),
        ("a_run_is_followed_by_what_the_settings_ask_for", settings),
    ])
}
