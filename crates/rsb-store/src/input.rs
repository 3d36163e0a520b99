//! Input files that the user names or that are found in a directory. Only regular files are read,
//! up to a size that fits in memory: a pipe without a writer would block, a device has no end, and
//! a sparse file of terabytes uses no disk space.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rsb_model::Timestamp;
use rustix::fs::OFlags;

use crate::error::ReadError;

/// Bytes in a mebibyte, the unit in which limits are reported.
const MIB: u64 = 1 << 20;

/// Size limit for documents of this program, in bytes: several times that of a run of 100,000
/// cases.
pub(crate) const MOST_OF_OURS: u64 = 256 * MIB;

/// Size limit for output of other tools, in bytes. A parsed list of short numbers takes forty times
/// the memory of its text.
pub(crate) const MOST_OF_OTHERS: u64 = 64 * MIB;

/// Reason why a file cannot be read; its path is added later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadProblem {
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is unsuitable; the text contains the reason and how to fix it.
    #[error("{0}")]
    Unfit(String),
}

impl ReadProblem {
    pub(crate) fn at(self, path: &Path) -> ReadError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => ReadError::Io { path, source },
            Self::Unfit(problem) => ReadError::Unfit { path, problem },
        }
    }
}

impl From<ReadProblem> for io::Error {
    fn from(unread: ReadProblem) -> Self {
        match unread {
            ReadProblem::Io(error) => error,
            ReadProblem::Unfit(problem) => Self::new(io::ErrorKind::InvalidInput, problem),
        }
    }
}

/// Opens the file `path`, which must be a regular file, a pipe that this process already has open,
/// or `/dev/null`. Never waits for the other end of a pipe to be opened.
///
/// # Errors
/// If the path is anything else, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    // A path such as the one that a shell substitutes for `<(command)`.
    if is_descriptor(path) && fs::metadata(path)?.file_type().is_fifo() {
        let pipe = open_at_once(path)?;
        // Reads block until the other end writes, as on standard input.
        rustix::fs::fcntl_setfl(&pipe, OFlags::empty())?;
        return Ok(pipe);
    }
    if path == Path::new("/dev/null") {
        return File::open(path);
    }
    Ok(open_regular(path, u64::MAX)?)
}

/// Reads the text of the file `path`, opened as by [`open`], up to 64 MiB.
///
/// # Errors
/// If the file cannot be opened or read, is too large, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(MOST_OF_OTHERS + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_OF_OTHERS {
        Err(too_large(text.len() as u64, MOST_OF_OTHERS).into())
    } else {
        Ok(text)
    }
}

/// Returns whether `path` is intended as a file: an existing entry that is not a directory. It may
/// also be a pipe, a device or a dangling link, which cannot be read.
pub fn names_file(path: &Path) -> bool {
    !path.is_dir() && path.symlink_metadata().is_ok()
}

/// Reads the whole file `path`, up to `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, ReadProblem> {
    let file = open_regular(path, most)?;
    // The file may grow while it is read.
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(bytes.len() as u64, most)) } else { Ok(bytes) }
}

/// Converts text to UTF-8. UTF-16 is detected by its byte order mark, or by a zero byte next to a
/// first ASCII character.
pub(crate) fn decode_text(bytes: Vec<u8>) -> Vec<u8> {
    let (unit, begin): (fn([u8; 2]) -> u16, usize) = match bytes.as_slice() {
        [0xff, 0xfe, ..] => (u16::from_le_bytes, 2),
        [0xfe, 0xff, ..] => (u16::from_be_bytes, 2),
        [1..=0x7f, 0, ..] => (u16::from_le_bytes, 0),
        [0, 1..=0x7f, ..] => (u16::from_be_bytes, 0),
        _ => return bytes,
    };
    let (pairs, _) = bytes[begin..].as_chunks();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16_lossy(&units).into_bytes()
}

fn open_regular(path: &Path, most: u64) -> Result<File, ReadProblem> {
    // The type is checked before opening, because opening some devices already has an effect.
    check(&fs::metadata(path)?, most)?;
    let file = open_at_once(path)?;
    // Checked again: the path may refer to another file by now.
    check(&file.metadata()?, most)?;
    Ok(file)
}

fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns when `path` was written; 1970 if that is unknown.
pub(crate) fn written(path: &Path) -> Timestamp {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time.and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn check(metadata: &Metadata, most: u64) -> Result<(), ReadProblem> {
    if let Some((kind, cure)) = other_kind(metadata.file_type()) {
        return Err(ReadProblem::Unfit(format!("it is {kind}, not a regular file; {cure}")));
    }
    if metadata.len() > most { Err(too_large(metadata.len(), most)) } else { Ok(()) }
}

/// Returns whether `path` refers to an open file of this process, by its descriptor number or as
/// standard input.
pub(crate) fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|dir| path.parent() == Some(Path::new(dir)))
}

/// Returns a description of a file that is not regular, and what to do instead.
fn other_kind(kind: FileType) -> Option<(&'static str, &'static str)> {
    let save = "save its contents to a file, and name that file";
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some(("a directory", "name a file in it"))
    } else if kind.is_fifo() {
        Some(("a pipe", save))
    } else if kind.is_socket() {
        Some(("a socket", save))
    } else {
        Some(("a device", save))
    }
}

fn too_large(bytes: u64, most: u64) -> ReadProblem {
    let (mib, most) = (bytes.div_ceil(MIB), most / MIB);
    ReadProblem::Unfit(format!(
        "it has {mib} MiB, and the limit is {most} MiB; put fewer cases in one file, or leave out \
         the samples"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    use super::*;

    fn problem(path: &Path, most: u64) -> String {
        let begun = Instant::now();
        let problem = match read(path, most) {
            Ok(bytes) => panic!("{} bytes were read", bytes.len()),
            Err(ReadProblem::Io(error)) => error.to_string(),
            Err(ReadProblem::Unfit(problem)) => problem,
        };
        assert!(begun.elapsed() < Duration::from_secs(5), "{problem}");
        problem
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once_with_a_cure() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("link")).unwrap();
        for (path, kind, cure) in [
            (fifo.as_path(), "a pipe", "save its contents"),
            (&socket, "a socket", "save its contents"),
            (Path::new("/dev/zero"), "a device", "save its contents"),
            (&dir.path().join("link"), "a device", "save its contents"),
            (dir.path(), "a directory", "name a file"),
        ] {
            let problem = problem(path, MOST_OF_OTHERS);
            assert!(problem.contains(kind) && problem.contains(cure), "{problem}");
        }
    }

    #[test]
    fn a_pipe_that_this_process_has_open_is_read_to_its_end() {
        let (from, mut to) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&from));
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            to.write_all(b"late").unwrap();
        });
        assert_eq!(read_text(Path::new(&path)).unwrap(), "late");
        writer.join().unwrap();
        assert_eq!(read_text(Path::new(&path)).unwrap(), "", "a pipe without a writer is empty");
        assert_eq!(read_text(Path::new("/dev/null")).unwrap(), "");
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_and_a_sparse_one_is_not_begun() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(problem(&path, 4).contains("the limit is"));
        File::create(&path).unwrap().set_len(3_000_000_000).unwrap();
        for most in [MOST_OF_OURS, MOST_OF_OTHERS] {
            let problem = problem(&path, most);
            assert!(
                problem.contains("2862 MiB")
                    && problem.contains(&format!("limit is {} MiB", most / MIB)),
                "{problem}"
            );
        }
    }

    #[test]
    fn what_grows_while_it_is_read_is_not_read_on() {
        // Kernel files report a size of 0.
        let path = Path::new("/proc/self/stat");
        assert!(!read(path, MOST_OF_OTHERS).unwrap().is_empty());
        assert!(problem(path, 3).contains("the limit is"));
    }
}
