//! Atomic file writes, and names that are safe as file names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rsb_model::shown::short_hash;
use rustix::fs::OFlags;

use crate::error::{ReadError, StoreError};
use crate::output::{self, OutputError};
use crate::temporary;

pub(crate) const RUNS: &str = "runs";
pub(crate) const PROFILES: &str = "profiles";
pub(crate) const COMPARISONS: &str = "comparisons";
pub(crate) const DATABASE: &str = "benchmarks.db";
/// Suffix of journal file names.
pub const JOURNAL_SUFFIX: &str = ".partial.jsonl";

/// Writes `text` to a temporary file in the same directory, then renames it to `path`.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), StoreError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    create_dir(dir)?;
    let temporary = temporary::path_beside(path);
    let written = write_durably(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if let Err(source) = written {
        // The temporary file may not exist; an error of the removal is ignored.
        let _ = fs::remove_file(&temporary);
        return Err(StoreError::write(path, source));
    }
    sync_dir(dir);
    Ok(())
}

/// Creates a file that must not exist yet. A link counts as existing even if its target does not.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).write(true).open(path)
}

fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes the names in `dir` durable. Some file systems refuse; the contents are safe regardless.
pub(crate) fn sync_dir(dir: &Path) {
    if let Ok(handle) = File::open(dir) {
        let _ = handle.sync_all();
    }
}

/// Creates `dir` and its parents.
///
/// In a working tree, `dir` may be a link that another user created. Such links are not followed.
pub(crate) fn create_dir(dir: &Path) -> Result<(), StoreError> {
    output::create_dir(dir).map_err(|error| match error {
        OutputError::Link { .. } => StoreError::Link { path: dir.to_owned() },
        OutputError::NoDirectory { .. } | OutputError::NoFile { .. } => {
            StoreError::write(dir, io::ErrorKind::NotFound.into())
        }
        OutputError::Io { source, .. } => StoreError::write(dir, source),
    })
}

/// Checks that `name` is valid as a file name on any system and stays in its directory.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let fine = (1..=120).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if fine { Ok(()) } else { Err(StoreError::BadName { name: name.to_owned() }) }
}

/// Returns `text` with the characters that are invalid in file names replaced. If that or the
/// length limit changes the text, a hash of the whole text is appended, so that no two texts share
/// a name.
pub(crate) fn safe_name(text: &str) -> String {
    let name: String = text
        .trim_start_matches('.')
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(160)
        .collect();
    match name.as_str() {
        "" => format!("unnamed-{}", short_hash(text)),
        same if same == text => name,
        _ => format!("{name}-{}", short_hash(text)),
    }
}

/// Returns the paths of the journals in `results`, sorted. A missing directory counts as empty.
pub(crate) fn journals_in(results: &Path) -> Vec<PathBuf> {
    let mut journals = list_files(&results.join(RUNS), |name| name.ends_with(JOURNAL_SUFFIX));
    journals.retain(|path| path.is_file());
    journals
}

/// Returns the entries of `dir` with the file name of a document, sorted. Unreadable entries, such
/// as dangling links, pipes and directories, are included so that they are reported. A missing
/// directory counts as empty.
pub(crate) fn documents_in(dir: &Path) -> Vec<PathBuf> {
    list_files(dir, |name| {
        name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("json"))
    })
}

fn list_files(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let wanted = names.filter(|name| {
        let name = name.to_string_lossy();
        !name.starts_with('.') && is_wanted(&name)
    });
    let mut files: Vec<PathBuf> = wanted.map(|name| dir.join(name)).collect();
    files.sort();
    files
}

/// Checks that the file `path` has the extension `.json`, by which documents are found.
pub(crate) fn check_ending(path: &Path) -> Result<(), ReadError> {
    if path.extension().is_some_and(|ending| ending == "json") {
        return Ok(());
    }
    let problem = "its name must end in `.json` in lower case; rename it".to_owned();
    Err(ReadError::Unfit { path: path.to_owned(), problem })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StampedFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// Size and modification time, to detect changes since the file was indexed. Empty if the file
    /// does not exist.
    pub(crate) stamp: String,
}

impl StampedFile {
    pub(crate) fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stamp = path.metadata().map_or_else(|_| String::new(), |meta| stamp_of(&meta));
        Self { path: path.to_owned(), name, stamp }
    }

    /// Returns the files of [`documents_in`] with their size and modification time.
    pub(crate) fn all_in(dir: &Path) -> Vec<Self> {
        documents_in(dir).iter().map(|path| Self::of(path)).collect()
    }
}

fn stamp_of(meta: &fs::Metadata) -> String {
    let changed = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    format!("{}@{}", meta.len(), changed.as_nanos())
}

/// Opens the lock file that serializes reserving ids, recovery and repair in `results`. Dropping
/// the file releases the lock.
pub(crate) fn lock_file(results: &Path) -> io::Result<File> {
    // Nonblocking, so that opening a pipe at this path does not wait for a reader.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(flags)
        .open(results.join(RUNS).join(".lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/er/file.json");
        for text in ["one", "two"] {
            write_atomically(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn no_link_is_written_through() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let (elsewhere, link) = (dir.path().join("elsewhere"), dir.path().join("link.json"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("file"), "theirs").unwrap();
        symlink(elsewhere.join("file"), &link).unwrap();
        write_atomically(&link, "ours").unwrap();
        assert!(
            fs::symlink_metadata(&link).unwrap().is_file(),
            "the link is replaced, not followed"
        );
        assert_eq!(fs::read_to_string(elsewhere.join("file")).unwrap(), "theirs");
        // A link at the temporary file's path is not written through either.
        symlink(elsewhere.join("file"), dir.path().join("new")).unwrap();
        assert_eq!(
            create_new(&dir.path().join("new")).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        symlink(&elsewhere, dir.path().join("runs")).unwrap();
        let error =
            write_atomically(&dir.path().join("runs/x.json"), "{}").unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("runs"), "a file").unwrap();
        let error =
            write_atomically(&dir.path().join("runs/x.json"), "{}").unwrap_err().to_string();
        assert!(error.contains("runs") && error.contains("--results-dir"), "{error}");
    }

    #[test]
    fn names_stay_in_their_directory() {
        for name in ["20261121T090312Z_1a2b3c4", "cpu-performance", "v1.2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "..", ".hidden", "a/b", "a\\b", "a b", "ä", "a\0", &"x".repeat(121)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert_eq!(safe_name("a-vs-b-1"), "a-vs-b-1");
        let [first, second, bare] = ["1", "2", ""].map(|end| "x".repeat(300) + end);
        let names =
            ["../a b/c", "../a/b c", "/a-b-c", "", ".", &first, &second, &bare].map(safe_name);
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() <= 180 && !name.starts_with('.') && !name.contains('/'), "{name}");
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
