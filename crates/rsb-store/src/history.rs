//! What the stored runs say over time: rows for tables and exports, series for trends.

use std::collections::BTreeMap;

use rsb_model::{BenchmarkType, Better, DeviceType, Fingerprint, Outcome, RunId, Timestamp, renamed};
use rusqlite::{OptionalExtension as _, Row, params};
use serde_json::Value;

use crate::error::StoreError;
use crate::index::{FromJson, Parsed, better_from};
use crate::store::{LATEST_FIRST, Store, time};

/// One metric of one case of one run; a case without metrics has one row without a metric.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HistoryRow {
    /// The run.
    pub run_id: RunId,
    /// When the run began.
    pub timestamp: Timestamp,
    /// Full hash of the commit measured.
    pub commit: Option<String>,
    /// The case.
    pub benchmark_id: String,
    /// The kind it is counted under.
    pub benchmark_type: BenchmarkType,
    /// How it ended.
    pub outcome: Outcome,
    /// What kind of hardware ran it.
    pub device_type: Option<DeviceType>,
    /// The metric.
    pub metric: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// Which way it improves.
    pub better: Option<Better>,
    /// Its value.
    pub value: Option<f64>,
}

/// Which rows are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// A pattern over case ids with `*` and `?`; without either, a part of the id.
    pub cases: Option<String>,
    /// One metric only.
    pub metric: Option<String>,
    /// The newest runs only, this many.
    pub runs: Option<usize>,
}

/// A metric of a case over time, or a series from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The case or series.
    pub id: String,
    /// The metric; `value` for a series from elsewhere.
    pub metric: String,
    /// Its unit; empty when unknown.
    pub unit: String,
    /// Which way it improves, when that is known.
    pub better: Option<Better>,
    /// Oldest first.
    pub points: Vec<SeriesPoint>,
}

/// One point of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPoint {
    /// When the run began.
    pub timestamp: Timestamp,
    /// A finite figure.
    pub value: f64,
    /// The run, for series of this store.
    pub run_id: Option<RunId>,
    /// The commit measured.
    pub commit: Option<String>,
}

/// The machines whose runs make up a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fingerprints {
    /// The one that the newest run is of: points of unlike machines are no trend.
    #[default]
    OfLatest,
    /// The one with this [`rsb_model::Fingerprint::slug`].
    Slug(String),
}

/// Which series are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// As in [`HistoryFilter::cases`].
    pub cases: Option<String>,
    /// One metric only.
    pub metric: Option<String>,
    /// Of which machine.
    pub machine: Fingerprints,
    /// The newest runs only, this many.
    pub runs: Option<usize>,
}

const ROWS: &str = "
    SELECT r.run_id, r.started, r.commit_hash, c.id, c.benchmark_type, c.outcome, c.device_type,
           m.metric, m.unit, m.better, m.value
    FROM (SELECT * FROM runs WHERE ?4 IS NULL OR slug IN (SELECT value FROM json_each(?4)) ORDER BY started DESC, run_id DESC LIMIT ?3) r
    JOIN results c ON c.run_id = r.run_id
    LEFT JOIN metrics m ON m.run_id = c.run_id AND m.position = c.position
    WHERE (?1 IS NULL OR c.id GLOB ?1 OR c.id GLOB ?5 OR (c.benchmark = ?6 AND c.id GLOB ?7))
          AND (?2 IS NULL OR m.metric = ?2)
    ORDER BY r.started DESC, r.run_id DESC, c.position, m.metric";

impl Store {
    /// The rows that `filter` asks for: newest run first, cases in the order in which they ended.
    ///
    /// # Errors
    /// When the index does not answer.
    pub fn history(&self, filter: &HistoryFilter) -> Result<Vec<HistoryRow>, StoreError> {
        self.rows(filter, None)
    }

    /// The series that `filter` asks for, by case and metric: what was measured, on one machine.
    ///
    /// # Errors
    /// When the index does not answer.
    pub fn series(&self, filter: &SeriesFilter) -> Result<Vec<Series>, StoreError> {
        let slugs = match &filter.machine {
            Fingerprints::Slug(slug) => vec![slug.clone()],
            Fingerprints::OfLatest => {
                let latest: Option<Fingerprint> = self.query(|connection| {
                    let sql = format!("SELECT fingerprint FROM runs ORDER BY imported, {LATEST_FIRST} LIMIT 1");
                    connection.query_row(&sql, [], |row| Ok(row.get::<_, FromJson<_>>(0)?.0)).optional()
                })?;
                latest.map_or_else(|| Ok(Vec::new()), |latest| self.slugs_of(&latest))?
            }
        };
        let rows = HistoryFilter { cases: filter.cases.clone(), metric: filter.metric.clone(), runs: filter.runs };
        let mut series = BTreeMap::new();
        for row in self.rows(&rows, Some(&slugs))?.into_iter().rev() {
            take_point(&mut series, row);
        }
        Ok(series.into_values().collect())
    }

    fn rows(&self, filter: &HistoryFilter, slugs: Option<&[String]>) -> Result<Vec<HistoryRow>, StoreError> {
        let slugs = slugs.map(|slugs| Value::from(slugs.to_vec()).to_string());
        let cases = filter.cases.as_deref().map(pattern);
        let today = cases.as_deref().map(renamed::pattern);
        let (benchmark, indexed) = today.as_deref().and_then(renamed::old_pattern).unzip();
        let runs = filter.runs.map_or(-1, |runs| i64::try_from(runs).unwrap_or(-1));
        self.query(|connection| {
            let mut statement = connection.prepare(ROWS)?;
            statement
                .query_map(params![cases, filter.metric, runs, slugs, today, benchmark, indexed], history_row)?
                .collect()
        })
    }
}

/// Adds a measured row to its series. One run that has a case twice gives one point: the later measurement.
fn take_point(series: &mut BTreeMap<(String, String, String), Series>, row: HistoryRow) {
    let (Some(metric), Some(unit), Some(value)) = (row.metric, row.unit, row.value) else { return };
    if row.outcome != Outcome::Measured {
        return;
    }
    let key = (row.benchmark_id.clone(), metric.clone(), unit.clone());
    let entry = series.entry(key).or_insert_with(|| Series {
        id: row.benchmark_id,
        metric,
        unit,
        better: row.better,
        points: Vec::new(),
    });
    // Rows come oldest run first and, within one, last case first.
    if entry.points.last().is_some_and(|last| last.run_id.as_ref() == Some(&row.run_id)) {
        return;
    }
    entry.points.push(SeriesPoint { timestamp: row.timestamp, value, run_id: Some(row.run_id), commit: row.commit });
}

fn pattern(cases: &str) -> String {
    // SQLite knows `[…]` too; here a bracket is a bracket, as everywhere else in this project.
    let escaped = cases.replace('[', "[[]");
    if cases.contains(['*', '?']) { escaped } else { format!("*{escaped}*") }
}

fn history_row(row: &Row<'_>) -> rusqlite::Result<HistoryRow> {
    Ok(HistoryRow {
        run_id: RunId(row.get(0)?),
        timestamp: time(row.get(1)?),
        commit: row.get(2)?,
        benchmark_id: renamed::case_id(&row.get::<_, String>(3)?).into_owned(),
        benchmark_type: row.get::<_, Parsed<_>>(4)?.0,
        outcome: row.get::<_, Parsed<_>>(5)?.0,
        device_type: row.get::<_, Option<Parsed<_>>>(6)?.map(|kind| kind.0),
        metric: row.get(7)?,
        unit: row.get(8)?,
        better: row.get::<_, Option<String>>(9)?.as_deref().and_then(better_from),
        value: row.get(10)?,
    })
}
