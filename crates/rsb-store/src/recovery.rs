//! Recovery: converting journals to run files if their writers have ended.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use rsb_model::run::ReplicateProgress;
use rsb_model::{BenchmarkResult, Note, Run, json};
use serde_json::Value;

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, JOURNAL_SUFFIX};
use crate::journal::{progress_of, write_run};
use crate::read;

/// Recovers every journal in `results_dir` whose writer has ended, and returns notices of the
/// results.
///
/// Does nothing while another process is recovering, or if the file system has no locks to detect
/// whether a writer is alive.
pub(crate) fn recover(results_dir: &Path) -> Vec<StoreNotice> {
    let journals = files::journals_in(results_dir);
    if journals.is_empty() {
        return Vec::new();
    }
    let Ok(guard) = files::lock_file(results_dir) else { return Vec::new() };
    if guard.try_lock().is_err() {
        return Vec::new();
    }
    journals.into_iter().filter_map(|path| recover_one(&path)).collect()
}

fn recover_one(path: &Path) -> Option<StoreNotice> {
    let file = File::open(path).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return None,
        Err(TryLockError::Error(error)) => {
            return Some(journal_kept_notice(
                path,
                format!("{error}; remove it when no run is active"),
            ));
        }
    }
    // The writer may have finished after the journals were listed and before this one was locked.
    let bytes = fs::read(path).ok()?;
    let run_file = run_file_of(path)?;
    if run_file.exists() {
        remove(path);
        return None;
    }
    Some(match parse(path, &bytes) {
        Ok(None) => {
            remove(path);
            StoreNotice::NothingToRecover { path: path.to_owned() }
        }
        Ok(Some(salvage)) => match write_run(&run_file, &salvage.run) {
            Ok(()) => {
                remove(path);
                StoreNotice::Recovered {
                    path: run_file,
                    cases: salvage.run.benchmarks.len(),
                    dropped: salvage.dropped,
                }
            }
            Err(error) => journal_kept_notice(path, error.to_string()),
        },
        Err(error) => journal_kept_notice(path, error.to_string()),
    })
}

/// A run that is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalProgress {
    /// The run with the results measured until now.
    pub run: Run,
    /// Number of planned cases, if known.
    pub planned: Option<usize>,
    /// Progress of the replicates; `None` before the first result of a replicate.
    pub progress: Option<ReplicateProgress>,
}

/// Returns the runs that are being measured, with the results measured until now.
pub(crate) fn progress(results_dir: &Path) -> Vec<JournalProgress> {
    live_journals(results_dir).iter().filter_map(|path| read_journal(path)).collect()
}

/// Reads the journal of a live writer, which may run on another machine. Returns `None` if there is
/// no complete first line. An incomplete last line is still being written and is ignored.
pub fn read_journal(journal: &Path) -> Option<JournalProgress> {
    let bytes = fs::read(journal).ok()?;
    let mut lines =
        bytes.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    let mut run = header(journal, lines.next()?).ok()?;
    let (mut planned, mut progress, mut dropped) = (None, None, 0);
    for line in lines.filter_map(|line| json::parse_bytes(line).ok()) {
        progress = progress_of(&line).or(progress);
        take_line(&line, &mut run, &mut planned, &mut dropped);
    }
    Some(JournalProgress {
        run,
        planned: planned.and_then(|cases| usize::try_from(cases).ok()),
        progress,
    })
}

/// Returns the runs that are being measured, without results.
pub(crate) fn living(results_dir: &Path) -> Vec<Run> {
    live_journals(results_dir).iter().filter_map(|path| begun(path)).collect()
}

/// Returns the journals of writers that are still alive.
fn live_journals(results_dir: &Path) -> Vec<PathBuf> {
    let mut journals = files::journals_in(results_dir);
    journals.retain(|path| {
        let lock = File::open(path).map(|file| file.try_lock());
        matches!(lock, Ok(Err(TryLockError::WouldBlock)))
    });
    journals
}

/// Returns the highest sequence number in any journal, whether or not its writer is alive.
pub(crate) fn highest_sequence(results_dir: &Path) -> Option<u64> {
    let journals = files::journals_in(results_dir);
    journals.iter().filter_map(|path| begun(path)?.sequence).max()
}

fn begun(journal: &Path) -> Option<Run> {
    let mut first = Vec::new();
    BufReader::new(File::open(journal).ok()?).read_until(b'\n', &mut first).ok()?;
    header(journal, first.strip_suffix(b"\n")?).ok()
}

fn journal_kept_notice(path: &Path, problem: String) -> StoreNotice {
    StoreNotice::JournalKept { path: path.to_owned(), problem }
}

/// Removes a journal. If that fails, the next opening of the store finds the journal next to its
/// run file and tries again.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

fn run_file_of(journal: &Path) -> Option<PathBuf> {
    let name = journal.file_name()?.to_str()?.strip_suffix(JOURNAL_SUFFIX)?;
    Some(journal.with_file_name(format!("{name}.json")))
}

struct Salvage {
    run: Run,
    dropped: usize,
}

/// Parses a journal; returns `None` if no case had ended.
fn parse(path: &Path, bytes: &[u8]) -> Result<Option<Salvage>, StoreError> {
    let mut lines =
        bytes.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    let torn = usize::from(bytes.last().is_some_and(|&byte| byte != b'\n'));
    let Some(first) = lines.next() else { return Ok(None) };
    let mut run = header(path, first)?;
    let mut planned = None;
    let mut dropped = torn;
    for line in lines {
        match json::parse_bytes(line) {
            Ok(value) => take_line(&value, &mut run, &mut planned, &mut dropped),
            Err(_) => dropped += 1,
        }
    }
    if run.benchmarks.is_empty() {
        return Ok(None);
    }
    run.notes.push(Note::CutOff { ended: run.benchmarks.len(), planned, torn_lines: dropped });
    Ok(Some(Salvage { run, dropped }))
}

fn header(path: &Path, line: &[u8]) -> Result<Run, StoreError> {
    let document = json::parse_bytes(line).unwrap_or_default();
    let run = document.get("run").cloned().unwrap_or_default();
    read::check_format(path, &run)?;
    let run = read::head(path, run)?;
    files::check_name(&run.run_id.0)?;
    Ok(run)
}

fn take_line(line: &Value, run: &mut Run, planned: &mut Option<u64>, dropped: &mut usize) {
    if let Some(cases) = line.get("planned").and_then(Value::as_u64) {
        *planned = Some(cases);
    } else if let Some(result) = line.get("result") {
        let result: BenchmarkResult = read::result_from(result, run.benchmarks.len(), run.started);
        run.keep(result);
    } else if line.get("progress").is_none() {
        *dropped += 1;
    }
}
