//! Opening the index in any state: a corrupt index is rebuilt, and one that cannot be written is
//! replaced by one in memory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, DATABASE};
use crate::index::{Index, OpenError, SCHEMA_VERSION, TABLES, database_error};

/// Opens the index of `results_dir` and brings it up to date with the files. A corrupt index is
/// rebuilt; an unusable one is replaced by one in memory.
pub(crate) fn open_index(results_dir: &Path) -> Result<(Index, Vec<StoreNotice>), StoreError> {
    match opened_and_synced(results_dir) {
        Ok(opened) => Ok(opened),
        Err(OpenError::Corrupt) => rebuild(results_dir),
        Err(OpenError::Newer(found)) => Err(newer(results_dir, found)),
        Err(OpenError::Unusable(error)) => in_memory(results_dir, error.to_string()),
    }
}

fn opened_and_synced(results_dir: &Path) -> Result<(Index, Vec<StoreNotice>), OpenError> {
    let mut index = Index::open(&results_dir.join(DATABASE))?;
    let mut notices = index.take_notices();
    notices.extend(index.sync(results_dir)?);
    Ok((index, notices))
}

fn newer(results_dir: &Path, found: i64) -> StoreError {
    StoreError::NewerDatabase { path: results_dir.join(DATABASE), found, known: SCHEMA_VERSION }
}

fn in_memory(results_dir: &Path, problem: String) -> Result<(Index, Vec<StoreNotice>), StoreError> {
    let path = results_dir.join(DATABASE);
    let mut index = Index::in_memory().map_err(|error| database_error(&path, error))?;
    let mut notices = index.sync(results_dir).map_err(|error| database_error(&path, error))?;
    notices.push(StoreNotice::IndexUnavailable { path, problem });
    Ok((index, notices))
}

/// Moves the corrupt database aside and builds a new one from the files.
pub(crate) fn rebuild(results_dir: &Path) -> Result<(Index, Vec<StoreNotice>), StoreError> {
    // If two processes find the corruption at once, the second waits here and then finds the new
    // index of the first.
    let guard = files::lock_file(results_dir).and_then(|file| file.lock().map(|()| file));
    match opened_and_synced(results_dir) {
        Ok((index, notices)) if whole(&index) => return Ok((index, notices)),
        Err(OpenError::Newer(found)) => return Err(newer(results_dir, found)),
        Err(OpenError::Unusable(error)) => return in_memory(results_dir, error.to_string()),
        Ok(_) | Err(OpenError::Corrupt) => {}
    }
    let moved_to = match move_aside(&results_dir.join(DATABASE)) {
        Ok(moved_to) => moved_to,
        Err(error) => {
            return in_memory(
                results_dir,
                format!("it is corrupt and cannot be moved aside: {error}"),
            );
        }
    };
    let rebuilt = opened_and_synced(results_dir);
    drop(guard);
    match rebuilt {
        Ok((index, mut notices)) => {
            let count = index
                .connection()
                .query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0));
            notices.push(StoreNotice::DatabaseRebuilt {
                moved_to,
                runs: count.unwrap_or_default() as usize,
            });
            Ok((index, notices))
        }
        Err(OpenError::Newer(found)) => Err(newer(results_dir, found)),
        Err(OpenError::Corrupt) => {
            in_memory(results_dir, "it is corrupt again after rebuilding".to_owned())
        }
        Err(OpenError::Unusable(error)) => in_memory(results_dir, error.to_string()),
    }
}

/// State of the index before a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormerIndex {
    /// No index existed.
    Absent,
    /// The database was sound and was replaced by the new one.
    Sound,
    /// The database was damaged.
    Damaged {
        /// Path to which the damaged database was renamed.
        kept: PathBuf,
    },
}

/// Rebuilds the index from the files, unless the database was written by a later program. A
/// database that is not sound is renamed and kept.
pub(crate) fn rebuild_always(
    results_dir: &Path,
    is_sound: impl FnOnce() -> bool,
) -> Result<(FormerIndex, Vec<StoreNotice>), StoreError> {
    let path = results_dir.join(DATABASE);
    let guard = files::lock_file(results_dir)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| StoreError::write(&path, error))?;
    let found =
        rusqlite::Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .and_then(|known| known.pragma_query_value(None, "user_version", |row| row.get(0)));
    if let Some(found) = found.ok().filter(|found| *found > SCHEMA_VERSION) {
        return Err(newer(results_dir, found));
    }
    let former = if path.symlink_metadata().is_err() {
        FormerIndex::Absent
    } else if is_sound() {
        fs::remove_file(&path).map_err(|error| StoreError::write(&path, error))?;
        remove_beside(&path);
        FormerIndex::Sound
    } else {
        let kept = move_aside(&path).map_err(|error| StoreError::write(&path, error))?;
        FormerIndex::Damaged { kept }
    };
    let rebuilt = opened_and_synced(results_dir);
    drop(guard);
    match rebuilt {
        Ok((_, notices)) => Ok((former, notices)),
        Err(OpenError::Newer(found)) => Err(newer(results_dir, found)),
        Err(OpenError::Corrupt) => {
            let error = std::io::Error::other("it was damaged again after it was rebuilt");
            Err(StoreError::write(&path, error))
        }
        Err(OpenError::Unusable(error)) => Err(database_error(&path, error)),
    }
}

/// Returns whether SQLite finds no errors and every table exists.
fn whole(index: &Index) -> bool {
    let answer =
        index.connection().query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    answer.is_ok_and(|answer| answer == "ok")
        && TABLES
            .iter()
            .all(|table| index.connection().table_exists(None, *table).unwrap_or_default())
}

/// Renames the database to a free name and removes its `-wal` and `-shm` files.
fn move_aside(database: &Path) -> std::io::Result<PathBuf> {
    let target =
        (1..10_000).map(|n| beside(database, &format!(".corrupt-{n}"))).find(|path| !path.exists());
    let target = target.ok_or(std::io::ErrorKind::AlreadyExists)?;
    fs::rename(database, &target)?;
    remove_beside(database);
    Ok(target)
}

/// Removes the files that SQLite keeps next to a database. Usually, they do not exist.
fn remove_beside(database: &Path) {
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(database, suffix));
    }
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    database.with_file_name(format!("{DATABASE}{suffix}"))
}
