//! Runs, baselines and history on disk.
//!
//! The run files are authoritative; the database next to them is an index that can be rebuilt at
//! any time. During a run, results are kept in a journal, so that neither a crash nor a full disk
//! loses them.
//!
//! **Invariant:** a file appears whole or not at all, and a document of a newer format is refused,
//! never misread.

pub mod address;
pub mod alert_book;
pub mod baselines;
pub mod check;
pub mod compact;
pub mod criterion_dir;
pub mod document;
#[cfg(feature = "duckdb")]
pub mod duckdb;
pub mod error;
pub mod export;
mod files;
pub mod history;
pub mod import;
mod index;
mod input;
pub mod journal;
mod line;
mod merge;
mod named_run;
mod newest_values;
mod open;
pub mod output;
pub mod page;
#[cfg(feature = "parquet")]
pub mod parquet_file;
pub mod programs;
mod prune;
mod question;
#[cfg(test)]
mod question_tests;
pub mod read;
mod recovery;
#[cfg(test)]
mod scale_tests;
pub mod seal;
mod select;
#[cfg(feature = "postgres")]
pub mod shared;
pub mod store;
#[cfg(test)]
mod store_tests;
mod temporary;
#[cfg(test)]
mod testing;
pub mod trend_input;

pub use alert_book::{AlertBook, NoSuchAlert};
pub use baselines::{
    Accepted, Baseline, BaselineContents, BaselineInfo, Baselines, OF_ANOTHER_PROGRAM, PAST_RUNS,
    RecordedFile, read_recorded,
};
pub use check::{StoreCheck, StoreProblem, StoreRepair};
pub use criterion_dir::read_criterion_dir;
pub use error::{ReadError, StoreError, StoreNotice, notes};
pub use files::JOURNAL_SUFFIX;
pub use history::{Fingerprints, HistoryFilter, HistoryRow, Series, SeriesFilter, SeriesPoint};
pub use input::{names_file, open, read_text};
pub use journal::{Journal, begins_as_run_id, new_run_id, progress_of};
pub use line::{KnownCase, LinePoint, SeriesName};
pub use merge::{MergedFile, TakenRun};
pub use named_run::NamedRuns;
pub use newest_values::NewestValue;
pub use open::FormerIndex;
pub use programs::{KeptProgram, ProgramUnavailable, Programs};
pub use prune::{PrunePlan, PruneRule};
pub use question::HistoryQuestion;
pub use read::{UNREADABLE, environment_in, read_bytes, read_comparison, read_run};
pub use recovery::{JournalProgress, read_journal};
pub use seal::sealed_text;
pub use select::{MOST_BYTES, MOST_ROWS, SqlAnswer, SqlError};
pub use store::{ComparisonSummaryRow, RunSummary, Store};
pub use trend_input::{TrendInputError, read_series, read_series_from};
