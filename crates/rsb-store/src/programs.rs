//! The programs that made baselines, kept in the results directory for as long as a baseline names them:
//! `programs/<hash>`.
//!
//! Measured beside today's program, they tell a change of the code from a change of the machine. They are a convenience
//! of one machine and are never committed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directory of the programs.
const PROGRAMS: &str = "programs";

/// The kept programs of one results directory.
#[derive(Debug, Clone)]
pub struct Programs {
    dir: PathBuf,
}

/// A hash of the bytes of the program at `path`.
///
/// # Errors
/// When it cannot be read.
pub fn hash(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    let words = bytes.chunks(8).map(|chunk| chunk.iter().fold(0_u64, |word, &byte| (word << 8) | u64::from(byte)));
    let hash = words.fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3)); // FNV-1a
    Ok(format!("{hash:016x}"))
}

impl Programs {
    /// The programs kept in the results directory `results`.
    pub fn new(results: &Path) -> Self {
        Self { dir: results.join(PROGRAMS) }
    }

    /// Keeps a copy of `program`, whose hash is `hash`.
    ///
    /// # Errors
    /// When there is no room, or the directory cannot be written.
    pub fn keep(&self, program: &Path, hash: &str) -> io::Result<()> {
        let path = self.dir.join(hash);
        if path.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.dir)?;
        let temporary = self.dir.join(format!(".{hash}.{}.tmp", std::process::id()));
        // A copy carries the permission to execute along.
        let copied = fs::copy(program, &temporary).and_then(|_| fs::rename(&temporary, &path));
        if copied.is_err() {
            // What never came to be cannot be removed either: only the first error matters.
            let _ = fs::remove_file(&temporary);
        }
        copied
    }

    /// The program with this hash, when it is kept and still what it was.
    pub fn find(&self, wanted: &str) -> Option<PathBuf> {
        let path = self.dir.join(wanted);
        let is_plain = !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_plain && hash(&path).is_ok_and(|found| found == wanted)).then_some(path)
    }

    /// Removes every program but those whose hashes are in `wanted`.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn keep_only(&self, wanted: &[String]) -> io::Result<()> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Ok(()) };
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| wanted.iter().any(|each| each == name)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_hash_until_it_changes_or_nothing_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let original = dir.path().join("program");
        fs::write(&original, "#!/bin/sh\nexit 0\n").unwrap();
        let name = hash(&original).unwrap();
        let programs = Programs::new(dir.path());
        assert_eq!(programs.find(&name), None);
        programs.keep(&original, &name).unwrap();
        programs.keep(&original, &name).unwrap();
        let kept = programs.find(&name).unwrap();
        assert_eq!(fs::read(&kept).unwrap(), fs::read(&original).unwrap());
        programs.keep_only(std::slice::from_ref(&name)).unwrap();
        assert!(programs.find(&name).is_some());
        fs::write(&kept, "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(programs.find(&name), None, "it is not what it was");
        programs.keep_only(&[]).unwrap();
        assert!(!kept.exists());
    }

    #[test]
    fn a_hash_is_never_a_path() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["", "../program", "/bin/sh"] {
            assert_eq!(Programs::new(dir.path()).find(name), None);
        }
    }
}
