//! `gate --against-history` with the real binary, on a store of made-up runs: which runs count as
//! history or as repeats, and the exit code of each verdict.

use crate::common::made_up::{regressed, store, template};
use crate::common::{Bench, ProgramOutput, says};
use serde_json::{Value, json};

const CASES: u32 = 12;

/// A modification that distinguishes a run from the others.
type Change<'a> = &'a dyn Fn(&mut Value);

const SLOW: &str = "cpu_performance/tensor-ops/cpu:0/made-up-2";

/// Returns the run of hour `hour`, in which every case varies by 1 % and made-up-2 takes `factor`
/// times as long.
fn made_up(run: &Value, hour: u32, factor: f64) -> Value {
    let mut made_up = run.clone();
    made_up["run_id"] = format!("hour-{hour:03}").into();
    made_up["started"] = format!("2026-03-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24).into();
    made_up["environment"]["git"] =
        json!({ "commit": format!("{hour:040x}"), "branch": "main", "dirty": false });
    made_up["benchmarks"] = (0..CASES)
        .map(|index| {
            let mut case = run["benchmarks"][0].clone();
            case["benchmark_id"] =
                format!("cpu_performance/tensor-ops/cpu:0/made-up-{index}").into();
            let wobble = 1.0
                + 0.01 * (f64::from((hour * 7 + index * 5) % 13) / 6.0 - 1.0)
                + 1e-6 * f64::from(hour);
            let time =
                1000.0 * f64::from(index + 1) * wobble * if index == 2 { factor } else { 1.0 };
            // No two runs have the same samples.
            let sample = |at: u32| time * (1.0 + f64::from(hour * 100 + at * 7 % 20) / 1e7);
            let times: Vec<f64> = (0..20).map(sample).collect();
            case["samples"] = json!([{ "replicate": 0, "iters": vec![1; 20], "times_ns": times }]);
            case
        })
        .collect();
    made_up
}

/// Returns a bench with `hours` runs, one per hour.
fn with_history(hours: u32) -> (Bench, Value) {
    let (bench, run) = template("add");
    (0..hours).for_each(|hour| store(&bench, &made_up(&run, hour, 1.0)));
    (bench, run)
}

fn gate(bench: &Bench, code: i32) -> Value {
    bench.run("gate --against-history --json").expect(code).json()
}

fn row<'a>(result: &'a Value, id: &str) -> &'a Value {
    result["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == id && row["metric"] == "time_ms")
        .unwrap()
}

#[test]
fn the_latest_run_is_judged_by_those_before_it() {
    let (bench, run) = with_history(60);
    store(&bench, &made_up(&run, 70, 1.0));
    let result = gate(&bench, 0);
    assert_eq!(
        (&result["verdict"], &result["current_run_id"]),
        (&"Unchanged".into(), &"hour-070".into())
    );
    assert_eq!(result["baseline_run_id"], "hour-010..hour-059");
    store(&bench, &made_up(&run, 71, 1.25));
    let result = gate(&bench, 3);
    assert_eq!(regressed(&result), [SLOW]);
    says(row(&result, SLOW)["reason"].as_str().unwrap(), &["slower than the 15 runs before"]);
    // Later runs are not used to judge an earlier one, and the number of runs is respected.
    let named = bench.run("gate --against-history 20 --current hour-070 --json").expect(0).json();
    assert_eq!(named["baseline_run_id"], "hour-040..hour-059");
    let kept = bench.run("history --comparisons --json").expect(0).json();
    assert_eq!(kept["comparisons"].as_array().unwrap().len(), 3);
}

#[test]
fn a_doubtful_run_asks_to_be_repeated_and_repeats_at_its_commit_decide() {
    let (bench, run) = with_history(30);
    // One of the recent runs was slow as well, so a single run cannot decide.
    store(&bench, &made_up(&run, 25, 1.5));
    store(&bench, &made_up(&run, 40, 1.25));
    let ended = bench.run("gate --against-history").expect(4);
    assert!(ended.stdout.contains("repeat the run at this commit"), "{}", ended.stdout);
    let repeat = |hour: u32, factor: f64, change: Change<'_>| {
        let mut repeat = made_up(&run, hour, factor);
        repeat["environment"]["git"]["commit"] = format!("{:040x}", 40).into();
        change(&mut repeat);
        store(&bench, &repeat);
    };
    repeat(41, 1.26, &|_| {});
    repeat(42, 1.25, &|_| {});
    let result = gate(&bench, 3);
    assert_eq!(regressed(&result), [SLOW]);
    assert_eq!(result["current_run_id"], "hour-040,hour-041,hour-042");
    assert!(row(&result, SLOW)["reason"].as_str().unwrap().starts_with("2 repeats together"));
    // Another program, uncommitted changes, or a run a day later are no repeats.
    let another_program = |run: &mut Value| run["program"] = "another".into();
    let uncommitted = |run: &mut Value| {
        run["environment"]["git"]["dirty"] = true.into();
        run["program"].take();
    };
    let changes: [(u32, Change<'_>); 3] =
        [(43, &another_program), (44, &uncommitted), (60, &|_| {})];
    for (hour, change) in changes {
        repeat(hour, 1.0, change);
        assert_eq!(gate(&bench, 0)["current_run_id"], format!("hour-{hour:03}"));
    }
}

#[test]
fn too_short_a_history_is_no_verdict() {
    let (bench, run) = with_history(14);
    store(&bench, &made_up(&run, 40, 1.0));
    let result = gate(&bench, 4);
    assert!(
        row(&result, SLOW)["reason"]
            .as_str()
            .unwrap()
            .starts_with("only 14 earlier runs of this machine")
    );
    let (bench, run) = bench_with_one_run();
    let ended = bench.run("gate --against-history").expect(4);
    says(&ended.stdout, &["NO VERDICT: no earlier run", &run]);
    assert_eq!(gate(&bench, 4)["verdict"], "Inconclusive");
    says(&Bench::new().run("gate --against-history").expect(4).stdout, &["no run is stored in"]);
}

/// Returns a bench with a single run, and the suite of that run.
fn bench_with_one_run() -> (Bench, String) {
    let (bench, run) = template("add");
    store(&bench, &made_up(&run, 0, 1.0));
    (bench, run["suite"].as_str().unwrap().to_owned())
}

/// Makes every case of `run` depend on ROCm.
fn with_rocm(run: &mut Value, version: &str) {
    for case in run["benchmarks"].as_array_mut().unwrap() {
        case["factors"] = json!({ "rocm": version });
    }
}

#[test]
fn runs_of_other_machines_suites_and_software_are_no_history() {
    let changes: [(Change<'_>, &str); 3] = [
        (&|run| run["environment"]["cpu"]["model"] = "Another Processor".into(), ""),
        (&|run| run["suite"] = "another".into(), ""),
        (&|run| with_rocm(run, "99.1"), "--across"),
    ];
    for (change, said) in changes {
        let (bench, run) = template("add");
        for hour in 0..30 {
            let mut other = made_up(&run, hour, 1.0);
            change(&mut other);
            store(&bench, &other);
        }
        let mut current = made_up(&run, 40, 2.0);
        with_rocm(&mut current, "7.2");
        store(&bench, &current);
        let ended: ProgramOutput = bench.run("gate --against-history").expect(4);
        assert!(ended.stdout.contains("NO VERDICT: no earlier run"), "{}", ended.stdout);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        if !said.is_empty() {
            let across = bench.run("gate --against-history --across rocm --json").expect(3).json();
            assert_eq!(regressed(&across), [SLOW]);
        }
    }
}

#[test]
fn what_vanished_is_no_verdict_and_what_is_new_changes_nothing() {
    let (bench, run) = with_history(30);
    let mut current = made_up(&run, 40, 1.0);
    current["benchmarks"][0]["benchmark_id"] = "cpu_performance/tensor-ops/cpu:0/new".into();
    store(&bench, &current);
    let result = gate(&bench, 4);
    assert_eq!(result["missing"], json!(["cpu_performance/tensor-ops/cpu:0/made-up-0"]));
    assert_eq!(result["new"], json!(["cpu_performance/tensor-ops/cpu:0/new"]));
}

#[test]
fn an_accepted_regression_does_not_fail_again() {
    let (bench, run) = with_history(30);
    bench.run("baseline save --run hour-029").expect(0);
    store(&bench, &made_up(&run, 40, 1.3));
    gate(&bench, 3);
    bench
        .run(&["baseline", "accept", SLOW, "--because", "a known cost", "--from", "hour-040"])
        .expect(0);
    store(&bench, &made_up(&run, 41, 1.3));
    assert_eq!(gate(&bench, 0)["verdict"], "Unchanged");
    store(&bench, &made_up(&run, 42, 1.7));
    assert_eq!(regressed(&gate(&bench, 3)), [SLOW]);
}

#[test]
fn unreadable_runs_and_wrong_words_are_exit_2() {
    let (bench, run) = with_history(20);
    store(&bench, &made_up(&run, 40, 1.0));
    bench.write("broken.json", "{\"run_id\":");
    let ended = bench.run("gate --against-history --current broken.json").expect(2);
    assert!(ended.stderr.contains("broken.json"), "{}", ended.stderr);
    for words in [
        &["--against-history", "14"][..],
        &["--against-history", "many"],
        &["--against-history", "--baseline", "x"],
        &["--against-history", "--against", "HEAD"],
        &["--against-history", "--budget", "1m"],
        &["--against-history", "--baseline-optional"],
    ] {
        bench.run(&[&["gate"], words].concat()).expect(2);
    }
    // An unreadable earlier run is reported and ignored; the run under test must be readable.
    let broken = bench.write("benchmark_results/runs/hour-010.json", "{");
    let file = std::fs::File::options().write(true).open(&broken).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let ended = bench.run("gate --against-history").expect(0);
    assert!(ended.stderr.contains("hour-010"), "{}", ended.stderr);
    // If an unreadable run may be the latest, the run to judge is unknown.
    bench.write("benchmark_results/runs/hour-050.json", "{");
    let ended = bench.run("gate --against-history").expect(4);
    assert!(ended.stdout.contains("hour-050.json` may be a later run"), "{}", ended.stdout);
    bench.run("gate --against-history --current hour-040").expect(0);
}

#[test]
fn every_format_names_the_regression() {
    let (bench, run) = with_history(30);
    store(&bench, &made_up(&run, 40, 1.5));
    for format in ["text", "json", "markdown", "junit", "sarif", "github"] {
        let ended = bench.run(&["gate", "--against-history", "--format", format]).expect(3);
        assert!(ended.stdout.contains("made-up-2"), "{format}");
    }
}
