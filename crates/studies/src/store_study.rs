//! `cargo xtask store-study`: times to index, open and query a history of up to ten million values.
//!
//! The runs are written as files, like those of `run`, and indexed as when the program opens a
//! directory without an index. All times are with a warm cache.

mod pages;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rsb_model::environment::{Cpu, Git};
use rsb_model::{
    BenchmarkResult, CaseId, DeviceType, Environment, Fields, Outcome, Run, RunId, Samples,
    Timestamp,
};
use rsb_store::{HistoryFilter, HistoryQuestion, SeriesFilter, Store, sealed_text};
use rusqlite::Connection;

/// Number of cases of a run; with [`METRICS`] metrics each, these are 2,000 series.
const CASES: u32 = 500;
const METRICS: usize = 4;
const MANY: Shape = Shape { cases: CASES, seconds_apart: 8_640, samples: 0 };
const ONE: Shape = Shape { cases: 1, seconds_apart: 60, samples: 0 };
/// Number of runs of the long series.
const LONG: u32 = 1_000_000;
/// Number of runs with a million values in total.
const MILLION: u32 = 1_000_000 / (CASES * METRICS as u32);
const TIMES: usize = 20;
/// The queried case, from the middle of the list.
const CASE: &str = "cpu_performance/gemm/cpu:0/f32/case-250";

#[derive(Clone, Copy)]
struct Shape {
    cases: u32,
    seconds_apart: i64,
    /// Samples of each of the three replicates of a case.
    samples: usize,
}

/// Runs the study in a temporary directory, or in the given one, which is kept.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let dir = arguments.first().map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    if arguments.get(1).is_some_and(|word| word == "pages") {
        return pages::run(&dir, arguments.get(2));
    }
    println!("| history | operation | median | 99 of 100 |\n|---|---|---|---|");
    if arguments.get(1).is_some_and(|word| word == "long") {
        // A million files, which are only indexed: `serve` is timed on this directory.
        let long = dir.join("long");
        write(&long, 0..LONG, ONE)?;
        row("a series of 1 M", "index the run files", &mut [build_index(&long)?]);
        return Ok(());
    }
    let one = dir.join("one-million");
    write(&one, 0..MILLION, MANY)?;
    measure(&one, "1 M values, 500 runs")?;
    if arguments.is_empty() {
        fs::remove_dir_all(&one)?;
    }
    let ten = dir.join("ten-million");
    write(&ten, 0..10 * MILLION, MANY)?;
    measure(&ten, "10 M values, 5,000 runs")?;
    add_one(&ten)
}

/// Writes these runs, except those that already exist.
fn write(dir: &Path, runs: std::ops::Range<u32>, shape: Shape) -> Result<()> {
    let dir = dir.join("runs");
    fs::create_dir_all(&dir)?;
    for at in runs {
        let run = made_up(at, shape)?;
        let path = dir.join(format!("{}.json", run.run_id));
        if !path.exists() {
            fs::write(path, sealed_text(&run)?)?;
        }
    }
    Ok(())
}

/// Returns run number `at`, with times that vary slightly. Samples would be most of its text.
fn made_up(at: u32, shape: Shape) -> Result<Run> {
    let started = Timestamp::from_second(1_600_000_000 + i64::from(at) * shape.seconds_apart)?;
    let environment = Environment {
        cpu: Some(Cpu { model: Some("Study CPU".to_owned()), usable_cores: 2, ..Cpu::default() }),
        git: Some(Git {
            commit: format!("{at:040x}"),
            branch: Some("main".to_owned()),
            ..Git::default()
        }),
        ..Environment::default()
    };
    let id = RunId(format!("{}_{at:07}", started.strftime("%Y%m%dT%H%M%SZ")));
    let mut run = Run::begin(id, started, "full", "standard", environment);
    run.sequence = Some(u64::from(at) + 1);
    run.finished = Some(started);
    run.benchmarks =
        (0..shape.cases).map(|case| result(at, case, shape.samples, started)).collect();
    Ok(run)
}

fn result(at: u32, case: u32, samples: usize, timestamp: Timestamp) -> BenchmarkResult {
    let time_ms = f64::from(case + 1)
        * (1.0 + f64::from((at % 1_000 * 7_919 + case * 104_729) % 1_000) / 20_000.0);
    let name = format!("case-{case:03}");
    BenchmarkResult {
        category: Some("gemm".to_owned()),
        device_type: Some(DeviceType::Cpu),
        samples: (0..if samples == 0 { 0 } else { 3 })
            .map(|replicate| Samples {
                replicate,
                iters: vec![1; samples],
                times_ns: (0..samples)
                    .map(|sample| time_ms * 1e6 * (1.0 + (sample * 37 % 11) as f64 / 1_000.0))
                    .collect(),
            })
            .collect(),
        results: vec![
            Fields::new()
                .with("time_ms", time_ms)
                .with("gflops", 1e3 / time_ms)
                .with("bandwidth_gb_s", 2e3 / time_ms)
                .with("memory_used_mb", f64::from(case)),
        ],
        ..BenchmarkResult::new(
            CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", "f32", &name]),
            timestamp,
            Outcome::Measured,
        )
    }
}

fn build_index(dir: &Path) -> Result<Duration> {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(dir.join(format!("benchmarks.db{suffix}"))); // There is none the first time.
    }
    let begun = Instant::now();
    let store = Store::open_for_writing(dir)?;
    let took = begun.elapsed();
    let notices: Vec<String> = store.notices().iter().map(ToString::to_string).collect();
    ensure!(notices.is_empty(), "{}", notices.join("; "));
    Ok(took)
}

/// Indexes `dir` from scratch, opens it again, and queries it.
fn measure(dir: &Path, history: &str) -> Result<()> {
    let database = dir.join("benchmarks.db");
    row(history, "index the run files", &mut [build_index(dir)?]);
    let last = SeriesFilter {
        cases: Some(CASE.to_owned()),
        metric: Some("time_ms".to_owned()),
        runs: Some(500),
        ..SeriesFilter::default()
    };
    let all = SeriesFilter { runs: None, ..last.clone() };
    ask(history, "open, and read the last 500 of a series", || {
        count_points(&Store::open_existing(dir)?, &last)
    })?;
    let store = Store::open_existing(dir)?;
    ask(history, "last 500 of a series, as `trend`", || count_points(&store, &last))?;
    ask(history, "all of a series, as `trend`", || count_points(&store, &all))?;
    let of_case = HistoryFilter { cases: Some(CASE.to_owned()), ..HistoryFilter::default() };
    ask(history, "every value of a case, as `history --case`", || {
        Ok(store.history(&of_case)?.len())
    })?;
    let since = Timestamp::now();
    for (what, question) in [
        ("`history slowest`", HistoryQuestion::Slowest { limit: 20 }),
        (
            "`history between`",
            HistoryQuestion::Between { before: commit(1), after: commit(MILLION - 1) },
        ),
        ("`history unmeasured`", HistoryQuestion::Unmeasured { since }),
    ] {
        let sql = question.sql();
        ask(history, what, || Ok(store.select(&sql, Duration::from_mins(1))?.rows.len()))?;
    }
    let connection = Connection::open(&database)?;
    for (what, sql) in [
        (
            "last 500 of a series, in SQL",
            format!(
                "SELECT p.started, p.value FROM cases c JOIN variants v ON v.case_id = c.id JOIN series s ON s.variant = v.id
                 JOIN metrics m ON m.id = s.metric JOIN points p ON p.series = s.id
                 WHERE c.name = '{CASE}' AND m.name = 'time_ms' ORDER BY p.started DESC LIMIT 500"
            ),
        ),
        ("daily mean over all cases", "SELECT day, mean FROM daily_means WHERE \
                                                         metric = 'time_ms'".to_owned()),
        (
            "daily mean of a series",
            format!(
                "SELECT substr(timestamp, 1, 10) AS day, avg(value) FROM measurements
                 WHERE benchmark_id = '{CASE}' AND metric = 'time_ms' GROUP BY day"
            ),
        ),
    ] {
        ask(history, what, || rows(&connection, &sql))?;
    }
    let megabytes = fs::metadata(&database)?.len() as f64 / 1e6;
    println!("| {history} | size of the index | {megabytes:.0} MB | |");
    Ok(())
}

fn count_points(store: &Store, filter: &SeriesFilter) -> Result<usize> {
    Ok(store.series(filter)?.iter().map(|series| series.points.len()).sum())
}

fn commit(at: u32) -> String {
    format!("{at:040x}")
}

/// Measures how long storing one more run takes if there are already many.
fn add_one(dir: &Path) -> Result<()> {
    let store = Store::open_for_writing(dir)?;
    let mut times = Vec::new();
    for more in 0..TIMES {
        let run = made_up(10 * MILLION + u32::try_from(more)?, MANY)?;
        let begun = Instant::now();
        let mut journal = store.begin(&run)?;
        journal.finish(&run)?;
        times.push(begun.elapsed());
    }
    row("10 M values, 5,000 runs", "store and index a run of 2,000 values", &mut times);
    Ok(())
}

fn rows(connection: &Connection, sql: &str) -> Result<usize> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let _: f64 = row.get(1)?;
        count += 1;
    }
    Ok(count)
}

/// Runs the query once to warm the cache, then [`TIMES`] times, and prints its times.
fn ask(history: &str, what: &str, mut question: impl FnMut() -> Result<usize>) -> Result<()> {
    let count = question().with_context(|| what.to_owned())?;
    ensure!(count > 0, "no rows: {what}");
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        question()?;
        times.push(begun.elapsed());
    }
    row(history, &format!("{what} ({count} rows)"), &mut times);
    Ok(())
}

fn row(history: &str, what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let mut line = format!("| {history} | {what} | {} |", format_duration(at_share(times, 0.5)));
    let slow = if times.len() > 1 { format_duration(at_share(times, 0.99)) } else { String::new() };
    let _ = write!(line, " {slow} |"); // Into a string it cannot fail.
    println!("{line}");
}

/// Returns the quantile `share` of the sorted `times`.
fn at_share(times: &[Duration], share: f64) -> Duration {
    times.get(((times.len() - 1) as f64 * share).round() as usize).copied().unwrap_or_default()
}

fn format_duration(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms >= 1_000.0 { format!("{:.2} s", ms / 1e3) } else { format!("{ms:.2} ms") }
}
