//! The journal of a run: one JSON line per case, written to disk before the next case begins.
//!
//! The writer holds a lock on the journal, so that [`crate::store`] can detect whether the writer
//! is still alive. All results are kept in memory as well: if the disk fails, the run can still be
//! written elsewhere.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rsb_model::run::ReplicateProgress;
use rsb_model::{BenchmarkResult, CaseId, Run, RunId, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::error::StoreError;
use crate::files::{self, DATABASE, JOURNAL_SUFFIX, RUNS};
use crate::index::Index;
use crate::seal::sealed_text;

/// Returns the id of a run that begins at `now` on `commit`, such as `20261121T090312Z_1a2b3c4`, or
/// `…_nogit`.
///
/// Two runs that begin in the same second on the same commit get the same id here;
/// [`crate::Store::begin`] makes it unique.
pub fn new_run_id(now: Timestamp, commit: Option<&str>) -> RunId {
    let short = commit
        .and_then(|commit| commit.get(..7))
        .filter(|text| text.bytes().all(|b| b.is_ascii_alphanumeric()));
    RunId(format!("{}_{}", now.strftime("%Y%m%dT%H%M%SZ"), short.unwrap_or("nogit")))
}

/// Returns whether `text` begins like an id from [`new_run_id`]: a date, `T`, and optionally part
/// of a time, such as `20261121T0903`.
pub fn begins_as_run_id(text: &str) -> bool {
    const FORM: &str = "00000000T000000Z";
    let fits =
        |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() >= "00000000T".len() && text.bytes().zip(FORM.bytes()).all(fits)
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    /// First line of the journal: the run without cases.
    Run(&'a Run),
    /// Number of planned cases.
    Planned(usize),
    /// Progress of the run when the next result was added.
    Progress(ReplicateProgress),
    /// A case that ended.
    Result(&'a BenchmarkResult),
}

/// Reads the progress in a `line` of a journal.
pub fn progress_of(line: &Value) -> Option<ReplicateProgress> {
    serde::Deserialize::deserialize(line.get("progress")?).ok()
}

/// The journal of a run that is being measured.
///
/// Dropping it without [`Journal::finish`] leaves the file. The next process that opens the store
/// converts it to a run.
#[derive(Debug)]
pub struct Journal {
    results_dir: PathBuf,
    path: PathBuf,
    file: File,
    /// Length, in bytes, of the complete lines in the file.
    whole: u64,
    /// The run without cases.
    run: Run,
    results: Vec<BenchmarkResult>,
    /// Number of `results` that are on disk.
    written: usize,
    /// Progress to write together with the next result.
    progress: Option<ReplicateProgress>,
}

impl Journal {
    /// Reserves an id for `run` in `results_dir`, which must contain the directory for runs, and
    /// writes the first line. `next` returns the next sequence number, for a run that is measured
    /// here.
    pub(crate) fn begin(
        results_dir: &Path,
        run: &Run,
        next: impl FnOnce() -> Result<u64, StoreError>,
    ) -> Result<Self, StoreError> {
        files::check_name(&run.run_id.0)?;
        let mut run = run.clone();
        let results = std::mem::take(&mut run.benchmarks);
        // Recovery holds the same lock, so it never finds a journal that is not locked yet. On a
        // file system without locks there is no recovery, so continuing without one is safe.
        let guard = files::lock_file(results_dir).and_then(|file| file.lock().map(|()| file));
        if !run.imported {
            run.sequence = Some(next()?);
        }
        let (path, file) = reserve(&results_dir.join(RUNS), &mut run.run_id)?;
        let _ = file.try_lock();
        drop(guard);
        let results_dir = results_dir.to_owned();
        let mut journal =
            Self { results_dir, path, file, whole: 0, run, results, written: 0, progress: None };
        let begun = journal.line(&Line::Run(&journal.run.clone())).and_then(|()| journal.flush());
        if begun.is_err() {
            // An empty journal contains no information, so it is removed; only the first error is
            // returned.
            let _ = fs::remove_file(&journal.path);
        }
        begun.map(|()| journal)
    }

    /// Returns the run as it began, with its final id and its sequence number.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the results added until now.
    pub fn results(&self) -> &[BenchmarkResult] {
        &self.results
    }

    /// Records the number of planned cases, so that a run that is cut off can report how far it
    /// got.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn plan(&mut self, cases: usize) -> Result<(), StoreError> {
        self.line(&Line::Planned(cases))
    }

    /// Sets the progress of the run as of the next result.
    pub const fn set_progress(&mut self, progress: ReplicateProgress) {
        self.progress = Some(progress);
    }

    /// Adds `result`, replacing an earlier one of the same case. It is on disk when this returns.
    ///
    /// # Errors
    /// If the journal cannot be written. The result stays in memory and is written with the next
    /// one if that succeeds.
    pub fn add(&mut self, result: &BenchmarkResult) -> Result<(), StoreError> {
        self.results.push(result.clone());
        self.flush()
    }

    /// Writes the run file, indexes it and removes the journal. The file has the cases of `run`,
    /// plus those added here that `run` lacks. Its id and sequence number are those of
    /// [`Journal::run`].
    ///
    /// # Errors
    /// If the file cannot be written. The journal is kept in this case; try again, or use
    /// [`Journal::rescue`].
    pub fn finish(&mut self, run: &Run) -> Result<PathBuf, StoreError> {
        self.take_over(run);
        let path = self.results_dir.join(RUNS).join(format!("{}.json", self.run.run_id));
        let whole = self.whole_run();
        write_run(&path, &whole)?;
        // The file is authoritative. If indexing fails now, the file is indexed when the store is
        // next opened; a journal that could not be removed is removed then, too.
        if let Ok(mut index) = Index::open(&self.results_dir.join(DATABASE)) {
            let _ = index.add_run(&path, &whole);
        }
        let _ = fs::remove_file(&self.path);
        Ok(path)
    }

    /// Writes all results to another directory, as a run file.
    ///
    /// # Errors
    /// If that file cannot be written either.
    pub fn rescue(&self, dir: &Path) -> Result<PathBuf, StoreError> {
        // The user chose the directory, so links to it are followed.
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let path = dir.join(format!("{}.json", self.run.run_id));
        write_run(&path, &self.whole_run())?;
        Ok(path)
    }

    fn take_over(&mut self, run: &Run) {
        let (run_id, sequence) = (self.run.run_id.clone(), self.run.sequence);
        let own: HashSet<&CaseId> = run.benchmarks.iter().map(|own| &own.benchmark_id).collect();
        let mut results = run.benchmarks.clone();
        results.extend(self.results.drain(..).filter(|kept| !own.contains(&kept.benchmark_id)));
        // The journal on disk no longer matches `results`; nothing is appended after this.
        self.written = results.len();
        self.results = results;
        self.run = Run { run_id, sequence, benchmarks: Vec::new(), ..run.clone() };
    }

    fn whole_run(&self) -> Run {
        // Same result as calling `Run::keep` for each case, which would scan all earlier cases each
        // time: too slow for 100,000 imported cases.
        let mut last: HashMap<&CaseId, usize> = HashMap::new();
        let mut benchmarks: Vec<BenchmarkResult> = Vec::with_capacity(self.results.len());
        for result in &self.results {
            let place = *last.entry(&result.benchmark_id).or_insert(benchmarks.len());
            match benchmarks.get_mut(place) {
                Some(known) => *known = result.clone(),
                None => benchmarks.push(result.clone()),
            }
        }
        Run { benchmarks, ..self.run.clone() }
    }

    /// Writes the pending results to disk, with one sync per `AT_ONCE` results.
    fn flush(&mut self) -> Result<(), StoreError> {
        const AT_ONCE: usize = 1000;
        while self.written < self.results.len() {
            let next: Vec<&BenchmarkResult> =
                self.results.iter().skip(self.written).take(AT_ONCE).collect();
            let count = next.len();
            let progress = self.progress.take().map(Line::Progress);
            let lines = progress.into_iter().chain(next.into_iter().map(Line::Result));
            let bytes: io::Result<Vec<Vec<u8>>> = lines.map(|line| line_of(&line)).collect();
            let written = bytes.and_then(|lines| self.append(&lines.concat()));
            written.map_err(|source| StoreError::write(&self.path, source))?;
            self.written += count;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), StoreError> {
        let written = line_of(line).and_then(|bytes| self.append(&bytes));
        written.map_err(|source| StoreError::write(&self.path, source))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.whole += bytes.len() as u64,
            // Removes a half-written line, so that the next line does not follow it. If truncating
            // fails as well, recovery drops the torn line.
            Err(_) => drop(
                self.file
                    .set_len(self.whole)
                    .and_then(|()| self.file.seek(SeekFrom::Start(self.whole))),
            ),
        }
        written
    }
}

fn line_of(line: &Line<'_>) -> io::Result<Vec<u8>> {
    Ok((serde_json::to_string(line)? + "\n").into_bytes())
}

/// Writes `run` to `path`, whole or not at all.
pub(crate) fn write_run(path: &Path, run: &Run) -> Result<(), StoreError> {
    let text = sealed_text(run).map_err(|error| StoreError::write(path, error.into()))?;
    files::write_atomically(path, &text)
}

/// Creates the journal of `run_id` in `dir`. If the id is taken, tries `run_id-2`, `run_id-3` …
pub(crate) fn reserve(dir: &Path, run_id: &mut RunId) -> Result<(PathBuf, File), StoreError> {
    let base = run_id.0.clone();
    for attempt in 1..10_000 {
        if attempt > 1 {
            run_id.0 = format!("{base}-{attempt}");
        }
        let path = dir.join(format!("{run_id}{JOURNAL_SUFFIX}"));
        match OpenOptions::new().create_new(true).write(true).open(&path) {
            // A finished run has no journal, but its run file still occupies the id.
            Ok(_) if dir.join(format!("{run_id}.json")).exists() => drop(fs::remove_file(&path)),
            Ok(file) => {
                files::sync_dir(dir);
                return Ok((path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StoreError::write(&path, source)),
        }
    }
    Err(StoreError::BadName { name: base })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_run;
    use crate::store::Store;
    use crate::testing::{measured_case, moment, run, skipped_case};

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_for_writing(&dir.path().join("results")).unwrap();
        (dir, store)
    }

    fn first(id: &str) -> Run {
        Run { sequence: Some(1), ..run(id, 0) }
    }

    #[test]
    fn ids_say_when_and_which_commit() {
        for (commit, expected) in [
            (Some("1a2b3c4d5e6f"), "20260101T090312Z_1a2b3c4"),
            (None, "20260101T090312Z_nogit"),
            (Some("short"), "20260101T090312Z_nogit"),
            (Some("../../x/y"), "20260101T090312Z_nogit"),
        ] {
            assert_eq!(new_run_id(moment(32_592), commit).0, expected);
        }
    }

    #[test]
    fn the_last_word_on_a_case_counts() {
        let (dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        for time in [1.0, 2.0, 3.0] {
            journal.add(&measured_case("a", time)).unwrap();
        }
        let rescued = read_run(&journal.rescue(dir.path()).unwrap()).unwrap();
        assert_eq!(rescued.benchmarks, [measured_case("a", 3.0)]);
        drop(journal);
        let store = Store::open_existing(&dir.path().join("results")).unwrap();
        assert_eq!(
            store.run("x").unwrap().benchmarks,
            [measured_case("a", 3.0)],
            "opening the store must recover the same cases"
        );
    }

    #[test]
    fn a_finished_run_is_a_file_and_nothing_else() {
        let (_dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        journal.plan(2).unwrap();
        journal.add(&measured_case("a", 1.0)).unwrap();
        journal.add(&skipped_case("b")).unwrap();
        let lines = fs::read_to_string(&journal.path).unwrap();
        assert_eq!(lines.lines().count(), 4, "the run, the plan and two cases");
        let path = journal.finish(&Run { finished: Some(moment(9)), ..run("x", 0) }).unwrap();
        let expected = Run {
            benchmarks: vec![measured_case("a", 1.0), skipped_case("b")],
            finished: Some(moment(9)),
            ..first("x")
        };
        assert_eq!(read_run(&path).unwrap(), expected);
        assert!(!journal.path.exists());
        assert_eq!(store.runs().unwrap()[0].counts.measured, 1);
    }

    #[test]
    fn the_callers_cases_win_and_none_of_the_journal_is_lost() {
        let (_dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        journal.add(&measured_case("a", 1.0)).unwrap();
        journal.add(&measured_case("b", 2.0)).unwrap();
        let path = journal
            .finish(&Run { benchmarks: vec![measured_case("b", 3.0)], ..run("other", 0) })
            .unwrap();
        let written = read_run(&path).unwrap();
        assert_eq!(written.run_id.0, "x");
        assert_eq!(written.benchmarks, [measured_case("b", 3.0), measured_case("a", 1.0)]);
    }

    #[test]
    fn an_id_that_is_taken_gets_a_number() {
        let (_dir, store) = store();
        let mut first = store.begin(&run("x", 0)).unwrap();
        let second = store.begin(&run("x", 0)).unwrap();
        assert_eq!((first.run().run_id.0.as_str(), second.run().run_id.0.as_str()), ("x", "x-2"));
        first.finish(&run("x", 0)).unwrap();
        assert_eq!(store.begin(&run("x", 0)).unwrap().run().run_id.0, "x-3");
        assert!(matches!(store.begin(&run("../x", 0)), Err(StoreError::BadName { .. })));
    }

    #[test]
    fn runs_that_come_in_at_once_each_have_an_id_and_a_file() {
        let (dir, store) = store();
        drop(store);
        let results = dir.path().join("results");
        let results = results.as_path();
        let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
            let each: Vec<_> =
                (1..=8).map(|time| scope.spawn(move || import_one(results, time))).collect();
            each.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut times: Vec<String> = paths
            .iter()
            .map(|path| format!("{:?}", read_run(path).unwrap().benchmarks[0].results))
            .collect();
        let runs: HashSet<RunId> =
            paths.iter().map(|path| read_run(path).unwrap().run_id).collect();
        paths.sort();
        paths.dedup();
        times.sort();
        times.dedup();
        assert_eq!((paths.len(), times.len(), runs.len()), (8, 8, 8), "no run may replace another");
    }

    /// Stores a run whose id is the same on every call; returns its file.
    fn import_one(results: &Path, time: u32) -> PathBuf {
        let store = Store::open_for_writing(results).unwrap();
        let one = Run {
            benchmarks: vec![measured_case("a", f64::from(time))],
            imported: true,
            ..run("20260101T000000Z_nogit", 0)
        };
        let mut journal = store.begin(&one).unwrap();
        journal.finish(&Run { run_id: journal.run().run_id.clone(), ..one }).unwrap()
    }

    #[test]
    fn the_time_of_keeping_many_cases_grows_with_their_number() {
        // `Run::keep` scans every case for each case, so four times as many would take 16 times as
        // long.
        let [few, many] = [4_000, 16_000].map(|count| {
            seconds_to_keep(count).min(seconds_to_keep(count)).min(seconds_to_keep(count))
        });
        assert!(many < 10.0 * few, "{few} s and {many} s");
    }

    fn seconds_to_keep(count: usize) -> f64 {
        let (_dir, store) = store();
        let cases: Vec<BenchmarkResult> =
            (0..count).map(|case| skipped_case(&format!("case{case}"))).collect();
        let begun = std::time::Instant::now();
        let imported = Run { benchmarks: cases, imported: true, ..run("x", 0) };
        let path = store.begin(&imported).unwrap().finish(&imported).unwrap();
        let took = begun.elapsed().as_secs_f64();
        assert_eq!(read_run(&path).unwrap().benchmarks.len(), count);
        took
    }

    #[test]
    fn a_full_disk_loses_nothing() {
        let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
            eprintln!("skipped: there is no /dev/full here");
            return;
        };
        let (dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        let real = journal.file.try_clone().unwrap();
        journal.add(&measured_case("a", 1.0)).unwrap();
        journal = Journal { file: full, ..journal };
        let error = journal.add(&measured_case("b", 2.0)).unwrap_err();
        assert!(
            matches!(&error, StoreError::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull)
        );
        assert!(error.to_string().contains("free some space"), "{error}");
        let rescued = journal.rescue(&dir.path().join("elsewhere")).unwrap();
        assert_eq!(
            read_run(&rescued).unwrap().benchmarks,
            [measured_case("a", 1.0), measured_case("b", 2.0)]
        );

        // Once there is space again, the results that could not be written follow.
        journal = Journal { file: real, ..journal };
        journal.add(&measured_case("c", 3.0)).unwrap();
        assert_eq!(fs::read_to_string(&journal.path).unwrap().lines().count(), 4);
    }

    #[test]
    fn ids_of_runs_are_told_from_other_names() {
        for id in [&new_run_id(moment(0), None).0, "20261121T090312Z_1a2b3c4-2", "20261121T0903"] {
            assert!(begins_as_run_id(id), "{id}");
        }
        for name in ["quick", "20261121", "2026-11-21T09", "20261121Tuesday", "v20261121T090312Z"] {
            assert!(!begins_as_run_id(name), "{name}");
        }
    }

    #[test]
    fn a_run_that_cannot_be_written_can_be_written_elsewhere() {
        let (dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        journal.add(&measured_case("a", 1.0)).unwrap();
        let runs = store.results_dir().join(RUNS);
        fs::remove_dir_all(&runs).unwrap();
        fs::write(&runs, "in the way").unwrap();
        let finished = Run { finished: Some(moment(5)), ..run("x", 0) };
        assert!(matches!(journal.finish(&finished), Err(StoreError::Write { .. })));
        let rescued = journal.rescue(&dir.path().join("elsewhere")).unwrap();
        let expected = Run {
            benchmarks: vec![measured_case("a", 1.0)],
            finished: finished.finished,
            ..first("x")
        };
        assert_eq!(read_run(&rescued).unwrap(), expected);
        fs::remove_file(&runs).unwrap();
        assert!(journal.finish(&finished).is_ok(), "finishing must succeed when retried");
    }

    #[test]
    fn a_rename_that_fails_keeps_the_journal_and_leaves_no_temporary() {
        let (_dir, store) = store();
        let mut journal = store.begin(&run("x", 0)).unwrap();
        journal.add(&measured_case("a", 1.0)).unwrap();
        // No file can be renamed to the path of a directory.
        let path = store.results_dir().join(RUNS).join("x.json");
        fs::create_dir(&path).unwrap();
        assert!(matches!(journal.finish(&run("x", 0)), Err(StoreError::Write { .. })));
        assert!(journal.path.exists());
        let is_temporary = |path: &Path| path.extension().is_some_and(|end| end == "tmp");
        let mut entries = fs::read_dir(path.parent().unwrap()).unwrap();
        assert!(!entries.any(|entry| is_temporary(&entry.unwrap().path())));
        fs::remove_dir(&path).unwrap();
        assert_eq!(journal.finish(&run("x", 0)).unwrap(), path);
        assert_eq!(read_run(&path).unwrap().benchmarks, [measured_case("a", 1.0)]);
    }
}
