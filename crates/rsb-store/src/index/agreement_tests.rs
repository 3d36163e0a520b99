//! Tests that after any sequence of adding, rewriting, damaging and deleting runs, the index equals
//! one built from the existing files.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rsb_model::{BenchmarkResult, Run, Samples};
use serde_json::Value;

use crate::check;
use crate::store::Store;
use crate::testing::{machine, measured_case, run, skipped_case};

/// A step on one of a few runs.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The file of the run is written, or rewritten with other values.
    Write { run: u8, cases: u8, level: u8 },
    /// The file of the run is deleted.
    Delete { run: u8 },
    /// The file of the run is truncated.
    Cut { run: u8 },
    /// The results directory is opened.
    Open,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..6_u8, 0..4_u8, 1..9_u8).prop_map(|(run, cases, level)| Step::Write { run, cases, level }),
        2 => (0..6_u8).prop_map(|run| Step::Delete { run }),
        1 => (0..6_u8).prop_map(|run| Step::Cut { run }),
        1 => Just(Step::Open),
    ]
}

/// Creates a run on one of three days and two machines. Outcomes of cases vary, and some keep
/// samples.
fn made_up(which: u8, cases: u8, level: u8) -> Run {
    let environment = machine(2 + u32::from(which % 2));
    let benchmarks = (0..cases).map(|at| made_up_case(at, level)).collect();
    Run { environment, benchmarks, ..run(&format!("run-{which}"), i64::from(which) * 43_200) }
}

fn made_up_case(at: u8, level: u8) -> BenchmarkResult {
    let name = format!("case-{at}");
    match (at + level) % 4 {
        0 => skipped_case(&name),
        1 => BenchmarkResult {
            samples: Vec::<Samples>::new(),
            ..measured_case(&name, f64::from(level))
        },
        _ => measured_case(&name, f64::from(level) + 0.1 * f64::from(at)),
    }
}

/// Returns everything that users can query, in a fixed order.
fn everything(store: &Store) -> Vec<Vec<Vec<Value>>> {
    let questions = [
        "SELECT run_id, file, started, suite, measured, skipped FROM runs ORDER BY run_id",
        "SELECT * FROM measurements ORDER BY run_id, benchmark_id, metric",
        // Sums of the same values in another order may differ in the last digit.
        "SELECT day, metric, machine, results, round(mean, 9) FROM daily_means ORDER BY day, \
         metric, machine",
        "SELECT * FROM benchmark_runs ORDER BY id",
        "SELECT * FROM benchmark_results ORDER BY run_id, benchmark_id",
    ];
    let limit = std::time::Duration::from_mins(1);
    questions.iter().map(|sql| store.select(sql, limit).unwrap().rows).collect()
}

fn take(dir: &Path, store: &Store, step: Step) {
    match step {
        Step::Write { run, cases, level } => {
            let made_up = made_up(run, cases, level);
            if run_file(dir, run).exists() {
                store.rewrite(&made_up).unwrap();
            } else {
                store.begin(&made_up).unwrap().finish(&made_up).unwrap();
            }
        }
        Step::Delete { run } => {
            let _ = fs::remove_file(run_file(dir, run)); // It may not be there.
        }
        Step::Cut { run } => {
            if let Ok(text) = fs::read(run_file(dir, run)) {
                fs::write(run_file(dir, run), &text[..text.len() / 2]).unwrap();
            }
        }
        Step::Open => drop(Store::open_existing(dir).unwrap()),
    }
}

fn run_file(dir: &Path, run: u8) -> PathBuf {
    dir.join(format!("runs/run-{run}.json"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_is_what_the_files_make_it(steps in prop::collection::vec(step(), 1..14)) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_for_writing(dir.path()).unwrap();
        for step in steps {
            take(dir.path(), &store, step);
        }
        drop(store);
        let found = check::check(dir.path()).unwrap();
        let told: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        prop_assert!(told.iter().all(|line| line.contains("cut off")), "{:?}", told);
        let kept = everything(&Store::open_existing(dir.path()).unwrap());
        check::repair(dir.path()).unwrap();
        prop_assert_eq!(kept, everything(&Store::open_existing(dir.path()).unwrap()));
    }
}
