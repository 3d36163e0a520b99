//! Nothing else may run while a case is timed, and least of all another run of this program: every verb that measures
//! claims the machine first, whichever user calls it.

use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rsb_model::{Event, Note, Run};

use crate::Listener;

/// What is said of a run that was not alone.
const NOTE: Note = Note::Shared;

/// The machine, for as long as this is kept. Without a file where none can be locked: then nobody can tell.
pub struct Claim {
    _file: Option<File>,
}

/// Claims the machine. Where another run is measuring, that is told, and noted in each of `runs`.
pub fn claim<'r>(runs: impl IntoIterator<Item = &'r mut Run>, listener: &mut Listener<'_>) -> Claim {
    match try_claim(&std::env::temp_dir().join("rusty-stack-bench.lock")) {
        Ok(Some(file)) => Claim { _file: Some(file) },
        Ok(None) => {
            listener(&Event::warning(NOTE.to_string()));
            runs.into_iter().for_each(note);
            Claim { _file: None }
        }
        Err(error) => {
            listener(&Event::note(format!("nobody can tell whether another run is measuring: {error}")));
            Claim { _file: None }
        }
    }
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
pub fn disturbed<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let shared = runs.into_iter().filter(|run| was_shared(run));
    shared.map(|run| format!("of the run {}: {NOTE}; measure it again alone", run.run_id)).collect()
}

/// The locked file; `None` while another run holds it.
fn try_claim(path: &Path) -> Result<Option<File>, Error> {
    let named = |error: Error| Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = open(path).map_err(named)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(named(error)),
    }
}

/// The file, which may be another user's: it is only read, as a lock needs no more, and everybody may read it,
/// whatever the first one's mask is.
fn open(path: &Path) -> Result<File, Error> {
    // Of a pipe that somebody put there nobody waits for the other end.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let as_it_is = || File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    match as_it_is() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match File::options().create_new(true).write(true).open(path) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        // Another run was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => as_it_is(),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::{Environment, RunId, Timestamp};

    use super::*;

    #[test]
    fn one_run_at_a_time_has_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = try_claim(&path).unwrap();
        assert!(first.is_some() && try_claim(&path).unwrap().is_none());
        drop(first);
        assert!(try_claim(&path).unwrap().is_some());
    }

    #[test]
    fn the_file_is_everybodys_and_need_not_be_writable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        try_claim(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o666);
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let file = try_claim(&path).unwrap().unwrap();
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert_eq!(flags & rustix::fs::OFlags::ACCMODE, rustix::fs::OFlags::RDONLY);
    }

    #[test]
    fn what_is_in_the_way_is_named_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join("link")).unwrap();
        let error = try_claim(&dir.path().join("link")).unwrap_err().to_string();
        assert!(error.contains("link"), "{error}");
    }

    #[test]
    fn a_run_is_marked_once() {
        let mut run = Run::begin(RunId("x".into()), Timestamp::UNIX_EPOCH, "x", "quick", Environment::default());
        assert!(!was_shared(&run));
        note(&mut run);
        note(&mut run);
        assert!(was_shared(&run) && run.notes.len() == 1);
    }
}
