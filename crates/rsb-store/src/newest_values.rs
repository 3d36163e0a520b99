//! Query for the newest value of each series.

use rsb_model::Timestamp;
use rusqlite::params;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::{Store, time};

/// Newest measured value of a metric of a case on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct NewestValue {
    /// Case id.
    pub case: String,
    /// Slug of the machine.
    pub machine: String,
    /// Metric name.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Start time of the run.
    pub started: Timestamp,
    /// Value, as in [`Store::series`].
    pub value: f64,
}

/// Query for the newest point of each series, which is at the end of the series' key range.
const NEWEST_VALUES: &str = "
    SELECT c.name, h.slug, m.name, m.unit, p.started, p.value
    FROM metrics m JOIN series s ON s.metric = m.id JOIN machines h ON h.id = s.machine
    JOIN variants v ON v.id = s.variant AND v.outcome = 'measured' JOIN cases c ON c.id = v.case_id
    JOIN points p ON p.series = s.id AND (p.started, p.run, p.position) = (
        SELECT started, run, position FROM points WHERE series = s.id AND value IS NOT NULL
        ORDER BY started DESC, run DESC, position DESC LIMIT 1)
    WHERE m.name IN (SELECT value FROM json_each(?1))
    ORDER BY c.name, h.slug, p.started";

impl Store {
    /// Returns the newest value of each series of `metrics`, by case and machine, oldest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn newest_values(&self, metrics: &[&str]) -> Result<Vec<NewestValue>, StoreError> {
        let metrics = Value::from(metrics).to_string();
        self.query(|connection| {
            let mut statement = connection.prepare_cached(NEWEST_VALUES)?;
            let rows = statement.query_map(params![metrics], |row| {
                Ok(NewestValue {
                    case: row.get(0)?,
                    machine: row.get(1)?,
                    metric: row.get(2)?,
                    unit: row.get(3)?,
                    started: time(row.get(4)?),
                    value: row.get(5)?,
                })
            })?;
            rows.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::history::SeriesFilter;
    use crate::testing::with_runs;

    #[test]
    fn newest_values_are_the_last_points_of_the_series() {
        let (_dir, store) = with_runs(4, 12);
        let filter = SeriesFilter { metric: Some("time_ms".into()), ..SeriesFilter::default() };
        let series = store.series(&filter).unwrap();
        let newest = store.newest_values(&["time_ms", "no_such_metric"]).unwrap();
        assert_eq!(newest.len(), series.len());
        for value in newest {
            let one = series.iter().find(|series| series.id == value.case).unwrap();
            let last = one.points.last().unwrap();
            assert_eq!(
                (value.started, value.value, value.unit),
                (last.timestamp, last.value, one.unit.clone()),
                "{}",
                one.id
            );
        }
    }
}
