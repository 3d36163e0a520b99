//! Environments that are broken, of an unsupported version, or without a package: each is skipped
//! with a `cure`.

use std::process::Command;

use super::common::{Bench, words};
use super::{python, why};

#[test]
fn a_broken_environment_is_a_skip_with_its_cure() {
    let bench = Bench::new();
    let broken =
        bench.write("python3", "#!/bin/sh\necho 'no module named encodings' >&2\nexit 1\n");
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let document = bench
        .set("MLSTACK_BENCHMARK_PYTHON", broken.to_str().unwrap())
        .run("pytorch --json")
        .expect(5)
        .json();
    let result = &document["benchmarks"][0];
    assert_eq!(result["outcome"], "skipped");
    assert!(why(result).contains("encodings"), "{result}");
}

#[test]
fn a_missing_package_is_a_skip_with_its_cure() {
    let bench = Bench::new();
    let venv = bench.path("venv");
    let made =
        Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(made.success());
    let python = venv.join("bin/python3");
    let document = bench
        .set("MLSTACK_BENCHMARK_PYTHON", python.to_str().unwrap())
        .run("pytorch --json")
        .expect(5)
        .json();
    let result = &document["benchmarks"][0];
    assert!(result["cure"].as_str().unwrap().contains("pip install torch"), "{result}");
}

/// Returns an interpreter that gives `answer` to the program's query.
fn scripted(bench: &Bench, answer: &str) -> String {
    let script = format!("#!/bin/sh\necho 'rsb-answer:{answer}'\n");
    let path = bench.write("python3", &script);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn another_version_of_python_is_a_skip_that_says_how_to_build_for_it() {
    let bench = Bench::new();
    let answer = r#"{"program": "/opt/python", "version": "3.99.1", "prefix": "/opt", "library_dir": "", "library": "", "packages": [["torch", "2.9"]]}"#;
    let python = scripted(&bench, answer);
    let document = bench.run(&["pytorch", "--python", &python, "--json"]).expect(5).json();
    let result = &document["benchmarks"][0];
    assert!(why(result).contains("3.99.1") && why(result).contains("built for"), "{result}");
    assert!(result["cure"].as_str().unwrap().contains("PYO3_PYTHON=/opt/python"), "{result}");
}

#[test]
fn an_interpreter_named_by_the_flag_goes_before_the_variable() {
    let bench = Bench::new().set("MLSTACK_BENCHMARK_PYTHON", "/nonexistent/by/variable");
    let document = bench.run("pytorch --python /nonexistent/by/flag --json").expect(5).json();
    let result = &document["benchmarks"][0];
    assert!(result["what"].as_str().unwrap().contains("/nonexistent/by/flag"), "{result}");
    assert!(result["cure"].as_str().is_some_and(|cure| cure.contains("python setup")), "{result}");
    let real = python();
    let arguments = [
        "run",
        "python-faults",
        "--python",
        real.to_str().unwrap(),
        "--runs",
        "10",
        "--replicates",
        "1",
    ];
    bench.run(&arguments).expect(0);
}

#[test]
fn a_wheel_for_cuda_is_not_measured_as_rocm() {
    let Some(bench) = super::bench_with("torch") else { return };
    let document =
        bench.run("pytorch --backend rocm --axis workload=matmul --json").expect(5).json();
    let result = &document["benchmarks"][0];
    assert!(
        why(result).contains("not for rocm") || why(result).contains("sees 0 GPUs"),
        "{result}"
    );
    assert!(result["cure"].as_str().is_some_and(|cure| !cure.is_empty()), "{result}");
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let Some(bench) = super::bench_with("transformers") else { return };
    let axes = words(
        "--axis workload=transformer --axis operation=prefill --axis \
         model=/no/such/model",
    );
    let arguments = [&["pytorch", "--backend", "cpu", "--json"], axes.as_slice()].concat();
    let document = bench.run(&arguments).expect(5).json();
    let result = &document["benchmarks"][0];
    assert!(why(result).contains("no such directory"), "{result}");
    assert!(result["what"].as_str().unwrap().contains("/no/such/model"), "{result}");
}
