//! Nothing else may run while a case is timed, and least of all another run of this program: every
//! verb that measures claims the machine first, whichever user calls it.
//!
//! Whoever measures holds a shared lock on one file of the machine. Who cannot have it alone at the
//! beginning is not alone, and adds a byte to the file, if it may: whoever was there before sees at
//! its end that the file has grown, or that the other is still there. What was added before a run
//! began says nothing about it.

use std::fs::{File, Permissions, TryLockError};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rsb_model::{Event, Note, Run};
use rustix::fs::OFlags;

use crate::Listener;

/// What is said of a run that was not alone.
const NOTE: Note = Note::Shared;

/// A link is not followed; of a pipe that somebody put there nobody waits for the other end.
const FLAGS: i32 = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).bits().cast_signed();

/// The machine, for as long as this is kept.
pub struct Claim {
    /// The file; none where it cannot be locked: then nobody can tell.
    file: Option<File>,
    /// Whether another run is known to have been there.
    is_shared: bool,
    /// How long the file was before.
    length: u64,
}

/// Says that a dashboard is served on this machine, for as long as what comes back is kept. Where
/// the file cannot be locked, runs do not say so.
pub fn serving() -> Option<File> {
    let file = open(&dashboard_lock_path()).ok()?;
    hold(&file);
    Some(file)
}

/// The note of a run beside which a dashboard is served.
pub(crate) fn note_of_dashboard() -> Option<Note> {
    let file = File::options().read(true).custom_flags(FLAGS).open(dashboard_lock_path()).ok()?;
    let is_held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    is_held.then(|| {
        Note::Text(
            "a dashboard (`serve`) ran on this machine: it sent nothing while a case was timed"
                .to_owned(),
        )
    })
}

fn dashboard_lock_path() -> PathBuf {
    std::env::temp_dir().join("rusty-stack-bench.serve.lock")
}

/// Claims the machine. Where another run is measuring, that is told, and noted in each of `runs`.
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
                "nobody can tell whether another run is measuring: {error}"
            )));
            Claim { file: None, is_shared: false, length: 0 }
        }
    }
}

impl Claim {
    /// Gives the machine back. Where another run began meanwhile, that is told, and noted in each
    /// of `runs`; the answer is whether it was.
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

    /// Whether another run has begun since. This may leave the lock to this run alone, and gives it
    /// back.
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

/// Once is enough, however often the run is measured on.
fn note(run: &mut Run) {
    if !was_shared(run) {
        run.notes.push(NOTE);
    }
}

/// Whether another run was measuring beside `run`.
fn was_shared(run: &Run) -> bool {
    run.notes.contains(&NOTE)
}

/// A sentence for each of `runs` that was not alone.
pub fn shared_run_warnings<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let shared = runs.into_iter().filter(|run| was_shared(run));
    shared.map(|run| format!("of the run {}: {NOTE}; measure it again alone", run.run_id)).collect()
}

fn try_claim(path: &Path) -> Result<Claim, Error> {
    let file = open(path).map_err(|error| with_path(&error, path))?;
    // Before the lock is tried: whoever finds it taken by this run adds to the file after that.
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

/// Shares the lock with all who measure. One who has it alone, for a moment or because an earlier
/// version never shared it, is not waited for longer than that moment.
fn hold(file: &File) {
    for _ in 0..10 {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Adds to the file. Where it is another user's and may not be written, the lock alone tells.
fn mark(path: &Path) {
    let opened = File::options().append(true).custom_flags(FLAGS).open(path);
    let _ = opened.and_then(|mut file| file.write_all(b"+"));
}

/// The file, which may be another user's: it is only read, as a lock needs no more, and everybody
/// may read it and add to it, whatever the first one's mask is.
fn open(path: &Path) -> Result<File, Error> {
    match open_as_it_is(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match File::options().create_new(true).write(true).open(path) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        // Another run was faster.
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

    /// Whether a claim found another run at its beginning, and then whether it finds one at its
    /// end.
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
            assert!(!shared && !first.ends_joined(), "alone, whatever was before");
            let (_, first) = begins(&path);
            let (shared, second) = begins(&path);
            assert!(shared);
            if first_ends_first {
                assert!(first.ends_joined());
                let (shared, third) = begins(&path);
                assert!(shared, "the second is still there");
                drop((second, third));
            } else {
                drop(second);
                assert!(first.ends_joined(), "although the other has gone");
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
        // An earlier version has the lock alone, and is not waited for.
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
        let Err(error) = try_claim(&dir.path().join("link")) else { panic!("a link was followed") };
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
