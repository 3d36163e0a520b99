//! A lock that detects concurrent runs on one machine, because timings are valid only if nothing
//! else runs. Every subcommand that measures claims the machine first, for any user.
//!
//! Each run holds a shared lock on one file. If a run cannot get an exclusive lock at its start,
//! another run is active; the new run then appends a byte to the file if it has write permission.
//! If the file has grown at the end of a run or an exclusive lock is unavailable, another run began
//! in the meantime. Bytes from before a run are ignored.

use std::fs::{File, Permissions, TryLockError};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rsb_model::{Event, Note, Run};
use rustix::fs::OFlags;

use crate::Listener;

/// Note added to a run that shared the machine with another run.
const NOTE: Note = Note::Shared;

/// Flags for opening the file: do not follow a symbolic link, and do not block on a FIFO.
const FLAGS: i32 = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).bits().cast_signed();

/// A claim on the machine, valid until it is ended or dropped.
pub struct Claim {
    /// The locked file; `None` if it cannot be locked. Other runs cannot be detected then.
    file: Option<File>,
    /// Whether another run was active when this one began.
    is_shared: bool,
    /// Length of the file in bytes when this run began.
    length: u64,
}

/// Marks this machine as serving a dashboard until the returned file is dropped. Returns `None` if
/// the lock file cannot be opened; runs then have no note about the dashboard.
pub fn serving() -> Option<File> {
    let file = open(&dashboard_lock_path()).ok()?;
    hold(&file);
    Some(file)
}

/// Returns the note for a run during which a dashboard is served.
pub(crate) fn note_of_dashboard() -> Option<Note> {
    let file = File::options().read(true).custom_flags(FLAGS).open(dashboard_lock_path()).ok()?;
    let is_held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    is_held.then(|| {
        Note::Text(
            "a dashboard (`serve`) was running on this machine: it paused its updates while a case \
             was timed"
                .to_owned(),
        )
    })
}

fn dashboard_lock_path() -> PathBuf {
    std::env::temp_dir().join("rusty-stack-bench.serve.lock")
}

/// Claims the machine. If another run is measuring, warns the listener and adds a note to each of
/// `runs`. Failure to claim is reported to the listener, too.
pub fn claim<'r>(
    runs: impl IntoIterator<Item = &'r mut Run>,
    listener: &mut Listener<'_>,
) -> Claim {
    match try_claim(&std::env::temp_dir().join("rusty-stack-bench.lock")) {
        Ok(claim) => {
            if claim.is_shared {
                tell(runs, listener);
            }
            claim
        }
        Err(error) => {
            listener(&Event::note(format!(
                "cannot check whether another run is measuring: {error}"
            )));
            Claim { file: None, is_shared: false, length: 0 }
        }
    }
}

impl Claim {
    /// Releases the machine and returns whether another run began in the meantime. If so, warns the
    /// listener and adds a note to each of `runs`.
    pub fn end<'r>(
        self,
        runs: impl IntoIterator<Item = &'r mut Run>,
        listener: &mut Listener<'_>,
    ) -> bool {
        let was_joined = !self.is_shared && self.ends_joined();
        if was_joined {
            tell(runs, listener);
        }
        was_joined
    }

    /// Returns whether another run has begun since the claim, and releases the lock. May briefly
    /// acquire the exclusive lock.
    fn ends_joined(self) -> bool {
        let Some(file) = self.file else { return false };
        let has_grown = file.metadata().is_ok_and(|data| data.len() != self.length);
        has_grown || matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

fn tell<'r>(runs: impl IntoIterator<Item = &'r mut Run>, listener: &mut Listener<'_>) {
    listener(&Event::warning(NOTE.to_string()));
    runs.into_iter().for_each(note);
}

/// Adds the note to `run`, unless it is already there.
fn note(run: &mut Run) {
    if !was_shared(run) {
        run.notes.push(NOTE);
    }
}

/// Returns whether another run was measuring at the same time as `run`.
fn was_shared(run: &Run) -> bool {
    run.notes.contains(&NOTE)
}

/// Returns a warning for each of `runs` that shared the machine with another run.
pub fn shared_run_warnings<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let shared = runs.into_iter().filter(|run| was_shared(run));
    shared
        .map(|run| format!("run {}: {NOTE}; measure it again while nothing else runs", run.run_id))
        .collect()
}

fn try_claim(path: &Path) -> Result<Claim, Error> {
    let file = open(path).map_err(|error| with_path(&error, path))?;
    // Read the length before trying the lock: a run that finds the lock held appends to the file
    // afterwards.
    let length = file.metadata().map_err(|error| with_path(&error, path))?.len();
    let is_shared = match file.try_lock() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(error)) => return Err(with_path(&error, path)),
    };
    if is_shared {
        mark(path);
    }
    hold(&file);
    Ok(Claim { file: Some(file), is_shared, length })
}

fn with_path(error: &Error, path: &Path) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Acquires the shared lock. Retries for about 10 ms if another process holds it exclusively
/// (briefly, or because it is an earlier version that never shared it), then gives up.
fn hold(file: &File) {
    for _ in 0..10 {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Appends a byte to the file. Without write permission, the lock is the only signal.
fn mark(path: &Path) {
    let opened = File::options().append(true).custom_flags(FLAGS).open(path);
    let _ = opened.and_then(|mut file| file.write_all(b"+"));
}

/// Opens the lock file, or creates it with mode 0666 regardless of the umask. It is opened
/// read-only, because it may belong to another user and a lock needs no write permission.
fn open(path: &Path) -> Result<File, Error> {
    match open_as_it_is(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match File::options().create_new(true).write(true).open(path) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        // Another run created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open_as_it_is(path),
        Err(error) => Err(error),
    }
}

fn open_as_it_is(path: &Path) -> Result<File, Error> {
    File::options().read(true).custom_flags(FLAGS).open(path)
}

#[cfg(test)]
mod tests {
    use rsb_model::{Environment, RunId, Timestamp};

    use super::*;

    /// Creates a claim, and returns whether it finds another run.
    fn begins(path: &Path) -> (bool, Claim) {
        let claim = try_claim(path).unwrap();
        (claim.is_shared, claim)
    }

    #[test]
    fn both_of_two_runs_at_once_are_told_whichever_ends_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        for first_ends_first in [true, false] {
            let (shared, first) = begins(&path);
            assert!(!shared && !first.ends_joined(), "a single run must not report an overlap");
            let (_, first) = begins(&path);
            let (shared, second) = begins(&path);
            assert!(shared);
            if first_ends_first {
                assert!(first.ends_joined());
                let (shared, third) = begins(&path);
                assert!(shared, "the second run must still hold its claim");
                drop((second, third));
            } else {
                drop(second);
                assert!(
                    first.ends_joined(),
                    "the first run must report the overlap after the second has ended"
                );
            }
        }
        let (shared, alone) = begins(&path);
        assert!(!shared && !alone.ends_joined());
    }

    #[test]
    fn who_may_not_write_the_file_is_seen_while_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let (_, first) = begins(&path);
        let other = open(&path).unwrap();
        hold(&other);
        assert!(first.ends_joined());
        // An earlier version holds the lock exclusively; the claim does not wait for it.
        drop(other);
        let earlier = open(&path).unwrap();
        earlier.lock().unwrap();
        let (shared, claim) = begins(&path);
        assert!(shared && claim.file.is_some());
    }

    #[test]
    fn the_file_is_everybodys_and_need_not_be_writable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        drop(try_claim(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let file = try_claim(&path).unwrap().file.unwrap();
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert_eq!(flags & OFlags::ACCMODE, OFlags::RDONLY);
    }

    #[test]
    fn what_is_in_the_way_is_named_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join("link")).unwrap();
        let Err(error) = try_claim(&dir.path().join("link")) else {
            panic!("a symbolic link must be refused")
        };
        assert!(error.to_string().contains("link"), "{error}");
        std::fs::write(dir.path().join("theirs"), "").unwrap();
        std::os::unix::fs::symlink("theirs", dir.path().join("to-theirs")).unwrap();
        mark(&dir.path().join("to-theirs"));
        assert_eq!(std::fs::read(dir.path().join("theirs")).unwrap(), b"");
    }

    #[test]
    fn a_run_is_marked_once() {
        let mut run = Run::begin(
            RunId("x".into()),
            Timestamp::UNIX_EPOCH,
            "x",
            "quick",
            Environment::default(),
        );
        assert!(!was_shared(&run));
        note(&mut run);
        note(&mut run);
        assert!(was_shared(&run) && run.notes.len() == 1);
    }
}
