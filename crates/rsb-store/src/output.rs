//! Output files that the user names or that a run writes next to the results. They are created
//! without following links, because a link in a working tree may come from another user and lead
//! anywhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::input;

/// Error from writing a file.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path is a symbolic link.
    #[error(
        "`{}` is a symbolic link, and output does not follow links; name its target, or remove the \
         link",
        path.display()
    )]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// The path exists and is not a regular file.
    #[error("cannot write {}: it is not a regular file; name another", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// The parent directory does not exist.
    #[error(
        "cannot write {}: the directory `{}` does not exist; create it, or choose another \
         directory",
        path.display(),
        dir.display()
    )]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// The directory.
        dir: PathBuf,
    },
    /// The system reported an error.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
}

impl OutputError {
    fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match path.parent().filter(|dir| source.kind() == io::ErrorKind::NotFound && !dir.exists())
        {
            Some(dir) => Self::NoDirectory { dir: dir.to_owned(), path },
            None => Self::Io { path, source },
        }
    }
}

/// Writes `text` to `path`, ending with exactly one newline.
///
/// # Errors
/// If `path` is a link or cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    write_parts(path, &[text.trim_end_matches('\n').as_bytes(), b"\n"])
}

/// Writes `bytes` to `path` unchanged.
///
/// # Errors
/// As `write`.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    write_parts(path, &[bytes])
}

fn write_parts(path: &Path, parts: &[&[u8]]) -> Result<(), OutputError> {
    let mut file = create(path)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    written.map_err(|source| OutputError::io(path, source))
}

/// Creates `path`, or truncates it.
///
/// # Errors
/// If `path` is a link or cannot be written.
pub fn create(path: &Path) -> Result<File, OutputError> {
    refuse_link(path)?;
    let mut options = OpenOptions::new();
    if is_stream(path) {
        // Keep the output already written to the stream.
        options.append(true);
    } else {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        options.write(true).create(true).truncate(true).custom_flags(flags);
    }
    options.open(path).map_err(|source| OutputError::io(path, source))
}

/// Creates the directory `path` and its parents.
///
/// # Errors
/// If `path` is a link or cannot be created.
pub fn create_dir(path: &Path) -> Result<(), OutputError> {
    refuse_link(path)?;
    fs::create_dir_all(path).map_err(|source| OutputError::io(path, source))
}

/// Checks before any work that `path` is not a link.
///
/// # Errors
/// If it is a link.
pub fn refuse_link(path: &Path) -> Result<(), OutputError> {
    if !is_stream(path) && fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
        return Err(OutputError::Link { path: path.to_owned() });
    }
    Ok(())
}

/// Checks before any work that a file can be put at `path`.
///
/// # Errors
/// If `path` is a link or exists and is not a regular file, or its directory does not exist.
pub fn check(path: &Path) -> Result<(), OutputError> {
    refuse_link(path)?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        return Err(OutputError::NoDirectory { path: path.to_owned(), dir: dir.to_owned() });
    }
    match fs::metadata(path) {
        // The target of a stream is not ours to replace.
        Ok(data) if !data.is_file() || is_stream(path) => {
            Err(OutputError::NoFile { path: path.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Renames the finished file `made` to `path`.
///
/// # Errors
/// As [`check`], or if renaming fails.
pub fn put(made: &Path, path: &Path) -> Result<(), OutputError> {
    check(path)?;
    fs::rename(made, path).map_err(|source| OutputError::io(path, source))
}

/// Returns whether `path` refers to a file that this process has open. Such paths are links made by
/// the system.
fn is_stream(path: &Path) -> bool {
    let named = ["/dev/stdout", "/dev/stderr"].iter().any(|stream| path == Path::new(stream));
    named || input::is_descriptor(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_and_none_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, dangling) =
            (dir.path().join("file"), dir.path().join("link"), dir.path().join("dangling"));
        write(&file, "one").unwrap();
        symlink(&file, &link).unwrap();
        symlink(dir.path().join("nowhere"), &dangling).unwrap();
        symlink(dir.path(), dir.path().join("dir")).unwrap();
        for path in [&link, &dangling] {
            let error = write(path, "two").unwrap_err().to_string();
            assert!(
                error.contains("symbolic link") && error.contains("name its target"),
                "{error}"
            );
        }
        assert!(matches!(create_dir(&dir.path().join("dir")), Err(OutputError::Link { .. })));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
        assert!(!dir.path().join("nowhere").exists());
        let error = write(&dir.path().join("no/file"), "two").unwrap_err();
        assert!(
            matches!(&error, OutputError::NoDirectory { dir, .. } if dir.ends_with("no")),
            "{error}"
        );
        write(&file, "two\n\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
        create_dir(&dir.path().join("a/b")).unwrap();
        put(&file, &dir.path().join("new")).unwrap();
        let made = dir.path().join("new");
        for wrong in ["no/file", "a", "link", "dangling"] {
            let error = put(&made, &dir.path().join(wrong)).unwrap_err();
            assert!(!matches!(error, OutputError::Io { .. }), "{wrong}: {error}");
        }
        assert!(made.is_file() && check(Path::new("/dev/stdout")).is_err());
    }

    #[test]
    fn what_this_process_has_open_can_be_named_and_is_not_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, "one").unwrap();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        for parent in ["/dev/fd", "/proc/self/fd"] {
            write(&Path::new(parent).join(file.as_raw_fd().to_string()), "more").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nmore\nmore\n");
        assert!(refuse_link(Path::new("/dev/stdout")).is_ok());
    }
}
