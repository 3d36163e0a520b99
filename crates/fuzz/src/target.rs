//! The readers under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rsb_app::CaseFilter;
use rsb_app::config::Config;
use rsb_fleet::FleetConfig;
use rsb_model::protocol::{Request, Response};
use rsb_model::{BackendId, CaseId, DeviceRef, Dtype, Suite, calendar, shape, shown};
use rsb_probe::ProbeOptions;
use rsb_stats::accept::AcceptList;
use rsb_stats::{Policy, PolicyFile};
use rsb_store::import::Format;
use rsb_store::{AlertBook, Store};
use rsb_tui::{InterfaceSettings, Key, Message, State};
use rsb_web::Address;
use serde_json::Value;

use crate::mutate::Structure;

/// A reader, which gets one input at a time.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Name of the target and of its directory in the corpus.
    pub name: &'static str,
    /// Structure of its inputs.
    pub structure: Structure,
    /// Reads an input. An error is a refusal, as it should be for a bad input.
    pub read: fn(&[u8], &Path) -> Result<()>,
}

/// Every target, the slowest last: they get the time that the others leave.
pub const TARGETS: &[FuzzTarget] = &[
    target("run", Structure::Json, run),
    target("baseline", Structure::Json, baseline),
    target("comparison", Structure::Json, comparison),
    target("page", Structure::Text, page),
    target("journal", Structure::Text, journal),
    target("criterion", Structure::Json, criterion),
    target("import", Structure::Text, import),
    target("import-json", Structure::Json, import),
    target("import-as", Structure::Text, import_as),
    target("series", Structure::Text, series),
    target("alerts", Structure::Json, alerts),
    target("policy", Structure::Text, policy),
    target("accept", Structure::Text, accept),
    target("config", Structure::Text, config),
    target("fleet", Structure::Text, fleet),
    target("sweep", Structure::Text, sweep),
    target("custom", Structure::Text, custom),
    target("models", Structure::Text, models),
    target("environment", Structure::Json, environment),
    target("worker", Structure::Json, worker),
    target("scheduler", Structure::Text, scheduler),
    target("address", Structure::Text, address),
    target("pattern", Structure::Text, pattern),
    target("names", Structure::Text, names),
    target("keys", Structure::Text, keys),
    target("sysfs", Structure::Json, sysfs),
    target("index", Structure::Bytes, index),
];

const fn target(
    name: &'static str,
    structure: Structure,
    read: fn(&[u8], &Path) -> Result<()>,
) -> FuzzTarget {
    FuzzTarget { name, structure, read }
}

/// Returns the target called `name`.
///
/// # Errors
/// If there is none; the error lists all names.
pub fn find(name: &str) -> Result<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name).with_context(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("there is no target `{name}`; the targets are {}", names.join(", "))
    })
}

/// Writes `bytes` to a file called `name` in `scratch`.
fn write(scratch: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = scratch.join(name);
    fs::write(&path, bytes)?;
    Ok(path)
}

/// Replaces the checksum of the JSON document `bytes`, so that mutations reach the code behind it.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let resealed = serde_json::from_slice::<Value>(bytes).and_then(|mut document| {
        if let Some(fields) = document.as_object_mut() {
            fields.remove("checksum");
        }
        rsb_store::sealed_text(&document)
    });
    resealed.map_or_else(|_| bytes.to_vec(), String::into_bytes)
}

fn run(bytes: &[u8], scratch: &Path) -> Result<()> {
    let run = rsb_store::read_run(&write(scratch, "run.json", &sealed(bytes))?)?;
    let again = rsb_store::sealed_text(&run)?;
    let read = rsb_store::read_run(&write(scratch, "again.json", again.as_bytes())?);
    assert!(read.is_ok(), "a run that was read cannot be read again: {read:?}");
    Ok(())
}

fn baseline(bytes: &[u8], scratch: &Path) -> Result<()> {
    rsb_store::baselines::read_recorded(&write(scratch, "baseline.json", &sealed(bytes))?)?;
    Ok(())
}

fn comparison(bytes: &[u8], scratch: &Path) -> Result<()> {
    rsb_store::read_comparison(&write(scratch, "comparison.json", bytes)?)?;
    Ok(())
}

fn page(bytes: &[u8], scratch: &Path) -> Result<()> {
    rsb_store::read_bytes(&write(scratch, "page.html", bytes)?)?;
    Ok(())
}

fn journal(bytes: &[u8], scratch: &Path) -> Result<()> {
    let path = write(scratch, "run.jsonl", bytes)?;
    rsb_store::read_journal(&path).context("not a journal")?;
    Ok(())
}

/// Writes a tree of files, given as a JSON object of path and content, below a new directory.
fn tree(bytes: &[u8], scratch: &Path) -> Result<PathBuf> {
    let files: BTreeMap<String, String> = serde_json::from_slice(bytes)?;
    let root = scratch.join("tree");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for (path, content) in files {
        let is_plain = path.split('/').all(|part| !part.is_empty() && part != "..");
        if is_plain && !path.contains('\0') && path.len() < 1_000 {
            let path = root.join(path);
            let parent = path.parent().context("a file has a directory")?;
            // A file may be where another needs a directory; that one is left out.
            if fs::create_dir_all(parent).is_ok() && !path.is_dir() {
                fs::write(&path, content)?;
            }
        }
    }
    Ok(root)
}

fn criterion(bytes: &[u8], scratch: &Path) -> Result<()> {
    let root = tree(bytes, scratch)?;
    rsb_store::read_criterion_dir(&root, rsb_store::criterion_dir::LATEST)?;
    Ok(())
}

fn sysfs(bytes: &[u8], scratch: &Path) -> Result<()> {
    let options = ProbeOptions { sysfs_root: Some(tree(bytes, scratch)?) };
    options.check()?;
    let machine = rsb_probe::environment(&options);
    ensure!(!machine.gpus.is_empty(), "no GPU");
    Ok(())
}

fn import(bytes: &[u8], scratch: &Path) -> Result<()> {
    rsb_store::import::import(&write(scratch, "out.txt", bytes)?, None)?;
    Ok(())
}

/// Reads the input as output of a tool that its length chooses.
fn import_as(bytes: &[u8], scratch: &Path) -> Result<()> {
    let format = Format::ALL[bytes.len() % Format::ALL.len()];
    rsb_store::import::import(&write(scratch, "out.txt", bytes)?, Some(format))?;
    Ok(())
}

fn series(bytes: &[u8], _: &Path) -> Result<()> {
    rsb_store::read_series_from(bytes, Path::new("series.csv"))?;
    Ok(())
}

fn index(bytes: &[u8], scratch: &Path) -> Result<()> {
    let results = scratch.join("results");
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    fs::create_dir_all(&results)?;
    write(&results, "benchmarks.db", bytes)?;
    Store::open_for_writing(&results)?;
    rsb_store::check::check(&results)?;
    Ok(())
}

fn alerts(bytes: &[u8], scratch: &Path) -> Result<()> {
    write(scratch, "alerts.json", bytes)?;
    AlertBook::read(scratch)?;
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).context("not UTF-8")
}

fn policy(bytes: &[u8], _: &Path) -> Result<()> {
    let file: PolicyFile = toml::from_str(text(bytes)?)?;
    let policy = Policy::try_from(file)?;
    policy.threshold_percent_for("cpu_performance/gemm/cpu:0/f32", "time");
    Ok(())
}

fn accept(bytes: &[u8], _: &Path) -> Result<()> {
    let _: AcceptList = toml::from_str(text(bytes)?)?;
    Ok(())
}

fn config(bytes: &[u8], _: &Path) -> Result<()> {
    Config::of_text(text(bytes)?, Path::new("rusty-stack-bench.toml"))?;
    Ok(())
}

fn fleet(bytes: &[u8], _: &Path) -> Result<()> {
    FleetConfig::parse(text(bytes)?)?;
    Ok(())
}

fn sweep(bytes: &[u8], scratch: &Path) -> Result<()> {
    rsb_catalog::sweep::read(&write(scratch, "sweep.toml", bytes)?)?;
    Ok(())
}

fn custom(bytes: &[u8], scratch: &Path) -> Result<()> {
    let path = write(scratch, "custom.toml", bytes)?;
    rsb_catalog::custom::differing_benchmarks(&path, &path);
    Ok(())
}

fn models(bytes: &[u8], _: &Path) -> Result<()> {
    rsb_catalog::models::parse(text(bytes)?)?;
    Ok(())
}

fn environment(bytes: &[u8], _: &Path) -> Result<()> {
    rsb_store::environment_in(text(bytes)?)?;
    Ok(())
}

/// Reads a line between a run and its worker.
fn worker(bytes: &[u8], _: &Path) -> Result<()> {
    let is_known = serde_json::from_slice::<Request>(bytes).is_ok()
        || serde_json::from_slice::<Response>(bytes).is_ok();
    ensure!(is_known, "not a line of the protocol");
    Ok(())
}

fn scheduler(bytes: &[u8], _: &Path) -> Result<()> {
    let text = text(bytes)?;
    let nodes = rsb_fleet::parse_sinfo(text);
    rsb_fleet::parse_node_details(text);
    let queue = rsb_fleet::parse_squeue(text);
    let job = rsb_fleet::submission::parse_job_id(text);
    let pods = rsb_fleet::kubernetes::parse_kubernetes_jobs(text);
    rsb_fleet::ssh::parse_running(text);
    let is_known = nodes.is_ok() || queue.is_ok() || job.is_some() || pods.is_ok();
    ensure!(is_known, "not output of a scheduler");
    Ok(())
}

fn address(bytes: &[u8], _: &Path) -> Result<()> {
    let text = text(bytes)?;
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    Address::parse(path, query)?;
    Ok(())
}

/// Matches the first line as a pattern with the other lines.
fn pattern(bytes: &[u8], _: &Path) -> Result<()> {
    let text = text(bytes)?;
    let (pattern, ids) = text.split_once('\n').context("no id")?;
    let filter = CaseFilter { benchmark: Some(pattern.to_owned()), case: Some(pattern.to_owned()) };
    for id in ids.lines() {
        rsb_stats::glob::matches(pattern, id);
        filter.fits(id);
    }
    Ok(())
}

/// Parses each line as every kind of name and value that a command line takes.
fn names(bytes: &[u8], _: &Path) -> Result<()> {
    for line in text(bytes)?.lines() {
        let _ = line.parse::<CaseId>();
        let _ = line.parse::<DeviceRef>();
        let _ = line.parse::<BackendId>();
        let _ = line.parse::<Dtype>();
        let _ = line.parse::<Suite>();
        let _ = shape::parse_bytes(line);
        let _ = shape::parse_shape(line);
        let _ = calendar::parse_time(line);
        let _ = rsb_app::config::parse_backends(line);
        shown::from_cell(line);
    }
    Ok(())
}

/// Presses a key for each character, and draws the page after each line.
fn keys(bytes: &[u8], _: &Path) -> Result<()> {
    let mut state = State::new(InterfaceSettings::default());
    let text = text(bytes)?;
    for (line, presses) in text.lines().take(20).enumerate() {
        for letter in presses.chars().take(200) {
            let message = match letter {
                '↑' => Message::Key(Key::Up),
                '↓' => Message::Key(Key::Down),
                '←' => Message::Key(Key::Left),
                '→' => Message::Key(Key::Right),
                '⏎' => Message::Key(Key::Enter),
                '⎋' => Message::Key(Key::Esc),
                '⇥' => Message::Key(Key::Tab),
                '⌫' => Message::Key(Key::Backspace),
                '⇞' => Message::Key(Key::PageUp),
                '⇟' => Message::Key(Key::PageDown),
                '⇱' => Message::Key(Key::Home),
                '⇲' => Message::Key(Key::End),
                '☝' => {
                    let column = u16::try_from(line % 120).unwrap_or_default();
                    Message::Click { column, row: column % 40 }
                }
                letter => Message::Key(Key::Char(letter)),
            };
            rsb_tui::update(&mut state, message);
        }
        let widths = [80, 120, 40, 1];
        let mut terminal = Terminal::new(TestBackend::new(widths[line % widths.len()], 24))?;
        let mut drawn = None;
        terminal.draw(|frame| drawn = Some(rsb_tui::view(&state, frame)))?;
        state.drawn(drawn.context("the page was drawn")?);
    }
    Ok(())
}
