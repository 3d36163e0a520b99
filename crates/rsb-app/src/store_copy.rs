//! Copies runs from one store to another: directories of results, and a PostgreSQL database shared
//! by many machines.

use std::path::Path;

use rsb_report::number::format_count;
use rsb_store::address::{is_address, is_malformed, without_password};
use rsb_store::{MergedFile, Store, StoreError};

use crate::{AppError, error_chain};

/// Copies the runs of `from` that `to` lacks, and reports to `say` the runs that are left out.
///
/// # Errors
/// If a store cannot be read or written, or an address is malformed.
pub fn copy(from: &str, to: &str, say: &mut dyn FnMut(&str)) -> Result<CopyCounts, AppError> {
    check_address(from)?;
    check_address(to)?;
    Ok(match (is_address(from), is_address(to)) {
        (false, false) => {
            let from = existing_dir(from)?;
            take_in(&existing(to)?, &from, say)?
        }
        (false, true) => {
            let store = Store::open_existing(&existing_dir(from)?).map_err(AppError::usage)?;
            send(&store, to, say)?
        }
        (true, false) => fetch(from, || existing(to), say)?,
        (true, true) => {
            let between = tempfile::tempdir()?;
            fetch(from, || Ok(Store::open_for_writing(between.path())?), say)?;
            send(&Store::open_existing(between.path())?, to, say)?
        }
    })
}

/// Numbers of copied and other runs.
#[derive(Debug, Default)]
pub struct CopyCounts {
    /// Newly copied.
    pub copied: usize,
    /// Already present.
    pub known: usize,
    /// Not copied.
    pub left_out: usize,
}

fn existing(dir: &str) -> Result<Store, AppError> {
    Store::open_for_writing(Path::new(dir)).map_err(|error| AppError::usage(error.of_argument()))
}

/// Refuses `text` if it is a malformed address, so that no directory is created with its name.
fn check_address(text: &str) -> Result<(), AppError> {
    if is_malformed(text) && !Path::new(text).is_dir() {
        return Err(AppError::usage(anyhow::anyhow!(
            "`{}` is neither a directory nor a PostgreSQL address; name a results directory, or \
             postgres://USER@HOST/DATABASE",
            without_password(text)
        )));
    }
    Ok(())
}

/// Returns `dir` if it exists: a source is never created.
fn existing_dir(dir: &str) -> Result<std::path::PathBuf, AppError> {
    let path = Path::new(dir);
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    Err(AppError::usage(anyhow::anyhow!(
        "`{dir}` is not a directory; name a results directory, or postgres://USER@HOST/DATABASE"
    )))
}

/// Copies the runs of `dir` to `store`.
fn take_in(store: &Store, dir: &Path, say: &mut dyn FnMut(&str)) -> Result<CopyCounts, AppError> {
    let mut counts = CopyCounts::default();
    let merged = store.merge(dir, |file| match file {
        MergedFile::Taken { .. } => counts.copied += 1,
        MergedFile::Duplicate { .. } => counts.known += 1,
        MergedFile::ClockWentBack { .. } => {}
        MergedFile::Conflict { run_id, .. } => {
            counts.left_out += 1;
            say(&format!("left out: another run there has the id {run_id}"));
        }
        MergedFile::Unreadable(error) => {
            counts.left_out += 1;
            say(&format!("left out: {error}"));
        }
    });
    merged.map_err(StoreError::of_argument)?;
    Ok(counts)
}

#[cfg(feature = "postgres")]
fn send(store: &Store, address: &str, say: &mut dyn FnMut(&str)) -> Result<CopyCounts, AppError> {
    let mut shared = rsb_store::shared::SharedStore::connect(address).map_err(of_shared)?;
    let mut counts = CopyCounts::default();
    let all = store.runs()?.len();
    shared
        .send_all(store, |run_id, sent| match sent {
            Ok(_) => counts.copied += 1,
            Err(error) => {
                counts.left_out += 1;
                say(&format!("left out: {run_id}: {error}"));
            }
        })
        .map_err(of_shared)?;
    counts.known = all.saturating_sub(counts.copied + counts.left_out);
    Ok(counts)
}

#[cfg(feature = "postgres")]
fn fetch(
    address: &str,
    store: impl FnOnce() -> Result<Store, AppError>,
    say: &mut dyn FnMut(&str),
) -> Result<CopyCounts, AppError> {
    let mut shared = rsb_store::shared::SharedStore::connect(address).map_err(of_shared)?;
    // The store is opened after connecting, so that nothing is created if the database does not
    // answer.
    let store = store()?;
    let dir = tempfile::tempdir()?;
    shared.fetch(&store, dir.path()).map_err(of_shared)?;
    take_in(&store, dir.path(), say)
}

/// Converts an error: a wrong address is a usage error, others are not.
#[cfg(feature = "postgres")]
fn of_shared(error: rsb_store::shared::SharedStoreError) -> AppError {
    use rsb_store::shared::SharedStoreError;
    match error {
        SharedStoreError::Address { .. } | SharedStoreError::Newer { .. } => AppError::usage(error),
        other => other.into(),
    }
}

#[cfg(not(feature = "postgres"))]
fn send(_: &Store, _: &str, _: &mut dyn FnMut(&str)) -> Result<CopyCounts, AppError> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
fn fetch(
    _: &str,
    _: impl FnOnce() -> Result<Store, AppError>,
    _: &mut dyn FnMut(&str),
) -> Result<CopyCounts, AppError> {
    Err(without_postgres())
}

/// Returns the error of a build without PostgreSQL.
#[cfg(not(feature = "postgres"))]
pub(crate) fn without_postgres() -> AppError {
    AppError::usage(anyhow::anyhow!(
        "this build does not support PostgreSQL: `cargo install --path . --features postgres` adds \
         it"
    ))
}

/// Sends new runs, and those that could not be sent before, to `address`. If the database cannot be
/// reached, the runs stay here and are sent the next time.
pub fn send_measured(store: &Store, address: &str, say: &mut dyn FnMut(&str)) {
    match send(store, address, say) {
        Ok(counts) => say(&format!("{} sent", format_count(counts.copied, "run", "runs"))),
        Err(error) => say(&format!("note: {}", error_chain(&error.error))),
    }
}
