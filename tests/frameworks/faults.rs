//! Faults in a framework's process: each fails only one case and leaves no process behind.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::Bench;
use super::{FEW, assert_no_process_left, find, why};

/// Runs `python-faults` with one fault, with a fault-free case before and after it.
fn broken(fault: &str, more: &[&str]) -> Value {
    let bench = Bench::new();
    let axis = format!("fault=none,{fault}");
    let arguments =
        [&["run", "python-faults", "--axis", &axis, "--json"], FEW.as_slice(), more].concat();
    let document = bench.run(&arguments).expect(1).json();
    assert_no_process_left(&bench);
    let outcomes = |name: &str| find(&document, &format!("/{name}"));
    assert_eq!(
        outcomes("none")["outcome"],
        "measured",
        "the other cases must still be measured: {document}"
    );
    let result = outcomes(fault);
    assert_eq!(result["outcome"], "failed", "{result}");
    for field in ["what", "why", "cure"] {
        assert!(result[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {result}");
    }
    assert_eq!(result["benchmark_type"], "component_specific");
    result
}

#[test]
fn sigkill_in_mid_case_is_named() {
    assert!(why(&broken("kill", &[])).contains("SIGKILL"));
}

#[test]
fn sigsegv_in_mid_case_is_named_with_where_it_was() {
    let result = broken("segv", &[]);
    assert!(why(&result).contains("SIGSEGV"), "{result}");
    assert!(
        why(&result).contains("python_faults.py"),
        "the last lines must contain Python's traceback: {result}"
    );
}

#[test]
fn a_long_sleep_ends_at_the_time_limit() {
    let began = Instant::now();
    let result = broken("sleep", &["--timeout", "5"]);
    assert!(why(&result).contains("5 s"), "{result}");
    assert!(result["cure"].as_str().unwrap().contains("--timeout"));
    assert!(began.elapsed() < Duration::from_mins(5), "the time limit must end the sleep");
}

#[test]
fn allocation_beyond_a_limit_is_named() {
    let bench = Bench::new();
    let plain = bench.command("run python-faults --axis fault=allocate --json --replicates 1");
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"])
        .arg(plain.get_program())
        .args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.current_dir(bench.dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = find(&document, "/allocate");
    assert!(why(&result).contains("memory ran out"), "{result}");
    assert!(result["cure"].as_str().unwrap().contains("memory"));
    assert_no_process_left(&bench);
}

#[test]
fn whatever_else_ends_a_process_is_named_too() {
    for (fault, expected) in [
        ("abort", "SIGABRT"),
        ("leave", "exit code 3"),
        ("exit", "has had enough"),
        ("raise", "ZeroDivisionError"),
        ("nan", "nan"),
    ] {
        let result = broken(fault, &[]);
        assert!(why(&result).contains(expected), "{fault}: {result}");
    }
}

#[test]
fn chatter_on_standard_output_disturbs_nothing() {
    let bench = Bench::new();
    let arguments =
        [&["run", "python-faults", "--axis", "fault=chatter", "--json"], FEW.as_slice()].concat();
    let document = bench.run(&arguments).expect(0).json();
    assert_eq!(find(&document, "/chatter")["outcome"], "measured");
    assert_no_process_left(&bench);
}

#[test]
fn a_killed_run_leaves_no_worker() {
    let bench = Bench::new();
    let mut run = bench.command("run python-faults --axis fault=sleep").spawn().unwrap();
    let here = bench.dir.path().canonicalize().unwrap();
    let worker = |entry: std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == here)
            && String::from_utf8_lossy(&command).contains("rsb-python-worker")
    };
    let wait_until_there = |is_there: bool| {
        let until = Instant::now() + Duration::from_mins(1);
        while std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(worker) != is_there {
            assert!(Instant::now() < until, "the worker did not start, or outlived its run");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until_there(true);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until_there(false);
}
