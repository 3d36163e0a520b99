//! Tests that a history of millions of values stays fast: queries use indexes, and the time grows
//! slowly with the size. Absolute times are not tested.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rsb_model::{BenchmarkResult, Run, Samples};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::baselines::{Baseline, Baselines};
use crate::check::{self, StoreProblem};
use crate::error::StoreNotice;
use crate::history::{Fingerprints, HistoryFilter, POINTS, SeriesFilter};
use crate::merge::MergedFile;
use crate::open::FormerIndex;
use crate::prune::PruneRule;
use crate::question::HistoryQuestion;
use crate::store::Store;
use crate::testing::{DAY, keep, measured_case, moment, run, with_runs};

const LIMIT: Duration = Duration::from_mins(1);

fn plan(store: &Store, sql: &str) -> String {
    store
        .query(|connection| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let lines: Vec<String> =
                statement.query_map([], |row| row.get(3))?.collect::<rusqlite::Result<_>>()?;
            Ok(lines.join("\n"))
        })
        .unwrap()
}

#[test]
fn a_series_is_read_where_it_lies_and_a_day_from_its_row() {
    let (_dir, store) = with_runs(3, 2);
    let points = plan(&store, &POINTS.replace("?1", "1").replace("?2", "0"));
    assert_eq!(points, "SEARCH points USING PRIMARY KEY (series=? AND started>?)");
    let days = plan(&store, "SELECT day, mean FROM daily_means WHERE metric = 'time_ms'");
    assert!(
        days.contains("SEARCH d USING PRIMARY KEY (metric=?)") && !days.contains("points"),
        "{days}"
    );
    let one = plan(
        &store,
        "SELECT timestamp, value FROM measurements WHERE benchmark_id = 'x' AND metric = 'time_ms'",
    );
    for part in [
        "SEARCH c USING",
        "SEARCH v USING",
        "SEARCH s USING",
        "SEARCH p USING PRIMARY KEY (series=?)",
    ] {
        assert!(one.contains(part) && !one.contains("SCAN"), "{one}");
    }
    for question in [
        HistoryQuestion::Slowest { limit: 5 },
        HistoryQuestion::Regressed { since: moment(0) },
        HistoryQuestion::Between { before: "1a".to_owned(), after: "2b".to_owned() },
        HistoryQuestion::Unmeasured { since: moment(0) },
    ] {
        let plan = plan(&store, &question.sql());
        // Of the tables that grow with the history, only the small ones for runs and comparisons
        // may be scanned.
        let scanned = plan
            .lines()
            .filter_map(|line| line.strip_prefix("SCAN "))
            .filter(|name| name.len() == 1);
        assert!(scanned.clone().all(|table| ["r", "k", "e", "c"].contains(&table)), "{plan}");
        let first =
            plan.lines().find(|line| line.starts_with("SCAN ") || line.starts_with("SEARCH "));
        let begins =
            ["SCAN r", "SCAN c", "SEARCH runs USING INDEX runs_by_latest", "SEARCH k", "SCAN k"];
        assert!(
            first.is_some_and(|line| begins.iter().any(|begin| line.starts_with(begin))),
            "{plan}"
        );
    }
    let latest = plan(
        &store,
        &format!(
            "SELECT id FROM runs WHERE imported = 0 ORDER BY {} LIMIT 1",
            crate::store::LATEST_FIRST
        ),
    );
    assert!(latest.contains("runs_by_latest") && !latest.contains("TEMP B-TREE"), "{latest}");
}

#[test]
fn a_question_about_one_series_costs_no_more_where_there_are_eight_times_as_many() {
    let asked = SeriesFilter {
        cases: Some("cpu_performance/gemm/cpu:0/case-1".to_owned()),
        metric: Some("time_ms".to_owned()),
        runs: Some(10),
        ..SeriesFilter::default()
    };
    // Measured in steps of SQLite's virtual machine, which other programs do not affect.
    let [few, many] = [4, 32].map(|cases| {
        let (dir, store) = with_runs(12, cases);
        assert_eq!(store.series(&asked).unwrap()[0].points.len(), 10);
        let connection = Connection::open(dir.path().join("benchmarks.db")).unwrap();
        let sql = "SELECT p.value FROM cases c JOIN variants v ON v.case_id = c.id JOIN series s ON s.variant = v.id
                   JOIN metrics m ON m.id = s.metric JOIN points p ON p.series = s.id
                   WHERE c.name = 'cpu_performance/gemm/cpu:0/case-1' AND m.name = 'time_ms'
                   ORDER BY p.started DESC LIMIT 10";
        let mut statement = connection.prepare(sql).unwrap();
        assert_eq!(statement.query_map([], |row| row.get::<_, f64>(0)).unwrap().count(), 10);
        statement.get_status(rusqlite::StatementStatus::VmStep)
    });
    assert!(few > 0 && many < few + few / 4, "{few} and {many} steps");
}

#[test]
fn the_time_of_indexing_grows_with_the_number_of_values() {
    let [few, many] = [20, 80].map(|runs| {
        let (dir, store) = with_runs(runs, 40);
        drop(store);
        let least = (0..3).map(|_| {
            fs::remove_file(dir.path().join("benchmarks.db")).unwrap();
            let begun = Instant::now();
            Store::open_existing(dir.path()).unwrap();
            begun.elapsed().as_secs_f64()
        });
        least.fold(f64::INFINITY, f64::min)
    });
    // If every value were compared with every other, four times as many would take 16 times as
    // long.
    assert!(many < 10.0 * few, "{few} s and {many} s");
}

#[test]
fn a_trend_follows_the_figure_of_the_gate_and_an_export_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    // The 10 % quantiles of the three processes are 11, 21 and 61 ms.
    let case = BenchmarkResult {
        samples: vec![samples(0, 10.0), samples(1, 60.0), samples(2, 20.0)],
        ..measured_case("a", 1.0)
    };
    let impossible =
        BenchmarkResult { samples: vec![samples(0, -100.0)], ..measured_case("b", 1.0) };
    keep(&store, &Run { benchmarks: vec![case.clone(), impossible], ..run("x", 0) });
    let filter = SeriesFilter { metric: Some("time_ms".to_owned()), ..SeriesFilter::default() };
    let series = store.series(&filter).unwrap();
    assert_eq!(series.len(), 1, "a value that the gate refuses must not be a point");
    assert_eq!(Some(series[0].points[0].value), case.figure("time_ms"));
    assert!((series[0].points[0].value - 21.0).abs() < 1e-12);
    let rows = store
        .history(&HistoryFilter { metric: Some("time_ms".to_owned()), ..Default::default() })
        .unwrap();
    assert_eq!(rows.iter().map(|row| row.value).collect::<Vec<_>>(), [Some(1.0), Some(1.0)]);
}

fn samples(replicate: u32, level: f64) -> Samples {
    let times: Vec<f64> = (0..11).map(|at| (level + f64::from(at)) * 1e6).collect();
    Samples { replicate, iters: vec![1; 11], times_ns: times }
}

#[test]
fn days_follow_runs_that_change_and_go() {
    let (dir, store) = with_runs(3, 2);
    keep(&store, &Run { benchmarks: vec![measured_case("case-0", 9.0)], ..run("more", 60) });
    let [one, two, three, nine] =
        [1.0, 2.0, 3.0, 9.0].map(|time| measured_case("x", time).figure("time_ms").unwrap());
    let first = (2.0 * one + nine) / 3.0;
    assert_eq!(
        daily_means(&store),
        [
            json!(["2026-01-01", 3, first]),
            json!(["2026-01-02", 2, two]),
            json!(["2026-01-03", 2, three])
        ]
        .map(|row| row.as_array().unwrap().clone())
    );
    fs::remove_file(dir.path().join("runs/more.json")).unwrap();
    fs::remove_file(dir.path().join("runs/run-001.json")).unwrap();
    let store = Store::open_existing(dir.path()).unwrap();
    assert_eq!(
        daily_means(&store),
        [json!(["2026-01-01", 2, one]), json!(["2026-01-03", 2, three])]
            .map(|row| row.as_array().unwrap().clone())
    );
    assert!(check::check(dir.path()).unwrap().problems.is_empty());
}

fn daily_means(store: &Store) -> Vec<Vec<Value>> {
    let sql = "SELECT day, results, mean FROM daily_means WHERE metric = 'time_ms'";
    store.select(sql, LIMIT).unwrap().rows
}

#[test]
fn readers_read_while_a_writer_writes() {
    let (dir, store) = with_runs(2, 2);
    let mut writer = Connection::open(dir.path().join("benchmarks.db")).unwrap();
    let transaction =
        writer.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    transaction.execute("DELETE FROM points", []).unwrap();
    assert_eq!(store.runs().unwrap().len(), 2);
    assert_eq!(store.series(&SeriesFilter::default()).unwrap().len(), 4);
    assert_eq!(store.select("SELECT count(*) FROM points", LIMIT).unwrap().rows, [[json!(8)]]);
    drop(transaction);
    // A writer does not wait for an active reader either.
    let mut statement = writer.prepare("SELECT value FROM points").unwrap();
    let mut rows = statement.query([]).unwrap();
    assert!(rows.next().unwrap().is_some());
    keep(&store, &Run { benchmarks: vec![measured_case("case-0", 1.0)], ..run("more", 60) });
    let sql = "SELECT count(*) FROM runs WHERE run_id = 'more'";
    assert_eq!(
        store.select(sql, LIMIT).unwrap().rows,
        [[json!(1)]],
        "the new run must be in the index"
    );
    assert!(rows.next().unwrap().is_some());
}

#[test]
fn a_prune_keeps_the_latest_the_newest_and_what_baselines_are_made_from() {
    let (dir, store) = with_runs(10, 1);
    keep(
        &store,
        &Run {
            benchmarks: vec![measured_case("case-0", 1.0)],
            suite: "full".to_owned(),
            ..run("lonely", 0)
        },
    );
    // The run that was measured last has an old start time, because the clock was set back.
    keep(&store, &Run { benchmarks: vec![measured_case("case-0", 1.0)], ..run("last", -5 * DAY) });
    let baselines = Baselines::new(&dir.path().join("baselines"));
    let of = store.run("run-002").unwrap();
    baselines.save(&Baseline::new("quick", moment(0), &[of]).unwrap()).unwrap();
    let ids = baselines.run_ids().unwrap();
    let rule = PruneRule { before: moment(8 * DAY), keep: 3 };
    let plan = store.plan_prune(rule, &ids).unwrap();
    let deleted: Vec<String> = plan.deleted.iter().map(|run| run.run_id.0.clone()).collect();
    let expected = ["run-000", "run-001", "run-003", "run-004", "run-005", "run-006"];
    assert_eq!((deleted, plan.kept), (expected.map(str::to_owned).to_vec(), 5));
    assert_eq!(plan.of_baselines.iter().map(|id| id.0.as_str()).collect::<Vec<_>>(), ["run-002"]);
    assert_eq!(store.runs().unwrap().len(), 12, "planning must not delete anything");
    let mut told = Vec::new();
    store.delete(&plan.deleted, |run| told.push(run.run_id.0.clone())).unwrap();
    assert_eq!(told, expected);
    assert_eq!(store.runs().unwrap().len(), 6);
    assert_eq!(store.last_in_sequence().unwrap().unwrap().0, "last");
    assert!(check::check(dir.path()).unwrap().problems.is_empty());
    assert!(store.plan_prune(rule, &ids).unwrap().deleted.is_empty());
    fs::write(dir.path().join("baselines").join("broken").join("x.json"), "").unwrap_or_default();
    let slug = fs::read_dir(dir.path().join("baselines")).unwrap().next().unwrap().unwrap().path();
    fs::write(slug.join("broken.json"), "{").unwrap();
    assert!(baselines.run_ids().is_err(), "a broken baseline hides the runs it was made from");
}

#[test]
fn damage_and_disagreement_are_found_and_repaired() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm, &str); 5] = [
        (
            "a value",
            |dir| {
                drop(fs::write(
                    dir.join("sql"),
                    "UPDATE points SET value = 7, recorded = NULL WHERE run = 2",
                ));
            },
            "run-001",
        ),
        (
            "a lost value",
            |dir| drop(fs::write(dir.join("sql"), "DELETE FROM points WHERE run = 1")),
            "run-000",
        ),
        (
            "a mean",
            |dir| {
                drop(fs::write(
                    dir.join("sql"),
                    "UPDATE days SET total = total + 1 WHERE day = 20454",
                ));
            },
            "time_ms on 2026-01-01",
        ),
        (
            "what a row refers to",
            |dir| drop(fs::write(dir.join("sql"), "DELETE FROM series WHERE id = 1")),
            "refers to a missing row",
        ),
        (
            "pages",
            |dir| {
                let path = dir.join("benchmarks.db");
                let mut bytes = fs::read(&path).unwrap();
                bytes[8192..].fill(0xa5);
                fs::write(path, bytes).unwrap();
            },
            "is damaged",
        ),
    ];
    for (what, harm, part) in harms {
        let (dir, store) = with_runs(3, 2);
        drop(store);
        assert!(check::check(dir.path()).unwrap().problems.is_empty());
        harm(dir.path());
        if let Ok(text) = fs::read_to_string(dir.path().join("sql")) {
            let connection = Connection::open(dir.path().join("benchmarks.db")).unwrap();
            connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
            connection.execute_batch(&text).unwrap();
        }
        let found = check::check(dir.path()).unwrap();
        let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        assert!(
            problems.iter().any(|line| line.contains(part) && line.contains("store repair")),
            "{what}: {problems:?}"
        );
        let again = check::check(dir.path()).unwrap();
        assert_eq!(
            again.problems.len(),
            problems.len(),
            "{what}: a check must not change anything"
        );
        let repair = check::repair(dir.path()).unwrap();
        let is_damaged = problems.iter().any(|line| line.contains("is damaged"));
        let kept = dir.path().join("benchmarks.db.corrupt-1");
        let former = if is_damaged {
            FormerIndex::Damaged { kept: kept.clone() }
        } else {
            FormerIndex::Sound
        };
        assert_eq!((repair.former, kept.exists()), (former, is_damaged), "{what}");
        assert_eq!((repair.runs, repair.notices.len()), (3, 0));
        let whole = check::check(dir.path()).unwrap();
        assert_eq!((whole.problems.len(), whole.runs, whole.values), (0, 3, 15), "{what}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_checked_as_it_is() {
    let (dir, store) = with_runs(3, 2);
    drop(store);
    // SQLite cannot create the file that it needs next to a database in WAL mode, as in a read-only
    // directory.
    std::os::unix::fs::symlink("/nowhere/shm", dir.path().join("benchmarks.db-shm")).unwrap();
    let found = check::check(dir.path()).unwrap();
    assert_eq!(
        (found.problems.len(), found.runs, found.values),
        (0, 3, 15),
        "{:?}",
        found.problems
    );
    let runs = dir.path().join("runs");
    fs::copy(runs.join("run-001.json"), runs.join("newer.json")).unwrap();
    fs::write(runs.join("run-001.json"), "{").unwrap();
    let found = check::check(dir.path()).unwrap();
    assert_eq!((found.problems.len(), found.runs), (1, 4), "{:?}", found.problems);
}

#[test]
fn a_check_names_files_that_changed_clocks_that_went_back_and_a_newer_index() {
    let (dir, store) = with_runs(3, 1);
    keep(&store, &Run { benchmarks: vec![measured_case("a", 1.0)], ..run("back", DAY / 2) });
    let path = dir.path().join("runs/run-001.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("gflops", "tflops")).unwrap();
    let found = check::check(dir.path()).unwrap();
    assert!(
        matches!(&found.problems[..], [StoreProblem::Notice(StoreNotice::LeftOut { path: left, .. })] if *left == path)
    );
    assert_eq!(found.clock_jumps.len(), 1);
    assert_eq!(
        (found.clock_jumps[0].0.0.as_str(), found.clock_jumps[0].1.0.as_str()),
        ("run-002", "back")
    );
    assert_eq!(store.latest().unwrap().unwrap().run_id.0, "run-002", "the latest run by time");
    assert_eq!(store.last_in_sequence().unwrap().unwrap().0, "back");
    drop(store);
    let other = Connection::open(dir.path().join("benchmarks.db")).unwrap();
    other.pragma_update(None, "user_version", crate::index::SCHEMA_VERSION + 1).unwrap();
    for error in [check::check(dir.path()).map(drop), check::repair(dir.path()).map(drop)]
        .map(Result::unwrap_err)
    {
        assert!(error.to_string().contains("update rusty-stack-bench"), "{error}");
    }
}

#[test]
fn a_merge_takes_each_run_once_by_its_own_time_and_says_what_it_left() {
    let (from, theirs) = with_runs(3, 2);
    keep(&theirs, &Run { benchmarks: vec![measured_case("case-0", 1.0)], ..run("back", -DAY) });
    fs::write(from.path().join("runs/broken.json"), "{").unwrap();
    let (to, store) = with_runs(1, 1);
    let expected = [
        "unreadable true",
        "clock run-002 back",
        "taken back",
        "conflict run-000",
        "taken run-001",
        "taken run-002",
    ];
    assert_eq!(merge_all(&store, from.path()), expected);
    let expected = [
        "unreadable true",
        "clock run-002 back",
        "duplicate back",
        "conflict run-000",
        "duplicate run-001",
        "duplicate run-002",
    ];
    let again = merge_all(&store, &from.path().join("runs"));
    assert_eq!(again, expected, "merging again must add nothing");
    // The same run under another id.
    let copy =
        Run { run_id: rsb_model::RunId("copy".to_owned()), ..theirs.run("run-001").unwrap() };
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("copy.json"), crate::sealed_text(&copy).unwrap()).unwrap();
    assert_eq!(merge_all(&store, other.path()), ["duplicate run-001"]);
    let taken = store.take_in(&copy).unwrap();
    assert_eq!((taken.run_id.0.as_str(), taken.is_new), ("run-001", false));
    let ids: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.run_id.0).collect();
    assert_eq!(ids, ["run-002", "run-001", "run-000", "back"]);
    assert_eq!(store.latest().unwrap().unwrap().run_id.0, "run-002", "the latest run by time");
    assert_eq!(
        store.last_in_sequence().unwrap().unwrap().0,
        "run-000",
        "the last run in sequence was measured here"
    );
    assert!(check::check(to.path()).unwrap().problems.is_empty());
    let series = store
        .series(&SeriesFilter { machine: Fingerprints::OfLatest, ..Default::default() })
        .unwrap();
    let times: Vec<_> = series[0].points.iter().map(|point| point.timestamp).collect();
    assert!(times.is_sorted() && times.len() == 4, "{times:?}");
    let ids: HashSet<_> = series[0].points.iter().map(|point| point.run_id.clone()).collect();
    assert_eq!(ids.len(), 4, "no run may appear twice");
}

/// Merges `dir` into `store`; returns the result for each file.
fn merge_all(store: &Store, dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    store
        .merge(dir, |file| {
            files.push(match file {
                MergedFile::Taken { run_id, .. } => format!("taken {run_id}"),
                MergedFile::Duplicate { of, .. } => format!("duplicate {of}"),
                MergedFile::Conflict { run_id, .. } => format!("conflict {run_id}"),
                MergedFile::Unreadable(error) => {
                    format!("unreadable {}", error.to_string().contains("broken.json"))
                }
                MergedFile::ClockWentBack { first, second } => {
                    format!("clock {first} {second}")
                }
            });
        })
        .unwrap();
    files
}
