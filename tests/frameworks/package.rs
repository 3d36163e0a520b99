//! The Python package: its own tests, and that it calls every case as the program does.

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
    let arguments = ["-B", "-m", "unittest", "discover", "--start-directory"];
    let output = Command::new(python())
        .args(arguments)
        .arg(sources())
        .current_dir(sources())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("Ran 0 tests"), "{stderr}");
    // The last line counts skips: `OK (skipped=34)`.
    let skipped =
        stderr.lines().last().and_then(|line| line.strip_prefix("OK (skipped=")?.strip_suffix(')'));
    let has_torch =
        || Command::new(python()).args(["-c", "import torch"]).output().unwrap().status.success();
    if let Some(count) = skipped.filter(|_| !has_torch()) {
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
