//! Source of the files to read: this machine, a tree created by a test, or a tree that replaces
//! only `/sys`.
//!
//! Reads are bounded in size and do not fail. If a file is missing, unreadable or malformed, its
//! content is unknown.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use crate::options::ProbeOptions;

/// Limit in bytes, above the size of all files in `/proc` or `/sys` that are read.
const WHOLE: u64 = 1 << 20;

/// Environment variable with the path of the interpreter; has precedence over all others.
pub(crate) const PYTHON: &str = "MLSTACK_BENCHMARK_PYTHON";

static CHOSEN_PYTHON: OnceLock<PathBuf> = OnceLock::new();

/// Selects `program` as if it were set in the variable. Only the first call has an effect.
pub(crate) fn choose_python(program: PathBuf) {
    let _ = CHOSEN_PYTHON.set(program);
}

fn chosen_python() -> Option<(OsString, OsString)> {
    CHOSEN_PYTHON.get().map(|program| (PYTHON.into(), program.clone().into_os_string()))
}

/// A machine as seen through its files and environment variables.
#[derive(Debug)]
pub(crate) struct Host {
    /// Directory used as `/`; `None` if only `/sys` may be read.
    root: Option<PathBuf>,
    sys: PathBuf,
    variables: HashMap<OsString, OsString>,
    dir: PathBuf,
}

impl Host {
    /// Creates the host that `options` select.
    pub(crate) fn of(options: &ProbeOptions) -> Self {
        options.sysfs_root.clone().map_or_else(Self::here, Self::sysfs_only)
    }

    pub(crate) fn here() -> Self {
        Self {
            root: Some(PathBuf::from("/")),
            sys: PathBuf::from("/sys"),
            variables: std::env::vars_os().chain(chosen_python()).collect(),
            dir: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// Creates a host with only a tree for `/sys`.
    pub(crate) fn sysfs_only(sys: PathBuf) -> Self {
        Self { root: None, sys, variables: HashMap::new(), dir: PathBuf::new() }
    }

    /// Returns whether more than `/sys` may be read.
    pub(crate) fn is_whole(&self) -> bool {
        self.root.is_some()
    }

    /// Returns whether it is the machine that this process runs on, so that results of the standard
    /// library apply to it.
    pub(crate) fn is_here(&self) -> bool {
        self.root.as_deref() == Some(Path::new("/"))
    }

    /// Returns the real path of the file or directory `absolute`; `None` if it may not be read.
    pub(crate) fn path(&self, absolute: &str) -> Option<PathBuf> {
        match absolute.strip_prefix("/sys/") {
            Some(below) => Some(self.sys.join(below)),
            None => Some(self.root.as_ref()?.join(absolute.trim_start_matches('/'))),
        }
    }

    pub(crate) fn text(&self, absolute: &str) -> Option<String> {
        read_text(&self.path(absolute)?)
    }

    pub(crate) fn line(&self, absolute: &str) -> Option<String> {
        read_line(&self.path(absolute)?)
    }

    pub(crate) fn number<T: FromStr>(&self, absolute: &str) -> Option<T> {
        self.line(absolute)?.parse().ok()
    }

    pub(crate) fn entries(&self, absolute: &str) -> Vec<String> {
        self.path(absolute).map_or_else(Vec::new, |path| entries(&path))
    }

    /// Returns an environment variable; `None` if it is unset or empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns the directory that the process was started in.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Reads the first 1 MiB of a file as text.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    read_start(path, WHOLE)
}

/// Reads at most `bytes` from the beginning of a file as text.
pub(crate) fn read_start(path: &Path, bytes: u64) -> Option<String> {
    Some(String::from_utf8_lossy(&read_bytes(path, bytes)?).into_owned())
}

/// Does the same as [`read_start`] for binary files.
pub(crate) fn read_bytes(path: &Path, bytes: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path).ok()?.take(bytes).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Returns why an existing file cannot be read; `None` if it can, or does not exist.
pub(crate) fn refusal(path: &Path) -> Option<ErrorKind> {
    let read = File::open(path).and_then(|file| file.take(1).read_to_end(&mut Vec::new()));
    read.err()
        .map(|error| error.kind())
        .filter(|kind| !matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Reads a file with a single value, and trims it, including the zero bytes that pad some captures.
pub(crate) fn read_line(path: &Path) -> Option<String> {
    let text = read_text(path)?;
    let line = text.lines().next()?.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!line.is_empty()).then(|| line.to_owned())
}

pub(crate) fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    read_line(path)?.parse().ok()
}

/// Parses a hexadecimal number, with or without `0x`.
pub(crate) fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// Returns the names in a directory, sorted; empty if it cannot be read.
pub(crate) fn entries(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Counts the threads in a kernel list such as `0-3,8`.
pub(crate) fn count_list(list: &str) -> Option<u32> {
    let mut count = 0_u32;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// Trees made by tests.
#[cfg(test)]
pub(crate) mod fake {
    use super::{HashMap, Host, OsString, PathBuf};

    /// A machine in a temporary directory.
    pub(crate) struct Tree {
        pub(crate) dir: tempfile::TempDir,
        variables: HashMap<OsString, OsString>,
    }

    impl Tree {
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self { dir: tempfile::tempdir().unwrap(), variables: HashMap::new() };
            for (path, content) in files {
                tree.write(path, content);
            }
            tree
        }

        pub(crate) fn path(&self, path: &str) -> PathBuf {
            self.dir.path().join(path.trim_start_matches('/'))
        }

        pub(crate) fn write(&self, path: &str, content: &str) {
            let path = self.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }

        pub(crate) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
            self.variables.insert(name.into(), value.into());
            self
        }

        pub(crate) fn host(&self) -> Host {
            Host {
                root: Some(self.dir.path().to_owned()),
                sys: self.dir.path().join("sys"),
                variables: self.variables.clone(),
                dir: self.dir.path().join("work"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_malformed_ones_are_unknown() {
        for (list, count) in [
            ("0", Some(1)),
            ("0-3,8\n", Some(5)),
            ("", None),
            ("3-0", None),
            ("a", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(count_list(list), count, "{list:?}");
        }
    }

    #[test]
    fn values_are_trimmed_and_what_is_unreadable_is_unknown() {
        let tree =
            fake::Tree::new(&[("sys/a", " 12 \n\0\0\0"), ("sys/empty", "\n"), ("etc/b", "x")]);
        assert_eq!(tree.host().number::<u32>("/sys/a"), Some(12));
        assert_eq!(tree.host().line("/sys/empty"), None);
        assert_eq!(tree.host().line("/sys/none"), None);
        assert_eq!(tree.host().line("/etc"), None, "a directory");
        assert_eq!(tree.host().line("/etc/b").as_deref(), Some("x"));
        let only = Host::sysfs_only(tree.path("sys"));
        assert_eq!(only.line("/etc/b"), None, "a path outside the given tree must not be read");
        assert_eq!(only.number::<u32>("/sys/a"), Some(12));
        assert_eq!(hexadecimal("0x1002\n"), Some(0x1002));
    }

    #[test]
    fn what_is_there_and_cannot_be_read_has_a_reason() {
        let tree = fake::Tree::new(&[("sys/a", "1"), ("sys/dir/b", "1")]);
        assert_eq!(refusal(&tree.path("sys/a")), None);
        assert_eq!(
            (refusal(&tree.path("sys/none")), refusal(&tree.path("sys/a/none"))),
            (None, None)
        );
        assert!(refusal(&tree.path("sys/dir")).is_some(), "a directory cannot be read as a file");
    }

    #[test]
    fn a_file_without_an_end_is_cut_off() {
        if cfg!(target_os = "linux") {
            assert_eq!(
                read_text(Path::new("/dev/zero")).map(|text| text.len() as u64),
                Some(WHOLE)
            );
        }
    }
}
