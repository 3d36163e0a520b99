//! Trends as Parquet: one row per point, per change point, confirmed or suspected, and per alert.

use std::io::Write;

use parquet::errors::ParquetError;
use rsb_model::record::{Alert, ChangePoint, TrackedAlert, TrendDocument};
use rsb_model::{Better, Timestamp};

use super::columns::{Column, RowWriter, text};
use crate::history::{Series, SeriesPoint};

/// Columns of the trend export. `kind` is `point`, `change`, `suspected`, `alert`, or `tracked` for
/// a series of an alert that is tracked across analyses. Columns that do not apply to a kind are
/// null. Columns may be appended, but none may be removed.
const TREND_COLUMNS: [TrendColumn; 23] = [
    ("required binary kind (UTF8);", |row, to| to.push(text(row.kind))),
    ("required binary id (UTF8);", |row, to| to.push(text(row.id))),
    ("required binary metric (UTF8);", |row, to| to.push(text(row.metric))),
    ("optional binary unit (UTF8);", |row, to| to.push_optional(row.unit.map(text))),
    ("optional binary better (UTF8);", |row, to| {
        to.push_optional(row.better.map(|better| text(better.as_str())));
    }),
    ("optional int64 timestamp (TIMESTAMP(MICROS, true));", |row, to| {
        to.push_optional(row.timestamp.map(Timestamp::as_microsecond));
    }),
    ("optional binary run_id (UTF8);", |row, to| to.push_optional(row.run_id.map(text))),
    ("optional binary commit (UTF8);", |row, to| to.push_optional(row.commit.map(text))),
    ("optional int64 position;", |row, to| to.push_optional(row.position.map(to_i64))),
    ("optional double value;", |row, to| to.push_optional(row.value)),
    ("optional double before;", |row, to| to.push_optional(row.before)),
    ("optional double after;", |row, to| to.push_optional(row.after)),
    ("optional double change_percent;", |row, to| to.push_optional(row.change_percent)),
    ("optional double p_value;", |row, to| to.push_optional(row.p_value)),
    ("optional double q_value;", |row, to| to.push_optional(row.q_value)),
    ("optional int64 points;", |row, to| to.push_optional(row.points.map(to_i64))),
    ("optional binary direction (UTF8);", |row, to| to.push_optional(row.direction.map(text))),
    ("optional binary severity (UTF8);", |row, to| {
        to.push_optional(row.severity.as_deref().map(text));
    }),
    ("optional binary basis (UTF8);", |row, to| to.push_optional(row.basis.as_deref().map(text))),
    ("optional binary alert (UTF8);", |row, to| to.push_optional(row.alert.map(text))),
    ("optional binary state (UTF8);", |row, to| to.push_optional(row.state.map(text))),
    ("optional binary description (UTF8);", |row, to| to.push_optional(row.description.map(text))),
    ("optional binary recommendation (UTF8);", |row, to| {
        to.push_optional(row.recommendation.map(text));
    }),
];

/// A column: its declaration, and the function that adds the value of a row to it.
type TrendColumn = (&'static str, fn(&TrendRow<'_>, &mut Column));

#[derive(Default)]
struct TrendRow<'a> {
    kind: &'static str,
    id: &'a str,
    metric: &'a str,
    unit: Option<&'a str>,
    better: Option<Better>,
    timestamp: Option<Timestamp>,
    run_id: Option<&'a str>,
    commit: Option<&'a str>,
    position: Option<usize>,
    value: Option<f64>,
    before: Option<f64>,
    after: Option<f64>,
    change_percent: Option<f64>,
    p_value: Option<f64>,
    q_value: Option<f64>,
    points: Option<usize>,
    direction: Option<&'a str>,
    severity: Option<String>,
    basis: Option<String>,
    alert: Option<&'a str>,
    state: Option<&'a str>,
    description: Option<&'a str>,
    recommendation: Option<&'a str>,
}

/// Writes `document` and the points of `series`, from which it was computed, to `out`.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_trends<W: Write + Send>(
    document: &TrendDocument,
    series: &[Series],
    out: W,
) -> Result<W, ParquetError> {
    let declarations = TREND_COLUMNS.map(|(declaration, _)| declaration);
    let mut sink = TrendSink { rows: RowWriter::new(out, declarations)? };
    for one in series {
        let bare = TrendRow {
            id: &one.id,
            metric: &one.metric,
            unit: Some(&one.unit),
            better: one.better,
            ..TrendRow::default()
        };
        for (position, point) in one.points.iter().enumerate() {
            sink.push(&TrendRow {
                kind: "point",
                position: Some(position),
                value: Some(point.value),
                ..bare.at(point)
            })?;
        }
        let trends = document.series.iter().filter(|trend| {
            (&trend.id, &trend.metric, &trend.unit) == (&one.id, &one.metric, &one.unit)
        });
        for trend in trends {
            for (kind, changes) in
                [("change", &trend.change_points), ("suspected", &trend.suspected)]
            {
                for change in changes {
                    sink.push(&change_row(kind, change, one, &bare))?;
                }
            }
            for alert in &trend.alerts {
                sink.push(&alert_row(alert, &bare))?;
            }
        }
    }
    for alert in &document.changes {
        for row in tracked_rows(alert) {
            sink.push(&row)?;
        }
    }
    sink.rows.finish()
}

impl<'a> TrendRow<'a> {
    /// Returns a row with only the fields that all rows of its series share.
    fn bare(&self) -> Self {
        let Self { id, metric, unit, better, .. } = *self;
        Self { id, metric, unit, better, ..Self::default() }
    }

    /// Returns a row with these fields and those of `point`.
    fn at(&self, point: &'a SeriesPoint) -> Self {
        Self {
            timestamp: Some(point.timestamp),
            run_id: point.run_id.as_ref().map(|id| id.0.as_str()),
            commit: point.commit.as_deref(),
            ..self.bare()
        }
    }
}

fn change_row<'a>(
    kind: &'static str,
    change: &ChangePoint,
    series: &'a Series,
    bare: &TrendRow<'a>,
) -> TrendRow<'a> {
    let row = series.points.get(change.index).map_or_else(|| bare.bare(), |point| bare.at(point));
    TrendRow {
        kind,
        timestamp: Some(change.timestamp),
        position: Some(change.index),
        before: Some(change.before),
        after: Some(change.after),
        change_percent: Some(change.change_percent),
        p_value: Some(change.p_value),
        q_value: change.q_value,
        points: Some(change.points),
        ..row
    }
}

fn alert_row<'a>(alert: &'a Alert, bare: &TrendRow<'a>) -> TrendRow<'a> {
    TrendRow {
        kind: "alert",
        value: Some(alert.current_value),
        before: Some(alert.baseline_mean),
        change_percent: Some(alert.change_percent),
        direction: Some(&alert.direction),
        severity: word(&alert.severity),
        basis: word(&alert.basis),
        description: Some(&alert.description),
        recommendation: Some(&alert.recommendation),
        ..bare.bare()
    }
}

fn tracked_rows(alert: &TrackedAlert) -> impl Iterator<Item = TrendRow<'_>> {
    alert.moves.iter().map(move |one| {
        let first = &alert.range_of(one).first_after;
        TrendRow {
            kind: "tracked",
            id: &one.id,
            metric: &one.metric,
            timestamp: Some(first.timestamp),
            run_id: first.run_id.as_ref().map(|id| id.0.as_str()),
            commit: first.commit.as_deref(),
            change_percent: Some(one.change_percent),
            direction: Some(&alert.direction),
            severity: word(&alert.severity),
            basis: Some(if one.confirmed { "confirmed" } else { "suspected" }.to_owned()),
            alert: Some(&alert.id),
            state: Some(alert.state.as_str()),
            description: alert.because.as_deref(),
            ..TrendRow::default()
        }
    })
}

/// Returns the text that `value` is serialized to.
fn word(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

struct TrendSink<W: Write + Send> {
    rows: RowWriter<W>,
}

impl<W: Write + Send> TrendSink<W> {
    fn push(&mut self, row: &TrendRow<'_>) -> Result<(), ParquetError> {
        self.rows.push(TREND_COLUMNS.iter().map(|(_, add)| |column: &mut _| add(row, column)));
        self.rows.write_group()
    }
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::SerializedFileReader;
    use parquet::record::Row;
    use rsb_model::RunId;
    use rsb_stats::{SeriesInput, trend};

    use super::*;
    use crate::testing::{DAY, moment};

    #[test]
    fn points_changes_and_alerts_are_rows_of_one_table() {
        let points = (0..40_i64).map(|at| SeriesPoint {
            timestamp: moment(at * DAY),
            value: if at < 20 { 10.0 } else { 15.0 } + (at * 7 % 5) as f64 / 50.0,
            run_id: Some(RunId(format!("run-{at}"))),
            commit: None,
        });
        let series = Series {
            id: "a".to_owned(),
            metric: "time_ms".to_owned(),
            unit: "ms".to_owned(),
            better: Some(Better::Lower),
            points: points.collect(),
        };
        let points = series.points.iter().map(|point| (point.timestamp, point.value)).collect();
        let input = SeriesInput {
            id: "a".to_owned(),
            metric: "time_ms".to_owned(),
            unit: "ms".to_owned(),
            better: series.better,
            points,
        };
        let document = trend(&[input]);
        let found = &document.series[0];
        assert_eq!((found.change_points.len(), found.alerts.len()), (1, 1));
        let bytes = write_trends(&document, &[series], Vec::new()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trend.parquet");
        std::fs::write(&path, bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<Row> = reader.into_iter().map(|row| row.unwrap()).collect();
        assert_eq!(rows.len(), 40 + 1 + 1);
        assert_eq!(
            cells(&rows[3], ["kind", "run_id", "value"]),
            ["\"point\"", "\"run-3\"", "10.02"]
        );
        assert_eq!(
            cells(&rows[40], ["kind", "run_id", "severity"]),
            ["\"change\"", "\"run-20\"", "null"]
        );
        let percent = found.change_points[0].change_percent;
        assert!(
            cells(&rows[40], ["change_percent", "q_value", "points"])[0]
                .starts_with(&format!("{percent:.6}")[..6])
        );
        assert_eq!(
            cells(&rows[41], ["kind", "severity", "basis"]),
            ["\"alert\"", "\"critical\"", "\"confirmed\""]
        );
    }

    fn cells(row: &Row, names: [&str; 3]) -> [String; 3] {
        names.map(|name| {
            let cell = row.get_column_iter().find(|(known, _)| *known == name);
            cell.unwrap().1.to_string()
        })
    }
}
