//! Temporary files: their names, and removing files that killed processes left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Counter that distinguishes temporary files of threads in one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Age from which a temporary file counts as left over from a killed process. The process number in
/// its name is no criterion, because a process of another container may use the directory.
const LEFT_OVER: Duration = Duration::from_hours(1);

/// Returns the path of a new temporary file next to `path`. The name includes the time, because
/// process numbers may be the same in different containers.
pub(crate) fn path_beside(path: &Path) -> PathBuf {
    let prefix = temporary_prefix(&path.file_name().unwrap_or_default().to_string_lossy());
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!("{prefix}{}.{moment}{count}.tmp", std::process::id()))
}

/// Returns the beginning of the names of temporary files for `name`. A long name is cut, so that
/// the complete name stays within the limit of file systems.
fn temporary_prefix(name: &str) -> String {
    format!(".{name:.48}.")
}

/// Removes the temporary files for the file `path` that killed processes left next to it.
pub(crate) fn remove_leftovers_of(path: &Path) {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = temporary_prefix(&path.file_name().unwrap_or_default().to_string_lossy());
    remove_temporaries(dir, &prefix);
}

/// Removes all temporary files in `dir` that killed processes left there.
pub(crate) fn remove_leftovers(dir: &Path) {
    remove_temporaries(dir, ".");
}

fn remove_temporaries(dir: &Path, prefix: &str) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_temporary =
            name.to_str().is_some_and(|name| name.starts_with(prefix) && is_temporary_name(name));
        // The metadata is that of the entry itself: a link is not followed.
        if is_temporary && entry.metadata().is_ok_and(|data| data.is_file() && is_left_over(&data))
        {
            // Another process may have removed the file already, and nothing depends on its
            // removal.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether `name` is one that [`path_beside`] returns.
fn is_temporary_name(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.rsplit('.');
    parts.next() == Some("tmp")
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && name.starts_with('.')
}

/// Returns whether a file or directory has been unchanged for so long that it is a leftover.
pub(crate) fn is_left_over(data: &fs::Metadata) -> bool {
    let age = data.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > LEFT_OVER)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_once_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("{}.json", "x".repeat(200)));
        let (old, new) = (path_beside(&path), path_beside(&path));
        let another = path_beside(&dir.path().join("another"));
        let theirs = dir.path().join(".their.7.file.tmp");
        for file in [&old, &new, &another, &theirs] {
            let made = File::create_new(file).unwrap();
            if file != &new {
                made.set_modified(SystemTime::now() - 2 * LEFT_OVER).unwrap();
            }
        }
        remove_leftovers_of(&path);
        assert!(!old.exists() && new.exists() && another.exists() && theirs.exists());
        remove_leftovers(dir.path());
        assert!(new.exists() && !another.exists() && theirs.exists());
    }
}
