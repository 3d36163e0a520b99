//! Errors and notices of the store.
//!
//! Each error message is complete: it names the file, the cause, and how to fix it.

use std::io;
use std::path::{Path, PathBuf};

use rsb_model::format::FormatError;

/// Error from writing to the store or from finding a run or baseline in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, or the directory cannot be written.
    #[error("cannot write `{}`: {source}; {cure}", path.display())]
    Write {
        /// File or directory to be written.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
        /// Suggested remedy.
        cure: String,
    },
    /// A directory of the store is a symbolic link.
    #[error(
        "`{}` is a symbolic link, and the store does not write through links; replace it with a \
         directory",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A path that should be a directory is not one.
    #[error("`{}` is not a directory; name the directory that contains `runs/`", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A name is not valid as a file name.
    #[error(
        "`{name}` is not a valid name; use at most 120 letters, digits, `.`, `_` and `-`, and do \
         not start with `.`"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// The database was written by a later program.
    #[error(
        "`{}` has schema version {found}, newer than {known}, the newest that this program reads; \
         update rusty-stack-bench, or use another results directory",
        path.display()
    )]
    NewerDatabase {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// Newest schema version that this program reads.
        known: i64,
    },
    /// The index cannot be read.
    #[error(
        "cannot read the index `{}`: {source}; delete it to have it rebuilt from the run files",
        path.display()
    )]
    Database {
        /// The database.
        path: PathBuf,
        /// Error from SQLite.
        source: rusqlite::Error,
    },
    /// A file cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No run has this id.
    #[error(
        "there is no run, branch or commit `{text}` in `{}`{}; `rusty-stack-bench history` lists \
         the runs",
        dir.display(),
        list_branches(branches)
    )]
    UnknownRun {
        /// The name given.
        text: String,
        /// Results directory searched.
        dir: PathBuf,
        /// The branches measured last.
        branches: Vec<String>,
    },
    /// Several runs, or a run and a branch or commit, have this name.
    #[error(
        "`{text}` is ambiguous: it matches {}; use a longer prefix or a full run id",
        matches.join(", ")
    )]
    AmbiguousRun {
        /// The prefix given.
        text: String,
        /// The first matches.
        matches: Vec<String>,
    },
    /// A branch or commit has no run that is comparable with the other side.
    #[error(
        "`{before}` and `{now}` have no runs of the same suite on the same machine: `{before}` has \
         {}, `{now}` has {}; measure one of these on both, or name two run ids",
        earlier_kinds.join(", "),
        later_kinds.join(", ")
    )]
    NoPair {
        /// Name of the older side.
        before: String,
        /// Suites and machines of its runs.
        earlier_kinds: Vec<String>,
        /// Name of the newer side.
        now: String,
        /// Suites and machines of its runs.
        later_kinds: Vec<String>,
    },
    /// No baseline has this name.
    #[error(
        "there is no baseline `{name}` in `{}`{}; `rusty-stack-bench baseline list` lists them, \
         `rusty-stack-bench baseline save` saves one",
        dir.display(),
        list_nearest(nearest)
    )]
    UnknownBaseline {
        /// The name given.
        name: String,
        /// Directory searched.
        dir: PathBuf,
        /// Names of the most similar baselines, the most similar first.
        nearest: Vec<String>,
    },
    /// Several machines have a baseline with this name, and this machine has none.
    #[error("several machines have a baseline `{name}`; name one of {}", choices.join(", "))]
    AmbiguousBaseline {
        /// The name given.
        name: String,
        /// `dir/name` of each candidate.
        choices: Vec<String>,
    },
    /// The runs for a baseline are from different machines, or there are no runs.
    #[error("these runs cannot make a baseline: {problem}")]
    NotABaseline {
        /// Why they cannot, and how to fix it.
        problem: String,
    },
}

fn list_branches(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; branches: {}", names.join(", ")) }
}

fn list_nearest(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) }
}

impl StoreError {
    /// Returns the error for `source` at `path`, with instructions that fit the kind of error.
    pub fn write(path: &Path, source: io::Error) -> Self {
        let cure = cure(source.kind(), Some("--results-dir"));
        Self::Write { path: path.to_owned(), source, cure }
    }

    /// Returns the same error with instructions for the baselines directory, which has a different
    /// flag.
    #[must_use]
    pub fn of_baselines(self) -> Self {
        self.of_directory(Some("--baselines-dir"))
    }

    /// Returns the same error with instructions for a directory that was given without a flag.
    #[must_use]
    pub fn of_argument(self) -> Self {
        self.of_directory(None)
    }

    fn of_directory(self, flag: Option<&str>) -> Self {
        match self {
            Self::Write { path, source, .. } => {
                let cure = cure(source.kind(), flag);
                Self::Write { path, source, cure }
            }
            other => other,
        }
    }
}

/// Returns how to fix a failed write; `flag` is the option that selects another directory, if there
/// is one.
fn cure(kind: io::ErrorKind, flag: Option<&str>) -> String {
    let first = match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, or ",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the directory writable, or "
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "move the file that is in the way, or "
        }
        _ => "",
    };
    let with = flag.map(|flag| format!(" with {flag}")).unwrap_or_default();
    format!("{first}choose another directory{with}")
}

/// Error from reading a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system reported an error.
    #[error("cannot read `{}`: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// Not a regular file, or too large.
    #[error("cannot read `{}`: {problem}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why the file cannot be used, and how to fix it.
        problem: String,
    },
    /// Not valid JSON, or cut off.
    #[error("`{}`, line {line}, column {column}: {problem}; {cure}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line from 1; 0 if the file is empty.
        line: usize,
        /// Column from 1; 0 at the start of a line.
        column: usize,
        /// Problem at that position.
        problem: String,
        /// Suggested remedy.
        cure: &'static str,
    },
    /// Another document format, or a newer one.
    #[error("`{}` was refused: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Error from the format check.
        source: FormatError,
    },
    /// The checksum does not match the text, or is missing.
    #[error(
        "`{}` {problem}; restore it from a copy, such as with `git checkout -- FILE`, or measure \
         it again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Problem, such as `was changed since it was written`.
        problem: &'static str,
    },
    /// The contents contradict each other or the location of the file.
    #[error(
        "`{}` is inconsistent: {problem}; restore it from a copy, or save it again",
        path.display()
    )]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// Valid JSON of this program, but not the expected kind of document.
    #[error(
        "`{}` is not {expected}: {problem}; check the path, or write the file again",
        path.display()
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Expected kind of document, such as `a run`.
        expected: &'static str,
        /// Parts of the document that are missing or wrong.
        problem: String,
    },
}

/// A notice for the user about a problem that does not stop the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreNotice {
    /// A run was cut off, and its journal was converted to a run file.
    #[error(
        "a run was cut off; its {cases} cases are kept in `{}`{}", path.display(), torn(*dropped)
    )]
    Recovered {
        /// The run file.
        path: PathBuf,
        /// Number of cases in it.
        cases: usize,
        /// Number of journal lines that could not be read, such as a torn last one.
        dropped: usize,
    },
    /// A run was cut off before any case ended, and its journal was removed.
    #[error("a run was cut off before any case had ended; `{}` was removed", path.display())]
    NothingToRecover {
        /// The journal.
        path: PathBuf,
    },
    /// The process that wrote a journal has ended; the journal could not be converted to a run, so
    /// it was kept.
    #[error("a run was cut off, and its journal `{}` is kept unchanged: {problem}", path.display())]
    JournalKept {
        /// The journal.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The database was corrupt; it was renamed and rebuilt.
    #[error(
        "the index was corrupt; it was moved to `{}` and rebuilt with all {runs} runs: nothing is \
         lost", moved_to.display()
    )]
    DatabaseRebuilt {
        /// New path of the corrupt database.
        moved_to: PathBuf,
        /// Number of runs in the new database.
        runs: usize,
    },
    /// The database was migrated from an earlier schema version.
    #[error(
        "the index `{}` had schema version {from}; it was rebuilt from the run files with version \
         {to}", path.display()
    )]
    Migrated {
        /// The database.
        path: PathBuf,
        /// Schema version before.
        from: i64,
        /// Current schema version.
        to: i64,
    },
    /// The database had metrics in another unit or direction and was rebuilt from the run files.
    #[error(
        "the index `{}` had {} in another unit or direction, from another version of this program; \
         it was rebuilt from the run files", path.display(), metrics.join(", ")
    )]
    MetricsChanged {
        /// The database.
        path: PathBuf,
        /// The metrics.
        metrics: Vec<String>,
    },
    /// The database cannot be used; the run files were read instead, which is slower.
    #[error("the index `{}` cannot be used ({problem}); the run files were read instead", path.display())]
    IndexUnavailable {
        /// The database.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A file was left out of the history.
    #[error("left out `{}`: {problem}", path.display())]
    LeftOut {
        /// The file.
        path: PathBuf,
        /// Why the file was left out, and how to fix it.
        problem: String,
    },
}

impl StoreNotice {
    /// Returns the file that the notice is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::DatabaseRebuilt { moved_to, .. } => moved_to,
            Self::Recovered { path, .. }
            | Self::NothingToRecover { path }
            | Self::JournalKept { path, .. }
            | Self::Migrated { path, .. }
            | Self::MetricsChanged { path, .. }
            | Self::IndexUnavailable { path, .. }
            | Self::LeftOut { path, .. } => path,
        }
    }
}

fn torn(dropped: usize) -> String {
    if dropped > 0 { format!(" ({dropped} torn lines were dropped)") } else { String::new() }
}

/// Maximum number of left-out files that are reported one by one. If there are more, one note names
/// this many of them.
const NAMED_FILES: usize = 3;

/// Converts `notices` to text. If many files were left out, they share one note.
pub fn notes(notices: &[StoreNotice]) -> Vec<String> {
    let left_out: Vec<&StoreNotice> = notices.iter().filter(|notice| is_left_out(notice)).collect();
    let Some(more) = left_out.len().checked_sub(NAMED_FILES + 1) else {
        return notices.iter().map(ToString::to_string).collect();
    };
    let others = notices.iter().filter(|notice| !is_left_out(notice));
    let mut notes: Vec<String> = others.map(ToString::to_string).collect();
    let named =
        left_out.iter().take(NAMED_FILES).map(|notice| format!("`{}`", notice.path().display()));
    notes.push(format!(
        "{} files cannot be used and are left out: {} and {} more; `rusty-stack-bench store check` \
         lists them with the reasons",
        left_out.len(),
        named.collect::<Vec<_>>().join(", "),
        more + 1
    ));
    notes
}

fn is_left_out(notice: &StoreNotice) -> bool {
    matches!(notice, StoreNotice::LeftOut { .. })
}
