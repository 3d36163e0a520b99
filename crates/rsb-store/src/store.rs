//! A results directory: opening it, finding runs, writing runs and comparisons.

use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rsb_model::run::Counts;
use rsb_model::{ComparisonResult, Fingerprint, Note, Run, RunId, Timestamp, Verdict};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, COMPARISONS, DATABASE, RUNS};
use crate::index::{FromJson, Index, Parsed, database_error, is_corrupt};
use crate::journal::{Journal, write_run};
use crate::open::{open_index, rebuild};
use crate::recovery::JournalProgress;
use crate::{document, read, recovery, temporary};

/// A results directory.
///
/// Each handle has its own database connection, so use one per thread or process.
#[derive(Debug)]
pub struct Store {
    results_dir: PathBuf,
    index: RefCell<Index>,
    notices: RefCell<Vec<StoreNotice>>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Run id.
    pub run_id: RunId,
    /// Run file.
    pub path: PathBuf,
    /// Start time.
    pub started: Timestamp,
    /// End time; `None` if the run was cut off.
    pub finished: Option<Timestamp>,
    /// Suite requested.
    pub suite: String,
    /// Profile requested, which sets how thoroughly the run measures.
    pub profile: String,
    /// Full hash of the commit measured.
    pub commit: Option<String>,
    /// Branch of that commit.
    pub branch: Option<String>,
    /// Slug of the hardware: [`Fingerprint::slug`].
    pub slug: String,
    /// Number of cases per outcome.
    pub counts: Counts,
    /// Notes for the reader.
    pub notes: Vec<Note>,
    /// Whether the run was imported: measured by another tool or merged from another directory.
    pub imported: bool,
}

/// A comparison in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonSummaryRow {
    /// Comparison id.
    pub comparison_id: String,
    /// Comparison file.
    pub path: PathBuf,
    /// Time of the comparison.
    pub timestamp: Timestamp,
    /// Run or baseline compared against.
    pub baseline_run_id: String,
    /// Run compared.
    pub current_run_id: String,
    /// Worst verdict.
    pub verdict: Verdict,
    /// Number of comparisons with the verdict Improved.
    pub improved: usize,
    /// Number of comparisons with the verdict Regressed.
    pub degraded: usize,
    /// Number of comparisons with the verdict Unchanged.
    pub unchanged: usize,
    /// Number of comparisons without a verdict.
    pub no_verdict: usize,
}

impl Store {
    /// Opens `results_dir` for writing. Creates the directory if it is missing, recovers runs that
    /// were cut off, and removes temporary files of killed processes.
    ///
    /// # Errors
    /// If the directory cannot be written, or its database was written by a later program.
    pub fn open_for_writing(results_dir: &Path) -> Result<Self, StoreError> {
        let runs = results_dir.join(RUNS);
        files::create_dir(&runs)?;
        for dir in [results_dir, &runs, &results_dir.join(COMPARISONS)] {
            temporary::remove_leftovers(dir);
        }
        Self::open(results_dir)
    }

    /// Opens `results_dir` for reading. A missing directory is an empty history and is not created.
    ///
    /// # Errors
    /// If the path is not a directory, or its database was written by a later program.
    pub fn open_existing(results_dir: &Path) -> Result<Self, StoreError> {
        if results_dir.exists() && !results_dir.is_dir() {
            return Err(StoreError::NotADirectory { path: results_dir.to_owned() });
        }
        if results_dir.join(RUNS).is_dir() {
            return Self::open(results_dir);
        }
        let index = Index::in_memory()
            .map_err(|error| database_error(&results_dir.join(DATABASE), error))?;
        Ok(Self::with(results_dir, index, Vec::new()))
    }

    fn open(results_dir: &Path) -> Result<Self, StoreError> {
        let mut notices = recovery::recover(results_dir);
        let (index, more) = open_index(results_dir)?;
        notices.extend(more);
        Ok(Self::with(results_dir, index, notices))
    }

    fn with(results_dir: &Path, index: Index, notices: Vec<StoreNotice>) -> Self {
        Self {
            results_dir: results_dir.to_owned(),
            index: RefCell::new(index),
            notices: RefCell::new(notices),
        }
    }

    /// Returns a store over `index`, without comparing the index with the files of `results_dir`.
    pub(crate) fn of_index(results_dir: &Path, index: Index) -> Self {
        Self::with(results_dir, index, Vec::new())
    }

    /// Returns the results directory.
    pub fn results_dir(&self) -> &Path {
        &self.results_dir
    }

    /// Returns the directory for the profiles of the cases of a run. It exists only if profiles
    /// were taken.
    pub fn profiles_of(&self, id: &RunId) -> PathBuf {
        // The id may come from another source, so characters that could form another path are
        // replaced.
        let name =
            id.0.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
        self.results_dir.join(files::PROFILES).join(name.collect::<String>())
    }

    /// Returns the notices collected since the directory was opened.
    pub fn notices(&self) -> Ref<'_, [StoreNotice]> {
        Ref::map(self.notices.borrow(), Vec::as_slice)
    }

    /// Indexes files that other processes wrote since this store was opened.
    ///
    /// # Errors
    /// If the index cannot be read or updated.
    pub fn refresh(&self) -> Result<(), StoreError> {
        let found = self.index.borrow_mut().sync(&self.results_dir);
        let found =
            found.map_err(|error| database_error(&self.results_dir.join(DATABASE), error))?;
        let mut notices = self.notices.borrow_mut();
        for notice in found {
            if !notices.contains(&notice) {
                notices.push(notice);
            }
        }
        Ok(())
    }

    /// Returns the runs being measured now, without their cases.
    pub fn being_measured(&self) -> Vec<Run> {
        recovery::living(&self.results_dir)
    }

    /// Returns the runs being measured now, with the results available until now.
    pub fn progress(&self) -> Vec<JournalProgress> {
        recovery::progress(&self.results_dir)
    }

    /// Starts the journal of `run` and assigns the next sequence number unless the run is imported.
    /// If its id exists already, `-2`, `-3` … is appended to it.
    ///
    /// # Errors
    /// If the directory cannot be written, or the id is not a valid file name.
    pub fn begin(&self, run: &Run) -> Result<Journal, StoreError> {
        files::create_dir(&self.results_dir.join(RUNS))?;
        Journal::begin(&self.results_dir, run, || {
            self.refresh()?;
            let indexed = self.query(|connection| {
                connection.query_row("SELECT max(sequence) FROM runs", [], |row| {
                    row.get::<_, Option<i64>>(0)
                })
            })?;
            let indexed = indexed.and_then(|highest| u64::try_from(highest).ok());
            Ok(indexed
                .max(recovery::highest_sequence(&self.results_dir))
                .unwrap_or(0)
                .saturating_add(1))
        })
    }

    /// Replaces the file of `run` with a newer version of the same run that has more replicates.
    ///
    /// # Errors
    /// If the file cannot be written, or the id is not a valid file name.
    pub fn rewrite(&self, run: &Run) -> Result<PathBuf, StoreError> {
        files::check_name(&run.run_id.0)?;
        let path = self.results_dir.join(RUNS).join(format!("{}.json", run.run_id));
        write_run(&path, run)?;
        // The file is authoritative. If indexing fails now, the file is indexed when the store is
        // next opened.
        let _ = self.index.borrow_mut().add_run(&path, run);
        Ok(path)
    }

    /// Saves `comparison` as a file and indexes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_comparison(&self, comparison: &ComparisonResult) -> Result<PathBuf, StoreError> {
        let name = files::safe_name(&comparison.comparison_id);
        let path = self.results_dir.join(COMPARISONS).join(format!("{name}.json"));
        let text = document::to_text(comparison)
            .map_err(|error| StoreError::write(&path, error.into()))?;
        files::write_atomically(&path, &text)?;
        // The file is authoritative. If indexing fails now, the file is indexed when the store is
        // next opened.
        let _ = self.index.borrow_mut().add_comparison(&path, comparison);
        Ok(path)
    }

    /// Returns whether the store has `run` with identical contents.
    pub fn holds(&self, run: &Run) -> bool {
        let path = self.results_dir.join(RUNS).join(format!("{}.json", run.run_id));
        read::read_run(&path).is_ok_and(|kept| kept == *run)
    }

    /// Returns every run, newest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.query(|connection| {
            let mut statement =
                connection.prepare(&format!("{RUN_ROWS} ORDER BY started DESC, run_id DESC"))?;
            statement.query_map([], |row| self.summary(row))?.collect()
        })
    }

    /// Returns the run with the latest start time; imported runs do not count.
    ///
    /// # Errors
    /// If the index or the run's file cannot be read.
    pub fn latest(&self) -> Result<Option<Run>, StoreError> {
        self.before_latest(0)
    }

    /// Returns the run that is `runs` runs older than the latest one; imported runs do not count.
    ///
    /// # Errors
    /// If the index or the run's file cannot be read.
    pub fn before_latest(&self, runs: u32) -> Result<Option<Run>, StoreError> {
        let file: Option<String> = self.query(|connection| {
            let sql = format!(
                "SELECT file FROM runs WHERE imported = 0 ORDER BY {LATEST_FIRST} \
                               LIMIT 1 OFFSET {runs}"
            );
            connection.query_row(&sql, [], |row| row.get(0)).optional()
        })?;
        Ok(file.map(|file| read::read_run(&self.results_dir.join(RUNS).join(file))).transpose()?)
    }

    /// Returns the id of the run measured here with the highest sequence number; `None` if no run
    /// has one.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn last_in_sequence(&self) -> Result<Option<RunId>, StoreError> {
        self.query(|connection| {
            let sql = format!(
                "SELECT run_id FROM runs WHERE imported = 0 AND sequence IS NOT NULL ORDER BY \
                 sequence DESC, {LATEST_FIRST} LIMIT 1"
            );
            connection.query_row(&sql, [], |row| row.get(0).map(RunId)).optional()
        })
    }

    /// Returns up to `most` of the last runs with the same hardware and suite before `run`, oldest
    /// first. Imported, interrupted and unreadable runs are left out.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn runs_before(&self, run: &Run, most: usize) -> Result<Vec<Run>, StoreError> {
        let slugs = self.slugs_of(&Fingerprint::of(&run.environment))?;
        // The id is compared as well: the index stores microseconds, so by its rounded time a run
        // could precede itself.
        let known = self.runs()?.into_iter().filter(|known| {
            slugs.contains(&known.slug)
                && known.suite == run.suite
                && known.run_id != run.run_id
                && known.started < run.started
        });
        let read = known.filter_map(|known| read::read_run(&known.path).ok());
        let mut runs: Vec<Run> =
            read.filter(|run| !run.imported && !run.is_interrupted()).take(most).collect();
        runs.reverse();
        Ok(runs)
    }

    /// Returns the run files that were left out of the index and may be newer than `latest`, judged
    /// by modification time or file name, each with the reason.
    pub fn left_out_after(&self, latest: Option<&RunId>) -> Vec<(PathBuf, String)> {
        let runs = self.results_dir.join(RUNS);
        let own = latest.map(|id| runs.join(format!("{id}.json")));
        let mut left_out = Vec::new();
        for notice in &*self.notices() {
            let StoreNotice::LeftOut { path, problem } = notice else { continue };
            if path.parent() != Some(runs.as_path()) {
                continue;
            }
            let is_later = own.as_ref().is_none_or(|own| {
                path.file_name() > own.file_name() || last_written(path) >= last_written(own)
            });
            if is_later {
                left_out.push((path.clone(), problem.clone()));
            }
        }
        left_out
    }

    /// Returns the slugs under which runs of this hardware are indexed. There may be several,
    /// because earlier versions recorded fewer properties of a machine, which resulted in another
    /// slug.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn slugs_of(&self, fingerprint: &Fingerprint) -> Result<Vec<String>, StoreError> {
        let known: Vec<(String, Fingerprint)> = self.query(|connection| {
            let mut statement = connection.prepare("SELECT slug, fingerprint FROM machines")?;
            statement
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, FromJson<_>>(1)?.0)))?
                .collect()
        })?;
        Ok(known
            .into_iter()
            .filter(|(_, other)| fingerprint.differences(other).is_empty())
            .map(|(slug, _)| slug)
            .collect())
    }

    /// Returns every comparison, newest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn comparisons(&self) -> Result<Vec<ComparisonSummaryRow>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT * FROM comparisons ORDER BY timestamp DESC, comparison_id DESC";
            connection.prepare(sql)?.query_map([], |row| self.comparison_row(row))?.collect()
        })
    }

    /// Returns the comparison with the id `id`; `None` if there is none.
    ///
    /// # Errors
    /// If the index or the file cannot be read.
    pub fn comparison(&self, id: &str) -> Result<Option<ComparisonResult>, StoreError> {
        let file: Option<String> = self.query(|connection| {
            let sql = "SELECT file FROM comparisons WHERE comparison_id = ?1";
            connection.query_row(sql, [id], |row| row.get(0)).optional()
        })?;
        Ok(file
            .map(|file| read::read_comparison(&self.results_dir.join(COMPARISONS).join(file)))
            .transpose()?)
    }

    /// Queries the index if it is in memory; returns `None` if it is on disk.
    pub(crate) fn without_file<T>(&self, ask: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let mut index = self.index.borrow_mut();
        let has_file = index.connection().path().is_some_and(|path| !path.is_empty());
        (!has_file).then(|| ask(index.connection_mut()))
    }

    /// Queries the index. If the query finds it corrupt, rebuilds it and queries again.
    pub(crate) fn query<T>(
        &self,
        ask: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let first = ask(self.index.borrow().connection());
        let path = self.results_dir.join(DATABASE);
        match first {
            Ok(answer) => Ok(answer),
            Err(error) if is_corrupt(&error) && path.exists() => {
                // The connection to the corrupt file must be closed before the file is moved.
                let memory = Index::in_memory().map_err(|error| database_error(&path, error))?;
                drop(self.index.replace(memory));
                let (index, notices) = rebuild(&self.results_dir)?;
                self.notices.borrow_mut().extend(notices);
                self.index.replace(index);
                ask(self.index.borrow().connection()).map_err(|error| database_error(&path, error))
            }
            Err(error) => Err(database_error(&path, error)),
        }
    }

    pub(crate) fn summary(&self, row: &Row<'_>) -> rusqlite::Result<RunSummary> {
        let file: String = row.get("file")?;
        Ok(RunSummary {
            run_id: RunId(row.get("run_id")?),
            path: self.results_dir.join(RUNS).join(file),
            started: time(row.get("started")?),
            finished: row.get::<_, Option<i64>>("finished")?.map(time),
            suite: row.get("suite")?,
            profile: row.get("profile")?,
            commit: row.get("commit_hash")?,
            branch: row.get("branch")?,
            slug: row.get("slug")?,
            counts: Counts {
                measured: count(row, "measured")?,
                skipped: count(row, "skipped")?,
                failed: count(row, "failed")?,
                simulated: count(row, "simulated")?,
            },
            notes: row.get::<_, FromJson<_>>("notes")?.0,
            imported: row.get("imported")?,
        })
    }

    fn comparison_row(&self, row: &Row<'_>) -> rusqlite::Result<ComparisonSummaryRow> {
        let file: String = row.get("file")?;
        Ok(ComparisonSummaryRow {
            comparison_id: row.get("comparison_id")?,
            path: self.results_dir.join(COMPARISONS).join(file),
            timestamp: time(row.get("timestamp")?),
            baseline_run_id: row.get("baseline_run_id")?,
            current_run_id: row.get("current_run_id")?,
            verdict: row.get::<_, Parsed<_>>("verdict")?.0,
            improved: count(row, "improved")?,
            degraded: count(row, "degraded")?,
            unchanged: count(row, "unchanged")?,
            no_verdict: count(row, "no_verdict")?,
        })
    }
}

/// Returns when `path` was last written. For a link, the newer of the link and its target counts.
fn last_written(path: &Path) -> Option<SystemTime> {
    let file = path.metadata().and_then(|meta| meta.modified()).ok();
    let link = path.symlink_metadata().and_then(|meta| meta.modified()).ok();
    file.max(link)
}

/// Query for runs, each with the slug of its machine.
pub(crate) const RUN_ROWS: &str =
    "SELECT r.*, h.slug FROM runs r JOIN machines h ON h.id = r.machine";

/// Sort order of runs in the index that puts the latest first: by time, then by id. Sequence
/// numbers are not used because a file may have a forged one or none; see
/// [`Store::last_in_sequence`].
pub(crate) const LATEST_FIRST: &str = "started DESC, run_id DESC";

fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<usize> {
    row.get::<_, i64>(column).map(|count| count as usize)
}

/// Converts microseconds of the index to a time. Values out of range become the earliest
/// representable time.
pub(crate) fn time(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::MIN)
}
