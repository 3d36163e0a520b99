//! Copies of the programs that measured baselines. They are kept in the user's cache directory,
//! which is outside of every working tree, so that a pull request cannot replace one.
//!
//! Measuring such a program next to the current one distinguishes a change of the code from a
//! change of the machine. `programs/<SHA-256>` contains the `program`, an empty file `<run id>.run`
//! for each run that it was kept for, and `<build>.build` for each build made here. A baseline
//! names a run and a hash, or a revision. A program is executed only if this user kept it on this
//! machine for that run or revision, and only after its bytes were hashed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rsb_model::{Run, RunId};
use sha2::{Digest, Sha256};

use crate::{files, input, temporary};

const PROGRAMS: &str = "programs";
const PROGRAM: &str = "program";
/// Extensions of the marker files for the runs and the builds of a program.
const RUN: &str = "run";
const BUILD: &str = "build";
/// Number of programs to keep, the most recently used ones. Baselines of several projects share the
/// directory, so it is unknown which programs are still needed.
const KEPT: usize = 16;
/// Path of the running program, even if its file was replaced or removed since it started.
pub const RUNNING: &str = "/proc/self/exe";

/// The programs that a user keeps.
#[derive(Debug, Clone)]
pub struct Programs {
    dir: PathBuf,
}

/// A kept program, open and verified.
#[derive(Debug)]
pub struct KeptProgram {
    file: File,
    path: PathBuf,
    since: Timestamp,
}

/// Reason why there is no program to execute for a run of a baseline.
#[derive(Debug, thiserror::Error)]
pub enum ProgramUnavailable {
    /// This machine never kept a program for the run, or has removed it.
    #[error("this machine kept no program for that run")]
    Never,
    /// The hash of the program is too weak to verify it.
    #[error(
        "the program of that run was kept by an earlier version, whose hash is too weak to verify \
         it, and is not run; `rusty-stack-bench baseline refresh` keeps the current program"
    )]
    EarlierVersion,
    /// The kept program exists but cannot be trusted.
    #[error(
        "the kept program {} is not run: {why}; remove it, and `rusty-stack-bench baseline \
         refresh` keeps the current program",
        path.display()
    )]
    Untrusted {
        /// Path that is not trusted.
        path: PathBuf,
        /// Reason.
        why: String,
    },
}

/// Computes the SHA-256 of the program at `path`, in hexadecimal.
///
/// # Errors
/// If the file cannot be read.
pub fn hash(path: &Path) -> io::Result<String> {
    copy_hashed(&input::open(path)?, &mut io::sink())
}

fn copy_hashed(mut from: &File, to: &mut impl Write) -> io::Result<String> {
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                sum.update(&buffer[..read]);
                to.write_all(&buffer[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let sum = sum.finalize();
    let digits = sum.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    Ok(digits.map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default()).collect())
}

impl KeptProgram {
    /// Returns the path to execute, valid while this value lives. It refers to the open file whose
    /// bytes were hashed; its name in the directory may refer to another file by now.
    pub fn executable(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Returns the path under which the program is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns when the program was first kept for its run or revision.
    pub const fn since(&self) -> Timestamp {
        self.since
    }
}

impl Programs {
    /// Returns the programs of the current user: in `$RSB_CACHE_DIR/programs`, or else in
    /// `rusty-stack-bench/programs` of the user's cache directory.
    ///
    /// # Errors
    /// If there is no such directory; the message explains how to set one.
    pub fn of_user() -> io::Result<Self> {
        Ok(Self { dir: cache_dir(|name| std::env::var_os(name))?.join(PROGRAMS) })
    }

    /// Returns the directory in which programs are built, next to the kept ones.
    pub fn builds_dir(&self) -> PathBuf {
        self.dir.with_file_name("builds")
    }

    /// Keeps a copy of `program`, whose hash is `hash`, for `runs`, and removes the least recently
    /// used programs.
    ///
    /// # Errors
    /// If the disk is full, the directory cannot be written or is another user's, or the program's
    /// hash is not `hash` any more.
    pub fn keep(&self, program: &Path, hash: &str, runs: &[&RunId]) -> io::Result<()> {
        let markers = runs.iter().map(|run| marker(&run.0, RUN).ok_or(io::ErrorKind::InvalidInput));
        self.keep_as(program, hash, &markers.collect::<Result<Vec<_>, _>>()?)
    }

    /// Keeps a copy of `program` as `build`, which identifies a revision and the toolchain.
    ///
    /// # Errors
    /// As [`Programs::keep`].
    pub fn keep_build(&self, program: &Path, build: &str) -> io::Result<KeptProgram> {
        let marker = marker(build, BUILD).ok_or(io::ErrorKind::InvalidInput)?;
        let hash = hash(program)?;
        self.keep_as(program, &hash, std::slice::from_ref(&marker))?;
        self.open(&hash, &marker).map_err(io::Error::other)
    }

    fn keep_as(&self, program: &Path, hash: &str, markers: &[String]) -> io::Result<()> {
        let dir = self.dir.join(hash);
        make_private(&self.dir)?;
        make_private(&dir)?;
        let path = dir.join(PROGRAM);
        if let Ok(known) = open_checked(&path, hash) {
            touch(&known);
        } else if let Err(error) = copy(program, &path, hash) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            // Another process removed the directory, which was empty and old.
            make_private(&dir)?;
            copy(program, &path, hash)?;
        }
        for marker in markers {
            files::create_new(&dir.join(marker)).map(drop).or_else(ignore_existing)?;
        }
        self.keep_latest(&dir)
    }

    /// Returns the verified program that was kept here for `run`.
    ///
    /// # Errors
    /// If there is no program that may be executed.
    pub fn find(&self, run: &Run) -> Result<KeptProgram, ProgramUnavailable> {
        let wanted = run.program.as_deref().ok_or(ProgramUnavailable::Never)?;
        if is_hexadecimal(wanted, 16) {
            return Err(ProgramUnavailable::EarlierVersion);
        }
        let hash = Some(wanted)
            .filter(|hash| is_hexadecimal(hash, 64))
            .ok_or(ProgramUnavailable::Never)?;
        self.open(hash, &marker(&run.run_id.0, RUN).ok_or(ProgramUnavailable::Never)?)
    }

    /// Returns the verified program that was kept here as `build`.
    ///
    /// # Errors
    /// If there is no program that may be executed.
    pub fn find_build(&self, build: &str) -> Result<KeptProgram, ProgramUnavailable> {
        let marker = marker(build, BUILD).ok_or(ProgramUnavailable::Never)?;
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let hashes = names
            .filter(|name| is_hexadecimal(name, 64) && self.dir.join(name).join(&marker).exists());
        // If a revision was built twice, two hashes may have the same build marker; one copy may be
        // damaged.
        let mut why_not = ProgramUnavailable::Never;
        for hash in hashes {
            match self.open(&hash, &marker) {
                Ok(program) => return Ok(program),
                Err(why) => why_not = why,
            }
        }
        Err(why_not)
    }

    fn open(&self, hash: &str, marker: &str) -> Result<KeptProgram, ProgramUnavailable> {
        let dir = self.dir.join(hash);
        let marker = fs::symlink_metadata(dir.join(marker)).and_then(|data| data.modified());
        let since = marker.map_err(|_| ProgramUnavailable::Never)?;
        let path = dir.join(PROGRAM);
        let file = private(&self.dir)
            .and_then(|()| private(&dir))
            .and_then(|()| open_checked(&path, hash))
            .map_err(|why| ProgramUnavailable::Untrusted {
                path: path.clone(),
                why: why.to_string(),
            })?;
        touch(&file);
        Ok(KeptProgram { file, path, since: Timestamp::try_from(since).unwrap_or_default() })
    }

    /// Removes all programs except `newest` and the most recently used ones, and leftovers of
    /// killed processes.
    fn keep_latest(&self, newest: &Path) -> io::Result<()> {
        let mut others: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let dir = entry.path();
            let name = dir.file_name().and_then(|name| name.to_str());
            let is_ours = name.is_some_and(|name| is_hexadecimal(name, 64));
            if !is_ours {
                continue;
            }
            let is_left_over = entry.metadata().is_ok_and(|data| temporary::is_left_over(&data));
            temporary::remove_leftovers(&dir);
            if dir == newest {
                continue;
            }
            let program = fs::symlink_metadata(dir.join(PROGRAM));
            if let Ok(used) = program.and_then(|data| data.modified()) {
                others.push((used, dir));
            } else if is_left_over {
                // Only an empty directory is removed: another process may be copying a program into
                // this one.
                let _ = fs::remove_dir(&dir);
            }
        }
        others.sort_by(|a, b| b.cmp(a));
        for (_, dir) in others.into_iter().skip(KEPT - 1) {
            match fs::remove_dir_all(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns this program's directory in the user's cache.
fn cache_dir(variable: impl Fn(&str) -> Option<OsString>) -> io::Result<PathBuf> {
    if let Some(named) = path_in(&variable, "RSB_CACHE_DIR") {
        if named.is_absolute() {
            return Ok(named);
        }
        let why = "RSB_CACHE_DIR must be an absolute path";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let caches = path_in(&variable, "XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| path_in(&variable, "HOME").map(|home| home.join(".cache")))
        .filter(|path| path.is_absolute());
    let Some(caches) = caches else {
        let why = "this user has no cache directory; name one with RSB_CACHE_DIR";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    };
    Ok(caches.join("rusty-stack-bench"))
}

fn path_in(variable: &impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns the name of the marker file for `name`; `None` if the name is not valid.
fn marker(name: &str, kind: &str) -> Option<String> {
    files::check_name(name).ok().map(|()| format!("{name}.{kind}"))
}

/// Ignores the error for an existing marker: another process may have kept the same program.
fn ignore_existing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

/// Creates `dir` with access for this user only; if it exists, restricts the access to it.
fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    match private(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_own(dir)? => {
            fs::set_permissions(dir, Permissions::from_mode(0o700))
        }
        checked => checked,
    }
}

/// Checks that `dir` is a directory, not a link, that only this user can access.
fn private(dir: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(dir)?;
    if !data.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("{} is not a directory", dir.display()),
        ));
    }
    if !is_own(dir)? || data.mode() & 0o077 != 0 {
        let why = format!("{} is accessible to other users", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

fn is_own(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.uid() == rustix::process::geteuid().as_raw())
}

/// Opens the program at `path` if it belongs to this user, is read-only, and has the hash `hash`.
fn open_checked(path: &Path, hash: &str) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let data = file.metadata()?;
    if !data.is_file()
        || data.uid() != rustix::process::geteuid().as_raw()
        || data.mode() & 0o222 != 0
    {
        let why = "it is not a read-only file owned by this user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if copy_hashed(&file, &mut io::sink())? != hash {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "its hash does not match"));
    }
    Ok(file)
}

/// Records that `program` is in use. If that fails, it may be removed sooner.
fn touch(program: &File) {
    let _ = program.set_modified(SystemTime::now());
}

/// Copies `program` to `path`, whole or not at all, if its hash is `hash`.
fn copy(program: &Path, path: &Path, hash: &str) -> io::Result<()> {
    let temporary = temporary::path_beside(path);
    let copied = (|| {
        let mut file =
            OpenOptions::new().create_new(true).write(true).mode(0o500).open(&temporary)?;
        if copy_hashed(&input::open(program)?, &mut file)? != hash {
            return Err(io::Error::other("it changed before it was copied"));
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if copied.is_err() {
        // The temporary file may not exist; only the first error matters.
        let _ = fs::remove_file(&temporary);
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    /// Creates a program and a run that it measured.
    fn program(dir: &Path, text: &str) -> (PathBuf, Run) {
        let path = dir.join("original");
        fs::write(&path, text).unwrap();
        let hash = hash(&path).unwrap();
        (path, Run { program: Some(hash), ..run("20260101T090312Z_1a2b3c4", 0) })
    }

    fn keep(programs: &Programs, path: &Path, run: &Run) -> io::Result<()> {
        programs.keep(path, run.program.as_deref().unwrap(), &[&run.run_id])
    }

    #[test]
    fn a_program_is_found_for_its_run_by_its_whole_hash_and_is_what_runs() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("a/programs") };
        let (original, run) = program(dir.path(), "#!/bin/sh\nexit 0\n");
        assert!(matches!(programs.find(&run), Err(ProgramUnavailable::Never)));
        for _ in 0..2 {
            keep(&programs, &original, &run).unwrap();
        }
        let kept = programs.find(&run).unwrap();
        assert_eq!(
            [mode(kept.path()), mode(kept.path().parent().unwrap()), mode(&programs.dir)],
            [0o500, 0o700, 0o700]
        );
        // Another file now has the name of the program, but the opened file is still the verified
        // one.
        fs::remove_file(kept.path()).unwrap();
        fs::write(kept.path(), "another").unwrap();
        assert_eq!(fs::read(kept.executable()).unwrap(), fs::read(&original).unwrap());
        fs::set_permissions(kept.path(), Permissions::from_mode(0o500)).unwrap();
        let error = programs.find(&run).unwrap_err().to_string();
        assert!(error.contains("its hash does not match") && error.contains("refresh"), "{error}");
        keep(&programs, &original, &run).unwrap();
        assert!(programs.find(&run).is_ok(), "a program kept again must be found");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn what_was_built_of_a_revision_is_found_by_all_that_it_depends_on() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let (original, run) = program(dir.path(), "built");
        assert!(matches!(programs.find_build("aaaa-release-1"), Err(ProgramUnavailable::Never)));
        for _ in 0..2 {
            let kept = programs.keep_build(&original, "aaaa-release-1").unwrap();
            assert_eq!(fs::read(kept.executable()).unwrap(), fs::read(&original).unwrap());
        }
        assert!(programs.find_build("aaaa-release-1").is_ok());
        for other in ["aaaa-release-2", "aaaa-debug-1", "", "../aaaa-release-1"] {
            assert!(
                matches!(programs.find_build(other), Err(ProgramUnavailable::Never)),
                "{other}"
            );
        }
        assert!(
            matches!(programs.find(&run), Err(ProgramUnavailable::Never)),
            "a program kept for a build must not be found for a run"
        );
        let path = programs.find_build("aaaa-release-1").unwrap().path().to_owned();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        assert!(matches!(
            programs.find_build("aaaa-release-1"),
            Err(ProgramUnavailable::Untrusted { .. })
        ));
    }

    #[test]
    fn a_baseline_chooses_no_program() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let (original, mine) = program(dir.path(), "program");
        keep(&programs, &original, &mine).unwrap();
        let hash = mine.program.clone().unwrap();
        // Programs that must not be found: one kept for another run, one named by a path, and one
        // with a hash of an earlier version.
        let other = Run { program: Some(hash.clone()), ..run("20260102T090312Z_1a2b3c4", 0) };
        assert!(matches!(programs.find(&other), Err(ProgramUnavailable::Never)));
        for name in ["", "../original", "/bin/sh", &hash.to_uppercase(), &hash[..63]] {
            let found = programs.find(&Run { program: Some(name.to_owned()), ..mine.clone() });
            assert!(matches!(found, Err(ProgramUnavailable::Never)), "{name}");
        }
        let earlier = Run { program: Some("0123456789abcdef".to_owned()), ..mine.clone() };
        let found = programs.find(&earlier);
        assert!(matches!(found, Err(ProgramUnavailable::EarlierVersion)));
        let elsewhere = Run { run_id: RunId("../x".to_owned()), ..mine.clone() };
        assert!(matches!(programs.find(&elsewhere), Err(ProgramUnavailable::Never)));
        assert!(keep(&programs, &original, &elsewhere).is_err());
    }

    #[test]
    fn what_others_can_write_or_a_link_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let (original, run) = program(dir.path(), "program");
        keep(&programs, &original, &run).unwrap();
        let path = programs.find(&run).unwrap().path().to_owned();
        for (changed, mode) in
            [(path.as_path(), 0o700), (path.parent().unwrap(), 0o777), (&programs.dir, 0o770)]
        {
            let before = fs::metadata(changed).unwrap().permissions();
            fs::set_permissions(changed, Permissions::from_mode(mode)).unwrap();
            assert!(
                matches!(programs.find(&run), Err(ProgramUnavailable::Untrusted { .. })),
                "{}",
                changed.display()
            );
            fs::set_permissions(changed, before).unwrap();
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&original, &path).unwrap();
        assert!(matches!(programs.find(&run), Err(ProgramUnavailable::Untrusted { .. })));
    }

    #[test]
    fn another_program_than_the_one_that_measured_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let (original, run) = program(dir.path(), "program");
        fs::write(&original, "rebuilt").unwrap();
        let error = keep(&programs, &original, &run).unwrap_err().to_string();
        assert!(error.contains("it changed before"), "{error}");
        let left = programs.dir.join(run.program.as_deref().unwrap());
        assert_eq!(fs::read_dir(left).unwrap().count(), 0, "no temporary file may remain");
    }

    #[test]
    fn those_used_last_are_kept_whichever_project_they_are_of() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let mut kept = Vec::new();
        for at in 0..=KEPT {
            let (original, run) = program(dir.path(), &format!("program {at}"));
            keep(&programs, &original, &run).unwrap();
            // The first program was used one second ago, and each further one a second before the
            // previous one.
            let used = SystemTime::now() - std::time::Duration::from_secs(at as u64 + 1);
            programs.find(&run).unwrap().file.set_modified(used).unwrap();
            kept.push(run);
        }
        let left: Vec<bool> = kept.iter().map(|run| programs.find(run).is_ok()).collect();
        let (last_but_one, rest) = (KEPT - 1, left.iter().filter(|is_left| **is_left).count());
        assert_eq!((rest, left[last_but_one], left[KEPT]), (KEPT, false, true), "{left:?}");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_when_a_program_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { dir: dir.path().join("programs") };
        let (original, run) = program(dir.path(), "program");
        keep(&programs, &original, &run).unwrap();
        let own = programs.dir.join(run.program.as_deref().unwrap());
        let other = programs.dir.join("a".repeat(64));
        make_private(&other).unwrap();
        let long_ago = SystemTime::now() - std::time::Duration::from_hours(2);
        for place in [&own, &other] {
            let copy = File::create(place.join(".program.7.0.tmp")).unwrap();
            copy.set_modified(long_ago).unwrap();
        }
        File::open(&other).unwrap().set_modified(long_ago).unwrap();
        keep(&programs, &original, &run).unwrap();
        assert!(!own.join(".program.7.0.tmp").exists() && !other.exists());
        assert!(programs.find(&run).is_ok());
    }

    #[test]
    fn the_directory_is_the_users_and_never_below_the_working_tree() {
        for (set, expected) in [
            (&[("RSB_CACHE_DIR", "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")][..], Some("/c")),
            (&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/rusty-stack-bench")),
            (
                &[("RSB_CACHE_DIR", ""), ("XDG_CACHE_HOME", "x"), ("HOME", "/h")],
                Some("/h/.cache/rusty-stack-bench"),
            ),
            (&[("RSB_CACHE_DIR", "here"), ("HOME", "/h")], None),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            let found = cache_dir(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            });
            match (found, expected) {
                (Ok(found), Some(expected)) => assert_eq!(found, Path::new(expected)),
                (Err(error), None) => {
                    assert!(error.to_string().contains("RSB_CACHE_DIR"), "{error}");
                }
                (found, _) => panic!("{set:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn the_hash_is_sha_256() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abc");
        fs::write(&path, "abc").unwrap();
        // Published test value of SHA-256.
        assert_eq!(
            hash(&path).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
