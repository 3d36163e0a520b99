//! The exit codes of `gate` with the real binary: 3 if something got slower, 0 if not, 4 without a
//! verdict.
//!
//! Real measurements on a shared machine are noisy, so the tests use a run of the program with
//! made-up times. Only the last test measures both sides.

use crate::common::made_up::{again, regressed, scale};
use crate::common::{Bench, SMALL, says, words};
use serde_json::Value;

/// Returns a bench with a baseline of twelve cases, and the run that it was made from.
fn with_baseline() -> (Bench, Value) {
    crate::common::made_up::with_baseline(Bench::new())
}

/// Stores a copy of `run`, modified by `change`, as the current side, and judges it.
fn gate(bench: &Bench, run: &Value, code: i32, change: impl Fn(&mut Value)) -> Value {
    let mut current = again(run, "current");
    change(&mut current);
    bench.write_sealed("current.json", &current);
    let ended = bench.run("gate --baseline tensor-ops --current current.json --json");
    ended.expect(code).json()
}

#[test]
fn identical_passes_slower_fails_and_names_it() {
    let (bench, run) = with_baseline();
    let result = gate(&bench, &run, 0, |_| {});
    assert_eq!(result["verdict"], "Unchanged");
    assert_eq!(result["summary"]["overall_status"], "healthy");
    let result = gate(&bench, &run, 3, |run| scale(&mut run["benchmarks"][2], 1.15));
    assert_eq!(regressed(&result), [run["benchmarks"][2]["benchmark_id"].as_str().unwrap()]);
    assert_eq!(result["summary"]["overall_status"], "critical");
    let result = gate(&bench, &run, 0, |run| scale(&mut run["benchmarks"][2], 0.8));
    assert_eq!(result["verdict"], "Improved");
}

#[test]
fn what_cannot_be_judged_is_never_green() {
    let (bench, run) = with_baseline();
    let verdict_of_first = |result: &Value| result["comparisons"][0]["verdict"].clone();
    let result =
        gate(&bench, &run, 4, |run| drop(run["benchmarks"].as_array_mut().unwrap().remove(0)));
    assert_eq!(result["missing"].as_array().unwrap().len(), 1);
    let result = gate(&bench, &run, 4, |run| {
        run["environment"]["cpu"]["model"] = "Another Processor".into();
    });
    assert_eq!(verdict_of_first(&result), "NotComparable");
    assert!(result["comparisons"][0]["reason"].as_str().unwrap().contains("cpu_model"));
    gate(&bench, &run, 4, |run| {
        run["benchmarks"][0]["outcome"] = "failed".into();
        run["benchmarks"][0]["what"] = "w".into();
        run["benchmarks"][0]["why"] = "y".into();
        run["benchmarks"][0]["cure"] = "c".into();
    });
    gate(&bench, &run, 4, |run| run["benchmarks"][0]["outcome"] = "simulated".into());
    gate(&bench, &run, 4, |run| run["benchmarks"][0]["samples"] = Value::Array(vec![]));
    gate(&bench, &run, 4, |run| run["benchmarks"][0]["samples"][0]["times_ns"][0] = (-1.0).into());
    gate(&bench, &run, 4, |run| run["benchmarks"][0]["samples"][0]["times_ns"] = Value::Null);
    gate(&bench, &run, 4, |run| run["benchmarks"][0] = "rubbish".into());
    // A regression is reported even if another case has no verdict.
    gate(&bench, &run, 3, |run| {
        scale(&mut run["benchmarks"][2], 1.3);
        run["benchmarks"].as_array_mut().unwrap().remove(0);
    });
}

/// Returns `run` as if measured on a machine with ROCm and ML frameworks, with an additional case
/// of `pytorch`.
fn with_an_ml_stack(run: &Value) -> Value {
    let mut run = again(run, "with-ml-stack");
    let environment = &mut run["environment"];
    environment["rocm"] = "5.2.0".into();
    environment["python"] = "3.9.2".into();
    environment["frameworks"] = serde_json::json!({"torch": "2.9.1", "openvino": "2026.1.0"});
    let mut torch = run["benchmarks"][0].clone();
    torch["benchmark_id"] = "component_specific/pytorch/cpu:0/matmul/f32".into();
    torch["benchmark_type"] = "component_specific".into();
    torch["factors"] = serde_json::json!({"python": "3.9", "torch": "2.9"});
    run["benchmarks"].as_array_mut().unwrap().push(torch);
    run["benchmarks"].as_array_mut().unwrap().iter_mut().for_each(|case| scale(case, 1.002));
    run
}

#[test]
fn a_baseline_with_rocm_and_torch_judges_a_run_without_them() {
    let (bench, run) = with_baseline();
    bench.write_sealed("with.json", &with_an_ml_stack(&run));
    bench.run("baseline save ml --run with.json").expect(0);
    bench.write_sealed("current.json", &again(&run, "without"));
    let result = bench.run("gate --baseline ml --current current.json --json").expect(4).json();
    let rows = result["comparisons"].as_array().unwrap();
    let (cpu, torch): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["id"].as_str().unwrap().starts_with("cpu_performance/"));
    assert!(cpu.len() >= 12 && cpu.iter().all(|row| row["verdict"] == "Unchanged"), "{cpu:#?}");
    assert!(torch.len() == 1 && torch[0]["verdict"] == "Inconclusive", "{torch:#?}");
    assert_eq!(
        result["missing"],
        serde_json::json!(["component_specific/pytorch/cpu:0/matmul/f32"])
    );
    // In the other direction, software that was installed later is reported as new and does not
    // affect the verdict.
    bench.run("gate --baseline tensor-ops --current with.json").expect(0);
}

#[test]
fn what_cannot_be_read_is_exit_2() {
    let (bench, run) = with_baseline();
    let whole = run.to_string();
    let newer = whole.replacen("\"format_version\":3", "\"format_version\":99", 1);
    for (name, text, expected) in [
        ("truncated.json", &whole[..whole.len() / 2], "truncated.json"),
        ("empty.json", "", "empty.json"),
        ("other.json", "[1, 2]", "other.json"),
        ("newer.json", newer.as_str(), "99"),
    ] {
        bench.write(name, text);
        let ended = bench.run(&["gate", "--baseline", "tensor-ops", "--current", name]).expect(2);
        assert!(ended.stderr.contains(expected), "{name}: {}", ended.stderr);
    }
}

#[test]
fn a_baseline_is_found_by_every_form_of_its_name() {
    let (bench, run) = with_baseline();
    bench.write_sealed("current.json", &again(&run, "current"));
    let saved = bench.run("baseline save --run made-up.json").expect(0).stdout;
    let path = saved.lines().next().unwrap().rsplit_once(" as ").unwrap().1;
    let of_machine = path.strip_prefix("baselines/").unwrap();
    let judged = |name: &str| bench.run(&["gate", "--baseline", name, "--current", "current.json"]);
    for name in [path, of_machine, "tensor-ops.json"] {
        judged(name).expect(0);
        judged(name.strip_suffix(".json").unwrap()).expect(0);
        bench.run(&["baseline", "show", name]).expect(0);
    }
    let unknown = judged("tensorops.json").expect(2).stderr;
    says(&unknown, &["neither a file nor a saved baseline", "nearest: tensor-ops"]);
}

#[test]
fn without_a_baseline_there_is_no_verdict_and_the_command_that_saves_one_is_named() {
    let bench = Bench::new();
    bench.run("gate").expect(4);
    bench.run(&[&["gemm", "--axis", "shape=32x32x32"][..], &SMALL].concat()).expect(0);
    let ended = bench.run("gate").expect(4);
    says(&ended.stdout, &["NO VERDICT", "baseline save"]);
    bench.run("gate --baseline-optional").expect(0);
}

#[test]
fn a_copy_of_what_was_measured_is_no_verdict() {
    let (bench, run) = with_baseline();
    let mut copy = run.clone();
    copy["run_id"] = "copy".into();
    bench.write_sealed("copy.json", &copy);
    let copied =
        bench.run("gate --baseline tensor-ops --current copy.json --json").expect(4).json();
    let rows = copied["comparisons"].as_array().unwrap();
    assert!(
        rows.iter()
            .filter(|row| row["metric"] == "time_ms")
            .all(|row| row["reason_code"] == "same_samples")
    );
    // If a benchmark panics, Criterion writes no new result, and the files in `new` are those of
    // the saved baseline.
    criterion_dir(&bench, "left", (12, |_: u32| 1.0));
    for case in 0..12 {
        let kept = bench.path(&format!("left/group/case-{case}"));
        std::fs::create_dir(kept.join("main")).unwrap();
        for file in ["sample.json", "benchmark.json"] {
            std::fs::copy(kept.join("new").join(file), kept.join("main").join(file)).unwrap();
        }
    }
    let stale = bench.run("gate --baseline left@main --current left --json").expect(4).json();
    assert_eq!(stale["comparisons"][0]["reason_code"], "same_samples");
}

#[test]
fn a_new_case_is_listed_and_changes_nothing() {
    let (bench, run) = with_baseline();
    let result = gate(&bench, &run, 0, |run| {
        let mut extra = run["benchmarks"][0].clone();
        extra["benchmark_id"] = "cpu_performance/tensor-ops/cpu:0/new".into();
        run["benchmarks"].as_array_mut().unwrap().push(extra);
    });
    assert_eq!(result["new"].as_array().unwrap().len(), 1);
}

#[test]
fn comparisons_are_kept() {
    let (bench, run) = with_baseline();
    gate(&bench, &run, 0, |_| {});
    let kept = bench.run("history --comparisons --json").expect(0).json();
    assert_eq!(kept["comparisons"].as_array().unwrap().len(), 1);
    let looked = bench.run("compare tensor-ops current.json").expect(0);
    assert!(looked.stdout.to_lowercase().contains("unchanged"), "{}", looked.stdout);
}

#[test]
fn the_policy_is_strict_and_heeded() {
    let (bench, run) = with_baseline();
    bench.write("baselines/policy.toml", "threshold_percnt = 20.0\n");
    let ended = bench.run("gate --baseline tensor-ops").expect(2);
    says(&ended.stderr, &["policy.toml", "threshold_percent"]);
    bench.write("baselines/policy.toml", "threshold_percent = 30.0\n");
    gate(&bench, &run, 0, |run| scale(&mut run["benchmarks"][2], 1.15));
}

#[test]
fn a_file_with_the_name_of_the_suite_does_not_replace_the_saved_baseline() {
    let (bench, run) = with_baseline();
    bench.run("baseline save --run made-up.json").expect(0);
    bench.write_sealed("current.json", &again(&run, "current"));
    bench.write("tensor-ops", "a file of the tree that is judged");
    bench.run("gate --current current.json").expect(0);
}

#[test]
fn an_error_without_a_policy_file_names_the_built_in_policy() {
    let (bench, mut run) = with_baseline();
    for case in run["benchmarks"].as_array_mut().unwrap() {
        let id = case["benchmark_id"].as_str().unwrap().replace("tensor-ops", "control");
        case["benchmark_id"] = id.into();
        case["category"] = "control".into();
    }
    bench.write_sealed("before.json", &run);
    bench.write_sealed("after.json", &again(&run, "after"));
    let ended = bench.run("gate --baseline before.json --current after.json").expect(2);
    let built_in = "the built-in policy (there is no baselines/policy.toml): every judged case";
    says(&ended.stderr, &[built_in, "in baselines/policy.toml"]);
}

#[test]
fn a_policy_that_cannot_be_meant_is_exit_2_and_says_what_is_near() {
    let (bench, run) = with_baseline();
    bench.write_sealed("current.json", &again(&run, "current"));
    let gate = || bench.run("gate --baseline tensor-ops --current current.json");
    for (policy, said) in [
        ("[ignore]\ncases = [\"*/gmm/*\"]\n", "did you mean `gemm`?"),
        (
            "[[threshold]]\nid = \"*/tensor-ops/*/made-up-x\"\npercent = 50.0\n",
            "did you mean `made-up-",
        ),
        (
            "[[target]]\nid = \"*/gemm/*/cach=cold\"\nmetric = \"gflops\"\nabove = 1.0\n",
            "did you mean `cache",
        ),
        (
            "[control]\ncases = [\"*/tensor-ops/*\"]\n",
            "every judged case belongs to the control set",
        ),
        ("[control]\nmoved_percent = 10.0\n", "must be below the smallest threshold"),
    ] {
        bench.write("baselines/policy.toml", policy);
        let ended = gate().expect(2);
        assert!(
            ended.stderr.contains("policy.toml") && ended.stderr.contains(said),
            "{policy}: {}",
            ended.stderr
        );
    }
    // A pattern that matches no case of this run may match one of another run, so it is only
    // reported.
    bench.write("baselines/policy.toml", "[ignore]\ncases = [\"*/gemm/*\"]\n");
    says(&gate().expect(0).stdout, &["policy patterns that match no case: `*/gemm/*` (ignore)"]);
    std::fs::remove_file(bench.path("baselines/policy.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere.toml", bench.path("baselines/policy.toml")).unwrap();
    assert!(
        gate().expect(2).stderr.contains("cannot read"),
        "a dangling link must not select the default policy"
    );
}

#[test]
fn a_missing_baseline_is_forgiven_and_nothing_else() {
    let (bench, run) = with_baseline();
    let optional =
        |more: &[&str]| bench.run(&[&["gate", "--baseline-optional"][..], more].concat());
    says(&optional(&["--current", "made-up.json"]).expect(4).stdout, &["is the baseline itself"]);
    let mut other = again(&run, "other");
    other["suite"] = "gemm".into();
    bench.write_sealed("other.json", &other);
    assert!(optional(&["--current", "other.json"]).expect(0).stdout.contains("no baseline `gemm`"));
    let empty = Bench::new();
    assert!(empty.run("gate --baseline-optional").expect(4).stdout.contains("no run is stored in"));
}

/// Measures both sides: an injected slowdown is found despite the noise of this machine.
#[cfg(feature = "fault-injection")]
#[test]
fn a_workload_made_slower_on_purpose_is_named() {
    let bench = Bench::new();
    let arguments = [
        &[
            "run",
            "tensor-ops",
            "--axis",
            "shape=256x256",
            "--axis",
            "dtype=f32",
            "--replicates",
            "3",
        ][..],
        &["--axis", "operation=add,gelu"],
        &SMALL[2..],
    ]
    .concat();
    bench.run(&arguments).expect(0);
    bench.run("baseline save").expect(0);
    // A slowdown so large that concurrent tests cannot hide it.
    let slowed = bench.set("RSB_TEST_SLOWDOWN", "/gelu/=20.0");
    slowed.run(&arguments).expect(0);
    let result = slowed.run("gate --json --budget 0s").expect(3).json();
    assert!(regressed(&result).iter().any(|id| id.contains("/gelu/")), "{result:#}");
}

#[test]
fn the_exit_code_stands_when_the_reader_has_left() {
    let (bench, run) = with_baseline();
    let mut run = again(&run, "current");
    scale(&mut run["benchmarks"][2], 3.0);
    bench.write_sealed("current.json", &run);
    let mut child = bench
        .command("gate --baseline tensor-ops --current current.json --verbose")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_run_counts_once_and_is_not_its_own_baseline() {
    let (bench, mut run) = with_baseline();
    let twice = words("gate --baseline tensor-ops --current made-up.json --current made-up.json");
    assert!(bench.run(&twice).expect(2).stderr.contains("the same source on one side"));
    let own = bench.run("gate --baseline tensor-ops --current made-up.json").expect(4);
    assert!(own.stdout.contains("is the baseline itself"), "{}", own.stdout);
    run["run_id"] = "../elsewhere".into();
    bench.write_sealed("escaping.json", &run);
    assert!(bench.run("report escaping.json").expect(2).stderr.contains("run_id"));
}

#[test]
fn no_verdict_is_a_document_too() {
    let bench = Bench::new();
    bench.run(&[&["gemm", "--axis", "shape=32x32x32"][..], &SMALL].concat()).expect(0);
    let ended = bench.run("gate --json").expect(4);
    assert_eq!(ended.json()["verdict"], "Inconclusive");
    assert!(ended.stderr.contains("NO VERDICT"), "{}", ended.stderr);
    for format in ["markdown", "junit", "sarif", "github"] {
        assert!(!bench.run(&["gate", "--format", format]).expect(4).stdout.is_empty(), "{format}");
    }
}

#[test]
fn a_case_is_judged_by_its_time_whatever_the_policy_leaves_out() {
    let (bench, _) = with_baseline();
    bench.write("baselines/policy.toml", "[ignore]\nmetrics = [\"time_ms\"]\n");
    let ended = bench.run("gate --baseline tensor-ops").expect(2);
    assert!(ended.stderr.contains("time_ms"), "{}", ended.stderr);
}

#[test]
fn every_format_names_the_regression() {
    let (bench, run) = with_baseline();
    let mut run = again(&run, "current");
    scale(&mut run["benchmarks"][2], 1.5);
    bench.write_sealed("current.json", &run);
    for format in ["text", "json", "markdown", "junit", "sarif", "github"] {
        let ended = bench.run(&[
            "gate",
            "--baseline",
            "tensor-ops",
            "--current",
            "current.json",
            "--format",
            format,
        ]);
        assert!(ended.expect(3).stdout.contains("made-up-2"), "{format}");
    }
}

/// Returns the seed for the noise of made-up measurements, different for each name used here.
fn seed(name: &str) -> u32 {
    name.bytes().map(u32::from).sum()
}

/// Writes a directory in Criterion's format: `cases` cases, with times multiplied by `factor`.
fn criterion_dir(bench: &Bench, name: &str, (cases, factor): (u32, impl Fn(u32) -> f64)) {
    for case in 0..cases {
        let id = format!("group/case-{case}");
        let jitter =
            1.0 + f64::from((case * 3 + seed(name)) % 5) / 1000.0 + f64::from(seed(name)) * 1e-6;
        let times: Vec<f64> =
            (1..=20).map(|sample| f64::from(sample) * 1000.0 * jitter * factor(case)).collect();
        let iters: Vec<f64> = (1..=20).map(f64::from).collect();
        bench.write(
            &format!("{name}/{id}/new/sample.json"),
            &serde_json::json!({ "iters": iters, "times": times }).to_string(),
        );
        bench.write(
            &format!("{name}/{id}/new/benchmark.json"),
            &serde_json::json!({ "full_id": id }).to_string(),
        );
    }
}

#[test]
fn directories_of_criterion_are_sides() {
    let bench = Bench::new();
    let unchanged = |_: u32| 1.0;
    for (index, name) in ["b", "bb", "bbb"].into_iter().enumerate() {
        criterion_dir(&bench, name, (12, unchanged));
        let current = format!("current-{index}");
        criterion_dir(&bench, &current, (12, unchanged));
        criterion_dir(
            &bench,
            &format!("slower-{index}"),
            (12, |case| if case == 5 { 1.2 } else { 1.0 }),
        );
        criterion_dir(&bench, &format!("fewer-{index}"), (11, unchanged));
    }
    let gate = |name: &str| {
        let sides: Vec<String> = (0..3).map(|index| format!("{name}-{index}")).collect();
        let mut arguments =
            vec!["gate", "--json", "--baseline", "b", "--baseline", "bb", "--baseline", "bbb"];
        arguments.extend(sides.iter().flat_map(|side| ["--current", side.as_str()]));
        bench.run(&arguments)
    };
    assert_eq!(gate("current").expect(0).json()["verdict"], "Unchanged");
    let slower = gate("slower").expect(3).json();
    assert_eq!(regressed(&slower), ["group/case-5"]);
    assert_eq!(gate("fewer").expect(4).json()["missing"][0], "group/case-11");
}

/// Writes a hyperfine file with twelve commands, of which the fourth took `factor` times as long
/// and exited with `code`.
fn hyperfine(bench: &Bench, name: &str, (factor, code): (f64, i32)) -> String {
    let result = |n: u32| {
        let (factor, code) = if n == 3 { (factor, code) } else { (1.0, 0) };
        let jitter = f64::from((n * 7 + seed(name)) % 5) / 1000.0 + f64::from(seed(name)) * 1e-6;
        let times: Vec<f64> =
            (0..10).map(|k| factor * (1.0 + jitter + f64::from(k) / 2000.0)).collect();
        serde_json::json!({ "command": format!("cmd {n}"), "times": times, "exit_codes": vec![code; 10] })
    };
    bench.write(
        name,
        &serde_json::json!({ "results": (0..12).map(result).collect::<Vec<_>>() }).to_string(),
    );
    name.to_owned()
}

/// Writes a file like [`hyperfine`], in which nine of ten runs of the fourth command took three
/// times as long.
fn mostly_slow(bench: &Bench, name: &str) -> String {
    let name = hyperfine(bench, name, (1.0, 0));
    let mut file: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path(&name)).unwrap()).unwrap();
    for time in file["results"][3]["times"].as_array_mut().unwrap().iter_mut().skip(1) {
        *time = (time.as_f64().unwrap() * 3.0).into();
    }
    bench.write(&name, &file.to_string());
    name
}

#[test]
fn a_command_that_fails_fast_did_not_improve() {
    let bench = Bench::new();
    let before = hyperfine(&bench, "before.json", (1.0, 0));
    let gate = |now: &str| bench.run(&["gate", "--json", "--baseline", &before, "--current", now]);
    let broken = gate(&hyperfine(&bench, "broken.json", (0.005, 1))).expect(3).json();
    assert_eq!(regressed(&broken), ["cpu_performance/hyperfine/cmd 3"]);
    let rows = broken["comparisons"].as_array().unwrap();
    let failed: Vec<_> = rows.iter().filter(|row| row["metric"] == "failed_runs_percent").collect();
    assert_eq!(failed.len(), 1, "only a command that fails must have this metric: {failed:?}");
    assert!(failed[0]["reason"].as_str().unwrap().starts_with("100 % after 0"), "{failed:?}");
    let mostly = gate(&mostly_slow(&bench, "mostly.json")).expect(4).json();
    let doubted: Vec<_> = mostly["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["verdict"] != "Unchanged")
        .collect();
    assert_eq!(
        (doubted.len(), &doubted[0]["reason_code"]),
        (1, &"median_worse".into()),
        "{doubted:?}"
    );
    let same = gate(&hyperfine(&bench, "same.json", (1.0, 0))).expect(0).json();
    assert!(
        same["comparisons"].as_array().unwrap().iter().all(|row| row["metric"] == "time_ms"),
        "{same}"
    );
}
