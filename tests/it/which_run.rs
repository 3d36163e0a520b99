//! The run that the gate judges by default, and checks that two measurements are distinct.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::made_up::{again, scale, store, with_baseline};
use crate::common::{Bench, SMALL, says};

/// Returns a bench with a baseline, and a stored run that passes, the second of its sequence.
fn with_run() -> (Bench, Value) {
    let (bench, run) = with_baseline(Bench::new());
    for file in bench.run_files() {
        std::fs::remove_file(file).unwrap();
    }
    let mut passing = again(&run, "second");
    passing["sequence"] = 2.into();
    store(&bench, &passing);
    (bench, passing)
}

fn judged(bench: &Bench, code: i32) -> Value {
    bench.run("gate --json --budget 0s").expect(code).json()
}

#[test]
fn the_latest_run_is_the_one_of_the_latest_time() {
    let (bench, run) = with_run();
    let mut slower = again(&run, "third");
    slower["sequence"] = 3.into();
    slower["started"] = later(&run).into();
    scale(&mut slower["benchmarks"][3], 2.0);
    store(&bench, &slower);
    assert_eq!(judged(&bench, 3)["current_run_id"], "third");
    bench.run("report --output report.md").expect(0);
    assert!(std::fs::read_to_string(bench.path("report.md")).unwrap().contains("third"));
    assert!(bench.run("baseline save again").expect(0).stdout.contains("saved again"));
    assert_eq!(read_baseline(&bench, "again")["runs"][0]["run_id"], "third");
    // Imported runs are judged only by name.
    let mut imported = again(&run, "imported");
    (imported["imported"], imported["sequence"]) = (true.into(), Value::Null);
    imported["started"] = "2096-01-01T00:00:00Z".into();
    store(&bench, &imported);
    assert_eq!(judged(&bench, 3)["current_run_id"], "third");
    // Of two runs with the same time, the file name decides.
    let mut same = again(&slower, "second-again");
    same["sequence"] = 1.into();
    store(&bench, &same);
    assert_eq!(judged(&bench, 3)["current_run_id"], "third");
}

#[test]
fn a_forged_or_missing_number_in_the_sequence_reorders_nothing_and_is_reported() {
    let (bench, run) = with_run();
    let mut slower = again(&run, "third");
    slower["started"] = later(&run).into();
    scale(&mut slower["benchmarks"][3], 2.0);
    for (number, of_passing) in
        [(json!(1), json!(2)), (Value::Null, json!(2)), (json!(3), json!(u64::MAX))]
    {
        slower["sequence"] = number.clone();
        store(&bench, &slower);
        let mut passing = run.clone();
        passing["sequence"] = of_passing;
        store(&bench, &passing);
        for words in [&["gate", "--budget", "0s"][..], &["gate", "--baseline-optional"]] {
            let ended = bench.run(words).expect(4);
            says(&ended.stdout, &["the run third is the latest by time, and second"]);
        }
        let told = bench.run("report --output report.md").expect(0);
        assert!(told.stderr.contains("the latest by time, and second"), "{}", told.stderr);
        assert!(
            std::fs::read_to_string(bench.path("report.md")).unwrap().contains("third"),
            "{number}"
        );
        let checked = bench.run("store check").expect(0).stderr;
        let is_told = checked.contains("but an earlier time");
        assert_eq!(is_told, !number.is_null(), "{number}: {checked}");
        bench.run("gate --current third --budget 0s").expect(3);
        bench.run("gate --current second --budget 0s").expect(0);
    }
    // Without numbers, as in files of an older program, only the time decides.
    let mut passing = run.clone();
    (slower["sequence"], passing["sequence"]) = (Value::Null, Value::Null);
    store(&bench, &slower);
    store(&bench, &passing);
    assert_eq!(judged(&bench, 3)["current_run_id"], "third");
}

/// Returns a time after that of `run`.
fn later(run: &Value) -> String {
    let started: rsb_model::Timestamp = run["started"].as_str().unwrap().parse().unwrap();
    (started + std::time::Duration::from_mins(1)).to_string()
}

#[test]
fn where_all_runs_were_imported_one_must_be_named() {
    let (_bench, run) = with_run();
    let mut imported = again(&run, "imported");
    (imported["imported"], imported["sequence"]) = (true.into(), Value::Null);
    let alone = Bench::new();
    store(&alone, &imported);
    for arguments in [&["chart", "line"][..], &["report"], &["gate"]] {
        let said = alone.run(arguments);
        let said = said.stdout.clone() + &said.stderr;
        assert!(
            said.contains("all imported") && said.contains("such as imported"),
            "{arguments:?}: {said}"
        );
    }
}

fn read_baseline(bench: &Bench, name: &str) -> Value {
    bench.run(&["baseline", "show", name, "--json"]).expect(0).json()
}

#[test]
fn a_run_that_may_be_the_latest_and_cannot_be_read_is_no_verdict() {
    let (bench, run) = with_run();
    let text = std::fs::read_to_string(bench.path("benchmark_results/runs/second.json")).unwrap();
    let newest = "benchmark_results/runs/third.json";
    let mut edited = again(&run, "third");
    edited["sequence"] = 3.into();
    edited.as_object_mut().unwrap().remove("checksum");
    let edited = rsb_store::sealed_text(&edited).unwrap().replacen(
        "\"replicate\": 1",
        "\"replicate\": 7",
        1,
    );
    for (broken, word) in [
        (text[..text.len() / 2].to_owned(), "cut off"),
        (text.replace("\"format_version\": 3", "\"format_version\": 99"), "newer than"),
        (text.replace("\"format_version\": 3", "\"format_version\": 0"), "measure again"),
        (text.clone(), "has the run id second already"),
        (edited, "was changed after it was written"),
    ] {
        bench.write(newest, &broken);
        let ended = bench.run("gate --budget 0s").expect(4);
        assert!(
            ended.stdout.contains("third.json` may be a later run"),
            "{word}: {}",
            ended.stdout
        );
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
        bench.run("gate --baseline-optional").expect(4);
        assert!(bench.run("baseline save x").expect(2).stderr.contains("may be a later run"));
        bench.run("gate --current second --budget 0s").expect(0);
    }
    std::fs::remove_file(bench.path(newest)).unwrap();
    judged(&bench, 0);
}

#[test]
fn what_is_newest_and_no_file_that_can_be_read_is_reported_and_not_missed() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (bench, _) = with_run();
    for (name, make, word) in [
        (
            "third.json",
            (|path| std::os::unix::fs::symlink("nowhere", path).unwrap()) as fn(&Path),
            "No such file",
        ),
        (
            "third.json",
            |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
            "it is a pipe",
        ),
        ("third.json", |path| std::fs::create_dir(path).unwrap(), "it is a directory"),
        // Reading address 0 through this link fails with an I/O error, as on a damaged disk.
        (
            "third.json",
            |path| std::os::unix::fs::symlink("/proc/self/mem", path).unwrap(),
            "Input/output error",
        ),
        (
            "third.JSON",
            |path| std::fs::hard_link(path.with_file_name("second.json"), path).unwrap(),
            "lower case",
        ),
        ("first.json", |path| std::os::unix::fs::symlink("..", path).unwrap(), "it is a directory"),
    ] {
        let path = bench.path("benchmark_results/runs").join(name);
        make(&path);
        let ended = bench.run("gate --budget 0s").expect(4);
        let told = format!("{name}` may be a later run");
        assert!(
            ended.stdout.contains(&told) && ended.stdout.contains(word),
            "{word}: {}",
            ended.stdout
        );
        let checked = bench.run("store check");
        assert!(
            checked.stdout.contains(name) && checked.stdout.contains(word),
            "{word}: {}",
            checked.stdout
        );
        std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).unwrap();
    }
    judged(&bench, 0);
}

#[test]
fn a_pipe_or_device_that_is_named_in_place_of_a_file_is_refused_at_once() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (bench, _) = with_run();
    mknodat(CWD, bench.path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bench.path("device")).unwrap();
    for (file, kind) in [("fifo", "it is a pipe"), ("device", "it is a device")] {
        for words in [
            &["gate", "--policy", file][..],
            &["gate", "--config", file],
            &["gate", "--environment", &format!("current={file}")],
            &["gate", "--baseline", file],
            &["gate", "--current", file],
            &["baseline", "show", file],
            &["baseline", "save", "--run", file],
            &["report", file],
            &["run", "--custom", file],
            &["run", "--sweep", file],
            &["trend", "--input", file],
            &["import", file],
            &["models", "list", "--catalogue", file],
            &["chart", "trend", "--input", file],
            &["config", "check", file],
            &["recommend", "--prices", file],
        ] {
            let ended = bench.run(words).expect(2);
            assert!(
                ended.stderr.contains(kind) && ended.stderr.contains(file),
                "{words:?}: {}",
                ended.stderr
            );
        }
    }
    for words in
        [["gate", "--policy"], ["gate", "--config"], ["run", "--custom"], ["run", "--sweep"]]
    {
        let ended = bench.run(&[words[0], words[1], "benchmark_results"]).expect(2);
        says(&ended.stderr, &["it is a directory", "benchmark_results"]);
    }
    let ended = bench.run("gate --budget 0s --config /dev/null");
    ended.expect(0);
}

#[test]
fn while_a_run_is_measured_the_one_before_is_not_judged() {
    let (bench, run) = with_run();
    let mut living = again(&run, "third");
    living["benchmarks"] = json!([]);
    let journal = bench.write(
        "benchmark_results/runs/third.partial.jsonl",
        &format!("{}\n", json!({ "run": living })),
    );
    let file = std::fs::File::open(journal).unwrap();
    file.try_lock().unwrap();
    let ended = bench.run("gate --budget 0s").expect(4);
    assert!(ended.stdout.contains("the run third is being measured now"), "{}", ended.stdout);
    bench.run("gate --current second --budget 0s").expect(0);
}

#[test]
fn a_run_of_another_commit_is_no_verdict_and_the_command_that_names_it_is_told() {
    let bench = Bench::new();
    let git = |words: &[&str]| crate::common::revisions::git(&bench, words);
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let measure = [&["gemm", "--axis", "shape=32x32x32"][..], &SMALL].concat();
    bench.run(&[&["run"][..], &measure, &["--id-file", "id"]].concat()).expect(0);
    std::os::unix::fs::symlink("elsewhere", bench.path("link")).unwrap();
    let linked = bench.run(&[&["run"][..], &measure, &["--id-file", "link"]].concat()).expect(2);
    assert!(
        linked.stderr.contains("link") && !bench.path("elsewhere").exists(),
        "{}",
        linked.stderr
    );
    let id = std::fs::read_to_string(bench.path("id")).unwrap().trim().to_owned();
    git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
    for words in [&["gate"][..], &["gate", "--against-history"]] {
        let ended = bench.run(words).expect(4);
        assert!(ended.stdout.contains(&format!("gate --current {id}")), "{}", ended.stdout);
    }
    // The run is named explicitly; only the baseline is missing.
    let named = bench.run(&["gate", "--current", &id]).expect(4);
    assert!(named.stdout.contains("no baseline"), "{}", named.stdout);
}

#[test]
fn a_tree_with_changes_is_not_judged_by_a_run_without_them() {
    let bench = Bench::new();
    let git = |words: &[&str]| crate::common::revisions::git(&bench, words);
    bench.write("source.rs", "one");
    bench.write("baselines/other/kept.json", "{}");
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    let measure = || {
        let words =
            [&["run", "gemm", "--axis", "shape=32x32x32"][..], &SMALL, &["--id-file", "id"]]
                .concat();
        bench.run(&words).expect(0);
        std::fs::read_to_string(bench.path("id")).unwrap().trim().to_owned()
    };
    let is_refused = |id: &str| {
        let verbs = [&["gate"][..], &["gate", "--against-history"]];
        let refused = verbs.map(|words| {
            let told = bench.run(words).expect(4).stdout;
            let is_refused = told
                .contains("measure first with `rusty-stack-bench run gemm --axis shape=32x32x32`");
            assert_eq!(is_refused, told.contains(&format!("gate --current {id}")), "{told}");
            is_refused
        });
        assert_eq!(refused[0], refused[1]);
        refused[0]
    };
    let clean = measure();
    assert!(!is_refused(&clean), "an untracked id file must not count as a change");
    bench.write("source.rs", "two");
    assert!(is_refused(&clean));
    git(&["add", "source.rs"]);
    assert!(is_refused(&clean));
    let changed = measure();
    assert!(!is_refused(&changed));
    bench.write("source.rs", "three");
    assert!(is_refused(&changed), "a run of different changes must be refused");
    bench.write("source.rs", "one");
    assert!(is_refused(&changed));
    bench.write("source.rs", "two");
    bench.write("baselines/other/kept.json", "{ }");
    assert!(!is_refused(&changed), "a baseline file must not count as a change");
}

#[test]
fn one_thing_spelled_in_two_ways_is_no_second_measurement() {
    let (bench, run) = with_run();
    for case in ["one", "two"] {
        let sample = json!({ "iters": [1.0, 2.0, 3.0], "times": [10.0, 21.0, 33.0] });
        bench.write(&format!("criterion/{case}/new/sample.json"), &sample.to_string());
        bench.write(
            &format!("criterion/{case}/new/benchmark.json"),
            &json!({ "full_id": case }).to_string(),
        );
    }
    let copy = bench.write_sealed("copy.json", &run);
    std::os::unix::fs::symlink(&copy, bench.path("link.json")).unwrap();
    for (baseline, current) in [
        ("criterion", "./criterion/../criterion"),
        ("criterion@new", "criterion"),
        ("copy.json", "link.json"),
    ] {
        let ended = bench.run(&["gate", "--baseline", baseline, "--current", current]).expect(4);
        assert!(ended.stdout.contains("are the same file or directory"), "{}", ended.stdout);
        let twice = bench.run(&[
            "gate",
            "--baseline",
            "tensor-ops",
            "--current",
            baseline,
            "--current",
            current,
        ]);
        assert!(twice.expect(2).stderr.contains("are the same source on one side"));
    }
    // Two cases have the same id, which is ambiguous.
    bench.write("criterion/two/new/benchmark.json", &json!({ "full_id": "one" }).to_string());
    let mut double = again(&run, "double");
    double["benchmarks"][4] = double["benchmarks"][5].clone();
    bench.write_sealed("double.json", &double);
    let result =
        bench.run("gate --json --baseline tensor-ops --current double.json").expect(4).json();
    let failed = result["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["reason_code"] == "case_failed");
    assert_eq!(failed.count(), 1, "{result:#}");
}

#[test]
fn what_tells_no_machine_says_so_and_takes_one() {
    let bench = Bench::new();
    for (name, own) in [("before", 0.0), ("after", 0.1)] {
        for case in 0..12 {
            let times: Vec<f64> = (1..=20)
                .map(|at| 1e4 * f64::from(at) * (1.0 + (own + f64::from(at % 7)) / 1e3))
                .collect();
            let iters: Vec<u32> = (1..=20).collect();
            let dir = format!("{name}/case-{case}/new");
            bench.write(
                &format!("{dir}/sample.json"),
                &json!({ "iters": iters, "times": times }).to_string(),
            );
            bench.write(
                &format!("{dir}/benchmark.json"),
                &json!({ "full_id": format!("case-{case}") }).to_string(),
            );
        }
    }
    let sides = ["gate", "--json", "--baseline", "before", "--current", "after"];
    let codes = |result: &Value| -> Vec<String> {
        result["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["code"].as_str().unwrap().to_owned())
            .collect()
    };
    let unknown = bench.run(&sides).expect(0).json();
    assert_eq!(
        codes(&unknown).iter().filter(|code| *code == "machine_unknown").count(),
        2,
        "{unknown:#}"
    );
    let here = bench.run("probe --json").expect(0).json();
    bench.write("here.json", &here.to_string());
    let mut elsewhere = here;
    elsewhere["cpu"]["model"] = "Another CPU".into();
    bench.write("elsewhere.json", &elsewhere.to_string());
    let told = |current: &str| {
        bench.run(
            &[&sides[..], &["--environment", "baseline=here.json", "--environment", current]]
                .concat(),
        )
    };
    let known = told("current=here.json").expect(0).json();
    assert!(!codes(&known).contains(&"machine_unknown".to_owned()), "{known:#}");
    assert_eq!(told("current=elsewhere.json").expect(4).json()["verdict"], "NotComparable");
    bench.write("nothing.json", "{}");
    for (words, said) in [
        ("current=nothing.json", "does not describe a machine"),
        ("current=gone.json", "gone.json"),
        ("now=here.json", "baseline=FILE"),
    ] {
        assert!(told(words).expect(2).stderr.contains(said), "{words}");
    }
    // This program's own runs record their machine.
    let (own, _) = with_run();
    own.write("here.json", &std::fs::read_to_string(bench.path("here.json")).unwrap());
    let ended = own.run("gate --environment current=here.json").expect(2);
    assert!(ended.stderr.contains("has no effect"), "{}", ended.stderr);
    let ended = own.run("gate --against HEAD --environment baseline=here.json").expect(2);
    assert!(ended.stderr.contains("cannot be used with"), "{}", ended.stderr);
}

#[test]
fn the_id_of_a_stored_run_names_the_run_next_to_a_folder_of_that_name() {
    let (bench, run) = with_run();
    let mut slower = again(&run, "third");
    scale(&mut slower["benchmarks"][3], 2.0);
    store(&bench, &slower);
    for id in ["second", "third"] {
        bench.write(&format!("{id}/notes.txt"), "a folder of the user");
    }
    bench.run("gate --current third --budget 0s").expect(3);
    let compared = bench.run("compare --json second third").expect(0).json();
    assert_eq!(compared["current_run_id"], "third");
    bench.run("report third --output report.md").expect(0);
    let path = bench.run("compare second ./third").expect(2);
    says(&path.stderr, &["./third", "Criterion"]);
}

#[test]
fn a_branch_or_commit_names_its_newest_run_of_the_suite_and_machine_of_the_other_side() {
    let (bench, run) = with_run();
    let commits = ["1111111aaaa", "2222222bbbb"];
    for (at, (name, branch, commit, factor)) in [
        ("m1", "main", commits[0], 3.0),
        ("m2", "main", commits[0], 1.0),
        ("f1", "feature/x", commits[1], 2.0),
    ]
    .into_iter()
    .enumerate()
    {
        let mut stored = again(&run, name);
        stored["started"] = format!("2095-01-0{}T00:00:00Z", at + 1).into();
        stored["sequence"] = (at + 3).into();
        stored["environment"]["git"] = json!({ "commit": commit, "branch": branch });
        stored["environment"]["git"]["dirty"] = false.into();
        for case in stored["benchmarks"].as_array_mut().unwrap() {
            scale(case, factor);
        }
        store(&bench, &stored);
    }
    let pairs = [
        ("compare main feature/x --check", "f1"),
        ("compare main --check", "f1"),
        ("compare 1111111 2222222 --check", "f1"),
        ("gate --baseline main --current feature/x --budget 0s", "f1"),
    ];
    for (command, current) in pairs {
        let result = bench.run(&format!("{command} --json")).expect(3).json();
        assert_eq!(
            (result["baseline_run_id"].as_str(), result["current_run_id"].as_str()),
            (Some("m2"), Some(current)),
            "{command}"
        );
    }
    bench.run("report main --format json --output run.json").expect(0);
    let report = std::fs::read_to_string(bench.path("run.json")).unwrap();
    says(&report, &["\"m2\""]);
    bench.run("chart delta feature/x --against main").expect(0);
    let listed = bench.run("history --branch main --json").expect(0).json();
    let ids: Vec<&str> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["m2", "m1"]);
    let trend = bench.run("trend --branch main --json").expect(0).json();
    assert_eq!(trend["series"][0]["n"], 2, "{trend}");
    for (command, parts) in [
        ("compare dev", &["`dev`", "branches: feature/x, main"][..]),
        ("report dev", &["branches: feature/x, main"]),
        ("trend --branch dev", &["branch `dev`", "feature/x, main"]),
        ("history --branch dev", &["branch `dev`", "feature/x, main"]),
    ] {
        says(&bench.run(command).expect(2).stderr, parts);
    }
    let mut other = again(&run, "full");
    other["suite"] = "full".into();
    other["started"] = "2095-02-01T00:00:00Z".into();
    other["sequence"] = 6.into();
    store(&bench, &other);
    says(&bench.run("compare main").expect(2).stderr, &["`main` has", "`full` has full on"]);
    // A saved baseline of that name takes precedence.
    bench.run("baseline save main --run m1").expect(0);
    assert_eq!(bench.run("compare main f1 --json").expect(0).json()["baseline_run_id"], "m1");
}
