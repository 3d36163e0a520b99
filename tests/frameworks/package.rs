//! The Python package: its own tests, and that it calls every case in the same way as the program.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rsb_catalog::frameworks::{ComponentSelection, all, cases};
use rsb_model::DeviceRef;
use rsb_workloads::Breadth;

use super::python;

fn sources() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python")
}

#[test]
fn python_s_own_tests_pass() {
    let has = |module: &str| {
        let import = format!("import {module}");
        Command::new(python()).args(["-c", &import]).output().unwrap().status.success()
    };
    let tests = sources().join("tests");
    if !has("pytest") {
        let install = "pip install --requirement python/tests/requirements.txt";
        let why = format!("pytest is not in {}; {install}", python().display());
        return test_needs::missing("pytest", &why);
    }
    // pytest fails if there are no tests.
    let output = Command::new(python())
        .args(["-B", "-m", "pytest", "--quiet", "--color=no"])
        .arg(tests)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    // The last line has the number of skips: `155 passed, 53 skipped in 35.03s`.
    let counts = stdout.lines().last().unwrap_or_default();
    let skipped = counts.split(", ").find_map(|count| Some(count.split_once(" skipped")?.0));
    if let Some(count) = skipped.filter(|_| !has("torch")) {
        let why = format!(
            "torch is not in {}; {count} of the Python package's tests were skipped",
            python().display()
        );
        test_needs::missing("frameworks", &why);
    }
}

#[test]
fn the_package_calls_every_case_as_the_program_does() {
    let known: Vec<_> = all()
        .iter()
        .flat_map(|component| {
            cases(
                component,
                DeviceRef::CPU,
                ComponentSelection { breadth: Breadth::Full, axes: &[] },
            )
            .unwrap()
        })
        .collect();
    assert!(known.len() > 50, "{}", known.len());
    let script = "
import json, sys
from rusty_stack_bench.cases import AXES, Case
seen = set()
for case in json.load(sys.stdin):
    params = dict(case['params'])
    workload = params.pop('workload')
    seen.add((case['benchmark'], workload))
    named = Case(case['benchmark'], workload, case['device'], params).id
    assert named == case['id'], (named, case['id'])
assert seen == set(AXES), seen ^ set(AXES)
";
    let mut child = Command::new(python())
        .args(["-B", "-c", script])
        .env("PYTHONPATH", sources())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(serde_json::to_string(&known).unwrap().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
