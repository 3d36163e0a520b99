//! Watches the results directory, and reports when a case has ended: the journal of a run grows
//! only then.
//!
//! One thread waits for the system to report that a journal was written, and reads only its new
//! part, so that it disturbs the next case as little as possible. It starts with the first reader
//! of the live page.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rsb_model::json;
use rsb_model::run::ReplicateProgress;
use rsb_model::shown::clean;
use rsb_report::number::format_count;
use rsb_store::{JOURNAL_SUFFIX, progress_of};
use serde_json::Value;
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// Number of messages that a slow reader may be behind; after that, it only gets the newest ones.
const WAITING: usize = 16;

/// Time between two looks for a directory that does not exist yet.
const APPEARS: Duration = Duration::from_secs(1);

/// Reports changes of journals to its readers.
pub(super) struct JournalWatch {
    runs: PathBuf,
    sender: Sender<String>,
    has_begun: Mutex<bool>,
}

impl JournalWatch {
    /// Creates a watch of the runs in `results`. Nothing is watched yet.
    pub(super) fn new(results: &Path) -> Self {
        Self {
            runs: results.join("runs"),
            sender: channel(WAITING).0,
            has_begun: Mutex::new(false),
        }
    }

    /// Returns a receiver of all future changes. Waits for the directory if the first run has not
    /// created it yet.
    ///
    /// # Errors
    /// If the directory cannot be watched.
    pub(super) fn listen(&self) -> io::Result<Receiver<String>> {
        let mut has_begun = self.has_begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_begun {
            let changes = match Changes::of(&self.runs) {
                Ok(changes) => Some(changes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            // Only changes after this call are reported.
            let mut journals = Journals::default();
            journals.look(&self.runs);
            let (runs, sender) = (self.runs.clone(), self.sender.clone());
            thread::Builder::new().name("journals".to_owned()).spawn(move || {
                if let Some(changes) = changes.or_else(|| first_changes(&runs)) {
                    tell(&runs, journals, &changes, &sender);
                }
            })?;
            *has_begun = true;
        }
        Ok(self.sender.subscribe())
    }
}

/// Waits until the directory exists, and watches it; `None` if it cannot be watched.
fn first_changes(runs: &Path) -> Option<Changes> {
    loop {
        thread::sleep(APPEARS);
        match Changes::of(runs) {
            Ok(changes) => return Some(changes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
}

/// Reports every change until the program ends.
fn tell(runs: &Path, mut journals: Journals, changes: &Changes, sender: &Sender<String>) {
    loop {
        for message in journals.look(runs) {
            // There may be no reader.
            let _ = sender.send(message);
        }
        if changes.wait().is_err() {
            return;
        }
    }
}

/// Known state of each journal.
#[derive(Default)]
struct Journals(HashMap<PathBuf, Tail>);

/// How far a journal was read, and its last progress.
#[derive(Default)]
struct Tail {
    offset: u64,
    progress: Option<ReplicateProgress>,
}

impl Journals {
    /// Returns a sentence for each journal that changed since the last call.
    fn look(&mut self, runs: &Path) -> Vec<String> {
        let entries = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
        let there: Vec<PathBuf> = entries.filter(|path| is_journal(path)).collect();
        let over = self.0.keys().filter(|path| !there.contains(path)).cloned().collect::<Vec<_>>();
        let mut messages: Vec<String> = Vec::new();
        for path in over {
            self.0.remove(&path);
            messages.push(format!("The run {} has ended.", run_of(&path)));
        }
        for path in there {
            let is_new = !self.0.contains_key(&path);
            let tail = self.0.entry(path.clone()).or_default();
            match tail.read(&path) {
                Some(last) => messages.push(tail.message(&run_of(&path), &last)),
                None if is_new => {
                    messages.push(format!("The run {} has begun.", run_of(&path)));
                }
                None => {}
            }
        }
        messages
    }
}

fn is_journal(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(JOURNAL_SUFFIX))
}

fn run_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    clean(name.strip_suffix(JOURNAL_SUFFIX).unwrap_or(&name))
}

impl Tail {
    /// Reads the new lines, and returns the case of the last one.
    fn read(&mut self, path: &Path) -> Option<String> {
        let mut file = rsb_store::open(path).ok()?;
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let mut last = None;
        for line in
            bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
        {
            self.offset += line.len() as u64;
            last = self.take(line).or(last);
        }
        last
    }

    fn take(&mut self, line: &[u8]) -> Option<String> {
        let line = json::parse_bytes(line).ok()?;
        self.progress = progress_of(&line).or(self.progress);
        let result = line.get("result")?;
        let id = result.get("benchmark_id")?.as_str()?;
        let outcome = result.get("outcome").and_then(Value::as_str).unwrap_or_default();
        Some(format!("{id} {outcome}"))
    }

    fn message(&self, run: &str, last: &str) -> String {
        let progress =
            self.progress.map_or_else(String::new, |ReplicateProgress { done, total }| {
                format!("{done} of {}, ", format_count(total, "replicate", "replicates"))
            });
        format!("{run}: {progress}last case {}.", clean(last))
    }
}

/// Waits until something is written in a directory.
#[cfg(target_os = "linux")]
struct Changes(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Changes {
    fn of(dir: &Path) -> io::Result<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let watched = init(CreateFlags::CLOEXEC)?;
        add_watch(&watched, dir, WatchFlags::MODIFY | WatchFlags::DELETE | WatchFlags::CREATE)?;
        Ok(Self(watched))
    }

    fn wait(&self) -> io::Result<()> {
        // The directory itself is read afterwards, so the events are ignored.
        let mut events = [0_u8; 4096];
        Ok(rustix::io::read(&self.0, &mut events).map(|_| ())?)
    }
}

/// Polls every few seconds if the system does not report changes.
#[cfg(not(target_os = "linux"))]
struct Changes;

#[cfg(not(target_os = "linux"))]
impl Changes {
    fn of(dir: &Path) -> io::Result<Self> {
        fs::metadata(dir).map(|_| Self)
    }

    fn wait(&self) -> io::Result<()> {
        thread::sleep(std::time::Duration::from_secs(3));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_new_is_read_once_and_half_a_line_not_yet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("20261121T090312Z_1a2b3c4{JOURNAL_SUFFIX}"));
        let mut journals = Journals::default();
        append(&path, "{\"run\":{}}\n{\"planned\":7}\n");
        assert_eq!(journals.look(dir.path()), ["The run 20261121T090312Z_1a2b3c4 has begun."]);
        let (whole, half) = (result("a"), result("b"));
        append(&path, &whole);
        assert_eq!(journals.look(dir.path()), ["20261121T090312Z_1a2b3c4: last case a measured."]);
        append(&path, &progress(9));
        append(&path, &whole);
        append(&path, &progress(10));
        append(&path, &half[..10]);
        assert_eq!(
            journals.look(dir.path()),
            ["20261121T090312Z_1a2b3c4: 10 of 35 replicates, last case a measured."]
        );
        append(&path, &half[10..]);
        assert_eq!(
            journals.look(dir.path()),
            ["20261121T090312Z_1a2b3c4: 10 of 35 replicates, last case b measured."]
        );
        assert_eq!(journals.look(dir.path()), Vec::<String>::new());
        fs::remove_file(&path).unwrap();
        assert_eq!(journals.look(dir.path()), ["The run 20261121T090312Z_1a2b3c4 has ended."]);
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn result(id: &str) -> String {
        format!("{{\"result\":{{\"benchmark_id\":\"{id}\",\"outcome\":\"measured\"}}}}\n")
    }

    fn progress(done: usize) -> String {
        format!("{{\"progress\":{{\"done\":{done},\"total\":35}}}}\n")
    }

    #[test]
    fn a_reader_hears_of_a_case_when_it_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        let watch = JournalWatch::new(dir.path());
        let mut heard = watch.listen().unwrap();
        // The first run creates the directory.
        fs::create_dir(&runs).unwrap();
        let line = "{\"result\":{\"benchmark_id\":\"a\",\"outcome\":\"failed\"}}\n";
        fs::write(runs.join(format!("x{JOURNAL_SUFFIX}")), line).unwrap();
        assert_eq!(heard.blocking_recv().unwrap(), "x: last case a failed.");
        fs::remove_file(runs.join(format!("x{JOURNAL_SUFFIX}"))).unwrap();
        assert_eq!(heard.blocking_recv().unwrap(), "The run x has ended.");
    }
}
