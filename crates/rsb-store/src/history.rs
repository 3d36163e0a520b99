//! Stored runs over time: rows for tables and exports, series for trends.

use std::collections::{BTreeMap, HashMap};

use rsb_model::{BenchmarkType, Better, DeviceType, Fingerprint, Outcome, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, Rows, params};
use serde_json::Value;

use crate::error::StoreError;
use crate::index::{FromJson, Parsed};
use crate::store::{LATEST_FIRST, Store, time};

/// One metric of one case of one run. A case without metrics has one row without a metric.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HistoryRow {
    /// Run id.
    pub run_id: RunId,
    /// Start time of the run.
    pub timestamp: Timestamp,
    /// Full hash of the commit measured.
    pub commit: Option<String>,
    /// Case id.
    pub benchmark_id: String,
    /// Benchmark type of the case.
    pub benchmark_type: BenchmarkType,
    /// Outcome of the case.
    pub outcome: Outcome,
    /// Type of hardware that ran it.
    pub device_type: Option<DeviceType>,
    /// Metric name.
    pub metric: Option<String>,
    /// Unit.
    pub unit: Option<String>,
    /// Direction of improvement.
    pub better: Option<Better>,
    /// Value.
    pub value: Option<f64>,
}

/// Selection of history rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// A pattern for case ids with `*` and `?`, or a part of an id.
    pub cases: Option<String>,
    /// The metric to select; all if `None`.
    pub metric: Option<String>,
    /// Number of newest runs to select; all if `None`.
    pub runs: Option<usize>,
}

/// A metric of a case over time, or an external series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Id of the case or series.
    pub id: String,
    /// Metric name; `value` for an external series.
    pub metric: String,
    /// Unit; empty if unknown.
    pub unit: String,
    /// Direction of improvement, if known.
    pub better: Option<Better>,
    /// Points, oldest first.
    pub points: Vec<SeriesPoint>,
}

/// One point of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPoint {
    /// Start time of the run.
    pub timestamp: Timestamp,
    /// Value, always finite.
    pub value: f64,
    /// Run id, for a series of this store.
    pub run_id: Option<RunId>,
    /// Commit measured.
    pub commit: Option<String>,
}

/// Selection of the machine whose runs make up a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fingerprints {
    /// The machine of the newest run, or of the branch's newest run. Runs of other machines are
    /// excluded, because they do not form a trend with it.
    #[default]
    OfLatest,
    /// The machine with this [`rsb_model::Fingerprint::slug`].
    Slug(String),
}

/// Selection of series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// As in [`HistoryFilter::cases`].
    pub cases: Option<String>,
    /// The metric to select; all if `None`.
    pub metric: Option<String>,
    /// Machine whose runs are used.
    pub machine: Fingerprints,
    /// Branch whose runs are used; all if `None`.
    pub branch: Option<String>,
    /// Number of newest runs to use; all if `None`.
    pub runs: Option<usize>,
}

/// Query for the rows of the run ?1, which began at ?2 on the machine ?3. A series without a point
/// for a result yields a row without a metric, which sorts first.
const ROWS: &str = "
    SELECT x.position, c.name, v.benchmark_type, v.outcome, nullif(v.device_type, ''), m.name, m.unit, m.better,
           coalesce(p.recorded, p.value)
    FROM results x JOIN variants v ON v.id = x.variant JOIN cases c ON c.id = v.case_id
    LEFT JOIN series s ON s.variant = x.variant AND s.machine = ?3
    LEFT JOIN points p ON p.series = s.id AND p.started = ?2 AND p.run = ?1 AND p.position = x.position
    LEFT JOIN metrics m ON m.id = s.metric AND p.series IS NOT NULL
    WHERE x.run = ?1";
const ROWS_OF_CASES: &str = "AND x.variant IN (SELECT value FROM json_each(?4))";
const ROWS_IN_ORDER: &str = "ORDER BY x.position, m.name";

/// SQL condition that the case `c` matches parameter 1, a value from [`pattern`].
pub(crate) const IS_ASKED: &str = "(?1 IS NULL OR c.name GLOB ?1)";

/// Query for the points of the series ?1 since ?2.
pub(crate) const POINTS: &str = "SELECT started, run, position, value FROM points
    WHERE series = ?1 AND started >= ?2 AND value IS NOT NULL ORDER BY started, run";

impl Store {
    /// Returns the rows that `filter` selects: newest run first, cases in the order in which they
    /// ended.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn history(&self, filter: &HistoryFilter) -> Result<Vec<HistoryRow>, StoreError> {
        self.query(|connection| {
            let variants =
                filter.cases.as_deref().map(|cases| variants(connection, cases)).transpose()?;
            let of_cases = if variants.is_some() { ROWS_OF_CASES } else { "" };
            let mut statement =
                connection.prepare(&format!("{ROWS} {of_cases} {ROWS_IN_ORDER}"))?;
            let mut rows = Vec::new();
            for run in newest(connection, None, None, filter.runs)? {
                let found = match &variants {
                    Some(variants) => {
                        statement.query(params![run.number, run.started, run.machine, variants])?
                    }
                    None => statement.query(params![run.number, run.started, run.machine])?,
                };
                rows_of_run(&run, found, filter.metric.as_deref(), &mut rows)?;
            }
            Ok(rows)
        })
    }

    /// Returns the rows of one run, in the order of its file.
    ///
    /// # Errors
    /// If the index cannot be read, or does not contain the run.
    pub fn history_of(&self, run_id: &RunId) -> Result<Vec<HistoryRow>, StoreError> {
        self.query(|connection| {
            let run = connection.query_row(
                &format!("{RUN_NUMBERS} WHERE run_id = ?1"),
                [&run_id.0],
                run_numbers,
            )?;
            let mut statement = connection.prepare_cached(&format!("{ROWS} {ROWS_IN_ORDER}"))?;
            let mut rows = Vec::new();
            rows_of_run(
                &run,
                statement.query(params![run.number, run.started, run.machine])?,
                None,
                &mut rows,
            )?;
            Ok(rows)
        })
    }

    /// Returns the series that `filter` selects, by case and metric: measured values on one
    /// machine. The time per iteration is computed like the one that the gate compares with the
    /// history ([`rsb_model::BenchmarkResult::figure`]).
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn series(&self, filter: &SeriesFilter) -> Result<Vec<Series>, StoreError> {
        let slugs = match &filter.machine {
            Fingerprints::Slug(slug) => vec![slug.clone()],
            Fingerprints::OfLatest => {
                let latest: Option<Fingerprint> = self.query(|connection| {
                    let sql = format!(
                        "SELECT h.fingerprint FROM (
                             SELECT machine FROM runs WHERE ?1 IS NULL OR branch = ?1
                             ORDER BY imported, {LATEST_FIRST} LIMIT 1
                         ) r JOIN machines h ON h.id = r.machine"
                    );
                    connection
                        .query_row(&sql, [&filter.branch], |row| {
                            Ok(row.get::<_, FromJson<_>>(0)?.0)
                        })
                        .optional()
                })?;
                latest.map_or_else(|| Ok(Vec::new()), |latest| self.slugs_of(&latest))?
            }
        };
        let slugs = Value::from(slugs).to_string();
        self.query(|connection| {
            let branch = filter.branch.as_deref();
            let newest = newest(connection, Some(&slugs), branch, filter.runs)?;
            let since = newest.last().map_or(i64::MAX, |run| run.started);
            let runs: HashMap<i64, RunNumbers> =
                newest.into_iter().map(|run| (run.number, run)).collect();
            let mut points = connection.prepare_cached(POINTS)?;
            let mut all: BTreeMap<SeriesKey, (Option<Better>, Vec<IndexedPoint>)> = BTreeMap::new();
            for row in select_series(connection, filter, &slugs)? {
                let found = points.query_map(params![row.series, since], indexed_point)?;
                let (_, known) = all.entry(row.key).or_insert((row.better, Vec::new()));
                for point in found {
                    known.extend(Some(point?).filter(|point| runs.contains_key(&point.run)));
                }
            }
            let mut found = Vec::new();
            for ((id, metric, unit), (better, points)) in all {
                let points = join_points(points, &runs);
                if !points.is_empty() {
                    found.push(Series { id, metric, unit, better, points });
                }
            }
            Ok(found)
        })
    }
}

struct RunNumbers {
    number: i64,
    machine: i64,
    started: i64,
    run_id: String,
    commit: Option<String>,
}

const RUN_NUMBERS: &str = "SELECT id, machine, started, run_id, commit_hash FROM runs";

fn run_numbers(row: &Row<'_>) -> rusqlite::Result<RunNumbers> {
    Ok(RunNumbers {
        number: row.get(0)?,
        machine: row.get(1)?,
        started: row.get(2)?,
        run_id: row.get(3)?,
        commit: row.get(4)?,
    })
}

/// Returns up to `runs` of the newest runs, on machines with one of the slugs in the JSON list
/// `slugs`, or on all machines; only those of `branch` if it is given.
fn newest(
    connection: &Connection,
    slugs: Option<&str>,
    branch: Option<&str>,
    runs: Option<usize>,
) -> rusqlite::Result<Vec<RunNumbers>> {
    let sql = format!(
        "{RUN_NUMBERS} WHERE (?1 IS NULL OR machine IN (
             SELECT id FROM machines WHERE slug IN (SELECT value FROM json_each(?1))))
             AND (?3 IS NULL OR branch = ?3)
         ORDER BY started DESC, run_id DESC LIMIT ?2"
    );
    let runs = runs.map_or(-1, |runs| i64::try_from(runs).unwrap_or(-1));
    connection.prepare_cached(&sql)?.query_map(params![slugs, runs, branch], run_numbers)?.collect()
}

/// Returns the variants of the cases that match `cases`, as a JSON list.
fn variants(connection: &Connection, cases: &str) -> rusqlite::Result<String> {
    let sql =
        format!("SELECT v.id FROM cases c JOIN variants v ON v.case_id = c.id WHERE {IS_ASKED}");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map([pattern(cases)], |row| row.get::<_, i64>(0))?;
    Ok(Value::from(found.collect::<rusqlite::Result<Vec<i64>>>()?).to_string())
}

/// Key of a series: case, metric and unit.
type SeriesKey = (String, String, String);

struct AskedSeries {
    series: i64,
    key: SeriesKey,
    better: Option<Better>,
}

/// Returns the series that `filter` selects, on machines with one of the slugs in the JSON list
/// `slugs`.
fn select_series(
    connection: &Connection,
    filter: &SeriesFilter,
    slugs: &str,
) -> rusqlite::Result<Vec<AskedSeries>> {
    let sql = format!(
        "SELECT s.id, c.name, m.name, m.unit, m.better
         FROM cases c JOIN variants v ON v.case_id = c.id AND v.outcome = 'measured' JOIN series s ON s.variant = v.id
         JOIN metrics m ON m.id = s.metric JOIN machines h ON h.id = s.machine
         WHERE {IS_ASKED} AND (?2 IS NULL OR m.name = ?2) AND h.slug IN (SELECT value FROM json_each(?3))"
    );
    let parameters = params![filter.cases.as_deref().map(pattern), filter.metric, slugs];
    connection
        .prepare_cached(&sql)?
        .query_map(parameters, |row| {
            Ok(AskedSeries {
                series: row.get(0)?,
                key: (row.get(1)?, row.get(2)?, row.get(3)?),
                better: Better::find(&row.get::<_, String>(4)?),
            })
        })?
        .collect()
}

pub(crate) struct IndexedPoint {
    pub(crate) started: i64,
    pub(crate) run: i64,
    pub(crate) position: i64,
    pub(crate) value: f64,
}

pub(crate) fn indexed_point(row: &Row<'_>) -> rusqlite::Result<IndexedPoint> {
    Ok(IndexedPoint {
        started: row.get(0)?,
        run: row.get(1)?,
        position: row.get(2)?,
        value: row.get(3)?,
    })
}

/// Returns the points of one series, oldest first. If a run has the case twice, only the later
/// measurement is kept.
fn join_points(mut points: Vec<IndexedPoint>, runs: &HashMap<i64, RunNumbers>) -> Vec<SeriesPoint> {
    points.sort_by(|a, b| {
        a.started
            .cmp(&b.started)
            .then_with(|| run_id_of(a, runs).cmp(&run_id_of(b, runs)))
            .then_with(|| b.position.cmp(&a.position))
    });
    points.dedup_by_key(|point| point.run);
    let mut joined = Vec::with_capacity(points.len());
    for point in points {
        let run = runs.get(&point.run);
        joined.push(SeriesPoint {
            timestamp: time(point.started),
            value: point.value,
            run_id: run.map(|run| RunId(run.run_id.clone())),
            commit: run.and_then(|run| run.commit.clone()),
        });
    }
    joined
}

fn run_id_of<'a>(point: &IndexedPoint, runs: &'a HashMap<i64, RunNumbers>) -> Option<&'a str> {
    runs.get(&point.run).map(|run| run.run_id.as_str())
}

/// Appends the rows of one run, limited to `metric` if it is given.
fn rows_of_run(
    run: &RunNumbers,
    mut found: Rows<'_>,
    metric: Option<&str>,
    rows: &mut Vec<HistoryRow>,
) -> rusqlite::Result<()> {
    // Row of a result without a metric, dropped if a row with a metric follows.
    let mut bare: Option<(i64, HistoryRow)> = None;
    while let Some(row) = found.next()? {
        let position: i64 = row.get(0)?;
        let found = history_row(run, row)?;
        if found.metric.is_none() {
            if bare.as_ref().is_none_or(|(known, _)| *known != position) {
                rows.extend(bare.replace((position, found)).map(|(_, row)| row));
            }
            continue;
        }
        rows.extend(bare.take().filter(|(known, _)| *known != position).map(|(_, row)| row));
        if metric.is_none_or(|metric| found.metric.as_deref() == Some(metric)) {
            rows.push(found);
        }
    }
    rows.extend(bare.map(|(_, row)| row));
    if metric.is_some() {
        rows.retain(|row| row.metric.is_some());
    }
    Ok(())
}

pub(crate) fn pattern(cases: &str) -> String {
    // SQLite treats `[…]` as a set of characters; in this project a bracket is an ordinary
    // character.
    let escaped = cases.replace('[', "[[]");
    if cases.contains(['*', '?']) { escaped } else { format!("*{escaped}*") }
}

fn history_row(run: &RunNumbers, row: &Row<'_>) -> rusqlite::Result<HistoryRow> {
    Ok(HistoryRow {
        run_id: RunId(run.run_id.clone()),
        timestamp: time(run.started),
        commit: run.commit.clone(),
        benchmark_id: row.get(1)?,
        benchmark_type: row.get::<_, Parsed<_>>(2)?.0,
        outcome: row.get::<_, Parsed<_>>(3)?.0,
        device_type: row.get::<_, Option<Parsed<_>>>(4)?.map(|kind| kind.0),
        metric: row.get(5)?,
        unit: row.get(6)?,
        better: row.get::<_, Option<String>>(7)?.as_deref().and_then(Better::find),
        value: row.get(8)?,
    })
}
