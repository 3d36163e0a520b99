//! `baseline accept` and `baseline refresh` with the real binary. The tests of `accept` use made-up
//! times. The tests of `refresh` measure, and check only that a measurement took place.

use crate::common::{Bench, ProgramOutput, SMALL, says, words};
use serde_json::Value;

const ID: &str = "cpu_performance/tensor-ops/cpu:0/made-up-2";

/// Returns a bench with a baseline of twelve cases, with three replicates each, in a git repository
/// of a user called Ada, and the run that the baseline was made from.
fn with_baseline() -> (Bench, Value) {
    let bench = Bench::new().set("GIT_CONFIG_GLOBAL", "gitconfig");
    bench.write("gitconfig", "[user]\n\tname = Ada\n");
    crate::common::made_up::with_baseline(bench)
}

fn read(path: &std::path::Path) -> Value {
    let mut document: Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document.as_object_mut().unwrap().shift_remove("checksum");
    document
}

/// Writes `run` as `current.json`, with the times of the cases in `slower` multiplied by their
/// factors.
fn write_current(bench: &Bench, run: &Value, slower: &[(usize, f64)]) {
    let mut current = crate::common::made_up::again(run, "current");
    for (index, factor) in slower {
        crate::common::made_up::scale(&mut current["benchmarks"][index], *factor);
    }
    bench.write_sealed("current.json", &current);
}

fn accept(bench: &Bench, id: &str, because: &str) -> ProgramOutput {
    bench.run(&["baseline", "accept", id, "--because", because, "--from", "current.json"])
}

fn gate(bench: &Bench) -> ProgramOutput {
    bench.run("gate --baseline tensor-ops --current current.json --json")
}

fn baseline(bench: &Bench) -> Value {
    bench.run("baseline show tensor-ops --json").expect(0).json()
}

#[test]
fn an_accepted_regression_does_not_fail_again_and_its_reason_is_kept() {
    let (bench, run) = with_baseline();
    write_current(&bench, &run, &[(2, 1.2), (5, 1.3), (7, 0.7)]);
    gate(&bench).expect(3);
    let ended = accept(&bench, ID, " exact rounding costs a fifth ").expect(0);
    assert!(ended.stdout.contains("because exact rounding costs a fifth"), "{}", ended.stdout);
    let result = gate(&bench).expect(3).json();
    let verdict = |index: usize| {
        let id = format!("cpu_performance/tensor-ops/cpu:0/made-up-{index}");
        let row = result["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["id"] == id.as_str())
            .unwrap();
        row["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!([verdict(2), verdict(5), verdict(7)], ["Unchanged", "Regressed", "Improved"]);

    let baseline = baseline(&bench);
    let accepted = &baseline["accepted"][0];
    assert_eq!(accepted["id"], ID);
    assert_eq!(accepted["because"], "exact rounding costs a fifth");
    assert_eq!((&accepted["by"], &accepted["from"]), (&"Ada".into(), &"current".into()));
    let figure = |name: &str| accepted[name].as_f64().unwrap();
    assert!((figure("change_percent") - 20.0).abs() < 1.0, "{accepted}");
    assert!((figure("new_value") / figure("old_value") - 1.2).abs() < 0.01, "{accepted}");
    assert!(accepted["when"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    let cases = baseline["runs"][0]["benchmarks"].as_array().unwrap();
    let own = cases.iter().find(|case| case["benchmark_id"] == ID).unwrap();
    assert_eq!(
        own["samples"].as_array().unwrap().len(),
        3,
        "each replicate of the run must be accepted"
    );
    assert_eq!(cases.len(), 12);
    let shown = bench.run("baseline show tensor-ops").expect(0).stdout;
    says(&shown, &["Accepted regressions", "exact rounding costs a fifth"]);

    // A pattern accepts only regressed cases.
    accept(&bench, "*made-up-*", "the rest of it").expect(0);
    gate(&bench).expect(0);
    let baseline = self::baseline(&bench);
    let ids: Vec<&str> = baseline["accepted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [ID, "cpu_performance/tensor-ops/cpu:0/made-up-5"]);
}

#[test]
fn what_cannot_be_accepted_changes_nothing_and_says_why() {
    let (bench, run) = with_baseline();
    let before = baseline(&bench);
    write_current(&bench, &run, &[(2, 1.2)]);
    for (id, because, code, expected) in [
        (ID, "  ", 2, "--because is empty"),
        (
            "cpu_performance/tensor-ops/cpu:0/made-up-22",
            "why",
            2,
            "did you mean `cpu_performance/tensor-ops/cpu:0/made-up-2",
        ),
        ("*nothing*", "why", 2, "the baseline has no case `*nothing*`"),
        ("cpu_performance/tensor-ops/cpu:0/made-up-3", "why", 2, "has not regressed"),
    ] {
        let ended = accept(&bench, id, because).expect(code);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    let from = |text: &str, code: i32, expected: &str| {
        let ended =
            bench.run(&["baseline", "accept", ID, "--because", "why", "--from", text]).expect(code);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    };
    from("nowhere.json", 2, "nowhere.json");
    from("made-up.json", 4, "is the baseline itself");
    let mut elsewhere = read(&bench.path("current.json"));
    elsewhere["environment"]["cpu"]["model"] = "Another Processor".into();
    bench.write_sealed("elsewhere.json", &elsewhere);
    from("elsewhere.json", 4, "cpu_model");
    let mut vanished = read(&bench.path("current.json"));
    vanished["benchmarks"].as_array_mut().unwrap().remove(2);
    bench.write_sealed("vanished.json", &vanished);
    from("vanished.json", 4, "has no verdict");
    let other = [
        "baseline",
        "accept",
        ID,
        "--because",
        "why",
        "--from",
        "current.json",
        "--baseline",
        "other",
    ];
    assert!(bench.run(&other).expect(2).stderr.contains("baseline list"));
    assert_eq!(baseline(&bench), before);
}

/// Returns a bench with a real baseline of one case, and its file.
fn measured() -> (Bench, std::path::PathBuf) {
    let bench = Bench::new();
    let arguments = words("tensor-ops --axis shape=8x64 --axis operation=add --axis dtype=f32");
    bench.run(&[&arguments[..], &SMALL[2..], &["--replicates", "2"]].concat()).expect(0);
    let saved = bench.run("baseline save").expect(0).stdout;
    let path = saved.lines().next().unwrap().rsplit_once(" as ").unwrap().1.to_owned();
    let path = bench.path(&path);
    (bench, path)
}

#[test]
fn a_refreshed_baseline_holds_the_same_cases_measured_as_often() {
    let (bench, path) = measured();
    let mut old = read(&path);
    let accepted = serde_json::json!({ "id": "x", "why": "kept", "since": "2026-01-01T00:00:00Z" });
    old["accepted"] = Value::Array(vec![accepted]);
    bench.write_sealed(path.to_str().unwrap(), &old);
    let ended = bench.run("baseline refresh").expect(0);
    says(&ended.stdout, &["Comparison", "git diff"]);
    let new = read(&path);
    assert_ne!(new["runs"][0]["run_id"], old["runs"][0]["run_id"]);
    let of = |baseline: &Value| {
        let run = &baseline["runs"][0];
        let cases = run["benchmarks"].as_array().unwrap().iter();
        let cases: Vec<(Value, usize)> = cases
            .map(|case| (case["benchmark_id"].clone(), case["samples"].as_array().unwrap().len()))
            .collect();
        (baseline["name"].clone(), run["suite"].clone(), run["profile"].clone(), cases)
    };
    assert_eq!(of(&new), of(&old));
    assert_eq!(of(&new).3[0].1, 2, "two replicates, as before");
    assert_eq!(
        new["accepted"][0]["because"], "kept",
        "an entry with the old key must still be read"
    );
    assert_eq!(bench.run_files().len(), 2, "the run must also be stored with the results");
}

#[test]
fn a_baseline_that_would_lose_a_case_is_only_replaced_by_force() {
    let (bench, path) = measured();
    let mut old = read(&path);
    let case = old["runs"][0]["benchmarks"][0].clone();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut case = case.clone();
        change(&mut case);
        case
    };
    old["runs"][0]["benchmarks"] = Value::Array(vec![
        case.clone(),
        with(&|case| {
            case["benchmark_id"] = "cpu_performance/tensor-ops/cpu:0/broken".into();
            case["metadata"]["parameters"]["shape"] = "of no size".into();
        }),
        with(&|case| {
            case["benchmark_id"] = "cpu_performance/forgotten/cpu:0/f32".into();
            case["category"] = "forgotten".into();
        }),
    ]);
    bench.write_sealed(path.to_str().unwrap(), &old);
    let ended = bench.run("baseline refresh tensor-ops").expect(1);
    for expected in [
        "no values for cpu_performance/tensor-ops/cpu:0/broken: ",
        "cpu:0/f32: this program",
        "--force",
    ] {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    assert_eq!(read(&path), old, "the baseline must stay unchanged");
    bench.run("baseline refresh --force").expect(0);
    let cases = read(&path)["runs"][0]["benchmarks"].as_array().unwrap().clone();
    let measured: Vec<&Value> = cases.iter().filter(|case| case["outcome"] == "measured").collect();
    assert_eq!(measured.len(), 1);

    let mut nothing = old.clone();
    nothing["runs"][0]["benchmarks"].as_array_mut().unwrap().remove(0);
    bench.write_sealed(path.to_str().unwrap(), &nothing);
    let ended = bench.run("baseline refresh --force").expect(1);
    assert!(ended.stderr.contains("nothing was measured"), "{}", ended.stderr);
    assert_eq!(read(&path), nothing);
}

#[test]
fn what_cannot_be_refreshed_is_exit_2_with_the_cure() {
    let bench = Bench::new();
    assert!(bench.run("baseline refresh").expect(2).stderr.contains("baseline save"));
    let (bench, path) = measured();
    assert!(bench.run("baseline refresh other").expect(2).stderr.contains("baseline list"));
    let whole = read(&path);
    let mut criterion = whole.clone();
    criterion["runs"][0]["profile"] = "criterion".into();
    bench.write_sealed(path.to_str().unwrap(), &criterion);
    assert!(bench.run("baseline refresh").expect(2).stderr.contains(
        "measured with the profile \
                                                                     `criterion`"
    ));
    let mut elsewhere = whole;
    elsewhere["environment"]["cpu"]["model"] = "Another Processor".into();
    elsewhere["fingerprint"]["hardware"]["cpu_model"] = "Another Processor".into();
    bench.write_sealed(path.to_str().unwrap(), &elsewhere);
    let ended = bench.run("baseline refresh tensor-ops").expect(2);
    says(&ended.stderr, &["cpu_model", "refresh it there"]);
}
