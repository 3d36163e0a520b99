//! Rebuilds an index of an earlier version in one transaction: if that fails, as on a full disk,
//! the index stays unchanged.
//!
//! The runs are read again from their files; a run without a file is dropped. Comparisons are
//! carried over.

use std::path::Path;

use rsb_model::{Better, Field};
use rusqlite::{Connection, TransactionBehavior};

use super::schema::{COMPARISONS, DROP_RUNS, RUN_TABLES, SCHEMA_VERSION};
use crate::error::StoreNotice;
use crate::files::{self, RUNS, StampedFile};

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Upgrades the tables to the current schema version. Unless the index is new, reads the runs of
/// `results_dir` again.
pub(super) fn bring_up(
    connection: &mut Connection,
    results_dir: &Path,
) -> rusqlite::Result<Vec<StoreNotice>> {
    if version(connection)? == SCHEMA_VERSION && changed_metrics(connection)?.is_empty() {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it while this one waited for the lock.
    let from = version(&transaction)?;
    let metrics = if from == SCHEMA_VERSION { changed_metrics(&transaction)? } else { Vec::new() };
    if from == SCHEMA_VERSION && metrics.is_empty() {
        return Ok(Vec::new());
    }
    transaction.execute_batch(DROP_RUNS)?;
    transaction.execute_batch(&RUN_TABLES)?;
    transaction.execute_batch(COMPARISONS)?;
    let mut notices = Vec::new();
    if from > 0 {
        let runs = StampedFile::all_in(&results_dir.join(RUNS));
        // The next sync finds the left-out files again and reports them.
        super::take_in(&transaction, &runs, &mut Vec::new())?;
        let path = results_dir.join(files::DATABASE);
        notices.push(match metrics.as_slice() {
            [] => StoreNotice::Migrated { path, from, to: SCHEMA_VERSION },
            _ => StoreNotice::MetricsChanged { path, metrics },
        });
    }
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()?;
    Ok(notices)
}

/// Returns metrics that the index stores with another unit or direction than this program. Units
/// and directions come from the program that indexed the files, so values of different versions
/// must not be mixed.
fn changed_metrics(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT name, unit, better FROM metrics ORDER BY name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let known: Vec<(String, String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let changed = known.into_iter().filter(|(name, unit, better)| {
        Field::find(name).is_none_or(|field| {
            field.unit.symbol() != unit
                || field.better().map_or("", Better::as_str) != better.as_str()
        })
    });
    Ok(changed.map(|(name, ..)| name).collect())
}
