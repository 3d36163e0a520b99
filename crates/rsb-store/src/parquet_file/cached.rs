//! An export that is kept next to the runs and rewritten when the runs change.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};

use super::columns::{INDEX_COLUMNS, RUN_COLUMNS};
use super::{ExportError, ParquetSink, write_all};
use crate::error::StoreError;
use crate::store::Store;
use crate::temporary;

const NAME: &str = "benchmarks.parquet";

/// Metadata key for the hash of the export's sources.
const KEY: &str = "made_of";

/// Returns the path of the export of `store` in `dir`. An existing export is reused if the runs,
/// verdicts and program version are unchanged; otherwise `begin` is called and a new one is
/// written.
///
/// # Errors
/// If a run cannot be read, or `dir` cannot be written.
pub fn cached_export(
    store: &Store,
    dir: &Path,
    begin: impl FnOnce(),
) -> Result<PathBuf, ExportError> {
    let made_of = source_key(store)?;
    // DuckDB requires absolute paths.
    let dir =
        fs::canonicalize(dir).map_err(|source| ExportError::Io { path: dir.to_owned(), source })?;
    let path = dir.join(NAME);
    if read_source_key(&path).as_deref() == Some(made_of.as_str()) {
        return Ok(path);
    }
    begin();
    // Another process may write an export at the same time, so each process writes its own
    // temporary file.
    temporary::remove_leftovers_of(&path);
    let own = temporary::path_beside(&path);
    let written = write(store, &own, made_of)
        .and_then(|()| fs::rename(&own, &path).map_err(|source| io_of(&path, source)));
    if written.is_err() {
        // The file may not exist.
        let _ = fs::remove_file(&own);
    }
    written.map(|()| path)
}

fn io_of(path: &Path, source: io::Error) -> ExportError {
    ExportError::Io { path: path.to_owned(), source }
}

fn write(store: &Store, path: &Path, made_of: String) -> Result<(), ExportError> {
    let file = File::options()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|source| io_of(path, source))?;
    let mut sink = ParquetSink::new(BufWriter::new(file))?;
    sink.note(KEY, made_of);
    write_all(store, &mut sink)?;
    sink.finish()?.flush().map_err(|source| io_of(path, source))
}

/// Returns a hash of the names and stamps of the indexed files, the columns and the program
/// version.
fn source_key(store: &Store) -> Result<String, StoreError> {
    const SQL: &str = "SELECT 'run', file, stamp FROM runs UNION ALL SELECT 'comparison', file, \
                       stamp FROM comparisons ORDER BY 1, 2";
    let files: Vec<[String; 3]> = store.query(|connection| {
        connection
            .prepare(SQL)?
            .query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?
            .collect()
    })?;
    let mut hash = Sha256::new();
    let columns = RUN_COLUMNS.iter().chain(&INDEX_COLUMNS).map(|(declaration, _)| *declaration);
    let parts = columns.chain([env!("CARGO_PKG_VERSION")]);
    for part in parts.chain(files.iter().flatten().map(String::as_str)) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Returns the hash of the sources stored in the file `path`.
fn read_source_key(path: &Path) -> Option<String> {
    // In a working tree, a link may have been created by another user, so links are not followed.
    let file = fs::symlink_metadata(path)
        .is_ok_and(|data| data.is_file())
        .then(|| File::open(path))?
        .ok()?;
    let reader = SerializedFileReader::new(file).ok()?;
    let notes = reader.metadata().file_metadata().key_value_metadata()?;
    notes.iter().find(|note| note.key == KEY)?.value.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet_file::read_parquet;
    use crate::testing::{DAY, comparison, keep, measured_case, moment, run, with_runs};
    use rsb_model::Run;

    #[test]
    fn an_export_is_written_again_only_once_something_changed() {
        let (dir, store) = with_runs(3, 2);
        let dir_path = dir.path();
        assert_eq!(
            [is_exported_anew(&store, dir_path), is_exported_anew(&store, dir_path)],
            [true, false]
        );
        keep(
            &store,
            &Run {
                benchmarks: vec![measured_case("x", 1.0)],
                finished: Some(moment(1)),
                ..run("more", DAY)
            },
        );
        assert_eq!(
            [is_exported_anew(&store, dir_path), is_exported_anew(&store, dir_path)],
            [true, false]
        );
        store.save_comparison(&comparison("b-vs-a")).unwrap();
        assert_eq!(
            [is_exported_anew(&store, dir_path), is_exported_anew(&store, dir_path)],
            [true, false]
        );
        fs::write(dir.path().join(NAME), "PAR1, or not").unwrap();
        assert_eq!(
            [is_exported_anew(&store, dir_path), is_exported_anew(&store, dir_path)],
            [true, false]
        );
        fs::remove_file(dir.path().join(NAME)).unwrap();
        let theirs = dir.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        std::os::unix::fs::symlink(&theirs, dir.path().join(NAME)).unwrap();
        assert_eq!(
            [is_exported_anew(&store, dir_path), is_exported_anew(&store, dir_path)],
            [true, false]
        );
        assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
        let left = fs::read_dir(dir.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!(
            left.filter(|entry| entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|end| end != "lock"))
                .count(),
            0
        );
    }

    /// Returns whether a file had to be written.
    fn is_exported_anew(store: &Store, dir: &Path) -> bool {
        let mut begun = false;
        let path = cached_export(store, dir, || begun = true).unwrap();
        assert_eq!(read_parquet(&path).unwrap().len(), store.runs().unwrap().len());
        begun
    }
}
