//! Merging the runs of another directory: each run is added once, ordered by start time.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use rsb_model::{Run, RunId, Timestamp};
use rusqlite::OptionalExtension as _;

use crate::error::{ReadError, StoreError};
use crate::files::{self, RUNS};
use crate::journal::{self, write_run};
use crate::read;
use crate::store::Store;

/// Result of merging a file.
#[derive(Debug)]
pub enum MergedFile {
    /// The run was added to this store.
    Taken {
        /// Run id.
        run_id: RunId,
        /// Its file in this store.
        path: PathBuf,
    },
    /// This store already has the run, or another file of the directory contains it.
    Duplicate {
        /// The file.
        path: PathBuf,
        /// Id of the run in this store.
        of: RunId,
    },
    /// Another run in this store has the same id.
    Conflict {
        /// The file.
        path: PathBuf,
        /// The id.
        run_id: RunId,
    },
    /// The file is not a readable run.
    Unreadable(ReadError),
    /// Two runs whose start times are in the reverse order of their sequence numbers.
    ClockWentBack {
        /// The run measured first.
        first: RunId,
        /// The run measured second.
        second: RunId,
    },
}

/// An imported run as stored here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRun {
    /// Id in this store.
    pub run_id: RunId,
    /// Run file.
    pub path: PathBuf,
    /// Whether the run was added by this import.
    pub is_new: bool,
}

/// Fields of a run in the other directory that determine its position in the order.
struct Head {
    path: PathBuf,
    run_id: RunId,
    started: Timestamp,
    sequence: Option<u64>,
}

impl Store {
    /// Merges the runs of `dir`, a results directory or a directory of run files, oldest first. The
    /// callback is called for each file once its run is on disk. Sequence numbers of the other
    /// directory are dropped; runs are ordered by start time.
    ///
    /// # Errors
    /// If this store cannot be written, or the index cannot be read.
    pub fn merge(&self, dir: &Path, mut report: impl FnMut(MergedFile)) -> Result<(), StoreError> {
        let nested = dir.join(RUNS);
        let files = files::documents_in(if nested.is_dir() { &nested } else { dir });
        let mut heads = Vec::new();
        for path in files {
            match head(path) {
                Ok(head) => heads.push(head),
                Err(error) => report(MergedFile::Unreadable(error)),
            }
        }
        clock_jumps(&mut heads).into_iter().for_each(&mut report);
        heads.sort_by(|a, b| (a.started, &a.run_id).cmp(&(b.started, &b.run_id)));
        let mut added: HashMap<Timestamp, Vec<PathBuf>> = HashMap::new();
        let outcome = heads.into_iter().try_for_each(|head| {
            report(self.merge_one(&head.path, &mut added)?);
            Ok(())
        });
        self.refresh()?;
        outcome
    }

    fn merge_one(
        &self,
        from: &Path,
        added: &mut HashMap<Timestamp, Vec<PathBuf>>,
    ) -> Result<MergedFile, StoreError> {
        let run = match read::read_run(from) {
            Ok(run) => Run { sequence: None, ..run },
            Err(error) => return Ok(MergedFile::Unreadable(error)),
        };
        let guard =
            files::lock_file(self.results_dir()).and_then(|file| file.lock().map(|()| file));
        let path = self.results_dir().join(RUNS).join(format!("{}.json", run.run_id));
        let journal =
            self.results_dir().join(RUNS).join(format!("{}{}", run.run_id, files::JOURNAL_SUFFIX));
        let known = if path.exists() { vec![path.clone()] } else { self.runs_of(run.started)? };
        let others = known.iter().chain(added.get(&run.started).into_iter().flatten());
        let twin =
            others.filter_map(|path| read::read_run(path).ok()).find(|known| is_same(known, &run));
        if let Some(twin) = twin {
            return Ok(MergedFile::Duplicate { path: from.to_owned(), of: twin.run_id });
        }
        if path.exists() || journal.exists() {
            return Ok(MergedFile::Conflict { path: from.to_owned(), run_id: run.run_id });
        }
        write_run(&path, &run)?;
        drop(guard);
        added.entry(run.started).or_default().push(path.clone());
        Ok(MergedFile::Taken { run_id: run.run_id, path })
    }

    /// Stores `run`, which another tool measured, unless a stored run differs only in its id. If
    /// this process is killed, the run is on disk either completely or not at all, so an import can
    /// be repeated. If the id is taken, the run gets the same id with `-2`, `-3` … appended.
    ///
    /// # Errors
    /// If this store cannot be written, the id is not a valid file name, or the index cannot be
    /// read.
    pub fn take_in(&self, run: &Run) -> Result<TakenRun, StoreError> {
        files::check_name(&run.run_id.0)?;
        let guard =
            files::lock_file(self.results_dir()).and_then(|file| file.lock().map(|()| file));
        self.refresh()?;
        let known = self.runs_of(run.started)?;
        for path in known {
            if let Some(twin) = read::read_run(&path).ok().filter(|known| is_same(known, run)) {
                return Ok(TakenRun { run_id: twin.run_id, path, is_new: false });
            }
        }
        let mut run = run.clone();
        let runs = self.results_dir().join(RUNS);
        let (journal, _) = journal::reserve(&runs, &mut run.run_id)?;
        let path = runs.join(format!("{}.json", run.run_id));
        let written = write_run(&path, &run);
        // If the journal cannot be removed now, opening the store removes it.
        let _ = fs::remove_file(journal);
        drop(guard);
        written?;
        self.refresh()?;
        Ok(TakenRun { run_id: run.run_id, path, is_new: true })
    }

    fn runs_of(&self, started: Timestamp) -> Result<Vec<PathBuf>, StoreError> {
        let files: Vec<String> = self.query(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT file FROM runs WHERE started = ?1 ORDER BY run_id")?;
            statement.query_map([started.as_microsecond()], |row| row.get(0))?.collect()
        })?;
        Ok(files.into_iter().map(|file| self.results_dir().join(RUNS).join(file)).collect())
    }

    pub(crate) fn latest_id(&self) -> Result<Option<RunId>, StoreError> {
        let latest = crate::store::LATEST_FIRST;
        let id: Option<String> = self.query(|connection| {
            let sql =
                format!("SELECT run_id FROM runs WHERE imported = 0 ORDER BY {latest} LIMIT 1");
            connection.query_row(&sql, [], |row| row.get(0)).optional()
        })?;
        Ok(id.map(RunId))
    }
}

fn head(path: PathBuf) -> Result<Head, ReadError> {
    let run = read::read_head(&path)?;
    Ok(Head { path, run_id: run.run_id, started: run.started, sequence: run.sequence })
}

/// Returns whether two runs are the same except for id and sequence number.
fn is_same(one: &Run, other: &Run) -> bool {
    one.started == other.started
        && one.benchmarks.len() == other.benchmarks.len()
        && Run {
            run_id: other.run_id.clone(),
            origin_id: other.origin_id.clone(),
            sequence: other.sequence,
            ..one.clone()
        } == *other
}

/// Returns the consecutive pairs of runs whose start times are in reverse order because the clock
/// was set back, in sequence order.
fn clock_jumps(heads: &mut [Head]) -> Vec<MergedFile> {
    heads.sort_by_key(|head| head.sequence);
    let measured: Vec<&Head> = heads.iter().filter(|head| head.sequence.is_some()).collect();
    let mut jumps = Vec::new();
    for pair in measured.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if first.started > second.started && first.sequence < second.sequence {
            jumps.push(MergedFile::ClockWentBack {
                first: first.run_id.clone(),
                second: second.run_id.clone(),
            });
        }
    }
    jumps
}
