//! Runs from one store to another: directories of results, and a PostgreSQL that many machines
//! share.

use std::path::Path;

use rsb_report::number::format_count;
use rsb_store::address::is_address;
use rsb_store::{MergedFile, Store};

use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// `store copy`: what `to` lacks of `from`.
///
/// # Errors
/// When one of them cannot be read or written.
pub(super) fn copy(from: &str, to: &str) -> CliResult {
    let counts = match (is_address(from), is_address(to)) {
        (false, false) => {
            let from = existing_dir(from)?;
            take_in(&existing(to)?, &from)?
        }
        (false, true) => {
            send(&Store::open_existing(&existing_dir(from)?).map_err(CliError::usage)?, to)?
        }
        (true, false) => fetch(from, || existing(to))?,
        (true, true) => {
            let between = tempfile::tempdir()?;
            fetch(from, || Ok(Store::open_for_writing(between.path())?))?;
            send(&Store::open_existing(between.path())?, to)?
        }
    };
    let runs = format_count(counts.copied, "run", "runs");
    let known = if counts.known > 0 { format!(", {} known", counts.known) } else { String::new() };
    let left_out =
        if counts.left_out > 0 { format!(", {} left out", counts.left_out) } else { String::new() };
    show::text(&format!("{runs} copied{known}{left_out}"))?;
    Ok(if counts.left_out > 0 { Exit::Failure } else { Exit::Pass })
}

/// What became of runs.
#[derive(Debug, Default)]
struct CopyCounts {
    copied: usize,
    known: usize,
    left_out: usize,
}

fn existing(dir: &str) -> Result<Store, CliError> {
    Store::open_for_writing(Path::new(dir)).map_err(CliError::usage)
}

/// Only what was asked for is created, and a source never is. What may hold a password is not
/// repeated.
fn existing_dir(dir: &str) -> Result<std::path::PathBuf, CliError> {
    let path = Path::new(dir);
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    let shown = if dir.contains("://") || dir.contains("password") { "that" } else { dir };
    Err(CliError::usage(anyhow::anyhow!(
        "`{shown}` is no directory; name one of results, or postgres://USER@HOST/DATABASE"
    )))
}

/// Takes the runs of `dir` into `store`.
fn take_in(store: &Store, dir: &Path) -> Result<CopyCounts, CliError> {
    let mut counts = CopyCounts::default();
    store.merge(dir, |file| match file {
        MergedFile::Taken { .. } => counts.copied += 1,
        MergedFile::Duplicate { .. } => counts.known += 1,
        MergedFile::ClockWentBack { .. } => {}
        MergedFile::Conflict { run_id, .. } => {
            counts.left_out += 1;
            console::say(&format!("left out: another run is called {run_id} there"));
        }
        MergedFile::Unreadable(error) => {
            counts.left_out += 1;
            console::say(&format!("left out: {error}"));
        }
    })?;
    Ok(counts)
}

#[cfg(feature = "postgres")]
fn send(store: &Store, address: &str) -> Result<CopyCounts, CliError> {
    let mut shared = rsb_store::shared::SharedStore::connect(address).map_err(of_shared)?;
    let mut counts = CopyCounts::default();
    let all = store.runs()?.len();
    shared
        .send_all(store, |run_id, sent| match sent {
            Ok(_) => counts.copied += 1,
            Err(error) => {
                counts.left_out += 1;
                console::say(&format!("left out: {run_id}: {error}"));
            }
        })
        .map_err(of_shared)?;
    counts.known = all.saturating_sub(counts.copied + counts.left_out);
    Ok(counts)
}

#[cfg(feature = "postgres")]
fn fetch(
    address: &str,
    store: impl FnOnce() -> Result<Store, CliError>,
) -> Result<CopyCounts, CliError> {
    let mut shared = rsb_store::shared::SharedStore::connect(address).map_err(of_shared)?;
    // Where nobody answers nothing is created.
    let store = store()?;
    let dir = tempfile::tempdir()?;
    shared.fetch(&store, dir.path()).map_err(of_shared)?;
    take_in(&store, dir.path())
}

/// A wrong address is the user's, whatever else happens is not.
#[cfg(feature = "postgres")]
fn of_shared(error: rsb_store::shared::SharedStoreError) -> CliError {
    use rsb_store::shared::SharedStoreError;
    match error {
        SharedStoreError::Address { .. } | SharedStoreError::Newer { .. } => CliError::usage(error),
        other => other.into(),
    }
}

#[cfg(not(feature = "postgres"))]
fn send(_: &Store, address: &str) -> Result<CopyCounts, CliError> {
    Err(without(address))
}

#[cfg(not(feature = "postgres"))]
fn fetch(
    address: &str,
    _: impl FnOnce() -> Result<Store, CliError>,
) -> Result<CopyCounts, CliError> {
    Err(without(address))
}

#[cfg(not(feature = "postgres"))]
fn without(_: &str) -> CliError {
    CliError::usage(anyhow::anyhow!(
        "this build has no PostgreSQL: `cargo install --path . --features postgres` builds one \
         that has"
    ))
}

/// Sends what was just measured, and what could not be sent before, to `address`. A database that
/// cannot be reached costs nothing: the runs stay here and are sent the next time.
pub(super) fn send_measured(store: &Store, address: &str) {
    match send(store, address) {
        Ok(counts) => console::say(&format!("{} sent", format_count(counts.copied, "run", "runs"))),
        Err(error) => console::say(&format!("note: {}", show::chain(&error.error))),
    }
}
