//! Framework cases with the real worker: what it measures, and that nothing a framework does to its process hurts the run.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use common::Bench;
use serde_json::Value;

const FEW: [&str; 6] = ["--runs", "10", "--warmup", "1", "--replicates", "1"];

/// Runs `python-faults` with one fault, and a case without one before and after it.
fn broken(fault: &str, more: &[&str]) -> Value {
    let bench = Bench::new();
    let axis = format!("fault=none,{fault}");
    let arguments = [&["run", "python-faults", "--axis", &axis, "--json"], FEW.as_slice(), more].concat();
    let document = bench.run(&arguments).expect(1).json();
    assert_no_process_left(&bench);
    let outcomes = |name: &str| find(&document, &format!("/{name}"));
    assert_eq!(outcomes("none")["outcome"], "measured", "the rest goes on: {document}");
    let result = outcomes(fault);
    assert_eq!(result["outcome"], "failed", "{result}");
    for field in ["what", "why", "cure"] {
        assert!(result[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {result}");
    }
    assert_eq!(result["benchmark_type"], "component_specific");
    result
}

fn why(result: &Value) -> &str {
    result["why"].as_str().unwrap()
}

fn find(document: &Value, part: &str) -> Value {
    let results = document["benchmarks"].as_array().unwrap();
    let found = results.iter().find(|result| result["benchmark_id"].as_str().unwrap().contains(part));
    found.unwrap_or_else(|| panic!("no {part}: {document}")).clone()
}

/// Whether anything still runs in the bench's folder: the worker, or a child of it.
fn assert_no_process_left(bench: &Bench) {
    let here = bench.folder.path().canonicalize().unwrap();
    let left = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes.filter(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == here)).count()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while left() > 0 {
        assert!(Instant::now() < until, "a process outlived the run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sigkill_in_mid_case_is_named() {
    assert!(why(&broken("kill", &[])).contains("SIGKILL"));
}

#[test]
fn sigsegv_in_mid_case_is_named_with_where_it_was() {
    let result = broken("segv", &[]);
    assert!(why(&result).contains("SIGSEGV"), "{result}");
    assert!(why(&result).contains("python_faults.py"), "Python's own trace is in the last lines: {result}");
}

#[test]
fn a_long_sleep_ends_at_the_time_limit() {
    let began = Instant::now();
    let result = broken("sleep", &["--timeout", "10"]);
    assert!(why(&result).contains("10 s"), "{result}");
    assert!(result["cure"].as_str().unwrap().contains("--timeout"));
    assert!(began.elapsed() < Duration::from_mins(5), "not the ten minutes that it sleeps");
}

#[test]
fn allocation_beyond_a_limit_is_named() {
    let bench = Bench::new();
    let plain = bench.command(&["run", "python-faults", "--axis", "fault=allocate", "--json", "--replicates", "1"]);
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.current_dir(bench.folder.path()).output().unwrap();
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
    let arguments = [&["run", "python-faults", "--axis", "fault=chatter", "--json"], FEW.as_slice()].concat();
    let document = bench.run(&arguments).expect(0).json();
    assert_eq!(find(&document, "/chatter")["outcome"], "measured");
    assert_no_process_left(&bench);
}

#[test]
fn a_killed_run_leaves_no_worker() {
    let bench = Bench::new();
    let mut run = bench.command(&["run", "python-faults", "--axis", "fault=sleep"]).spawn().unwrap();
    let here = bench.folder.path().canonicalize().unwrap();
    let worker = |entry: std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == here)
            && String::from_utf8_lossy(&command).contains("rsb-python-worker")
    };
    let wait_until_there = |is_there: bool| {
        let until = Instant::now() + Duration::from_mins(1);
        while std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(worker) != is_there {
            assert!(Instant::now() < until, "a worker never started, or outlived its run");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until_there(true);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until_there(false);
}

#[test]
fn a_broken_environment_is_a_skip_with_its_cure() {
    let bench = Bench::new();
    let broken = bench.write("python3", "#!/bin/sh\necho 'no module named encodings' >&2\nexit 1\n");
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let document =
        bench.set("MLSTACK_BENCHMARK_PYTHON", broken.to_str().unwrap()).run(&["pytorch", "--json"]).expect(5).json();
    let result = &document["benchmarks"][0];
    assert_eq!(result["outcome"], "skipped");
    assert!(why(result).contains("encodings"), "{result}");
}

#[test]
fn a_missing_package_is_a_skip_with_its_cure() {
    let bench = Bench::new();
    let venv = bench.path("venv");
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(made.success());
    let python = venv.join("bin/python3");
    let document =
        bench.set("MLSTACK_BENCHMARK_PYTHON", python.to_str().unwrap()).run(&["pytorch", "--json"]).expect(5).json();
    let result = &document["benchmarks"][0];
    assert!(result["cure"].as_str().unwrap().contains("pip install torch"), "{result}");
}

/// The Python that cases run in when no other is named.
fn python() -> PathBuf {
    rsb_probe::python_program().expect("a Python")
}

/// The results of `arguments` where an environment with `package` is named, else why the test says nothing.
fn with(package: &str, arguments: &[&str]) -> Option<(Bench, Vec<Value>)> {
    let bench = Bench::new();
    let listed = bench.run(&["python", "list", "--json"]).expect(0).json();
    let packages = listed["packages"].as_object().cloned().unwrap_or_default();
    if !packages.contains_key(package) {
        eprintln!("skipped: {package} is not in {}: name another with MLSTACK_BENCHMARK_PYTHON", listed["program"]);
        return None;
    }
    let arguments = [arguments, &["--json"], FEW.as_slice()].concat();
    let results = bench.run(&arguments).expect(0).json()["benchmarks"].as_array().unwrap().clone();
    assert_no_process_left(&bench);
    Some((bench, results))
}

/// Every result measured has its fields in the table, is verified and says its version; every other its cure.
fn check(results: &[Value], least: usize) {
    let mut measured = 0;
    for result in results {
        let id = result["benchmark_id"].as_str().unwrap();
        match result["outcome"].as_str().unwrap() {
            "measured" => {
                measured += 1;
                let fields = result["results"][0].as_object().unwrap();
                for name in fields.keys() {
                    assert!(rsb_model::Field::find(name).is_some(), "{id}: `{name}` is not in the table of fields");
                }
                assert!(fields["component_version"].as_str().is_some_and(|version| !version.is_empty()), "{id}");
                let verified = fields.get("accuracy_error").is_none_or(|error| error.as_f64().is_some());
                assert!(verified && result["device_type"] == "cpu", "{id}");
            }
            "skipped" => assert!(result["cure"].as_str().is_some_and(|cure| !cure.is_empty()), "{id}"),
            other => panic!("{id}: {other}: {result}"),
        }
    }
    assert!(measured >= least, "{measured} measured of {}", results.len());
}

#[test]
fn pytorch_is_measured_verified_and_stored() {
    let Some((bench, results)) = with("torch", &["pytorch", "--backend", "cpu"]) else { return };
    check(&results, 4);
    let matmul = find(&serde_json::json!({ "benchmarks": results }), "/matmul/");
    let fields = &matmul["results"][0];
    for name in ["tflops", "memory_read_gb", "memory_write_gb", "utilization_percent", "memory_used_mb"] {
        assert!(fields[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {matmul}");
    }
    assert!(fields["accuracy_error"].as_f64().unwrap() < 2e-5);
    assert_eq!(bench.run_files().len(), 1);
    let transfer = find(&serde_json::json!({ "benchmarks": results }), "/memory-transfer/");
    assert_eq!(transfer["outcome"], "skipped", "a processor has nothing to copy to");
}

#[test]
fn onnxruntime_is_measured_on_the_provider_that_was_asserted() {
    let Some((_, results)) = with("onnxruntime", &["onnxruntime", "--backend", "cpu"]) else { return };
    check(&results, 3);
    let document = serde_json::json!({ "benchmarks": results });
    let inference = find(&document, "/inference");
    assert_eq!(inference["results"][0]["provider"], "CPUExecutionProvider");
    assert!(inference["results"][0]["node_profile"].as_str().unwrap().contains("us"), "{inference}");
    let nodes = |level: &str| {
        let fields = &find(&document, &format!("/graph-optimization/{level}"))["results"][0];
        (fields["original_nodes"].as_f64().unwrap(), fields["optimized_nodes"].as_f64().unwrap())
    };
    assert_eq!(nodes("disabled"), (32.0, 32.0));
    assert!(nodes("all").1 < 32.0);
}

#[test]
fn a_provider_that_is_not_there_is_a_skip_and_never_the_processor() {
    let bench = Bench::new();
    let arguments = [&["onnxruntime", "--backend", "rocm", "--json"], FEW.as_slice()].concat();
    let document = bench.run(&arguments).expect(5).json();
    let result = &document["benchmarks"][0];
    assert_eq!(result["outcome"], "skipped", "{result}");
    assert!(result["cure"].as_str().is_some_and(|cure| !cure.is_empty()));
}

#[test]
fn a_provider_that_falls_back_silently_is_refused() {
    let listed = Bench::new().run(&["python", "list", "--json"]).expect(0).json();
    if listed["packages"]["onnxruntime"].is_null() {
        eprintln!("skipped: onnxruntime is not in {}: name another with MLSTACK_BENCHMARK_PYTHON", listed["program"]);
        return;
    }
    // A build for processors that says it has CUDA's provider: the session is made, on the processor.
    let script = "
import onnxruntime
from rsb_workloads import core, onnxruntime as workload
onnxruntime.get_available_providers = lambda: ['CUDAExecutionProvider', 'CPUExecutionProvider']
params = {'batch_size': '2', 'width': '16', 'num_layers': '1'}
try:
    workload.inference(core.Case('onnxruntime', 'inference', 'cuda:0', params))
except core.Failure as failure:
    print(failure.why)
";
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python");
    let output = Command::new(python()).args(["-c", script]).env("PYTHONPATH", sources).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("fell back to CPUExecutionProvider"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn flash_attention_proves_its_kernel() {
    let Some((_, results)) = with("torch", &["flash-attention", "--backend", "cpu"]) else { return };
    check(&results, 2);
    for result in &results {
        let fields = &result["results"][0];
        assert!(fields["kernel_used"].as_str().unwrap().contains("flash_attention"), "{result}");
        assert!(fields["savings_percent"].as_f64().unwrap() > 0.0, "{result}");
    }
}

#[test]
fn triton_compiles_for_cards_that_are_not_here_and_never_times_its_interpreter() {
    let Some((_, results)) = with("triton", &["triton", "--backend", "cpu"]) else { return };
    check(&results, 2);
    let document = serde_json::json!({ "benchmarks": results });
    for target in ["gfx90a", "gfx1100"] {
        let fields = &find(&document, target)["results"][0];
        assert!(fields["registers"].as_f64().unwrap() > 0.0 && fields["code_object_bytes"].as_f64().unwrap() > 1e3);
    }
    let interpreted = find(&document, "/operation/");
    assert_eq!(interpreted["outcome"], "skipped");
    assert!(why(&interpreted).contains("computes it rightly"), "{interpreted}");
}

#[test]
fn deepspeed_trains_as_one_process_would() {
    let Some((_, results)) = with("deepspeed", &["deepspeed", "--backend", "cpu"]) else { return };
    check(&results, 1);
    let fields = &results[0]["results"][0];
    assert!(fields["accuracy_error"].as_f64().unwrap() < 1e-3, "its losses are those of one process");
    for name in ["optimizer_step_time_ms", "memory_saved_gb", "communication_overhead_percent"] {
        assert!(fields[name].is_number(), "{name}: {fields}");
    }
}

#[test]
fn a_run_of_a_component_is_gated_and_shows_among_the_components() {
    let Some((bench, _)) = with("torch", &["pytorch", "--backend", "cpu", "--axis", "workload=matmul"]) else { return };
    bench.run(&["baseline", "save"]).expect(0);
    let verdict = bench.run(&["compare", bench.run_files()[0].to_str().unwrap(), "--json"]).expect(0).json();
    assert!(verdict["comparisons"].as_array().is_some_and(|rows| !rows.is_empty()), "{verdict}");
    let components = bench.run(&["components", "--json"]).expect(0).json();
    let rows = components["components"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["component_id"] == name).unwrap().clone();
    assert_eq!(row("pytorch")["status"], "passed", "{components}");
    assert!(row("pytorch")["metrics"]["throughput"]["value"].as_f64().is_some_and(|value| value > 0.0));
    assert_eq!(row("triton")["status"], "not_run");
}
