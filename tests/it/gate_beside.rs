//! A baseline that no longer matches the machine: the gate runs the program that made it,
//! interleaved with the current one.
//!
//! The times are measured. The changes are so large, and the threshold so wide, that concurrent
//! tests cannot hide them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Bench, words};

pub(crate) const MEASURE: &str = "run tensor-ops --axis shape=64x64 --axis dtype=f32 \
                                  --axis operation=add,gelu,sum --replicates 3";
pub(crate) const GATE: [&str; 2] = ["gate", "--json"];

/// Returns a bench whose baseline has a hundredth of each measured time, as if the machine had been
/// faster.
fn with_a_record_of_better_days() -> Bench {
    let bench = Bench::new();
    bench.write("baselines/policy.toml", "threshold_percent = 100.0\n");
    save_a_record_of_better_days(&bench);
    bench
}

/// Measures, saves a baseline with a hundredth of each measured time, and returns its file name.
pub(crate) fn save_a_record_of_better_days(bench: &Bench) -> String {
    bench.run(MEASURE).expect(0);
    bench.run("baseline save").expect(0);
    let listed = bench.run("baseline list --json").expect(0).json();
    let machine = listed["baselines"][0]["machine"].as_str().unwrap().to_owned();
    let name = format!("baselines/{machine}/tensor-ops.json");
    let mut baseline: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path(&name)).unwrap()).unwrap();
    for case in baseline["runs"][0]["benchmarks"].as_array_mut().unwrap() {
        for replicate in case["samples"].as_array_mut().unwrap() {
            for time in replicate["times_ns"].as_array_mut().unwrap() {
                *time = (time.as_f64().unwrap() / 100.0).into();
            }
        }
    }
    bench.write_sealed(&name, &baseline);
    name
}

pub(crate) fn regressed(result: &Value) -> Vec<&str> {
    let rows = result["comparisons"].as_array().unwrap().iter();
    rows.filter(|row| row["verdict"] == "Regressed")
        .map(|row| row["id"].as_str().unwrap())
        .collect()
}

#[test]
fn where_the_machine_changed_the_code_is_not_blamed() {
    let bench = with_a_record_of_better_days();
    bench.run(MEASURE).expect(0);
    // Compared with the stored values only, the program looks a hundred times as slow.
    let stored = bench.run(&[&GATE[..], &["--budget", "0s"]].concat()).expect(3).json();
    assert_eq!(regressed(&stored).len(), 3);
    let result = bench.run(&GATE).expect(0).json();
    for row in
        result["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == "time_ms")
    {
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("the machine changed, not the code"), "{reason}");
    }
    // The report repeats that verdict instead of judging the stored values again.
    let report = bench.run("report --format json").expect(0).json();
    assert!(report.to_string().contains("the machine changed, not the code"), "{report:#}");
    // The notes identify the kept program by its hash.
    let kept = program_of(&bench);
    let path = kept.display().to_string();
    let hash = kept.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let notes = result["notes"].to_string();
    assert!(
        notes.contains(&hash[..12]) && !notes.contains(&path),
        "notes for a pull request must not contain a path: {notes}"
    );
    // A repeated call with any of these arguments gives the same verdict and measures nothing.
    let run = result["current_run_id"].as_str().unwrap();
    for words in [&[][..], &["--budget", "90s"], &["--current", run]] {
        let again = bench.run(&[&GATE[..], words].concat()).expect(0);
        assert!(
            again.stderr.contains(
                "that verdict still \
                                   applies"
            ) && !again.stderr.contains("interleaved"),
            "{}",
            again.stderr
        );
        assert_eq!(again.json(), result);
    }
    bench.run(&[&GATE[..], &["--budget", "0s"]].concat()).expect(3);
    bench.run(&GATE).expect(0);
    // After a policy change and without the program that made the baseline, only the stored values
    // can decide.
    bench.write("baselines/policy.toml", "threshold_percent = 90.0\n");
    let program = std::fs::read(&kept).unwrap();
    std::fs::remove_dir_all(bench.cache.path().join("programs")).unwrap();
    assert_eq!(regressed(&bench.run(&GATE).expect(3).json()).len(), 3);
    // The working tree is not searched for a program, because a pull request could put one there.
    let hash = kept.parent().unwrap().file_name().unwrap();
    let planted = bench.path("benchmark_results/programs").join(hash);
    std::fs::create_dir_all(planted.parent().unwrap()).unwrap();
    std::fs::write(&planted, program).unwrap();
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(regressed(&bench.run(&GATE).expect(3).json()).len(), 3);
}

#[cfg(feature = "fault-injection")]
#[test]
fn what_the_code_did_is_named_alone_on_a_machine_that_changed() {
    let bench = with_a_record_of_better_days().set("RSB_TEST_SLOWDOWN", "/gelu/=20.0");
    bench.run(MEASURE).expect(0);
    let bench = bench.set("RSB_TEST_SLOWDOWN", "none=1.0"); // The run itself knows how it was slowed.
    let result = bench.run(&GATE).expect(3).json();
    let slower = regressed(&result);
    assert_eq!(slower.len(), 1, "{result:#}");
    assert!(slower[0].contains("/gelu/"), "{slower:?}");
}

/// Returns the only kept program.
fn program_of(bench: &Bench) -> PathBuf {
    let kept: Vec<_> = std::fs::read_dir(bench.cache.path().join("programs"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    assert_eq!(kept.len(), 1);
    kept[0].path().join("program")
}

#[test]
fn a_program_that_changed_or_of_an_earlier_version_is_not_run_and_that_is_said() {
    let bench = with_a_record_of_better_days();
    bench.run(MEASURE).expect(0);
    let kept = program_of(&bench);
    std::fs::remove_file(&kept).unwrap();
    std::fs::write(&kept, "#!/bin/sh\ntouch has-run\n").unwrap();
    std::fs::set_permissions(&kept, std::fs::Permissions::from_mode(0o500)).unwrap();
    let gated = bench.run(&GATE).expect(3);
    assert_eq!(gated.stderr.matches("its hash does not match").count(), 1, "{}", gated.stderr);
    assert!(!bench.path("has-run").exists());
    // An old baseline has a hash of 16 digits.
    let hash = kept.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let file =
        std::fs::read_dir(bench.path("baselines")).unwrap().map(|entry| entry.unwrap().path());
    let file =
        file.filter(|path| path.is_dir()).map(|dir| dir.join("tensor-ops.json")).next().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let changed: Value = serde_json::from_str(&text.replace(hash, "0123456789abcdef")).unwrap();
    bench.write_sealed(file.to_str().unwrap(), &changed);
    let gated = bench.run(&GATE).expect(3);
    assert_eq!(gated.stderr.matches("kept by an earlier version").count(), 1, "{}", gated.stderr);
}

/// The note that a run was not alone on the machine.
const DISTURBED: &str = "another run of this program was measuring at the same time";

#[test]
fn who_measures_beside_another_is_told_and_so_is_who_judges_by_it() {
    let bench = Bench::new();
    let dir = bench.dir.path().display().to_string();
    let bench = bench.set("TMPDIR", &dir);
    let lock = std::fs::File::create(bench.path("rusty-stack-bench.lock")).unwrap();
    lock.lock().unwrap();
    let once = MEASURE.replace("--replicates 3", "--replicates 1");
    assert!(bench.run(&once).expect(0).stderr.contains(DISTURBED));
    assert!(bench.run("baseline save").expect(0).stderr.contains(DISTURBED));
    drop(lock);
    assert!(!bench.run(&once).expect(0).stderr.contains(DISTURBED));
    let judged = bench.run(&[&GATE[..], &["--budget", "0s"]].concat());
    assert_eq!(judged.stderr.matches(DISTURBED).count(), 1, "{}", judged.stderr);
    // The first run detects the second at its end.
    let mut first =
        bench.command(MEASURE).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(first.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(
        said.by_ref().any(|line| line.starts_with("[replicate 1 of ")),
        "the first run must be measuring"
    );
    let small = words("run gemm --axis shape=16x16x16 --axis dtype=f32 --replicates 1");
    assert!(bench.run(&small).expect(0).stderr.contains(DISTURBED));
    assert_eq!(said.filter(|line| line.contains(DISTURBED)).count(), 1);
    assert!(first.wait().unwrap().success());
    // Remeasuring together with the baseline's program also claims the machine.
    let doubted = with_a_record_of_better_days().set("TMPDIR", &dir);
    doubted.run(MEASURE).expect(0);
    let lock = std::fs::File::open(bench.path("rusty-stack-bench.lock")).unwrap();
    lock.lock().unwrap();
    assert!(doubted.run(&GATE).stderr.contains(DISTURBED));
}
