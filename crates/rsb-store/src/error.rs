//! What can go wrong with files, and what a reader should be told although nothing went wrong.
//!
//! The text of an error is whole: it names the file, the cause and the cure.

use std::io;
use std::path::{Path, PathBuf};

use rsb_model::format::FormatError;

/// Why something could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, or the directory cannot be written.
    #[error("cannot write `{}`: {source}; {cure}", path.display())]
    Write {
        /// What should have been written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What the reader can do about it.
        cure: String,
    },
    /// A directory of ours that is a link.
    #[error("`{}` is a symbolic link, and nothing is written through it; replace it by a directory", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A path that should be a directory.
    #[error("`{}` is not a directory; name the directory that holds `runs/`", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A name that cannot be the name of a file.
    #[error(
        "`{name}` cannot be a name here; use letters, digits, `.`, `_` and `-`, at most 120, not \
         beginning with `.`"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// The database was written by a later program.
    #[error(
        "`{}` has schema version {found}, newer than {known}, the newest that this program reads; \
         update \
         rusty-stack-bench, or use another directory with --results-dir",
        path.display()
    )]
    NewerDatabase {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that this program reads.
        known: i64,
    },
    /// The index does not answer.
    #[error("the index `{}` cannot be read: {source}; delete it, it is rebuilt from the run files", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A file that cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No run has such an id.
    #[error("there is no run `{text}` in `{}`; `rusty-stack-bench history` lists the runs", dir.display())]
    UnknownRun {
        /// What was asked for.
        text: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// Several runs have ids that begin so.
    #[error("`{text}` is ambiguous, it matches several runs ({}); give a longer prefix", matches.join(", "))]
    AmbiguousRun {
        /// What was asked for.
        text: String,
        /// The first of those that match.
        matches: Vec<String>,
    },
    /// No baseline has such a name.
    #[error(
        "there is no baseline `{name}` in `{}`; `rusty-stack-bench baseline list` lists them, \
         `rusty-stack-bench baseline save` saves one",
        dir.display()
    )]
    UnknownBaseline {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// Several machines have a baseline of that name, and none is this one.
    #[error("several machines have a baseline `{name}`; name one of {}", choices.join(", "))]
    AmbiguousBaseline {
        /// What was asked for.
        name: String,
        /// `dir/name` of each.
        choices: Vec<String>,
    },
    /// The runs of a baseline are of unlike machines, or there is none.
    #[error("these runs cannot make a baseline: {problem}")]
    NotABaseline {
        /// Why not, and the cure.
        problem: String,
    },
}

impl StoreError {
    /// The error for `source` at `path`, with the cure that fits its kind.
    pub fn write(path: &Path, source: io::Error) -> Self {
        let cure = cure(source.kind(), "--results-dir");
        Self::Write { path: path.to_owned(), source, cure }
    }

    /// The same error where the directory is that of baselines, which another flag names.
    #[must_use]
    pub fn of_baselines(self) -> Self {
        match self {
            Self::Write { path, source, .. } => {
                let cure = cure(source.kind(), "--baselines-dir");
                Self::Write { path, source, cure }
            }
            other => other,
        }
    }
}

/// What the reader can do where nothing can be written; `flag` names another directory.
fn cure(kind: io::ErrorKind, flag: &str) -> String {
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
    format!("{first}choose another directory with {flag}")
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not give it.
    #[error("cannot read `{}`: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no regular file, or too large.
    #[error("`{}` is not read: {problem}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What it is, and the cure.
        problem: String,
    },
    /// It is not JSON, or was cut off.
    #[error("`{}`, line {line}, column {column}: {problem}; {cure}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1; 0 when it is empty.
        line: usize,
        /// From 1; 0 at the start of a line.
        column: usize,
        /// What is wrong there.
        problem: String,
        /// What the reader can do about it.
        cure: &'static str,
    },
    /// Of another format, or a newer one.
    #[error("`{}` was refused: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FormatError,
    },
    /// Its text is not what its checksum is of, or it has none.
    #[error(
        "`{}` {problem}; restore it from a copy, as with `git checkout -- FILE`, or measure it \
         again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// What is wrong, as in `was changed since it was written`.
        problem: &'static str,
    },
    /// It says of itself what is not so, or lies where another should.
    #[error("`{}` does not fit its place: {problem}; restore it from a copy, or save it again", path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// It is JSON of ours, but not of the kind asked for.
    #[error("`{}` is not {expected}: {problem}; give the file of {expected}, or write it again", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What it should be, such as `a run`.
        expected: &'static str,
        /// What is missing or wrong.
        problem: String,
    },
}

/// What a reader should know although the work goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreNotice {
    /// A run was cut off, and its journal became a run file.
    #[error(
        "a run was cut off; its {cases} cases are kept in `{}`{}", path.display(), torn(*dropped)
    )]
    Recovered {
        /// The run file.
        path: PathBuf,
        /// Cases in it.
        cases: usize,
        /// Lines of the journal that could not be read, such as a torn last one.
        dropped: usize,
    },
    /// A run was cut off before any case had ended: its journal was removed.
    #[error("a run was cut off before any case had ended; `{}` was removed", path.display())]
    NothingToRecover {
        /// The journal.
        path: PathBuf,
    },
    /// The journal of a dead writer cannot be made into a run for now, and stays.
    #[error("a run was cut off, and its journal `{}` stays as it is: {problem}", path.display())]
    JournalKept {
        /// Where it is.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The database was corrupt: moved aside and rebuilt.
    #[error(
        "the index was corrupt; it is now `{}`, and a new one holds all {runs} runs: nothing is \
         lost", moved_to.display()
    )]
    DatabaseRebuilt {
        /// Where the corrupt one is.
        moved_to: PathBuf,
        /// Runs in the new one.
        runs: usize,
    },
    /// The database was of an earlier program, and is of this one now.
    #[error(
        "the index `{}` was of schema version {from}; it is of {to} now, with everything that the \
         run files hold", path.display()
    )]
    Migrated {
        /// The database.
        path: PathBuf,
        /// The version of its tables.
        from: i64,
        /// The version that they have now.
        to: i64,
    },
    /// The database had metrics in another unit or direction, and has them as this program reads
    /// them now.
    #[error(
        "the index `{}` had {} in another unit or direction, as a program of another version reads \
         it; it was built again from the run files", path.display(), metrics.join(", ")
    )]
    MetricsChanged {
        /// The database.
        path: PathBuf,
        /// The metrics.
        metrics: Vec<String>,
    },
    /// The database cannot be used here: the run files were read instead, which is slower.
    #[error("the index `{}` cannot be used ({problem}); the run files were read instead", path.display())]
    IndexUnavailable {
        /// The database.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A file was left out of the history.
    #[error("left out `{}`: {problem}", path.display())]
    LeftOut {
        /// The file.
        path: PathBuf,
        /// Why, and the cure.
        problem: String,
    },
}

impl StoreNotice {
    /// The file that it is about.
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

/// Up to this many files that are left out have a note each, and of more this many are named.
const NAMED_FILES: usize = 3;

/// Returns `notices` as notes for a reader, where many files that are left out share one.
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
