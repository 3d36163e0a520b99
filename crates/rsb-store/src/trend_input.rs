//! Series from elsewhere: any CSV with the columns `timestamp` and `value`, and optionally `id`, `unit` and `better`.
//!
//! A trend over a file that was half understood would be a wrong trend: every row must be right, and the first that
//! is not is named with its line.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use rsb_model::shown::from_cell;
use rsb_model::{Better, Timestamp, Unit};

use crate::history::{Series, SeriesPoint};
use crate::index::better_from;
use crate::input;

/// Why a CSV cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrendInputError {
    /// The system does not give it.
    #[error("cannot read `{}`: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It has no line after the header.
    #[error("`{}` has column names but no rows; add a row for each value", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A line that is wrong.
    #[error("`{}`, line {line}: {problem}; {cure}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1, the header counted.
        line: u64,
        /// What is wrong there.
        problem: String,
        /// What the reader can do about it.
        cure: &'static str,
    },
}

/// What is wrong with a line, and its cure.
type Problem = (String, &'static str);

const CURE_HEADER: &str = "the first line names the columns: `timestamp,value`, and optionally `id`, `unit`, `better`";
const CURE_TIME: &str = "give RFC 3339 (2026-11-21T09:03:12Z), epoch seconds, or epoch milliseconds (13 digits)";
const CURE_VALUE: &str = "give a finite number, or remove the line";
const CURE_BETTER: &str = "give `higher`, `lower` or nothing, the same for the whole series";
const CURE_CSV: &str = "give each line as many fields as the header, in UTF-8, and quote those that hold commas";

/// The series in the CSV at `path`, by id and unit, each oldest first.
///
/// # Errors
/// When it cannot be read, holds no figure, or a line is wrong.
pub fn read_series(path: &Path) -> Result<Vec<Series>, TrendInputError> {
    let file = input::open(path).map_err(|source| TrendInputError::Io { path: path.to_owned(), source })?;
    read_series_from(file, path)
}

/// As [`read_series`], from `input`; `name` is for errors.
///
/// # Errors
/// When it cannot be read, holds no figure, or a line is wrong.
pub fn read_series_from(input: impl Read, name: &Path) -> Result<Vec<Series>, TrendInputError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let at = |line: u64, (problem, cure): Problem| TrendInputError::Line { path: name.to_owned(), line, problem, cure };
    let header = reader.headers().map_err(|error| from_csv(error, name))?.clone();
    let columns = Columns::find(&header).map_err(|problem| at(1, problem))?;
    let mut series = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| from_csv(error, name))?;
        let line = record.position().map_or(0, csv::Position::line);
        columns.take(&record, &mut series).map_err(|problem| at(line, problem))?;
    }
    if series.is_empty() {
        return Err(TrendInputError::Empty { path: name.to_owned() });
    }
    let mut series: Vec<Series> = series.into_values().collect();
    for one in &mut series {
        one.better = one.better.or_else(|| Unit::direction_of(&one.unit));
        rsb_model::order::by_key(&mut one.points, |point| point.timestamp);
    }
    Ok(series)
}

fn from_csv(error: csv::Error, name: &Path) -> TrendInputError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => TrendInputError::Io { path: name.to_owned(), source },
        _ => TrendInputError::Line { path: name.to_owned(), line, problem, cure: CURE_CSV },
    }
}

/// Where each column is.
struct Columns {
    timestamp: usize,
    value: usize,
    id: Option<usize>,
    unit: Option<usize>,
    better: Option<usize>,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, Problem> {
        let find = |name: &str| {
            let mut found = header.iter().enumerate().filter(|(_, column)| unmarked(column).eq_ignore_ascii_case(name));
            match (found.next(), found.next()) {
                (_, Some(_)) => Err((format!("there are two columns `{name}`"), CURE_HEADER)),
                (first, None) => Ok(first.map(|(index, _)| index)),
            }
        };
        let needed = |name: &str| find(name)?.ok_or_else(|| (format!("there is no column `{name}`"), CURE_HEADER));
        Ok(Self {
            timestamp: needed("timestamp")?,
            value: needed("value")?,
            id: find("id")?,
            unit: find("unit")?,
            better: find("better")?,
        })
    }

    fn take(&self, record: &StringRecord, series: &mut BTreeMap<(String, String), Series>) -> Result<(), Problem> {
        let text = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default();
        let timestamp = parse_time(text(Some(self.timestamp)))?;
        let value = parse_value(text(Some(self.value)))?;
        let better = parse_better(text(self.better))?;
        let (id, unit) = (from_cell(text(self.id)), from_cell(text(self.unit)));
        let id = if id.is_empty() { "value" } else { id };
        let entry = series.entry((id.to_owned(), unit.to_owned())).or_insert_with(|| Series {
            id: id.to_owned(),
            metric: "value".to_owned(),
            unit: unit.to_owned(),
            better,
            points: Vec::new(),
        });
        match (entry.better, better) {
            (Some(old), Some(new)) if old != new => {
                return Err((format!("`better` of `{id}` changes within the series"), CURE_BETTER));
            }
            (old, new) => entry.better = old.or(new),
        }
        entry.points.push(SeriesPoint { timestamp, value, run_id: None, commit: None });
        Ok(())
    }
}

/// A column's name without the mark that some programs put at the beginning of UTF-8.
fn unmarked(column: &str) -> &str {
    column.trim_start_matches('\u{feff}').trim()
}

fn parse_time(text: &str) -> Result<Timestamp, Problem> {
    /// Below this a number counts seconds (until the year 5138), from it on milliseconds (from March 1973).
    const MILLISECONDS_FROM: f64 = 1e11;
    const MILLISECONDS_TO: f64 = 1e14;
    let wrong = || (format!("`{text}` is not a time"), CURE_TIME);
    let Ok(number) = text.parse::<f64>() else { return rsb_model::calendar::parse_time(text).ok_or_else(wrong) };
    let size = number.abs();
    let milliseconds = if size < MILLISECONDS_FROM { (number * 1e3).round() } else { number.round() };
    if !number.is_finite() || size >= MILLISECONDS_TO {
        return Err(wrong());
    }
    Timestamp::from_millisecond(milliseconds as i64).map_err(|_| wrong())
}

fn parse_value(text: &str) -> Result<f64, Problem> {
    if rsb_model::json::underflows(text) {
        return Err((format!("`{text}` is too small and would become 0"), CURE_VALUE));
    }
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| (format!("`{text}` is not a finite number"), CURE_VALUE))
}

fn parse_better(text: &str) -> Result<Option<Better>, Problem> {
    let lower = text.to_ascii_lowercase();
    match better_from(&lower) {
        None if !lower.is_empty() => Err((format!("`{text}` is not a direction"), CURE_BETTER)),
        better => Ok(better),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Series>, TrendInputError> {
        read_series_from(text.as_bytes(), Path::new("series.csv"))
    }

    #[test]
    fn rows_of_any_order_become_series_by_time() {
        let series = parse("value, timestamp ,id,unit\n2,2026-01-02T00:00:00Z,b,ns/iter\n1,1767225600,b,ns/iter\n3,1767225600123,a,widgets\n").unwrap();
        assert_eq!(series.len(), 2);
        assert_eq!((series[0].id.as_str(), series[0].better), ("a", None));
        assert_eq!((series[1].id.as_str(), series[1].better), ("b", Some(Better::Lower)));
        let points = &series[1].points;
        assert_eq!(points.iter().map(|point| point.value).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(points[0].timestamp.to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(series[0].points[0].timestamp.to_string(), "2026-01-01T00:00:00.123Z");
    }

    #[test]
    fn a_bare_file_is_one_series() {
        let series = parse("\u{feff}Timestamp,Value\n0,1\n1,2\n").unwrap();
        assert_eq!((series.len(), series[0].id.as_str(), series[0].unit.as_str()), (1, "value", ""));
        let error = parse("timestamp,value\n").unwrap_err().to_string();
        assert!(error.contains("`series.csv` has column names but no rows"), "{error}");
    }

    #[test]
    fn what_was_written_behind_an_apostrophe_is_read_without_it() {
        let series = parse("timestamp,value,id,unit\n0,-1.5,'=1+1,'-x\n1,2,'tis,s\n").unwrap();
        let read: Vec<_> = series.iter().map(|one| (one.id.as_str(), one.unit.as_str())).collect();
        assert_eq!(read, [("'tis", "s"), ("=1+1", "-x")]);
        assert!(series[1].points[0].value < 0.0);
    }

    #[test]
    fn a_direction_that_is_given_wins() {
        let series = parse("timestamp,value,unit,better\n0,1,ms,higher\n1,2,ms,\n").unwrap();
        assert_eq!(series[0].better, Some(Better::Higher));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, expected) in [
            ("", 1, "no column `timestamp`"),
            ("time,value\n0,1\n", 1, "no column `timestamp`"),
            ("timestamp\n0\n", 1, "no column `value`"),
            ("timestamp,value,value\n0,1,2\n", 1, "two columns `value`"),
            ("timestamp,value\n0,1\n1,NaN\n", 3, "`NaN`"),
            ("timestamp,value\n0,inf\n", 2, "`inf`"),
            ("timestamp,value\n0,\n", 2, "``"),
            ("timestamp,value\n0,fast\n", 2, "`fast`"),
            ("timestamp,value\nyesterday,1\n", 2, "`yesterday`"),
            ("timestamp,value\n2026-02-30T00:00:00Z,1\n", 2, "is not a time"),
            ("timestamp,value\n2026-01-02T03:04:60Z,1\n", 2, "is not a time"),
            ("timestamp,value\n0,1e-400\n", 2, "`1e-400` is too small"),
            ("timestamp,value\nNaN,1\n", 2, "`NaN`"),
            ("timestamp,value\n1767225600123456789,1\n", 2, "is not a time"),
            ("timestamp,value\n0,1,2\n", 2, "fields"),
            ("timestamp,value,better\n0,1,up\n", 2, "`up`"),
            ("timestamp,value,better\n0,1,higher\n1,1,lower\n", 3, "changes"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`series.csv`, line {line}: ")), "{text:?}: {error}");
            assert!(error.contains(expected) && error.contains("; "), "{text:?}: {error}");
        }
        assert!(read_series_from(&b"timestamp,value\n0,\xff\n"[..], Path::new("series.csv")).is_err());
        assert!(matches!(read_series(Path::new("/nowhere.csv")), Err(TrendInputError::Io { .. })));
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let text = [b"timestamp,value,id\n".as_slice(), &bytes].concat();
            if let Ok(series) = read_series_from(text.as_slice(), Path::new("series.csv")) {
                proptest::prop_assert!(series.iter().flat_map(|one| &one.points).all(|point| point.value.is_finite()));
            }
        }

        #[test]
        fn no_field_panics(time in "[-+0-9eE.TZ:]{1,24}", value in "[-+0-9eE.]{1,12}") {
            let _ = parse(&format!("timestamp,value\n{time},{value}\n"));
        }
    }
}
