//! Output files that the user names or that a run writes next to the results. They are created
//! without following links: in a working tree, a link may have been created by another user and
//! lead anywhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{input, temporary};

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

/// An output file. It appears at its path only once it is complete, replacing an existing file.
/// Pipes, devices and the streams of this process are written directly.
#[derive(Debug)]
pub struct OutputFile {
    out: BufWriter<File>,
    path: PathBuf,
    /// Temporary file next to `path` that is written first; `None` if `path` is written directly.
    temporary: Option<PathBuf>,
}

impl OutputFile {
    /// Begins to write to `path`.
    ///
    /// # Errors
    /// If `path` is a link or cannot be written.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        temporary::remove_leftovers_of(path);
        Self::begin(path)
    }

    fn begin(path: &Path) -> Result<Self, OutputError> {
        refuse_link(path)?;
        if is_stream(path) {
            return Self::begin_directly(path);
        }
        let permissions = match fs::metadata(path) {
            Ok(data) if !data.is_file() => return Self::begin_directly(path),
            Ok(data) => {
                // An existing file that cannot be written must not be replaced either.
                let opened = OpenOptions::new().write(true).open(path);
                opened.map_err(|source| OutputError::io(path, source))?;
                Some(data.permissions())
            }
            Err(_) => None,
        };
        let temporary = temporary::path_beside(path);
        let file = match File::create_new(&temporary) {
            Ok(file) => file,
            // The file may be writable although its directory is not.
            Err(_) if permissions.is_some() => return Self::begin_directly(path),
            Err(source) => return Err(OutputError::io(path, source)),
        };
        if let Some(permissions) = permissions {
            // Ignore errors, because some file systems have no permissions.
            let _ = file.set_permissions(permissions);
        }
        let out = BufWriter::new(file);
        Ok(Self { out, path: path.to_owned(), temporary: Some(temporary) })
    }

    fn begin_directly(path: &Path) -> Result<Self, OutputError> {
        Ok(Self { out: BufWriter::new(create(path)?), path: path.to_owned(), temporary: None })
    }

    /// Moves the complete file to its path. If this is not called, the output is discarded.
    ///
    /// # Errors
    /// If the rest cannot be written, or the file cannot be renamed.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let finished = self.sync().and_then(|()| self.put_in_place());
        finished.map_err(|source| OutputError::io(&self.path, source))
    }

    /// Waits until the data is on the disk, because some file systems only then report that the
    /// disk is full.
    fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        if self.temporary.is_some() { self.out.get_ref().sync_all() } else { Ok(()) }
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        match fs::rename(temporary, &self.path) {
            Ok(()) => self.temporary = None,
            // A file that is a mount point, or that belongs to another user in a directory such as
            // /tmp, can be written but not replaced. Dropping this `OutputFile` removes the
            // temporary file.
            Err(_) if self.path.is_file() => {
                io::copy(&mut File::open(temporary)?, &mut open_existing(&self.path)?)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // If this fails, the next output to the same path removes the file.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes `text` to `path` as an [`OutputFile`], ending with exactly one newline.
///
/// # Errors
/// If `path` is a link or cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    write_parts(path, &[text.trim_end_matches('\n').as_bytes(), b"\n"])
}

/// Writes `bytes` to `path` unchanged, as an [`OutputFile`].
///
/// # Errors
/// As `write`.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    write_parts(path, &[bytes])
}

fn write_parts(path: &Path, parts: &[&[u8]]) -> Result<(), OutputError> {
    // Skips the search for leftovers and the wait for the disk, because a directory may receive
    // thousands of files.
    let mut file = OutputFile::begin(path)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    let finished = written.and_then(|()| file.put_in_place());
    finished.map_err(|source| OutputError::io(path, source))
}

/// Opens the existing file `path` and truncates it.
fn open_existing(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).truncate(true).custom_flags(flags).open(path)
}

/// Creates `path`, or truncates it. The file is incomplete until its last byte is written. Use
/// [`OutputFile`] unless others read the file while it grows, such as a log.
///
/// # Errors
/// If `path` is a link or cannot be written.
pub fn create(path: &Path) -> Result<File, OutputError> {
    refuse_link(path)?;
    let mut options = OpenOptions::new();
    if is_stream(path) {
        // Append to a stream, to keep the output already written to it.
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

/// Checks that `path` is not a link, before any work is done.
///
/// # Errors
/// If it is a link.
pub fn refuse_link(path: &Path) -> Result<(), OutputError> {
    if !is_stream(path) && fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
        return Err(OutputError::Link { path: path.to_owned() });
    }
    Ok(())
}

/// Checks that a file can be put at `path`, before any work is done.
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
        // A stream of this process refers to a file that must not be replaced.
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

/// Returns whether `path` refers to a file that this process has open. The system provides such
/// paths as links.
fn is_stream(path: &Path) -> bool {
    let named = ["/dev/stdout", "/dev/stderr"].iter().any(|stream| path == Path::new(stream));
    named || input::is_descriptor(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
    fn a_file_is_replaced_once_it_is_complete_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let names = || fs::read_dir(dir.path()).unwrap().count();
        let mut given_up = OutputFile::create(&path).unwrap();
        given_up.write_all("x".repeat(100_000).as_bytes()).unwrap();
        assert_eq!((path.exists(), names()), (false, 1));
        drop(given_up);
        assert_eq!(names(), 0, "output that fails, as on a full disk, must leave nothing");
        write(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut out = OutputFile::create(&path).unwrap();
        out.write_all(b"two").unwrap();
        out.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        out.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(), 1);
    }

    #[test]
    fn devices_and_pipes_are_written_directly() {
        write(Path::new("/dev/null"), "text").unwrap();
        if Path::new("/dev/full").exists() {
            let error = write(Path::new("/dev/full"), "text").unwrap_err();
            assert!(matches!(error, OutputError::Io { .. }), "{error}");
        }
        let (mut from, to) = io::pipe().unwrap();
        write(&Path::new("/proc/self/fd").join(to.as_raw_fd().to_string()), "text").unwrap();
        drop(to);
        assert_eq!(io::read_to_string(&mut from).unwrap(), "text\n");
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
