//! Results directories with dead writers, corrupt indexes, unusual files, and several concurrent
//! writers.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rsb_model::random::Generator;
use rsb_model::run::ReplicateProgress;
use rsb_model::{Environment, Fingerprint, Note, Run};

use crate::error::{StoreError, StoreNotice};
use crate::history::{Fingerprints, HistoryFilter, SeriesFilter};
use crate::read::read_run;
use crate::store::Store;
use crate::testing::{comparison, machine, measured_case, moment, run, skipped_case};
use crate::{check, export, files, index};

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("results")
    }

    fn database(&self) -> PathBuf {
        self.path().join(files::DATABASE)
    }

    fn write(&self) -> Store {
        Store::open_for_writing(&self.path()).unwrap()
    }

    fn read(&self) -> Store {
        Store::open_existing(&self.path()).unwrap()
    }

    /// Creates a directory with the runs `a`, `b`, `c`, an hour apart, each with the cases `fast`,
    /// `slow` and a skipped one.
    fn with_runs() -> Self {
        let dir = Self::new();
        let store = dir.write();
        for (index, id) in [(0_u8, "a"), (1, "b"), (2, "c")] {
            let base = run(id, i64::from(index) * 3600);
            let mut journal = store.begin(&base).unwrap();
            journal.add(&measured_case("fast", 1.0 + f64::from(index))).unwrap();
            journal.add(&measured_case("slow", 10.0 + f64::from(index))).unwrap();
            journal.add(&skipped_case("none")).unwrap();
            journal.finish(&base).unwrap();
        }
        dir
    }

    fn ids(&self) -> Vec<String> {
        self.read().runs().unwrap().into_iter().map(|run| run.run_id.0).collect()
    }

    fn journal(&self, name: &str) -> PathBuf {
        self.path().join("runs").join(format!("{name}.partial.jsonl"))
    }

    fn set_index_version(&self, version: i64) {
        let connection = rusqlite::Connection::open(self.database()).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    }

    /// Returns the ids of up to `most` runs before `run`.
    fn ids_before(&self, run: &Run, most: usize) -> Vec<String> {
        self.read().runs_before(run, most).unwrap().into_iter().map(|run| run.run_id.0).collect()
    }
}

fn notices(store: &Store) -> Vec<String> {
    store.notices().iter().map(ToString::to_string).collect()
}

#[test]
fn a_run_is_being_measured_while_its_writer_lives() {
    let dir = Directory::new();
    let store = dir.write();
    assert!(dir.read().being_measured().is_empty());
    let mut journal = store.begin(&run("a", 0)).unwrap();
    journal.add(&measured_case("fast", 1.0)).unwrap();
    let living: Vec<String> =
        dir.read().being_measured().iter().map(|run| run.run_id.0.clone()).collect();
    assert_eq!(living, ["a"]);
    drop(journal);
    assert!(
        store.being_measured().is_empty(),
        "a run whose writer has ended is not being measured"
    );
}

#[test]
fn a_reader_of_a_missing_directory_creates_nothing() {
    let dir = Directory::new();
    let store = dir.read();
    assert_eq!(store.runs().unwrap(), []);
    assert_eq!(store.latest().unwrap(), None);
    assert_eq!(store.series(&SeriesFilter::default()).unwrap(), []);
    assert!(!dir.path().exists());
    fs::create_dir(dir.path()).unwrap();
    dir.read();
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "a reader of an empty directory must create nothing"
    );
}

#[test]
fn a_file_in_place_of_the_directory_is_named() {
    let dir = Directory::new();
    fs::write(dir.path(), "").unwrap();
    assert!(matches!(Store::open_existing(&dir.path()), Err(StoreError::NotADirectory { .. })));
    let error = Store::open_for_writing(&dir.path()).unwrap_err();
    assert!(
        matches!(error, StoreError::Write { .. }) && error.to_string().contains("--results-dir"),
        "{error}"
    );
}

#[test]
fn runs_are_listed_and_found() {
    let dir = Directory::with_runs();
    let store = dir.read();
    let runs = store.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.0.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
    assert_eq!((runs[0].counts.measured, runs[0].counts.skipped), (2, 1));
    assert_eq!((runs[0].commit.as_deref(), runs[0].started), (Some("1a2b3c4d5e6f"), moment(7200)));
    assert_eq!(store.latest().unwrap().unwrap().run_id.0, "c");
    assert_eq!(store.run(runs[1].path.to_str().unwrap()).unwrap().run_id.0, "b");
    assert_eq!(notices(&store), Vec::<String>::new());
}

#[test]
fn a_run_is_named_by_its_id_or_a_unique_beginning() {
    let dir = Directory::new();
    let store = dir.write();
    for id in ["20260101T000000Z_abc", "20260101T000000Z_abc-2", "20260202T000000Z_abc", "odd%id"] {
        if id.contains('%') {
            assert!(store.begin(&run(id, 0)).is_err());
        } else {
            store.begin(&run(id, 0)).unwrap().finish(&run(id, 0)).unwrap();
        }
    }
    for (text, expected) in [
        // A complete id takes precedence over a prefix.
        ("20260101T000000Z_abc", "20260101T000000Z_abc"),
        ("202602", "20260202T000000Z_abc"),
    ] {
        assert_eq!(store.run(text).unwrap().run_id.0, expected, "{text}");
    }
    let ambiguous = store.run("2026").unwrap_err();
    assert!(matches!(ambiguous, StoreError::AmbiguousRun { matches, .. } if matches.len() == 3));
    assert!(matches!(store.run("2027"), Err(StoreError::UnknownRun { .. })));
    assert!(
        matches!(store.run("%"), Err(StoreError::UnknownRun { .. })),
        "a percent sign must not be a wildcard"
    );
    assert!(matches!(store.run(""), Err(StoreError::AmbiguousRun { .. })));
    assert!(matches!(store.run("missing.json"), Err(StoreError::Read(_))));
}

#[test]
fn a_killed_run_is_recovered_without_its_torn_line() {
    let dir = Directory::new();
    let store = dir.write();
    let mut journal = store.begin(&run("x", 0)).unwrap();
    journal.plan(5).unwrap();
    journal.add(&skipped_case("b")).unwrap();
    assert_eq!(
        store.progress().remove(0).progress,
        None,
        "no progress before the first replicate ends"
    );
    let third = ReplicateProgress { done: 3, total: 20 };
    journal.set_progress(third);
    assert_eq!(
        store.progress().remove(0).progress,
        None,
        "progress must be shown only when a result is added"
    );
    journal.add(&measured_case("a", 1.0)).unwrap();
    assert_eq!(store.progress().remove(0).progress, Some(third));
    assert_eq!(
        notices(&dir.write()),
        Vec::<String>::new(),
        "a run with a live writer must not be recovered"
    );
    let path = dir.path().join("runs/x.partial.jsonl");
    drop(journal);
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"{\"result\": {\"bench")
        .unwrap();

    let store = dir.read();
    let run_file = dir.path().join("runs/x.json");
    assert_eq!(
        *store.notices(),
        [StoreNotice::Recovered { path: run_file.clone(), cases: 2, dropped: 1 }]
    );
    assert!(!path.exists());
    let recovered = read_run(&run_file).unwrap();
    assert_eq!(recovered.benchmarks, [skipped_case("b"), measured_case("a", 1.0)]);
    assert_eq!(recovered.finished, None);
    assert_eq!(recovered.notes, [Note::CutOff { ended: 2, planned: Some(5), torn_lines: 1 }]);
    assert_eq!(store.runs().unwrap().len(), 1);
    assert_eq!(notices(&dir.read()), Vec::<String>::new());
}

/// After a power loss, only the beginning of a file may exist.
#[test]
fn a_journal_cut_anywhere_gives_every_case_that_was_whole() {
    let dir = Directory::new();
    let mut journal = dir.write().begin(&run("x", 0)).unwrap();
    for name in ["a", "b", "c"] {
        journal.add(&measured_case(name, 1.0)).unwrap();
    }
    drop(journal);
    let whole = fs::read(dir.journal("x")).unwrap();
    let newlines = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let around_lines = newlines.flat_map(|(at, _)| [at, at + 1]);
    for cut in around_lines.chain((0..whole.len()).step_by(199)) {
        let dir = Directory::new();
        fs::create_dir_all(dir.path().join("runs")).unwrap();
        fs::write(dir.journal("x"), &whole[..cut]).unwrap();
        let lines = String::from_utf8_lossy(&whole[..cut]).matches('\n').count();
        let stored: Vec<usize> =
            dir.read().runs().unwrap().iter().map(|run| run.counts.measured).collect();
        // The first line describes the run.
        let expected = if lines > 1 { vec![lines - 1] } else { Vec::new() };
        assert_eq!(stored, expected, "cut after {cut} bytes");
    }
}

#[test]
fn journals_that_hold_no_run_do_no_harm() {
    let dir = Directory::new();
    drop(dir.write().begin(&run("empty", 0)).unwrap());
    fs::write(dir.journal("nothing"), "").unwrap();
    fs::write(dir.journal("torn"), "{\"run\": {\"form").unwrap();
    fs::write(dir.journal("garbage"), "\0\0\0\n{}\n").unwrap();
    fs::write(dir.journal("newer"), "{\"run\": {\"format_version\": 99}}\n").unwrap();
    let store = dir.read();
    assert_eq!(store.runs().unwrap(), []);
    for name in ["empty", "nothing", "torn"] {
        assert!(!dir.journal(name).exists(), "{name}");
    }
    // Unreadable journals are kept.
    for name in ["garbage", "newer"] {
        assert!(dir.journal(name).exists(), "{name}");
    }
    let told = notices(&store).join("\n");
    assert!(told.contains("99 is newer") && told.contains("garbage"), "{told}");
}

#[test]
fn a_finished_run_is_not_recovered_again() {
    let dir = Directory::new();
    let store = dir.write();
    let mut journal = store.begin(&run("x", 0)).unwrap();
    journal.add(&measured_case("a", 1.0)).unwrap();
    let left = fs::read(dir.path().join("runs/x.partial.jsonl")).unwrap();
    journal.finish(&Run { finished: Some(moment(1)), ..run("x", 0) }).unwrap();
    drop(journal);
    fs::write(dir.path().join("runs/x.partial.jsonl"), left).unwrap();
    let store = dir.read();
    assert_eq!(store.latest().unwrap().unwrap().finished, Some(moment(1)));
    assert!(!dir.path().join("runs/x.partial.jsonl").exists());
}

#[test]
fn a_corrupt_index_is_moved_aside_and_rebuilt() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [Damage; 5] = [
        |_| b"this is not a database, but it is long enough to look like one".to_vec(),
        |_| b"SQLite format 3\0junk".to_vec(),
        |whole| whole[..whole.len() / 2].to_vec(),
        |whole| whole[..5000].to_vec(),
        |whole| {
            whole
                .iter()
                .enumerate()
                .map(|(at, &byte)| if at < 4096 { byte } else { 0xa5 })
                .collect()
        },
    ];
    for (index, damage) in damages.into_iter().enumerate() {
        let dir = Directory::with_runs();
        let damaged = damage(&fs::read(dir.database()).unwrap());
        fs::write(dir.database(), &damaged).unwrap();
        let store = dir.read();
        assert_eq!(store.history(&HistoryFilter::default()).unwrap().len(), 15, "damage {index}");
        let moved_to = dir.path().join("benchmarks.db.corrupt-1");
        assert_eq!(
            *store.notices(),
            [StoreNotice::DatabaseRebuilt { moved_to: moved_to.clone(), runs: 3 }],
            "damage {index}"
        );
        assert!(moved_to.exists());
        assert_eq!(dir.ids(), ["c", "b", "a"]);
    }
}

#[test]
fn an_index_with_a_thousand_random_bytes_is_repaired() {
    for seed in 0..8 {
        let dir = Directory::with_runs();
        let mut bytes = fs::read(dir.database()).unwrap();
        let mut random = Generator::new(seed);
        for _ in 0..1000 {
            // The header is not damaged, so that the damage is hard to detect.
            let at = 100 + random.below(bytes.len() as u64 - 100) as usize;
            bytes[at] = random.word() as u8;
        }
        fs::write(dir.database(), bytes).unwrap();
        assert_eq!(check::repair(&dir.path()).unwrap().runs, 3, "seed {seed}");
        let found = check::check(&dir.path()).unwrap();
        assert!(found.problems.is_empty(), "seed {seed}: {:?}", found.problems);
        assert_eq!(dir.ids(), ["c", "b", "a"], "seed {seed}");
    }
}

#[test]
fn corruption_that_shows_late_is_repaired_too() {
    let dir = Directory::with_runs();
    let store = dir.read();
    let other = rusqlite::Connection::open(dir.database()).unwrap();
    other.execute_batch("DROP TABLE points; DROP TABLE results;").unwrap();
    drop(other);
    assert_eq!(store.history(&HistoryFilter::default()).unwrap().len(), 15);
    assert!(matches!(&store.notices()[..], [StoreNotice::DatabaseRebuilt { runs: 3, .. }]));
}

#[test]
fn a_newer_index_is_refused_and_an_older_one_rebuilt() {
    let dir = Directory::with_runs();
    dir.set_index_version(index::SCHEMA_VERSION + 1);
    for error in [Store::open_existing(&dir.path()), Store::open_for_writing(&dir.path())]
        .map(Result::unwrap_err)
    {
        assert!(matches!(error, StoreError::NewerDatabase { .. }));
        assert!(error.to_string().contains("update rusty-stack-bench"), "{error}");
    }
    dir.set_index_version(index::SCHEMA_VERSION - 1);
    assert_eq!(dir.ids(), ["c", "b", "a"]);
}

#[test]
fn without_an_index_the_files_still_answer() {
    let dir = Directory::with_runs();
    fs::remove_file(dir.database()).unwrap();
    fs::create_dir(dir.database()).unwrap();
    let store = dir.read();
    assert_eq!(store.runs().unwrap().len(), 3);
    assert!(matches!(&store.notices()[..], [StoreNotice::IndexUnavailable { .. }]));
    let mut journal = dir.write().begin(&run("d", 9999)).unwrap();
    journal.finish(&run("d", 9999)).unwrap();
    store.refresh().unwrap();
    assert_eq!(store.runs().unwrap().len(), 4);
}

#[test]
fn files_that_come_go_change_or_break_are_noticed() {
    let dir = Directory::with_runs();
    let runs = dir.path().join("runs");
    fs::remove_file(runs.join("a.json")).unwrap();
    fs::write(runs.join("broken.json"), "{\"format_version\": 1, \"run").unwrap();
    fs::copy(runs.join("b.json"), runs.join("copy-of-b.json")).unwrap();
    let rewritten = Run { suite: "edited".to_owned(), ..dir.read().run("c").unwrap() };
    dir.write().rewrite(&rewritten).unwrap();
    let edited = fs::read_to_string(runs.join("b.json")).unwrap().replace("gflops", "tflops");
    fs::write(runs.join("edited.json"), edited).unwrap();
    let store = dir.read();
    assert_eq!(dir.ids(), ["c", "b"]);
    assert_eq!(store.runs().unwrap()[0].suite, "edited");
    let told = notices(&store).join("\n");
    assert!(told.contains("broken.json") && told.contains("cut off"), "{told}");
    assert!(told.contains("copy-of-b.json") && told.contains("run id b already"), "{told}");
    assert!(
        told.contains("edited.json") && told.contains("was changed after it was written"),
        "{told}"
    );
    let left_out = store.left_out_after(store.latest().unwrap().map(|run| run.run_id).as_ref());
    let names: Vec<_> =
        left_out.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["copy-of-b.json", "edited.json"],
        "files written or named after the latest run must be listed"
    );
}

#[test]
fn many_files_that_cannot_be_read_share_one_note() {
    let dir = Directory::with_runs();
    let break_one =
        |at: usize| fs::write(dir.path().join(format!("runs/broken-{at:03}.json")), "{").unwrap();
    (0..3).for_each(break_one);
    let few = crate::notes(&dir.read().notices());
    assert_eq!(few.len(), 3, "{few:?}");
    assert!(few[0].contains("broken-000.json`, line 1"), "{few:?}");
    (3..140).for_each(break_one);
    let many = crate::notes(&dir.read().notices());
    assert_eq!(many.len(), 1, "{many:?}");
    assert!(many[0].starts_with("140 files cannot be used and are left out: `"), "{many:?}");
    assert!(
        many[0].contains("broken-002.json` and 137 more; `rusty-stack-bench store check`"),
        "{many:?}"
    );
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let dir = Directory::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = dir.path();
            scope.spawn(move || {
                for turn in 0..4 {
                    let store = Store::open_for_writing(&path).unwrap();
                    let base = run("same", i64::from(writer * 10 + turn));
                    let mut journal = store.begin(&base).unwrap();
                    journal.add(&measured_case("a", 1.0)).unwrap();
                    journal.finish(&base).unwrap();
                }
            });
        }
    });
    let store = dir.read();
    let mut started: Vec<_> = store.runs().unwrap().into_iter().map(|run| run.started).collect();
    started.sort();
    let mut expected: Vec<_> =
        (0..4).flat_map(|writer| (0..4).map(move |turn| moment(writer * 10 + turn))).collect();
    expected.sort();
    assert_eq!(started, expected);
    assert_eq!(notices(&store), Vec::<String>::new());
    assert_eq!(files::journals_in(&dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn history_filters_by_case_metric_and_runs() {
    let dir = Directory::with_runs();
    let store = dir.read();
    for (cases, metric, runs, count) in [
        // Three runs; in each, two cases with two metrics and one without any.
        (None, None, None, 15),
        (None, None, Some(1), 5),
        // A part of the id.
        (Some("fast"), None, None, 6),
        // A pattern must match the whole id.
        (Some("fast*"), None, None, 0),
        (Some("cpu_performance/*/fas?"), Some("time_ms"), None, 3),
        // A bracket is literal.
        (Some("[f]ast"), None, None, 0),
    ] {
        let filter = HistoryFilter {
            cases: cases.map(str::to_owned),
            metric: metric.map(str::to_owned),
            runs,
        };
        assert_eq!(store.history(&filter).unwrap().len(), count, "{filter:?}");
    }
    let newest = HistoryFilter { cases: None, metric: None, runs: Some(1) };
    assert_eq!(store.history(&newest).unwrap(), {
        let mut expected = export::rows_of(&store.run("c").unwrap());
        expected.sort_by_key(|row| row.benchmark_id.ends_with("none"));
        expected
    });
}

#[test]
fn a_series_is_of_one_machine_and_of_what_was_measured() {
    let dir = Directory::with_runs();
    let store = dir.write();
    for other in [
        Run { environment: machine(64), ..run("unlike", 1800) },
        // The same machine with more known properties: its runs belong to the series, and one of
        // them is the latest.
        Run {
            environment: Environment { memory_gb: Some(64.0), ..machine(2) },
            ..run("known-better", 5400)
        },
    ] {
        let value = if other.run_id.0 == "unlike" { 500.0 } else { 2.5 };
        let mut journal = store.begin(&other).unwrap();
        journal.add(&measured_case("fast", value)).unwrap();
        journal.finish(&other).unwrap();
    }
    assert_eq!(values_of_fast(&store, Fingerprints::OfLatest), [1.0, 2.0, 2.5, 3.0]);
    let unlike = Fingerprints::Slug(Fingerprint::of(&machine(64)).slug());
    assert_eq!(values_of_fast(&store, unlike), [500.0]);
}

fn values_of_fast(store: &Store, machine: Fingerprints) -> Vec<f64> {
    let filter = SeriesFilter {
        cases: Some("fast".to_owned()),
        metric: Some("time_ms".to_owned()),
        machine,
        branch: None,
        runs: None,
    };
    let series = store.series(&filter).unwrap();
    assert_eq!(series.len(), 1);
    assert_eq!((series[0].unit.as_str(), series[0].better), ("ms", Some(rsb_model::Better::Lower)));
    series[0].points.iter().map(|point| point.value).collect()
}

#[test]
fn comparisons_survive_their_index() {
    let dir = Directory::with_runs();
    let path = dir.write().save_comparison(&comparison("b-vs-../a b/c-7")).unwrap();
    assert_eq!(path.parent(), Some(dir.path().join("comparisons").as_path()));
    fs::remove_file(dir.database()).unwrap();
    let store = dir.read();
    let listed = store.comparisons().unwrap();
    assert_eq!((listed.len(), listed[0].degraded, listed[0].verdict.as_str()), (1, 2, "Regressed"));
    assert_eq!(
        store.comparison(&listed[0].comparison_id).unwrap(),
        Some(comparison("b-vs-../a b/c-7"))
    );
    assert_eq!(store.comparison("none").unwrap(), None);
    assert_eq!(listed[0].path, path);
}

#[test]
fn the_csv_has_its_columns() {
    let dir = Directory::with_runs();
    let rows = dir
        .read()
        .history(&HistoryFilter { cases: Some("fast".into()), ..Default::default() })
        .unwrap();
    let text = export::csv_header().unwrap() + &export::csv_lines(&rows).unwrap();
    let mut lines = text.lines();
    let header = "run_id,timestamp,commit,benchmark_id,benchmark_type,outcome,device_type,metric,unit,better,value";
    assert_eq!(lines.next(), Some(header));
    let first = "c,2026-01-01T02:00:00Z,1a2b3c4d5e6f,cpu_performance/gemm/cpu:0/fast,cpu_performance,measured,cpu,gflops,GFLOP/s,higher,100";
    assert_eq!(lines.next(), Some(first));
    assert_eq!(lines.count(), 5);
    let json = export::to_json(&rows);
    assert_eq!(json["format_version"], 3);
    assert_eq!(json["rows"][1]["metric"], "time_ms");
    assert_eq!(json["rows"][1]["better"], "lower");
}

#[test]
fn reading_leaves_a_directory_of_other_things_alone() {
    let dir = Directory::new();
    fs::create_dir_all(dir.path().join("src")).unwrap();
    assert_eq!(dir.read().runs().unwrap(), []);
    assert!(!Path::new(&dir.database()).exists());
}

#[test]
fn a_run_that_got_more_replicates_takes_its_own_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let mut journal = store.begin(&run("x", 0)).unwrap();
    journal.finish(&Run { benchmarks: vec![measured_case("a", 1.0)], ..run("x", 0) }).unwrap();
    let more =
        Run { benchmarks: vec![measured_case("a", 2.0), measured_case("b", 1.0)], ..run("x", 0) };
    store.rewrite(&more).unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
    assert_eq!(store.run("x").unwrap(), more);
    assert_eq!(store.runs().unwrap()[0].counts.measured, 2);
    assert!(store.rewrite(&run("../x", 0)).is_err());
}

#[test]
fn the_runs_before_one_are_whole_ones_of_its_machine_and_suite_oldest_first() {
    let dir = Directory::new();
    let store = dir.write();
    for (seconds, id) in [(7200, "c"), (0, "a"), (3600, "b")] {
        keep_finished(&store, run(id, seconds));
    }
    keep_finished(&store, Run { suite: "full".to_owned(), ..run("other-suite", 4000) });
    keep_finished(&store, Run { environment: machine(3), ..run("other-machine", 4100) });
    keep_finished(&store, Run { imported: true, ..run("imported", 4200) });
    drop(store.begin(&run("interrupted", 4300)).unwrap());
    assert_eq!(dir.ids_before(&run("z", 9000), 5), ["a", "b", "c"]);
    assert_eq!(dir.ids_before(&run("z", 9000), 2), ["b", "c"]);
    assert_eq!(dir.ids_before(&run("b", 3600), 5), ["a"]);
    let odd = Run {
        started: moment(8000) + std::time::Duration::from_nanos(123_456_789),
        ..run("odd", 0)
    };
    keep_finished(&store, odd.clone());
    assert_eq!(dir.ids_before(&odd, 5), ["a", "b", "c"], "a run must not be listed before itself");
}

fn keep_finished(store: &Store, run: Run) {
    let run = Run { finished: Some(moment(10_000)), ..run };
    let mut journal = store.begin(&run).unwrap();
    journal.add(&measured_case("fast", 1.0)).unwrap();
    journal.finish(&run).unwrap();
}
