//! Taking in the runs of another directory: each once, in the order of their own times.

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

/// What became of a file.
#[derive(Debug)]
pub enum MergedFile {
    /// It is a run here now.
    Taken {
        /// Its id.
        run_id: RunId,
        /// Its file here.
        path: PathBuf,
    },
    /// It was here before, or stands in another file too.
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The id under which it is here.
        of: RunId,
    },
    /// Another run has its id.
    Conflict {
        /// The file.
        path: PathBuf,
        /// The id.
        run_id: RunId,
    },
    /// It is no run that can be read.
    Unreadable(ReadError),
    /// By their places in the sequence the first of two runs was measured before the second, by
    /// their clocks after it.
    ClockWentBack {
        /// The one that was measured first.
        first: RunId,
        /// The one that was measured second.
        second: RunId,
    },
}

/// A run of another tool as it is stored here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRun {
    /// Its id here.
    pub run_id: RunId,
    /// Its file.
    pub path: PathBuf,
    /// Whether it was not here before.
    pub is_new: bool,
}

/// A run of the other directory: what decides its place.
struct Head {
    path: PathBuf,
    run_id: RunId,
    started: Timestamp,
    sequence: Option<u64>,
}

impl Store {
    /// Takes in the runs of `dir`, a directory of results or of run files, oldest first. `told`
    /// hears of each when it is on disk here. Their places in the sequence of the other directory
    /// say nothing here and are left out: they lie by their own times.
    ///
    /// # Errors
    /// When nothing can be written here, or the index does not answer.
    pub fn merge(&self, dir: &Path, mut told: impl FnMut(MergedFile)) -> Result<(), StoreError> {
        let nested = dir.join(RUNS);
        let files = files::documents_in(if nested.is_dir() { &nested } else { dir });
        let mut heads = Vec::new();
        for path in files {
            match head(path) {
                Ok(head) => heads.push(head),
                Err(error) => told(MergedFile::Unreadable(error)),
            }
        }
        clock_jumps(&mut heads).into_iter().for_each(&mut told);
        heads.sort_by(|a, b| (a.started, &a.run_id).cmp(&(b.started, &b.run_id)));
        let mut added: HashMap<Timestamp, Vec<PathBuf>> = HashMap::new();
        let outcome = heads.into_iter().try_for_each(|head| {
            told(self.merge_one(&head.path, &mut added)?);
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

    /// Takes in `run`, which another tool measured, unless a stored run is the same but for its id.
    /// The run is whole on disk or not there at all, whenever this process is killed: an import
    /// that is repeated finds what there is. Its id is that of `run` or, when that is taken, the
    /// same with `-2`, `-3` …
    ///
    /// # Errors
    /// When nothing can be written here, the id cannot be the name of a file, or the index does not
    /// answer.
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
        // What cannot be removed goes at the next opening.
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

/// Whether two runs are one, under two ids or at two places of a sequence.
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

/// Where the clock went back, by the sequence in which the runs were measured.
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
