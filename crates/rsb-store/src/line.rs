//! Queries for dashboards over a long history: the list of cases, and one metric of a case over all
//! runs, with few numbers per point. Run ids are queried separately, only for the points shown.

use std::collections::BTreeMap;

use rsb_model::{Better, Outcome, Timestamp};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::error::StoreError;
use crate::history::{IS_ASKED, POINTS, indexed_point, pattern};
use crate::index::Parsed;
use crate::store::{Store, time};

/// A case in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCase {
    /// Case id.
    pub id: String,
    /// Latest outcome.
    pub outcome: Outcome,
    /// Start time of the last run.
    pub last: Timestamp,
}

/// A metric of a case on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesName {
    /// Slug of the machine.
    pub machine: String,
    /// Metric name.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Direction of improvement.
    pub better: Option<Better>,
    /// Ids of the series in the index whose points are combined.
    series: Vec<i64>,
}

/// A point of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinePoint {
    /// Start time of the run.
    pub started: Timestamp,
    /// Number of the run in the index, which [`Store::named_runs`] converts to an id.
    pub run: i64,
    /// Value of the metric.
    pub value: f64,
}

impl SeriesName {
    /// Adds the points of `other`: the same metric on the same hardware, for which another version
    /// of this program used another name.
    pub fn join(&mut self, other: &Self) {
        self.series.extend(&other.series);
    }
}

impl Store {
    /// Returns every case in the history, by name, whether it was measured or not.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn cases(&self) -> Result<Vec<KnownCase>, StoreError> {
        // The subquery is cheap: the last result of a variant is at the end of its index range.
        let sql = "SELECT c.name, v.outcome, (SELECT max(x.started) FROM results x WHERE x.variant = v.id) AS last
                   FROM variants v JOIN cases c ON c.id = v.case_id WHERE last IS NOT NULL ORDER BY last";
        let mut known: BTreeMap<String, KnownCase> = BTreeMap::new();
        let found: Vec<KnownCase> = self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([], |row| {
                    Ok(KnownCase {
                        id: row.get(0)?,
                        outcome: row.get::<_, Parsed<_>>(1)?.0,
                        last: time(row.get(2)?),
                    })
                })?
                .collect()
        })?;
        for case in found {
            known.insert(case.id.clone(), case);
        }
        Ok(known.into_values().collect())
    }

    /// Returns every series of the case `id`, by machine and metric.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn series_of(&self, id: &str) -> Result<Vec<SeriesName>, StoreError> {
        let sql = format!(
            "SELECT s.id, c.name, m.name, m.unit, m.better, h.slug
             FROM cases c JOIN variants v ON v.case_id = c.id AND v.outcome = 'measured' JOIN series s ON s.variant = v.id
             JOIN metrics m ON m.id = s.metric JOIN machines h ON h.id = s.machine WHERE {IS_ASKED}"
        );
        self.query(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([pattern(id)])?;
            let mut all: BTreeMap<[String; 3], SeriesName> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                // The pattern also matches longer names that contain this one.
                if row.get::<_, String>(1)? != id {
                    continue;
                }
                let [metric, unit, machine]: [String; 3] = [row.get(2)?, row.get(3)?, row.get(5)?];
                let better = Better::find(&row.get::<_, String>(4)?);
                let key = [machine.clone(), metric.clone(), unit.clone()];
                let own = all.entry(key).or_insert(SeriesName {
                    machine,
                    metric,
                    unit,
                    better,
                    series: Vec::new(),
                });
                own.series.push(row.get(0)?);
            }
            Ok(all.into_values().collect())
        })
    }

    /// Returns the points of `name`, oldest first. If a run has the case twice, only the later
    /// measurement is returned.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn line(&self, name: &SeriesName) -> Result<Vec<LinePoint>, StoreError> {
        self.query(|connection| {
            let mut found = Vec::new();
            let mut statement = connection.prepare_cached(POINTS)?;
            for series in &name.series {
                for point in statement.query_map(params![series, i64::MIN], indexed_point)? {
                    found.push(point?);
                }
            }
            // The last point of a run sorts first and is kept.
            found.sort_unstable_by(|a, b| {
                (a.started, a.run, b.position).cmp(&(b.started, b.run, a.position))
            });
            found.dedup_by_key(|point| point.run);
            let points = found.iter().map(|point| LinePoint {
                started: time(point.started),
                run: point.run,
                value: point.value,
            });
            Ok(points.collect())
        })
    }

    /// Returns the ids and commits of `runs` (see [`LinePoint::run`]), in the same order.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn named_runs(&self, runs: &[i64]) -> Result<Vec<(String, Option<String>)>, StoreError> {
        self.query(|connection| names(connection, runs))
    }
}

fn names(connection: &Connection, runs: &[i64]) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let sql = "SELECT r.run_id, r.commit_hash FROM json_each(?1) n JOIN runs r ON r.id = n.value \
               ORDER BY n.key";
    let wanted = Value::from(runs).to_string();
    connection
        .prepare_cached(sql)?
        .query_map([wanted], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::history::SeriesFilter;
    use crate::testing::with_runs;

    #[test]
    fn a_line_is_the_series_in_fewer_words() {
        let (_dir, store) = with_runs(4, 12);
        let series = store
            .series(&SeriesFilter { metric: Some("time_ms".into()), ..SeriesFilter::default() })
            .unwrap();
        assert_eq!(store.cases().unwrap().len(), 13, "one of them was skipped");
        for one in &series {
            let names = store.series_of(&one.id).unwrap();
            let name = names.iter().find(|name| name.metric == one.metric).unwrap();
            let line = store.line(name).unwrap();
            let runs =
                store.named_runs(&line.iter().map(|point| point.run).collect::<Vec<_>>()).unwrap();
            let told: Vec<_> = line
                .iter()
                .zip(&runs)
                .map(|(point, (id, _))| (point.started, point.value, id.as_str()))
                .collect();
            let known: Vec<_> = one
                .points
                .iter()
                .map(|point| {
                    (point.timestamp, point.value, point.run_id.as_ref().unwrap().0.as_str())
                })
                .collect();
            assert_eq!(told, known, "{}", one.id);
        }
        assert!(
            series.len() == 12 && store.series_of("case-1").unwrap().is_empty(),
            "a part of a name must not match a case"
        );
    }
}
