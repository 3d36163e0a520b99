//! Nothing else may run while a case is timed, and least of all another run of this program.

use std::fs::File;

/// What is said of a run that was not alone.
pub(super) const NOTE: &str =
    "another run of this program was measuring at the same time: its figures and these disturb each other";

/// Whether this run has the machine for itself, as far as this program's own runs go.
pub(super) enum Claim {
    /// Yes, for as long as this is kept. Without a file where none can be locked: then nobody can tell.
    Alone { _file: Option<File> },
    /// Another run is measuring.
    Shared,
}

/// Claims the machine.
pub(super) fn claim() -> Claim {
    let path = std::env::temp_dir().join("rusty-stack-bench.lock");
    let Ok(file) = File::options().create(true).append(true).open(path) else { return Claim::Alone { _file: None } };
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Claim::Shared,
        Ok(()) | Err(std::fs::TryLockError::Error(_)) => Claim::Alone { _file: Some(file) },
    }
}
