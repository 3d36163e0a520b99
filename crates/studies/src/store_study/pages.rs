//! `cargo xtask store-study DIR pages`: times of the pages that people open, of an export and of a
//! printed report, with the real program and Chromium.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{LONG, ONE, Shape, build_index, format_duration, write};
use crate::dashboard::Dashboard;
use crate::workspace::{self, FileTotals};

/// Ten thousand series over a month, for the overview.
const WIDE: Shape = Shape { cases: 10_000, seconds_apart: 86_400, samples: 0 };
const WIDE_RUNS: u32 = 30;
/// Half a year of runs of the suite `quick` once a day, for the export.
const DAILY: Shape = Shape { cases: 35, seconds_apart: 86_400, samples: 30 };
const DAILY_RUNS: u32 = 161;
/// A run with a large report.
const REPORTED: Shape = Shape { cases: 640, seconds_apart: 60, samples: 30 };
const FIRST_CASE: &str = "cpu_performance/gemm/cpu:0/f32/case-000";
/// Interval of the readings of memory.
const READING: Duration = Duration::from_millis(20);

/// Measures everything with the stores in `dir`, which are written if they are missing, and with
/// `program`, else with a release build.
pub(super) fn run(dir: &Path, program: Option<&String>) -> Result<()> {
    let program = match program {
        Some(path) => fs::canonicalize(path)?,
        None => workspace::release_program()?,
    };
    println!("| what | limit | first | after a change | again |\n|---|--:|--:|--:|--:|");
    let long = stored(dir, "long", LONG, ONE)?;
    page(&program, &long, &format!("case?id={FIRST_CASE}"), "chart of 1,000,000 runs", "1 s")?;
    let wide = stored(dir, "wide", WIDE_RUNS, WIDE)?;
    page(&program, &wide, "", "overview of 10,000 series", "200 ms")?;
    export(&program, &stored(dir, "daily", DAILY_RUNS, DAILY)?, &dir.join("exported"))?;
    print_report(&program, &stored(dir, "reported", 1, REPORTED)?, dir)
}

/// Returns the store `name`, in which these runs are written and indexed.
fn stored(dir: &Path, name: &str, runs: u32, shape: Shape) -> Result<PathBuf> {
    let store = dir.join(name);
    if !store.join("complete").exists() {
        write(&store, 0..runs, shape)?;
        build_index(&store)?;
        fs::write(store.join("complete"), "")?;
    }
    Ok(store)
}

/// Prints a row; `times` are the first time, that after a change of the store, and the next one.
fn row(what: &str, limit: &str, times: [&str; 3]) {
    println!("| {what} | {limit} | {} |", times.join(" | "));
}

/// Measures a page: until its last byte, and until Chromium has loaded it and run its script.
fn page(program: &Path, store: &Path, path: &str, what: &str, limit: &str) -> Result<()> {
    let server = Dashboard::start(program, store)?;
    let (html, first) = server.get(path)?;
    // Every answer is made anew after the directory has changed.
    let added = store.join("runs/added");
    fs::write(&added, "")?;
    fs::remove_file(&added)?;
    let (_, changed) = server.get(path)?;
    // Answers made within moments of a change are not kept.
    std::thread::sleep(Duration::from_secs(1));
    server.get(path)?;
    let (_, again) = server.get(path)?;
    let kilobytes = html.len() / 1000;
    let times = [first, changed, again].map(format_duration);
    let times = times.each_ref().map(String::as_str);
    row(&format!("{what}, from the server ({kilobytes} kB)"), limit, times);
    let load = |path: &str| -> Result<Duration> {
        let begun = Instant::now();
        let address = format!("http://{}/{path}", server.address);
        watch(chromium().args(["--dump-dom", &address]))?;
        Ok(begun.elapsed())
    };
    // The start of the browser is that of a page with nothing in it.
    let nothing = load("badge.svg")?.min(load("badge.svg")?);
    let shown = load(path)?.min(load(path)?).saturating_sub(nothing);
    row(&format!("{what}, loaded in Chromium"), limit, ["", "", &format_duration(shown)]);
    Ok(())
}

fn export(program: &Path, store: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let begun = Instant::now();
    workspace::run_in_store(program, store, &["serve", "--export", &to.to_string_lossy()])?;
    let took = begun.elapsed();
    let exported = FileTotals::below(to)?;
    let runs = FileTotals::below(&store.join("runs"))?;
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let what = format!("export of {DAILY_RUNS} runs ({} files)", exported.files);
    row(&what, "15 s", [&format_duration(took), "", ""]);
    let what = format!("its size (the run files: {})", megabytes(runs.bytes));
    row(&what, "20 MB", [&megabytes(exported.bytes), "", ""]);
    Ok(())
}

fn print_report(program: &Path, store: &Path, dir: &Path) -> Result<()> {
    let [html, pdf] = ["report.html", "report.pdf"].map(|name| dir.join(name));
    let path = html.to_string_lossy();
    workspace::run_in_store(program, store, &["report", "--format", "html", "--output", &path])?;
    let kilobytes = fs::metadata(&html)?.len() / 1000;
    let begun = Instant::now();
    let print = format!("--print-to-pdf={}", pdf.display());
    let page = format!("file://{}", fs::canonicalize(&html)?.display());
    let memory = watch(chromium().args([&print, &page]))?;
    let took = begun.elapsed();
    ensure!(pdf.exists(), "nothing was printed");
    let nothing = watch(chromium().args(["--print-to-pdf=/dev/null", "data:text/html,"]))?;
    let what = format!("report of {kilobytes} kB, printed by Chromium");
    row(&what, "5 s", [&format_duration(took), "", ""]);
    let megabytes = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    let what = format!("memory of all its processes (an empty page: {})", megabytes(nothing));
    row(&what, "500 MB", [&megabytes(memory), "", ""]);
    Ok(())
}

fn chromium() -> Command {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    command
}

/// Runs `command` to its end, and returns the most memory that it and its descendants had together,
/// in bytes; memory that they share counts once.
fn watch(command: &mut Command) -> Result<u64> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start chromium")?;
    let mut most = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "chromium failed");
            return Ok(most);
        }
        most = most.max(memory_of_tree(child.id()));
        std::thread::sleep(READING);
    }
}

/// Returns the proportional set size of the process `root` and its descendants.
fn memory_of_tree(root: u32) -> u64 {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let status = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may contain spaces.
        let parent =
            status.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut waiting = vec![root];
    let mut total = 0;
    while let Some(id) = waiting.pop() {
        let path = format!("/proc/{id}/smaps_rollup");
        let text = fs::read_to_string(path).unwrap_or_default();
        let kilobytes = text.lines().find_map(|line| {
            line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        total += kilobytes.unwrap_or(0) * 1024;
        waiting.extend(children.remove(&id).unwrap_or_default());
    }
    total
}
