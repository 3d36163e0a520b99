//! `gate --against` and `bisect` in another project, with the real binary and real cargo. The bench
//! targets behave like Criterion's, with made-up times; `scripts/try_other_project.sh` tests with
//! Criterion itself.

use serde_json::Value;

use crate::common::other_project::{commit, measured, repository, write};
use crate::common::revisions::git;
use crate::common::{Bench, says};

const JSON: [&str; 4] = ["gate", "--against", "HEAD", "--json"];
const FAST: &[(&str, f64)] = &[("fib 20", 1000.0), ("parse/a.json", 2000.0)];
const SLOW: &[(&str, f64)] = &[("fib 20", 1000.0), ("parse/a.json", 2400.0)];
const OTHERS: &[(&str, f64)] = &[("hash", 500.0)];

/// Returns every row, as `(case, verdict, reason code)`.
fn rows(result: &Value) -> Vec<(String, String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = result["comparisons"].as_array().unwrap().iter();
    let mut rows: Vec<_> =
        rows.map(|row| (text(row, "id"), text(row, "verdict"), text(row, "reason_code"))).collect();
    rows.sort();
    rows
}

fn is(row: &(String, String, String), id: &str, verdict: &str) -> bool {
    (row.0.as_str(), row.1.as_str()) == (id, verdict)
}

#[test]
fn what_became_slower_is_named_alone_and_other_executables_are_not_measured() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST), ("hashing", OTHERS)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", SLOW), ("hashing", OTHERS)]);
    let result = bench.run(&JSON).expect(3).json();
    let rows = rows(&result);
    assert!(
        is(&rows[0], "fib 20", "Unchanged") && is(&rows[2], "parse/a.json", "Regressed"),
        "{rows:?}"
    );
    assert!(is(&rows[1], "hash", "Unchanged") && rows[1].2 == "same_machine_code", "{rows:?}");
    assert_eq!(measured(&bench), ["fib 20", "parse/a.json"]);
    let row = result["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == "parse/a.json")
        .unwrap();
    assert!((row["difference_percent"].as_f64().unwrap() - 20.0).abs() < 1.0, "{row}");
    // Cases with the same machine code are measured on request.
    let result = bench
        .run(&[&JSON[..], &["--measure-equal", "--benchmark", "hash"]].concat())
        .expect(0)
        .json();
    assert_eq!(result["comparisons"].as_array().unwrap().len(), 1);
    assert_eq!(measured(&bench), ["hash"]);
}

#[test]
fn instructions_decide_without_a_time() {
    if !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join("valgrind").is_file())
    {
        return test_needs::missing("valgrind", "it is not installed");
    }
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", SLOW)]);
    let result =
        bench.run(&[&JSON[..], &["--decide-by", "instructions"]].concat()).expect(3).json();
    let rows = rows(&result);
    assert!(
        is(&rows[0], "fib 20", "Unchanged") && is(&rows[1], "parse/a.json", "Regressed"),
        "{rows:?}"
    );
    assert!(measured(&bench).is_empty(), "no time may be measured");
    let all = result["comparisons"].as_array().unwrap();
    assert!(all.iter().all(|row| row["metric"] == "instructions"), "{all:?}");
    // The loop has 20 % more steps, plus a few other instructions.
    let change = |id: &str| {
        let row = all.iter().find(|row| row["id"] == id).unwrap();
        row["difference_percent"].as_f64().unwrap()
    };
    assert!(change("fib 20").abs() < 0.1, "{}", change("fib 20"));
    assert!((change("parse/a.json") - 20.0).abs() < 0.5, "{}", change("parse/a.json"));
    // Together with the time, there are two rows per case.
    let both = bench.run(&[&JSON[..], &["--metric", "instructions"]].concat()).expect(3).json();
    assert_eq!(both["comparisons"].as_array().unwrap().len(), 4, "{both}");
}

#[test]
fn allocations_and_code_size_decide_without_a_time() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib 20", 1000.0), ("allocates", 100_000.0)])]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &[("fib 20", 1000.0), ("allocates", 120_000.0)])]);
    let metrics = ["--decide-by", "allocations,peak-memory,code-size"];
    let result = bench.run(&[&JSON[..], &metrics].concat()).expect(3).json();
    assert!(measured(&bench).is_empty(), "no time may be measured");
    let all = result["comparisons"].as_array().unwrap();
    let found = |id: &str, metric: &str| {
        let row = all.iter().find(|row| row["id"] == id && row["metric"] == metric);
        let row = row.unwrap_or_else(|| panic!("{id} {metric}: {result:#}"));
        (row["verdict"].as_str().unwrap(), row["current_value"].as_f64().unwrap().round())
    };
    assert_eq!(found("allocates", "allocations_per_iteration"), ("Unchanged", 1.0));
    assert_eq!(found("fib 20", "allocations_per_iteration"), ("Unchanged", 0.0));
    assert_eq!(found("fib 20", "peak_heap_bytes"), ("Unchanged", 0.0));
    assert_eq!(found("code-size/parsing", "code_size_bytes").0, "Unchanged");
    let (verdict, bytes) = found("allocates", "allocated_bytes_per_iteration");
    assert!(verdict == "Regressed" && (bytes - 120_000.0).abs() < 10.0, "{verdict} {bytes}");
    let (verdict, bytes) = found("allocates", "peak_heap_bytes");
    assert!(verdict == "Regressed" && (bytes - 120_000.0).abs() < 100.0, "{verdict} {bytes}");
    // The code size of each executable is a separate result.
    let code_size = [&JSON[..], &["--decide-by", "code-size"]].concat();
    let result = bench.run(&code_size).expect(0).json();
    let rows = result["comparisons"].as_array().unwrap();
    assert!(rows.len() == 1 && rows[0]["current_value"].as_f64() > Some(10_000.0), "{result:#}");
    // An executable that is missing on the changed side has no verdict.
    write(&bench, "", &[("renamed", &[("fib 20", 1000.0), ("allocates", 120_000.0)])]);
    std::fs::remove_file(bench.path("benches/parsing.rs")).unwrap();
    let result = bench.run(&code_size).expect(4).json();
    let rows = result["comparisons"].as_array().unwrap();
    assert!(rows.len() == 1 && rows[0]["id"] == "code-size/parsing", "{result:#}");
}

#[test]
fn a_benchmark_that_the_change_brings_is_measured_on_both_sides_if_asked() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", SLOW), ("hashing", OTHERS)]);
    bench.write(
        "src/lib.rs",
        "pub fn ready() -> bool { !std::env::args().any(|word| word.is_empty()) }\n",
    );
    let plain = bench.run(&[&JSON[..], &["--benchmark", "parse"]].concat()).expect(3).json();
    assert_eq!(plain["new"], serde_json::json!([]), "{plain}");
    let plain = bench.run(&JSON).expect(3).json();
    assert_eq!(plain["new"], serde_json::json!(["hash"]), "{plain}");
    let both = bench.run(&[&JSON[..], &["--benches-from", "this"]].concat()).expect(3).json();
    let rows = rows(&both);
    assert!(
        is(&rows[1], "hash", "Unchanged") && is(&rows[2], "parse/a.json", "Regressed"),
        "{rows:?}"
    );
    assert_eq!(measured(&bench), ["fib 20", "hash", "parse/a.json"]);
}

#[test]
fn a_case_that_waits_for_the_real_clock_gets_it() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("waits", 1000.0)])]);
    commit(&bench, "before");
    write(&bench, "", &[("parsing", &[("waits", 1001.0)])]);
    let result = bench.run(&[&JSON[..], &["--budget", "30s"]].concat()).expect(0).json();
    assert!(is(&rows(&result)[0], "waits", "Unchanged"), "{result}");
}

#[test]
fn a_comment_is_decided_without_measuring() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    let path = bench.path("benches/parsing.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    // Lines move, and with them the locations in panic messages.
    std::fs::write(
        &path,
        text.replace("fn main() {", "/// What it does.\n///\n/// In many words.\nfn main() {"),
    )
    .unwrap();
    let ended = bench.run("gate --against HEAD").expect(0);
    assert!(ended.stdout.contains("the same machine code"), "{}", ended.stdout);
    assert!(measured(&bench).is_empty());
    // A constant that is not in panic messages is a change of code.
    write(&bench, "", &[("parsing", &[("fib 20", 1001.0), ("parse/a.json", 2000.0)])]);
    bench.run("gate --against HEAD").expect(0);
    assert_eq!(measured(&bench).len(), 2);
}

#[test]
fn a_change_of_ci_configuration_is_decided_without_a_build() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    bench.write(".github/workflows/ci.yml", "on: push\n");
    bench.write("LICENSE-MIT", "MIT\n");
    let ended = bench.run(&["gate", "--against", "HEAD"]).expect(0);
    assert!(ended.stdout.contains("differ in CI configuration"), "{}", ended.stdout);
    assert!(!ended.stderr.contains("building"), "{}", ended.stderr);
    // A source that mentions the file may read it.
    bench.write("src/lib.rs", "pub const LICENSE: &str = include_str!(\"../LICENSE-MIT\");\npub fn ready() -> bool { true }\n");
    commit(&bench, "reads its license");
    bench.write("LICENSE-MIT", "MIT, or another\n");
    let ended = bench.run(&["gate", "--against", "HEAD"]).expect(0);
    assert!(ended.stderr.contains("building"), "{}", ended.stderr);
}

#[test]
fn init_looks_for_benchmarks_before_it_writes_anything() {
    let bench = repository("rust");
    write(&bench, "rust", &[("parsing", FAST)]);
    let init = |words: &[&str]| {
        let mut command = bench.command(&[&["init"], words].concat());
        let output = command.current_dir(bench.path("rust")).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let refused = init(&["--write"]);
    assert_eq!(refused.0, Some(2), "{refused:?}");
    assert!(refused.2.contains("`parsing` uses an unknown harness"), "{}", refused.2);
    assert!(!bench.path(".github").exists());
    bench.write("rust/benches/parsing.rs", "use criterion::Criterion;\nfn main() {}\n");
    for (ci, path, words) in [
        ("github", ".github/workflows/benchmarks.yml", "working-directory: rust"),
        ("gitlab", ".gitlab/benchmarks.yml", "cd rust"),
        ("none", "benchmarks.sh", "/rust"),
    ] {
        let (code, shown, found) = init(&["--ci", ci]);
        assert!(code == Some(0) && found.contains("parsing (Criterion)"), "{found}");
        assert!(shown.contains(path) && !bench.path(path).exists(), "{shown}");
        assert_eq!(init(&["--write", "--ci", ci]).0, Some(0));
        let written = std::fs::read_to_string(bench.path(path)).unwrap();
        assert!(written.contains(words), "{written}");
    }
    assert!(bench.path("rust/baselines/policy.toml").exists());
}

#[test]
fn a_copy_of_this_program_is_not_part_of_the_project() {
    let bench = repository("");
    let copy = "tools/rusty-stack-bench";
    write(&bench, copy, &[("frameworks", OTHERS)]);
    bench.write(
        &format!("{copy}/Cargo.toml"),
        "[package]\nname = \"rusty-stack-bench\"\nversion = \"0.0.0\"\n\n[features]\nframeworks = \
         []\n\n[workspace]\n\n[[bench]]\nname = \"frameworks\"\nharness = false\n\
         required-features = [\"frameworks\"]\n",
    );
    bench.write(&format!("{copy}/benches/frameworks.rs"), "use criterion::Criterion;\n");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    let source = std::fs::read_to_string(bench.path("benches/parsing.rs")).unwrap();
    bench.write("benches/parsing.rs", &format!("// criterion\n{source}"));
    let shown = bench.run("init").expect(0);
    assert!(shown.stdout.contains("--features=frameworks"), "another package is: {}", shown.stdout);
    bench.write(&format!("{copy}/action.yml"), "name: benchmarks\n");
    let shown = bench.run("init").expect(0);
    assert!(!shown.stdout.contains("frameworks"), "{}", shown.stdout);
    assert!(!shown.stderr.contains("tools"), "{}", shown.stderr);
    commit(&bench, "with the action");
    write(&bench, "", &[("parsing", SLOW)]);
    let ended = bench.run(&JSON).expect(3);
    assert!(!ended.stderr.contains("frameworks"), "{}", ended.stderr);
    assert_eq!(rows(&ended.json()).len(), FAST.len());
}

/// Prints in the format of the crate `bencher`: it ignores options and measures the cases that
/// match its first other argument.
const BENCHER: &str = r#"
fn main() {
    let wanted = std::env::args().skip(1).find(|word| word != "--bench").unwrap_or_default();
    let process = 1.0 + f64::from(std::process::id() % 7) / 1000.0;
    for (name, level) in [("short", 100.0), ("short_url", LEVEL)] {
        if name.contains(&wanted) {
            println!("test {name} ... bench: {:>11.2} ns/iter (+/- 3)", level * process);
        }
    }
}
"#;

#[test]
fn a_bencher_is_measured_by_what_it_prints() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    bench.write("benches/parsing.rs", &BENCHER.replace("LEVEL", "100.0"));
    commit(&bench, "fast");
    bench.write("benches/parsing.rs", &BENCHER.replace("LEVEL", "130.0"));
    let rows = rows(&bench.run(&JSON).expect(3).json());
    assert!(
        is(&rows[0], "short", "Unchanged") && is(&rows[1], "short_url", "Regressed"),
        "{rows:?}"
    );
}

/// Starts a runner, as benchmarks of gungraun do.
const GUNGRAUN: &str = r#"
fn main() {
    let words = std::env::args().skip(1);
    let status = std::process::Command::new("gungraun-runner").arg("LEVEL").args(words).status();
    std::process::exit(status.unwrap().code().unwrap_or(1));
}
"#;

/// A fake gungraun runner that reports its first argument as the instruction count. It rejects the
/// arguments of other harnesses.
const GUNGRAUN_RUNNER: &str = r#"#!/bin/sh
case "$*" in
*--noplot* | *--max-time*) exit 2 ;;
*--list*) printf 'counts::all::%s: benchmark\n' parse::short hash varies ;;
*) printf 'counts::all::parse short:"a"\n  Instructions: %s|N/A (*********)\n' "$1"
    printf '  Estimated Cycles: %s|N/A (*********)\n' $((3 * $1))
    printf 'counts::all::hash\n  Instructions: 700|N/A (*********)\n'
    echo >>"${0%/*}/calls"
    printf 'counts::all::varies\n  Instructions: %s|N/A\n' $((1 << $(wc -l <"${0%/*}/calls"))) ;;
esac
"#;

#[test]
fn cases_of_gungraun_are_judged_by_its_counts() {
    use std::os::unix::fs::PermissionsExt as _;
    let tools = tempfile::tempdir().unwrap();
    for (name, text) in [("gungraun-runner", GUNGRAUN_RUNNER), ("valgrind", "#!/bin/sh\n")] {
        let tool = tools.path().join(name);
        std::fs::write(&tool, text).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let bench = repository("").set("PATH", &format!("{}:{path}", tools.path().display()));
    write(&bench, "", &[("parsing", FAST), ("counts", &[])]);
    bench.write("benches/counts.rs", &GUNGRAUN.replace("LEVEL", "1000"));
    commit(&bench, "fast");
    bench.write("benches/counts.rs", &GUNGRAUN.replace("LEVEL", "1030"));
    for more in [&[][..], &["--decide-by", "instructions"], &["--metric", "instructions"]] {
        let result = bench.run(&[&JSON[..], more].concat()).expect(3).json();
        let rows = rows(&result);
        assert!(
            is(&rows[0], "counts::all::hash", "Unchanged")
                && is(&rows[1], "counts::all::parse::short", "Regressed"),
            "{more:?}: {rows:?}"
        );
        assert!(is(&rows[2], "counts::all::varies", "Inconclusive"), "{more:?}: {rows:?}");
        let counted = &result["comparisons"].as_array().unwrap()[..2];
        assert!(counted.iter().all(|row| row["metric"] == "instructions"), "{result:#}");
    }
    let cycles = bench.run(&[&JSON[..], &["--decide-by", "estimated-cycles"]].concat()).expect(3);
    let cycles = cycles.json();
    let rows = rows(&cycles);
    assert!(
        is(&rows[0], "counts::all::hash", "Inconclusive")
            && is(&rows[1], "counts::all::parse::short", "Regressed"),
        "{rows:?}"
    );
    says(&cycles.to_string(), &["its harness printed no estimated cycles", "--cache-sim=yes"]);
    assert!(measured(&bench).is_empty(), "the other target did not change");
    std::fs::remove_file(tools.path().join("gungraun-runner")).unwrap();
    let result = bench.run(&JSON).expect(0).json();
    says(
        &result["notes"].to_string(),
        &["on neither side: bench target `counts`: it needs the program `gungraun-runner`"],
    );
}

#[test]
fn one_large_regression_among_many_cases_is_named_within_the_default_budget() {
    let names: Vec<String> = (0..67).map(|at| format!("case {at}")).collect();
    let cases = |slow: f64| -> Vec<(&str, f64)> {
        let level = |name: &str| if name == "case 40" { slow } else { 1000.0 };
        names.iter().map(|name| (name.as_str(), level(name))).collect()
    };
    let bench = repository("");
    write(&bench, "", &[("many", &cases(1000.0))]);
    commit(&bench, "fast");
    write(&bench, "", &[("many", &cases(27_000.0))]);
    let ended = bench.run(&[&JSON[..], &["--measure-equal"]].concat()).expect(3);
    assert!(ended.stderr.contains("measuring 67 cases"), "{}", ended.stderr);
    assert!(ended.stderr.contains("335 s left"), "{}", ended.stderr);
    let rows = rows(&ended.json());
    for row in &rows {
        let expected = if row.0 == "case 40" { "Regressed" } else { "Unchanged" };
        assert_eq!(row.1, expected, "{row:?}");
    }
    assert_eq!(rows.len(), 67);
    // With --fail-fast, the other cases need not be decided.
    let fast = bench.run(&[&JSON[..], &["--measure-equal", "--fail-fast"]].concat()).expect(3);
    assert_eq!(fast.json()["verdict"], "Regressed");
}

#[test]
fn a_name_with_a_date_is_matched_by_the_rest_of_it() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("format/2026-11-28 10:00:00", 1000.0)])]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &[("format/2026-11-29 11:30:00", 1500.0)])]);
    let result = bench.run(&JSON).expect(3).json();
    assert!(is(&rows(&result)[0], "format/2026-11-28 10:00:00", "Regressed"), "{result:#}");
    assert_eq!(result["missing"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_project_in_a_directory_of_its_repository_is_found_there() {
    let bench = repository("rust/crate");
    write(&bench, "rust/crate", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "rust/crate", &[("parsing", SLOW)]);
    let mut command = bench.command(&JSON);
    let output = command
        .current_dir(bench.path("rust/crate"))
        .env("CARGO_TARGET_DIR", bench.path("target"))
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let top = bench.run(&JSON).expect(2);
    says(&top.stderr, &["no Cargo.toml", "--bench-format"]);
}

#[test]
fn a_case_that_cannot_be_measured_or_vanished_has_no_verdict() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", &FAST[..1])]);
    let result = bench.run(&JSON).expect(4).json();
    assert_eq!(result["missing"][0], "parse/a.json");
    write(&bench, "", &[("parsing", FAST)]);
    bench.write("src/lib.rs", "pub fn ready() -> bool { false }\n");
    let result = bench.run(&JSON).expect(4).json();
    let rows = rows(&result);
    assert!(rows.iter().all(|row| row.1 == "Inconclusive" && row.2 == "case_failed"), "{rows:?}");
    says(result["comparisons"][0]["reason"].as_str().unwrap(), &["the case cannot be measured"]);
}

#[test]
fn what_belongs_to_this_program_is_refused_elsewhere() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", SLOW)]);
    for (flags, words) in [
        (&["--suite", "quick"][..], "--suite only applies to the benchmarks of rusty-stack-bench"),
        (
            &["--bench", "./run", "--bench-format", "hyperfine", "--decide-by", "instructions"],
            "--decide-by only applies to benchmarks that cargo builds",
        ),
        (&["--decide-by", "instructions", "--metric", "instructions"], "cannot be used with"),
        (
            &["--benchmark", "fob"],
            "no benchmark of HEAD matches `fob`; nearest: `fib 20`, `parse/a.json`",
        ),
        (&["--bench", "./run"], "--bench-format NAME, one of nvbench, google-benchmark, "),
        (&["--", "--package", "nobody"], "parsing"),
    ] {
        let ended = bench.run(&[&["gate", "--against", "HEAD"][..], flags].concat());
        if flags[0] == "--" {
            assert_ne!(ended.code, 0, "{}", ended.stderr);
        } else {
            assert!(ended.stderr.contains(words), "{flags:?}: {}", ended.stderr);
        }
    }
    let ended = bench.run("gate --baseline x -- --features y").expect(2);
    assert!(ended.stderr.contains("--against"), "{}", ended.stderr);
}

/// Output in the format of Google Benchmark, with a time chosen by the test.
const SCRIPT: &str = r#"echo '{"context":{},"benchmarks":[{"name":"loop","run_type":"iteration","iterations":10,"real_time":LEVEL,"cpu_time":LEVEL,"time_unit":"ns"},{"name":"other","run_type":"iteration","iterations":10,"real_time":7,"cpu_time":7,"time_unit":"ns"}]}'"#;

#[test]
fn any_command_whose_output_can_be_imported_is_judged() {
    let bench = repository("");
    let at = |level: &str| {
        bench.write(
            "Makefile.sh",
            &format!("cat > bench.sh <<'END'\n{}\nEND\n", SCRIPT.replace("LEVEL", level)),
        );
    };
    at("1000");
    commit(&bench, "fast");
    at("1300");
    let words = [
        "--build",
        "sh Makefile.sh",
        "--bench",
        "sh bench.sh",
        "--bench-format",
        "google-benchmark",
    ];
    let result = bench.run(&[&JSON[..], &words].concat()).expect(3).json();
    let rows = rows(&result);
    assert!(
        rows.len() == 2 && rows.iter().any(|row| row.0.ends_with("loop") && row.1 == "Regressed"),
        "{rows:?}"
    );
    assert!(rows.iter().any(|row| row.0.ends_with("other") && row.1 == "Unchanged"), "{rows:?}");
    let broken =
        ["--build", "exit 3", "--bench", "sh bench.sh", "--bench-format", "google-benchmark"];
    let ended = bench.run(&[&JSON[..], &broken].concat());
    assert!(
        ended.code == 1 && ended.stderr.contains("does not build"),
        "{:?} {}",
        ended.code,
        ended.stderr
    );
}

/// A command as a benchmark, with a time that it prints and a part that is built in the tree.
const COMMANDS: &str = r#"
[[benchmark]]
name = "loop"
command = ["sh", "built.sh", "{n}"]
axes = { n = [1, 2] }
figure = { after = "took", unit = "ms" }
"#;

#[test]
fn commands_of_ones_own_are_measured_in_the_trees_of_both_revisions() {
    let bench = repository("built.sh\n");
    let at = |level: &str| {
        bench
            .write("source.sh", &format!("test $1 = 1 && echo took 7 ms || echo took {level} ms\n"))
    };
    at("10");
    bench.write("mine.toml", COMMANDS);
    commit(&bench, "fast");
    at("13");
    let words = ["--custom", "mine.toml", "--build", "cp source.sh built.sh", "--budget", "60s"];
    let result = bench.run(&[&JSON[..], &words].concat()).expect(3).json();
    let verdicts = [
        ("cpu_performance/loop/cpu:0/n=1", "Unchanged"),
        ("cpu_performance/loop/cpu:0/n=2", "Regressed"),
    ];
    for (id, verdict) in verdicts {
        assert!(
            rows(&result).iter().any(|row| row.0 == id && row.1 == verdict),
            "{:?}",
            rows(&result)
        );
    }
    for (more, said) in [
        (&["--build", "true"][..], "--custom FILE"),
        (
            &["--custom", "mine.toml", "--bench", "true", "--bench-format", "vllm"],
            "cannot be combined with --bench",
        ),
        (&["--custom", "mine.toml", "--suite", "quick"], "--suite only applies"),
    ] {
        let ended = bench.run(&[&["gate", "--against", "HEAD"], more].concat()).expect(2);
        assert!(ended.stderr.contains(said), "{more:?}: {}", ended.stderr);
    }
}

#[test]
fn bisect_finds_the_commit_among_eight() {
    let bench = repository("");
    let good = {
        write(&bench, "", &[("parsing", FAST)]);
        commit(&bench, "fast")
    };
    let mut commits = Vec::new();
    for at in 0..8 {
        let level = if at < 5 { 2001.0 + f64::from(at) } else { 2400.0 + f64::from(at) };
        write(&bench, "", &[("parsing", &[("fib 20", 1000.0), ("parse/a.json", level)])]);
        commits.push(commit(&bench, &format!("change {at}")));
    }
    let found =
        bench.run(&["bisect", &good, "HEAD", "--case", "a.json", "--json"]).expect(0).json();
    assert_eq!(found["first_bad"]["commit"].as_str(), Some(commits[5].as_str()), "{found:#}");
    assert_eq!(git(&bench, &["status", "--porcelain"]), "");
}

/// The bench must not change while another process gates the same repository.
#[test]
fn two_gates_at_once_take_turns() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "", &[("parsing", SLOW)]);
    let start =
        |bench: &Bench| bench.command(&JSON).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut both = [start(&bench), start(&bench)];
    for child in &mut both {
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}

#[test]
fn a_target_that_runs_on_neither_side_is_named_and_decides_nothing() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST), ("bare", &[]), ("nightly", OTHERS)]);
    // A target that needs another compiler does not build with this one.
    let path = bench.path("benches/nightly.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("compile_error!(\"needs nightly\");\n{text}")).unwrap();
    commit(&bench, "fast");
    bench.write("src/lib.rs", "pub fn ready() -> bool { let _more = 1; true }\n");
    let result = bench.run(&[&JSON[..], &["--measure-equal"]].concat()).expect(0).json();
    assert_eq!(rows(&result).len(), FAST.len(), "{result:#}");
    says(
        &result["notes"].to_string(),
        &["measured on neither side: bench target `bare`: it lists no case"],
    );
    // The cases of a target that used to run and no longer builds are missing.
    write(&bench, "", &[("parsing", FAST), ("hashing", OTHERS)]);
    commit(&bench, "two targets");
    bench.write("benches/hashing.rs", "fn main() { let number: u8 = \"\"; }\n");
    let result = bench.run(&[&JSON[..], &["--measure-equal"]].concat()).expect(4).json();
    assert_eq!(result["missing"], serde_json::json!(["hash"]), "{result:#}");
    assert!(rows(&result).iter().any(|row| is(row, "fib 20", "Unchanged")), "{result:#}");
}

#[test]
fn benchmarks_in_a_package_that_cargo_refuses_are_measured() {
    let bench = repository("benches");
    // A member `.` includes the package again that `exclude` leaves out.
    let root = "[package]\nname = \"root\"\nversion = \"0.0.0\"\n\n\
                [workspace]\nmembers = [\".\"]\nexclude = [\"benches\"]\n";
    bench.write("Cargo.toml", root);
    bench.write("src/lib.rs", "");
    let write_without_workspace = |cases| {
        write(&bench, "benches", &[("parsing", cases)]);
        let manifest = std::fs::read_to_string(bench.path("benches/Cargo.toml")).unwrap();
        bench.write("benches/Cargo.toml", &manifest.replace("[workspace]\n", ""));
    };
    write_without_workspace(FAST);
    commit(&bench, "fast");
    write_without_workspace(SLOW);
    let ended = bench.run(&JSON).expect(3);
    assert!(ended.stderr.contains("benches/Cargo.toml") && ended.stderr.contains("`[workspace]`"));
    let result = ended.json();
    assert!(rows(&result).iter().any(|row| is(row, "parse/a.json", "Regressed")), "{result:#}");
}

#[test]
fn benchmarks_that_need_a_nightly_toolchain_are_refused_with_the_cure() {
    let bench = repository("");
    write(&bench, "", &[("parsing", FAST)]);
    bench.write("benches/parsing.rs", "#![feature(test)]\nfn main() {}\n");
    commit(&bench, "before");
    bench.write("src/lib.rs", "pub fn ready() -> bool { false }\n");
    let ended = bench.set("RUSTUP_TOOLCHAIN", "stable").run(&JSON).expect(2);
    assert!(ended.stderr.contains("RUSTUP_TOOLCHAIN=nightly"), "{}", ended.stderr);
}

#[test]
fn benchmarks_in_a_workspace_of_their_own_below_the_package_are_found() {
    let bench = repository("bench");
    bench.write("Cargo.toml", "[package]\nname = \"root\"\nversion = \"0.0.0\"\n\n[workspace]\n");
    bench.write("src/lib.rs", "");
    write(&bench, "bench", &[("parsing", FAST)]);
    commit(&bench, "fast");
    write(&bench, "bench", &[("parsing", SLOW)]);
    let result = bench.run(&JSON).expect(3).json();
    assert!(rows(&result).iter().any(|row| is(row, "parse/a.json", "Regressed")), "{result:#}");
    says(&result["notes"].to_string(), &["bench targets measured: parsing in bench"]);
    let ended = bench.run(&[&JSON[..], &["--", "--manifest-path", "no/Cargo.toml"]].concat());
    assert!(
        ended.code == 1 && ended.stderr.contains("this revision has no no/Cargo.toml"),
        "{}",
        ended.stderr
    );
    // Selected by name or by manifest, it is the same package.
    for words in [["--package", "other"], ["--manifest-path", "bench/Cargo.toml"]] {
        bench.run(&[&JSON[..], &["--"], &words].concat()).expect(3);
    }
}
