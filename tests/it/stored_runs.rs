//! Queries and maintenance of stored runs with the real binary: `query`, `history` with a built-in
//! query, `import` of a directory, `prune`, `store`; and that no kill loses acknowledged runs.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::made_up::template;
use crate::common::{Bench, ProgramOutput, SMALL, says};
use serde_json::{Value, json};

/// Returns the run of a day, counted from March 1, 2026. No value is equal to that of another day.
fn of_day(run: &Value, day: u32) -> Value {
    let mut made_up = run.clone();
    made_up["run_id"] = format!("day-{day:03}").into();
    made_up["sequence"] = (day + 1).into();
    made_up["started"] = format!("2026-{:02}-{:02}T06:00:00Z", 3 + day / 28, 1 + day % 28).into();
    made_up["environment"]["git"] =
        json!({ "commit": format!("{day:040x}"), "branch": "main", "dirty": false });
    for case in made_up["benchmarks"].as_array_mut().unwrap() {
        for time in case["samples"][0]["times_ns"].as_array_mut().unwrap() {
            *time = (time.as_f64().unwrap() + f64::from(day)).into();
        }
    }
    made_up
}

/// Writes the runs of the first `days` days below `dir`.
pub fn write_days(bench: &Bench, run: &Value, days: u32, dir: &str) {
    for day in 0..days {
        bench.write_sealed(&format!("{dir}/runs/day-{day:03}.json"), &of_day(run, day));
    }
}

/// Returns the ids of the runs that `history --json` listed, in its order.
pub fn ids(ended: &ProgramOutput) -> Vec<String> {
    let runs = ended.json();
    runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn kill_9_during_an_import_loses_nothing_acknowledged_and_doubles_nothing() {
    const DAYS: u32 = 24;
    const KILLS: usize = 20;
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, DAYS, "theirs");
    let cases = run["benchmarks"].as_array().unwrap().len();
    for kill in 0..KILLS {
        let results = format!("ours-{kill}");
        std::fs::create_dir(bench.path(&results)).unwrap();
        let import = ["import", "theirs", "--results-dir", &results];
        let mut child =
            bench.command(&import).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Kill the import at a different time in each round, from before the first run to after the
        // last.
        let mut said: Vec<String> =
            lines.by_ref().take(kill * 7919 % (DAYS as usize + 1)).collect();
        std::thread::sleep(Duration::from_micros((kill as u64 * 104_729) % 9_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines printed before the kill count too.
        said.extend(lines);
        let acknowledged: BTreeSet<&str> =
            said.iter().filter_map(|line| line.strip_prefix("imported: ")).collect();

        let history = ["history", "--limit", "1000", "--json", "--results-dir", &results];
        let stored = ids(&bench.run(&history).expect(0));
        let unique: BTreeSet<&str> = stored.iter().map(String::as_str).collect();
        assert_eq!(unique.len(), stored.len(), "kill {kill}: {stored:?}");
        assert!(unique.is_superset(&acknowledged), "kill {kill}: {acknowledged:?} of {stored:?}");
        bench.run(&["store", "check", "--results-dir", &results]).expect(0);
        let again = bench.run(&import).expect(0);
        let expected = format!("imported, {} already stored, 0 left out", stored.len());
        assert!(again.stdout.contains(&expected), "{}\n{expected}", again.stdout);
        assert_eq!(ids(&bench.run(&history).expect(0)).len(), DAYS as usize);
        let count = "SELECT count(*) AS n, count(DISTINCT run_id || benchmark_id) AS d FROM \
                     measurements WHERE metric = 'time_us'";
        let counted =
            bench.run(&["query", count, "--json", "--results-dir", &results]).expect(0).json();
        assert_eq!(
            (&counted["rows"][0]["n"], &counted["rows"][0]["d"]),
            (&json!(cases as u32 * DAYS), &json!(cases as u32 * DAYS))
        );
    }
}

#[test]
fn imports_of_one_directory_at_once_take_each_run_once() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 12, "theirs");
    let mut children: Vec<_> = (0..3)
        .map(|_| {
            bench
                .command("import theirs")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let stored = ids(&bench.run("history --limit 100 --json").expect(0));
    assert_eq!(stored.len(), 12);
    assert!(
        stored.windows(2).all(|pair| pair[0] > pair[1]),
        "runs must be listed by start time, newest first: {stored:?}"
    );
    bench.run("store check").expect(0);
}

#[test]
fn an_import_of_a_directory_says_what_it_leaves_out() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 3, "theirs");
    let mut back = of_day(&run, 3);
    back["started"] = "2026-02-01T00:00:00Z".into();
    bench.write_sealed("theirs/runs/day-003.json", &back);
    let mut newer = of_day(&run, 4);
    newer["format_version"] = 99.into();
    bench.write_sealed("theirs/runs/newer.json", &newer);
    let ended = bench.run("import theirs").expect(1);
    says(&ended.stdout, &["4 runs imported, 0 already stored, 1 left out"]);
    assert!(ended.stderr.contains("99 is newer"), "{}", ended.stderr);
    says(&ended.stderr, &["the clock went back between the runs day-002 and day-003"]);
    assert_eq!(
        ids(&bench.run("history --json").expect(0)),
        ["day-002", "day-001", "day-000", "day-003"]
    );
    let again = bench.run("import theirs").expect(1);
    says(&again.stdout, &["0 runs imported, 4 already stored, 1 left out"]);
    assert!(again.stderr.contains("is a duplicate of the stored run"), "{}", again.stderr);
    std::fs::create_dir(bench.path("empty")).unwrap();
    assert!(bench.run("import empty").expect(2).stderr.contains("name a results directory"));
    let format = bench.run("import theirs --format nvbench").expect(2);
    assert!(format.stderr.contains("--format"), "{}", format.stderr);
}

#[test]
fn results_of_a_tool_are_taken_in_once() {
    let bench = Bench::new();
    bench.write("h.json", r#"{"results": [{"command": "sleep 0", "times": [0.1, 0.2, 0.3]}]}"#);
    bench.run("import h.json").expect(0);
    let again = bench.run("import h.json").expect(0);
    assert!(again.stdout.contains("nothing imported"), "{}", again.stdout);
    assert_eq!(bench.run_files().len(), 1);
}

#[test]
fn kill_9_during_an_import_of_a_tool_and_a_repeat_take_each_sample_once() {
    const KILLS: u64 = 8;
    let bench = Bench::new();
    let case = |n: u32| format!(r#"{{"command": "c{n}", "times": [0.1, 0.2, 0.3]}}"#);
    let cases: Vec<String> = (0..4_000).map(case).collect();
    bench.write("h.json", &format!(r#"{{"results": [{}]}}"#, cases.join(",")));
    let import = ["import", "h.json"];
    for kill in 0..KILLS {
        let mut child =
            bench.command(&import).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Wait until part of the run is on disk, under any name.
        let runs = bench.path("benchmark_results/runs");
        let has_begun = || {
            let entries = std::fs::read_dir(&runs).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.metadata().ok()).any(|file| file.len() > 0)
        };
        while child.try_wait().unwrap().is_none() && !has_begun() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(kill * 20));
        child.kill().unwrap();
        child.wait().unwrap();
        bench.run(&import).expect(0);
        let stored = bench.run("history --json").expect(0).json();
        let runs = stored["runs"].as_array().unwrap();
        assert_eq!(
            (runs.len(), &runs[0]["measured"]),
            (1, &json!(4_000)),
            "kill {kill}: {stored:#}"
        );
        bench.run("store check").expect(0);
        std::fs::remove_dir_all(bench.path("benchmark_results")).unwrap();
    }
}

#[test]
fn questions_are_answered_in_sql_and_by_name() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 5, "benchmark_results");
    let count =
        bench.run(&["query", "SELECT count(*) AS runs FROM runs", "--json"]).expect(0).json();
    assert_eq!((&count["format_version"], &count["rows"]), (&json!(3), &json!([{ "runs": 5 }])));
    let csv = bench
        .run(&["query", "SELECT run_id, started FROM runs ORDER BY started LIMIT 1", "--csv"])
        .expect(0);
    assert!(csv.stdout.starts_with("run_id,started\nday-000,17"), "{}", csv.stdout);
    let view = bench
        .run(&["query", "SELECT model_id, count(*) AS runs FROM benchmark_runs GROUP BY 1"])
        .expect(0);
    assert!(view.stdout.contains("tensor-ops"), "{}", view.stdout);
    for (sql, part) in [
        ("DELETE FROM runs", "only a single SELECT"),
        ("SELECT absent FROM runs", "benchmark_runs(id, timestamp"),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT max(x) FROM n",
            "--timeout",
        ),
    ] {
        let ended = bench.run(&["query", sql, "--timeout", "1s"]).expect(2);
        assert!(ended.stderr.contains(part), "{sql}: {}", ended.stderr);
    }
    assert!(bench.run("history slowest --limit 1").expect(0).stdout.contains("day-004"));
    let never = bench.run("history unmeasured --since 2026-01-01 --json").expect(0).json();
    assert_eq!(never["rows"], json!([]));
    let long = bench.run("history unmeasured --since 2030-01-01 --json").expect(0).json();
    assert_eq!(long["rows"].as_array().unwrap().len(), run["benchmarks"].as_array().unwrap().len());
    let (first, last) = (format!("{:040x}", 0), format!("{:040x}", 4));
    let between = bench.run(&["history", "between", &first, &last, "--csv"]).expect(0);
    assert!(
        between.stdout.starts_with("benchmark_id,metric,unit,before,after,difference_percent"),
        "{}",
        between.stdout
    );
    says(
        &bench.run(&["history", "between", "no-such-thing", &last]).expect(2).stderr,
        &["neither a revision"],
    );
    // `query` accepts the printed SQL of a built-in query.
    let sql = bench.run("history regressed --since 1y --sql").expect(0).stdout;
    assert!(bench.run(&["query", &sql]).expect(0).stdout.contains("no rows"));
    assert!(bench.run("history regressed --since soon").expect(2).stderr.contains("1y"));
    // The queries changed nothing.
    assert_eq!(ids(&bench.run("history --limit 2 --json").expect(0)), ["day-004", "day-003"]);
}

#[test]
fn old_runs_go_and_those_of_baselines_stay() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 8, "benchmark_results");
    bench.run("baseline save --run day-002").expect(0);
    let dry = bench.run("prune --days 0 --keep 3 --dry-run").expect(0);
    assert!(
        dry.stdout.contains("would be deleted: day-000") && !dry.stdout.contains("day-002"),
        "{}",
        dry.stdout
    );
    assert!(dry.stderr.contains("day-002 is old but kept"), "{}", dry.stderr);
    assert_eq!(bench.run_files().len(), 8);
    let ended = bench.run("prune --days 0 --keep 3").expect(0);
    assert!(ended.stdout.contains("4 runs deleted, 4 kept"), "{}", ended.stdout);
    assert_eq!(
        ids(&bench.run("history --json").expect(0)),
        ["day-007", "day-006", "day-005", "day-002"]
    );
    bench.run("prune --days 36500 --keep 1").expect(0);
    assert_eq!(bench.run_files().len(), 4, "no run is old enough to be deleted");
    let baseline =
        std::fs::read_dir(bench.path("baselines")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(baseline.join("broken.json"), "{").unwrap();
    let refused = bench.run("prune --days 0 --keep 1").expect(2);
    says(&refused.stderr, &["nothing is deleted", "broken.json"]);
    assert_eq!(bench.run_files().len(), 4);
}

#[test]
fn nothing_is_deleted_through_a_link() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 3, "theirs");
    std::fs::remove_dir_all(bench.path("benchmark_results")).unwrap();
    std::fs::create_dir(bench.path("benchmark_results")).unwrap();
    std::os::unix::fs::symlink(bench.path("theirs/runs"), bench.path("benchmark_results/runs"))
        .unwrap();
    let ended = bench.run("prune --days 0 --keep 1");
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("symbolic link"), "{}", ended.stderr);
    assert_eq!(
        std::fs::read_dir(bench.path("theirs/runs"))
            .unwrap()
            .filter(|entry| is_run(&entry.as_ref().unwrap().path()))
            .count(),
        3
    );
}

fn is_run(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json")
}

#[test]
fn a_damaged_index_is_named_and_repaired() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 3, "benchmark_results");
    let whole = bench.run("store check").expect(0);
    says(&whole.stdout, &["3 runs and", "0 problems"]);
    let database = bench.path("benchmark_results/benchmarks.db");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[8192..].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    let broken = bench.run("store check").expect(1);
    says(&broken.stdout, &["damaged", "store repair"]);
    let repaired = bench.run("store repair").expect(0);
    says(&repaired.stdout, &["from 3 runs; the old one was damaged and is kept as"]);
    assert!(bench.path("benchmark_results/benchmarks.db.corrupt-1").exists());
    bench.run("store check").expect(0);
    let sound = bench.run("store repair").expect(0);
    assert_eq!(
        sound.stdout.trim_end(),
        "rebuilt the index from 3 runs; the old one was not damaged"
    );
    assert!(!bench.path("benchmark_results/benchmarks.db.corrupt-2").exists());
    bench.run("store check").expect(0);
    // Only the user can restore a changed file; its run is ignored until then.
    let file = bench.path("benchmark_results/runs/day-001.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("2026-03-02", "2026-03-03")).unwrap();
    let changed = bench.run("store check").expect(1);
    says(&changed.stdout, &["day-001.json", "changed after"]);
    bench.run("store check --results-dir nowhere").expect(2);
    assert!(bench.run("store repair --results-dir nowhere").expect(2).stderr.contains("nowhere"));
}

#[test]
fn many_files_that_cannot_be_read_share_one_note() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 1, "benchmark_results");
    for at in 0..140 {
        bench.write(&format!("benchmark_results/runs/broken-{at:03}.json"), "{");
    }
    let notes = bench.run("history").expect(0).stderr;
    assert_eq!(notes.lines().filter(|line| line.starts_with("note: ")).count(), 1, "{notes}");
    says(&notes, &["140 files cannot be used", "and 137 more"]);
    let problems = bench.run("store check").expect(1).stdout;
    assert_eq!(problems.matches("left out").count(), 140, "{problems}");
}

#[test]
fn a_missing_argument_lists_what_can_be_given() {
    let bench_without_runs = Bench::new();
    let refused = |bench: &Bench, arguments: &[&str]| {
        let stderr = bench.run(arguments).expect(2).stderr;
        stderr.split_once("--help'.\n").unwrap_or_else(|| panic!("{stderr}")).1.to_owned()
    };
    assert_eq!(
        refused(&bench_without_runs, &["compare"]),
        "no baseline is saved; `rusty-stack-bench baseline save` saves the latest run
no run is stored; `rusty-stack-bench run` measures one
example: rusty-stack-bench compare previous
"
    );
    assert!(!bench_without_runs.path("benchmark_results").exists());
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 7, "elsewhere");
    bench.run("baseline save before --results-dir elsewhere").expect(0);
    let compare = refused(&bench, &["compare", "--results-dir", "elsewhere"]);
    assert!(
        compare.starts_with("saved baselines: before\nlatest runs: day-006 (tensor-ops), day-005 "),
        "{compare}"
    );
    assert!(compare.contains("day-002 (tensor-ops) and 2 more\n"), "{compare}");
    let show = refused(&bench, &["baseline", "show"]);
    assert_eq!(show, "saved baselines: before\nexample: rusty-stack-bench baseline show before\n");
    let bisect = refused(&bench, &["bisect", "--results-dir", "elsewhere"]);
    assert!(bisect.starts_with("commits of the latest runs: 0000000000"), "{bisect}");
    says(&bisect, &["`rusty-stack-bench gate --against GOOD --results-dir elsewhere` lists the"]);
    let query = refused(&bench, &["query"]);
    for part in
        ["view benchmark_runs(", "view measurements(", "example: rusty-stack-bench query \"SELECT "]
    {
        assert!(query.contains(part), "{part}: {query}");
    }
}

#[test]
fn the_id_of_a_run_is_no_name_of_a_baseline() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 2, "benchmark_results");
    for id in ["day-000", "20261121T090312Z_1a2b3c4", "20261121T090312Z"] {
        let refused = bench.run(&["baseline", "save", id]).expect(2).stderr;
        says(&refused, &[&format!("`rusty-stack-bench baseline save --run {id}`")]);
    }
    assert_eq!(bench.run("baseline list --json").expect(0).json()["baselines"], json!([]));
    bench.run("baseline save --run day-000").expect(0);
    bench.run("baseline save 2026-before --run day-000").expect(0);
}

#[test]
fn a_trend_follows_the_figure_that_the_gate_judges() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 20, "benchmark_results");
    let trend = bench.run("trend --json").expect(0).json();
    let stored = bench.run(&[
        "query",
        "SELECT value FROM measurements WHERE metric = 'time_us' LIMIT 1",
        "--json",
    ]);
    let figure = stored.expect(0).json()["rows"][0]["value"].as_f64().unwrap();
    assert!(figure > 0.0);
    // All records are equal; only the samples distinguish the days.
    let differ = "SELECT count(DISTINCT value) AS n FROM measurements WHERE metric = 'time_us'";
    let n =
        bench.run(&["query", differ, "--json"]).expect(0).json()["rows"][0]["n"].as_u64().unwrap();
    assert_eq!(n, 20 * run["benchmarks"].as_array().unwrap().len() as u64);
    assert!(
        trend["series"].as_array().unwrap().iter().all(|series| series["n"] == 20),
        "{trend:#}"
    );
}

#[test]
fn runs_are_copied_between_directories_and_a_database_that_is_away_costs_nothing() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 4, "theirs");
    let copied = bench.run("store copy theirs ours").expect(0).stdout;
    assert_eq!(copied.trim(), "4 runs copied");
    let again = bench.run("store copy theirs ours").expect(0).stdout;
    assert_eq!(again.trim(), "0 runs copied, 4 already there");
    let nowhere = bench.run("store copy nowhere ours").expect(2);
    assert!(nowhere.stderr.contains("`nowhere` is not a directory"), "{}", nowhere.stderr);
    // No server listens on port 1.
    let away = "postgres://me:secret@127.0.0.1:1/results?sslmode=disable";
    let sent = bench.run(&["store", "copy", "theirs", away]);
    let expected = if cfg!(feature = "postgres") {
        "stay in the results directory"
    } else {
        "--features postgres"
    };
    assert!(sent.stderr.contains(expected) && !sent.stderr.contains("secret"), "{}", sent.stderr);
    let taken = bench.run(&["store", "copy", away, "new"]);
    assert!(taken.code != 0 && !bench.path("new").exists(), "{}", taken.stderr);
    let measured = [
        &["tensor-ops", "--axis", "shape=8x64", "--axis", "operation=add", "--results-dir", "mine"]
            [..],
        &SMALL,
    ]
    .concat();
    let kept = bench.run(&[&["run", "--store", away][..], &measured].concat()).expect(0);
    assert!(kept.stderr.contains(expected) && !kept.stderr.contains("secret"), "{}", kept.stderr);
    let wrong = bench.run("run --store me:secret@db.example --dry-run").expect(2);
    let said = &wrong.stderr;
    assert!(said.contains("postgres://USER@HOST/DATABASE") && !said.contains("secret"), "{said}");
    for malformed in ["postgres:/me:secret@db.example/results", "me:secret@db.example"] {
        for words in [["theirs", malformed], [malformed, "theirs"]] {
            let refused = bench.run(&[&["store", "copy"][..], &words].concat()).expect(2);
            let said = &refused.stderr;
            assert!(said.contains("nor a PostgreSQL") && !said.contains("secret"), "{said}");
        }
        assert!(!bench.path(malformed).exists());
    }
    let spare = bench.run("store copy theirs ours postgres:/me:secret@db/results").expect(2);
    assert!(!spare.stderr.contains("secret"), "{}", spare.stderr);
}

#[cfg(feature = "postgres")]
#[test]
fn a_database_that_accepts_a_connection_and_stays_silent_costs_nothing() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, 2, "theirs");
    // The system accepts connections for a listener, which reads none of them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let silent = format!("postgres://me:secret@{host}/results?connect_timeout=1");
    let expected = ["no answer within 2 s; check the server", "stay in the results directory"];
    let sent = bench.run(&["store", "copy", "theirs", &silent]).expect(1).stderr;
    says(&sent, &expected);
    let taken = bench.run(&["store", "copy", &silent, "new"]).expect(1).stderr;
    says(&taken, &expected);
    assert!(!bench.path("new").exists());
    let small = ["run", "tensor-ops", "--axis", "shape=8x64", "--axis", "operation=add"];
    let kept = bench.run(&[&small[..], &["--store", &silent], &SMALL].concat()).expect(0).stderr;
    says(&kept, &expected);
    assert_eq!(bench.run_files().len(), 1);
    assert!([sent, taken, kept].iter().all(|said| !said.contains("secret")));
}

#[test]
fn the_shared_store_can_be_named_in_the_environment() {
    let bench = Bench::new().set("RSB_STORE", "postgres://me:secret@127.0.0.1:1/results");
    let planned = bench.run("run tensor-ops --backend cpu --dry-run").expect(0);
    assert!(!planned.stderr.contains("RSB_STORE"), "{}", planned.stderr);
}

#[test]
fn a_question_ends_in_time_even_in_one_step_of_a_database() {
    // A comparison of 40,000 letters at each of a million positions, during which the database does
    // not check the time.
    let step = "SELECT printf('%.*c', 1000000, 'a') LIKE '%' || printf('%.*c', 40000, 'a') || 'b'";
    let ended = Bench::new().run(&["query", step, "--timeout", "0s"]).expect(2);
    assert!(ended.stderr.contains("error: no answer within 0 s"), "{}", ended.stderr);
}

#[test]
fn an_anonymous_export_does_not_name_the_user() {
    let (bench, mut run) = template("add,relu");
    run["environment"]["os"] = "made in /home/wilma/images, kept in /scratch/wilma".into();
    let bench = bench.set("USER", "wilma").set("HOME", "/home/wilma");
    bench.write_sealed("benchmark_results/runs/theirs.json", &run);
    let os = |words: &[&str]| {
        let exported = bench.run(words).expect(0).json();
        exported["runs"][0]["environment"]["os"].as_str().unwrap().to_owned()
    };
    let json = ["export", "--format", "json", "--anonymous"];
    assert_eq!(os(&json[..3]), "made in /home/wilma/images, kept in /scratch/wilma");
    assert_eq!(os(&json), "made in ~/images, kept in /scratch/USER");
    says(&bench.run(&["export", "--anonymous"]).expect(2).stderr, &["add --format json"]);
}

#[test]
fn duckdb_answers_over_an_export_and_writes_a_database() {
    const LIBRARY: &str = "RSB_DUCKDB_LIBRARY";
    let (bench, run) = template("add,relu");
    let bench = bench.set(LIBRARY, &std::env::var(LIBRARY).unwrap_or_default());
    write_days(&bench, &run, 3, "benchmark_results");
    let question =
        "SELECT count(DISTINCT run_id) AS runs, sum(len(times_ns)) > 0 AS samples FROM samples";
    let ask = ["query", "--engine", "duckdb", question, "--json"];
    let write = ["export", "--format", "duckdb", "--output", "all.duckdb"];
    if !cfg!(feature = "duckdb") {
        for words in [&ask[..], &write] {
            let said = bench.run(words).expect(2).stderr;
            says(&said, &["this build does not support DuckDB", "--features duckdb"]);
        }
        return;
    }
    let first = bench.run(&ask);
    if first.stderr.contains("DuckDB (libduckdb)") {
        test_needs::missing("duckdb", &first.stderr);
    } else {
        let first = first.expect(0);
        assert_eq!(first.json()["rows"], json!([{ "runs": 3, "samples": true }]));
        assert!(first.stderr.contains("kept next to them"), "{}", first.stderr);
        let again = bench
            .run(&["query", "--engine", "duckdb", "SELECT mean FROM daily_means", "--csv"])
            .expect(0);
        assert!(
            again.stderr.is_empty() && again.stdout.lines().count() > 3,
            "{}{}",
            again.stdout,
            again.stderr
        );
        let elsewhere = bench
            .run(&["query", "--engine", "duckdb", "SELECT * FROM read_text('/etc/passwd')"])
            .expect(2);
        assert!(elsewhere.stderr.contains("only a single SELECT"), "{}", elsewhere.stderr);
        bench.run(&write).expect(0);
        bench.run(&write).expect(0);
        assert_eq!(std::fs::read(bench.path("all.duckdb")).unwrap()[8..12], *b"DUCK");
        let nowhere = [&write[..3], &["--output", "no/all.duckdb"]].concat();
        assert!(bench.run(&nowhere).expect(2).stderr.contains("the directory `no` does not exist"));
    }
    let missing = bench.set(LIBRARY, "/nowhere/libduckdb.so").run(&ask).expect(2).stderr;
    says(&missing, &["RSB_DUCKDB_LIBRARY names /nowhere/libduckdb.so", "download libduckdb.so"]);
}

#[test]
fn a_results_directory_that_is_typed_and_does_not_exist_is_refused_by_those_who_only_read() {
    let bench = Bench::new();
    for arguments in ["history", "trend", "health", "serve --export site"] {
        let refused = bench.run(&format!("{arguments} --results-dir nowhere")).expect(2);
        says(&refused.stderr, &["nowhere does not exist", "--results-dir"]);
    }
    assert!(!bench.path("nowhere").exists());
    // A variable may name a directory that the next run creates.
    bench.set("RSB_RESULTS_DIR", "nowhere").run("history").expect(0);
}
