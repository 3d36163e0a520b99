//! The text output of `gate`, at two widths and in a pipe.
//!
//! A snapshot contains standard output, then standard error, as on a terminal.

use serde_json::{Value, json};

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::revisions::git;
use crate::common::{Bench, words};

/// Names and widths of a narrow terminal, a wide terminal, and a pipe.
const WIDTHS: [(&str, Option<&str>); 3] =
    [("80", Some("80")), ("120", Some("120")), ("piped", None)];

/// A comparison to show.
struct Shown {
    name: &'static str,
    code: i32,
    arguments: &'static [&'static str],
    /// Changes the baseline and the run.
    baseline: fn(&mut Value),
    /// Changes the run.
    current: fn(&mut Value),
}

impl Shown {
    /// Snapshots what `gate` prints at each width.
    fn snapshot(&self) {
        let (bench, mut run) = with_baseline(Bench::new());
        git(&bench, &["init", "--quiet"]);
        let [good, bad] = ["good", "bad"].map(|subject| {
            git(&bench, &["commit", "--quiet", "--allow-empty", "--message", subject]);
            git(&bench, &["rev-parse", "HEAD"])
        });
        // Remove all results except the made-up times, because they differ between machines.
        for case in run["benchmarks"].as_array_mut().unwrap() {
            case["results"] = json!([]);
        }
        run["environment"]["cpu"]["model"] = "EPYC A".into();
        run["environment"]["state"] = json!({ "load_average": 0.5 });
        run["notes"] = json!([]);
        run["environment"]["git"] = clean_tree(&good);
        (self.baseline)(&mut run);
        bench.write_sealed("made-up.json", &run);
        bench.run("baseline save --run made-up.json --baselines-dir saved").expect(0);
        let mut current = again(&run, "current");
        current["environment"]["git"] = clean_tree(&bad);
        (self.current)(&mut current);
        bench.write_sealed("benchmark_results/runs/current.json", &current);
        let baseline = run["run_id"].as_str().unwrap();
        for (width, columns) in WIDTHS {
            let arguments = words("gate --current current --baselines-dir saved --color never");
            let mut command = bench.command(&[&arguments[..], self.arguments].concat());
            command.env_remove("COLUMNS");
            command.envs(columns.map(|columns| ("COLUMNS", columns)));
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(self.code), "{output:?}");
            let [stdout, stderr] =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            let text = format!("{stdout}{stderr}").replace(baseline, "BASELINE");
            let text =
                text.replace(&good[..12], "aaaaaaaaaaaa").replace(&bad[..12], "bbbbbbbbbbbb");
            let text = text.replace(&bad[..7], "bbbbbbb");
            insta::with_settings!({ filters => vec![(r"measured \d+ min ago", "measured just now")] }, {
                insta::assert_snapshot!(format!("{}_{width}", self.name), text);
            });
        }
    }
}

/// Multiplies the times of each replicate of some cases by `factors`.
fn spread(run: &mut Value, factors: [f64; 3]) {
    for case in [2, 5, 7, 8, 9] {
        for (replicate, factor) in factors.into_iter().enumerate() {
            let times =
                run["benchmarks"][case]["samples"][replicate]["times_ns"].as_array_mut().unwrap();
            for time in times {
                *time = (time.as_f64().unwrap() * factor).into();
            }
        }
    }
}

/// Returns the git record of a clean tree at `commit`.
fn clean_tree(commit: &str) -> Value {
    json!({ "commit": commit, "branch": "main", "dirty": false })
}

#[test]
fn a_pass_is_a_line() {
    Shown { name: "pass", code: 0, arguments: &[], baseline: |_| {}, current: |_| {} }.snapshot();
}

#[test]
fn a_regression_names_the_cases_and_the_commands_that_follow() {
    let current = |run: &mut Value| {
        scale(&mut run["benchmarks"][2], 1.15);
        scale(&mut run["benchmarks"][5], 1.3);
        scale(&mut run["benchmarks"][7], 0.8);
    };
    Shown { name: "regressed", code: 3, arguments: &[], baseline: |_| {}, current }.snapshot();
}

#[test]
fn what_is_too_noisy_has_one_reason_and_the_flag_that_decides() {
    let current = |run: &mut Value| {
        spread(run, [1.3, 1.0, 1.0]);
        run["environment"]["state"] = json!({ "load_average": 7.0 });
        run["environment"]["cpu"]["usable_cores"] = 2.into();
    };
    let baseline = |run: &mut Value| {
        spread(run, [1.0, 1.4, 1.2]);
        run["environment"]["cpu"]["usable_cores"] = 2.into();
    };
    Shown { name: "no_verdict", code: 4, arguments: &[], baseline, current }.snapshot();
}

#[test]
fn another_machine_is_one_line_and_a_command() {
    let current = |run: &mut Value| run["environment"]["cpu"]["model"] = "EPYC B".into();
    let arguments = &["--baseline", "made-up.json"];
    Shown { name: "another_machine", code: 4, arguments, baseline: |_| {}, current }.snapshot();
}
