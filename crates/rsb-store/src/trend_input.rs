//! External series: any CSV with the columns `timestamp` and `value`, and optionally `id`, `unit`
//! and `better`.
//!
//! The history file of github-action-benchmark is read as well.
//!
//! Fields may also be separated by semicolons or tabs, in which case numbers may have decimal
//! commas, and the text may be UTF-16 with a byte order mark. A value of `nan`, `NA` or an empty
//! cell is missing. Rows with the same id, unit and time are samples of one point, whose value is
//! their median.
//!
//! A partly understood file would give a wrong trend. Every row must therefore be valid, and the
//! first invalid row is reported with its line number.

mod github_history;

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use rsb_model::calendar::second_exists;
use rsb_model::shown::from_cell;
use rsb_model::{Better, Timestamp, Unit};

use crate::history::{Series, SeriesPoint};
use crate::input::{self, MOST_OF_OURS};

/// Error from reading external series.
#[derive(Debug, thiserror::Error)]
pub enum TrendInputError {
    /// The system reported an error.
    #[error("cannot read `{}`: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: std::io::Error,
    },
    /// The file has no usable row after the header.
    #[error("`{}` has column names but no rows; add a row for each value", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A line is invalid.
    #[error("`{}`, line {line}: {problem}; {cure}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line from 1, including the header.
        line: u64,
        /// Problem in that line.
        problem: String,
        /// Suggested remedy.
        cure: &'static str,
    },
}

/// The problem of a line, and how to fix it.
type Problem = (String, &'static str);

const CURE_HEADER: &str =
    "the first line names the columns: `timestamp,value`, and optionally `id`, `unit`, `better`";
const CURE_TIME: &str = "give RFC 3339 (2026-11-21T09:03:12Z), `git log --format=%ci`, a date \
                         (2026-11-21 or 21.11.2026), epoch seconds, \
                         or epoch milliseconds (13 digits)";
const CURE_VALUE: &str = "give a finite number, or `nan` if it is missing";
const CURE_COMMA: &str =
    "export numbers without group separators: 1234.5 or, in a file with semicolons, 1234,5";
const CURE_BETTER: &str = "give `higher`, `lower` or nothing, the same for the whole series";
const CURE_CSV: &str = "give each line as many fields as the header, in UTF-8 or UTF-16 with a \
                        byte order mark, and quote fields that contain separators";

/// Reads the series in the CSV at `path`, sorted by id and unit, each oldest first.
///
/// # Errors
/// If the file cannot be read, contains no values, or has an invalid line.
pub fn read_series(path: &Path) -> Result<Vec<Series>, TrendInputError> {
    let file = input::open(path)
        .map_err(|source| TrendInputError::Io { path: path.to_owned(), source })?;
    read_series_from(file, path)
}

/// Reads series as [`read_series`] does, from `input`; `name` is for errors.
///
/// # Errors
/// If the input cannot be read, contains no values, or has an invalid line.
pub fn read_series_from(input: impl Read, name: &Path) -> Result<Vec<Series>, TrendInputError> {
    let mut bytes = Vec::new();
    input
        .take(MOST_OF_OURS)
        .read_to_end(&mut bytes)
        .map_err(|source| TrendInputError::Io { path: name.to_owned(), source })?;
    let bytes = input::decode_text(bytes);
    let mut series = match github_history::read(&bytes) {
        Some(series) => {
            series.map_err(|(line, (problem, cure))| wrong_line(name, line, problem, cure))?
        }
        None => read_csv(&bytes, name)?,
    };
    if series.is_empty() {
        return Err(TrendInputError::Empty { path: name.to_owned() });
    }
    without_aggregates(&mut series);
    for one in &mut series {
        one.better = one.better.or_else(|| Unit::direction_of(&one.unit));
        one.points.sort_by_key(|point| point.timestamp);
        one.points = one
            .points
            .chunk_by(|a, b| a.timestamp == b.timestamp)
            .filter_map(median_point)
            .collect();
    }
    Ok(series)
}

/// Reads the series of a CSV, with their points in the order of the rows.
fn read_csv(bytes: &[u8], name: &Path) -> Result<Vec<Series>, TrendInputError> {
    let separator = separator(bytes);
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).delimiter(separator).from_reader(bytes);
    let header = reader.headers().map_err(|error| from_csv(error, name))?.clone();
    let columns = Columns::find(&header, separator)
        .map_err(|(problem, cure)| wrong_line(name, 1, problem, cure))?;
    let mut series = SeriesByName::new();
    for record in reader.records() {
        let record = record.map_err(|error| from_csv(error, name))?;
        let line = record.position().map_or(0, csv::Position::line);
        columns
            .take(&record, &mut series)
            .map_err(|(problem, cure)| wrong_line(name, line, problem, cure))?;
    }
    Ok(series.into_values().collect())
}

fn wrong_line(path: &Path, line: u64, problem: String, cure: &'static str) -> TrendInputError {
    TrendInputError::Line { path: path.to_owned(), line, problem, cure }
}

/// Returns the field separator: the first of comma, semicolon and tab that the header contains.
fn separator(bytes: &[u8]) -> u8 {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    b",;\t".iter().copied().find(|separator| header.contains(separator)).unwrap_or(b',')
}

/// Keeps one series per benchmark if Google Benchmark wrote aggregates as separate rows: the series
/// of the benchmark itself or, if there is none, its medians under the benchmark's name.
fn without_aggregates(series: &mut Vec<Series>) {
    let ids: HashSet<String> = series.iter().map(|one| one.id.clone()).collect();
    series.retain_mut(|one| {
        let aggregate =
            AGGREGATES.iter().find_map(|suffix| Some((one.id.strip_suffix(suffix)?, *suffix)));
        let Some((base, suffix)) = aggregate else { return true };
        let is_aggregated = ["_mean", "_median", "_stddev"]
            .iter()
            .all(|suffix| ids.contains(&format!("{base}{suffix}")));
        if !is_aggregated {
            return true;
        }
        let is_kept = suffix == "_median" && !ids.contains(base);
        one.id = base.to_owned();
        is_kept
    });
}

/// Returns the point for several samples with the same time: their median.
fn median_point(samples: &[SeriesPoint]) -> Option<SeriesPoint> {
    let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = [(values.len() - 1) / 2, values.len() / 2].map(|at| values[at]);
    Some(SeriesPoint { value: f64::midpoint(middle[0], middle[1]), ..samples.first()?.clone() })
}

fn from_csv(error: csv::Error, name: &Path) -> TrendInputError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => TrendInputError::Io { path: name.to_owned(), source },
        _ => TrendInputError::Line { path: name.to_owned(), line, problem, cure: CURE_CSV },
    }
}

/// Name suffixes of Google Benchmark aggregates.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

/// Series by id and unit.
type SeriesByName = BTreeMap<(String, String), Series>;

/// Returns the series `id` with this `unit`, creating it if it does not exist.
fn entry<'s>(series: &'s mut SeriesByName, id: &str, unit: &str) -> &'s mut Series {
    series.entry((id.to_owned(), unit.to_owned())).or_insert_with(|| Series {
        id: id.to_owned(),
        metric: "value".to_owned(),
        unit: unit.to_owned(),
        better: None,
        points: Vec::new(),
    })
}

struct Columns {
    /// Whether numbers may have decimal commas, because the comma is not the separator.
    is_decimal_comma: bool,
    timestamp: usize,
    value: usize,
    id: Option<usize>,
    unit: Option<usize>,
    better: Option<usize>,
}

impl Columns {
    fn find(header: &StringRecord, separator: u8) -> Result<Self, Problem> {
        Ok(Self {
            is_decimal_comma: separator != b',',
            timestamp: needed_column(header, "timestamp")?,
            value: needed_column(header, "value")?,
            id: find_column(header, "id")?,
            unit: find_column(header, "unit")?,
            better: find_column(header, "better")?,
        })
    }

    fn take(&self, record: &StringRecord, series: &mut SeriesByName) -> Result<(), Problem> {
        let timestamp = parse_time(cell(record, Some(self.timestamp)))?;
        let Some(value) = self.parse_value(cell(record, Some(self.value)))? else {
            return Ok(());
        };
        let better = parse_better(cell(record, self.better))?;
        let id = from_cell(cell(record, self.id));
        let unit = from_cell(cell(record, self.unit));
        let id = if id.is_empty() { "value" } else { id };
        let entry = entry(series, id, unit);
        match (entry.better, better) {
            (Some(old), Some(new)) if old != new => {
                return Err((format!("`better` of `{id}` changes within the series"), CURE_BETTER));
            }
            (old, new) => entry.better = old.or(new),
        }
        entry.points.push(SeriesPoint { timestamp, value, run_id: None, commit: None });
        Ok(())
    }

    /// Parses the value of a cell; returns `None` if it is missing.
    fn parse_value(&self, text: &str) -> Result<Option<f64>, Problem> {
        if MISSING.iter().any(|missing| text.eq_ignore_ascii_case(missing)) {
            return Ok(None);
        }
        let with_point = if self.is_decimal_comma && text.contains(',') {
            if text.contains('.') || text.matches(',').count() > 1 {
                return Err((format!("`{text}` has more than one separator"), CURE_COMMA));
            }
            text.replace(',', ".")
        } else {
            text.to_owned()
        };
        if rsb_model::json::underflows(&with_point) {
            return Err((format!("`{text}` is too small and would become 0"), CURE_VALUE));
        }
        let value = with_point.parse().ok().filter(|value: &f64| value.is_finite());
        if value.is_some_and(f64::is_subnormal) {
            return Err((format!("`{text}` is too small: below 2.3e-308"), CURE_VALUE));
        }
        value.map(Some).ok_or_else(|| (format!("`{text}` is not a finite number"), CURE_VALUE))
    }
}

fn needed_column(header: &StringRecord, name: &str) -> Result<usize, Problem> {
    find_column(header, name)?.ok_or_else(|| (format!("there is no column `{name}`"), CURE_HEADER))
}

fn find_column(header: &StringRecord, name: &str) -> Result<Option<usize>, Problem> {
    let mut found = header
        .iter()
        .enumerate()
        .filter(|(_, column)| strip_bom(column).eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err((format!("there are two columns `{name}`"), CURE_HEADER)),
        (first, None) => Ok(first.map(|(index, _)| index)),
    }
}

fn cell(record: &StringRecord, column: Option<usize>) -> &str {
    column.and_then(|column| record.get(column)).unwrap_or_default()
}

/// Cell values that mean a missing measurement.
const MISSING: [&str; 4] = ["", "nan", "na", "n/a"];

/// Returns a column name without the byte order mark that some programs write in UTF-8.
fn strip_bom(column: &str) -> &str {
    column.trim_start_matches('\u{feff}').trim()
}

fn parse_time(text: &str) -> Result<Timestamp, Problem> {
    /// Smallest number that counts as milliseconds (from March 1973); smaller ones count as seconds
    /// (until the year 5138).
    const MILLISECONDS_FROM: f64 = 1e11;
    const MILLISECONDS_TO: f64 = 1e14;
    let Ok(number) = text.parse::<f64>() else {
        return parse_calendar(text).ok_or_else(|| not_a_time(text));
    };
    let size = number.abs();
    let milliseconds =
        if size < MILLISECONDS_FROM { (number * 1e3).round() } else { number.round() };
    if !number.is_finite() || size >= MILLISECONDS_TO {
        return Err(not_a_time(text));
    }
    Timestamp::from_millisecond(milliseconds as i64).map_err(|_| not_a_time(text))
}

fn not_a_time(text: &str) -> Problem {
    (format!("`{text}` is not a time"), CURE_TIME)
}

fn parse_better(text: &str) -> Result<Option<Better>, Problem> {
    let lower = text.to_ascii_lowercase();
    match Better::find(&lower) {
        None if !lower.is_empty() => Err((format!("`{text}` is not a direction"), CURE_BETTER)),
        better => Ok(better),
    }
}

/// Parses a calendar time; a time without an offset is in UTC.
fn parse_calendar(text: &str) -> Option<Timestamp> {
    let known: Result<Timestamp, _> = text.parse();
    if let Ok(time) = known {
        return second_exists(text, time).then_some(time);
    }
    // `git log --format=%ci`: 2026-01-02 03:04:05 +0100.
    if let Ok(time) =
        jiff::fmt::strtime::parse("%Y-%m-%d %H:%M:%S %z", text).and_then(|time| time.to_timestamp())
    {
        return second_exists(text, time).then_some(time);
    }
    let local = ["%Y-%m-%d", "%d.%m.%Y"].iter().find_map(|date| parse_local(text, date));
    local?.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// Parses a day in the format `date`, optionally with a time.
fn parse_local(text: &str, date: &str) -> Option<jiff::civil::DateTime> {
    let day = jiff::fmt::strtime::parse(date, text).and_then(|parsed| parsed.to_date());
    if let Ok(day) = day {
        return Some(day.to_datetime(jiff::civil::Time::midnight()));
    }
    ["%H:%M:%S", "%H:%M"].iter().find_map(|time| {
        let parsed = jiff::fmt::strtime::parse(format!("{date} {time}"), text).ok()?;
        parsed.to_datetime().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Series>, TrendInputError> {
        read_series_from(text.as_bytes(), Path::new("series.csv"))
    }

    #[test]
    fn rows_of_any_order_become_series_by_time() {
        let series = parse("value, timestamp \
                            ,id,unit\n2,2026-01-02T00:00:00Z,b,ns/iter\n1,1767225600,b,ns/iter\n3,1767225600123,a,widgets\n").unwrap();
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
        assert_eq!(
            (series.len(), series[0].id.as_str(), series[0].unit.as_str()),
            (1, "value", "")
        );
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
            ("timestamp,value\n0,inf\n", 2, "`inf`"),
            ("timestamp;value\n0;1.234,5\n", 2, "more than one separator"),
            ("timestamp;value\n0;1,234,567\n", 2, "more than one separator"),
            ("timestamp,value\n0,\"100,5\"\n", 2, "`100,5`"),
            ("timestamp,value\n01/02/2026,1\n", 2, "`01/02/2026`"),
            ("timestamp,value\n2026-02-30,1\n", 2, "`2026-02-30`"),
            ("timestamp,value\n0,fast\n", 2, "`fast`"),
            ("timestamp,value\nyesterday,1\n", 2, "`yesterday`"),
            ("timestamp,value\n2026-02-30T00:00:00Z,1\n", 2, "is not a time"),
            ("timestamp,value\n2026-01-02T03:04:60Z,1\n", 2, "is not a time"),
            ("timestamp,value\n0,1e-400\n", 2, "`1e-400` is too small"),
            ("timestamp,value\n0,-1e-310\n", 2, "`-1e-310` is too small"),
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
        assert!(
            read_series_from(&b"timestamp,value\n0,\xff\n"[..], Path::new("series.csv")).is_err()
        );
        assert!(matches!(read_series(Path::new("/nowhere.csv")), Err(TrendInputError::Io { .. })));
    }

    fn values(series: &Series) -> Vec<f64> {
        series.points.iter().map(|point| point.value).collect()
    }

    #[test]
    fn times_of_git_and_dates_are_read() {
        for (time, expected) in [
            ("2026-01-02 03:04:05 +0100", "2026-01-02T02:04:05Z"),
            ("2026-01-02 03:04:05 -0530", "2026-01-02T08:34:05Z"),
            ("2026-01-02T03:04:05+01:00", "2026-01-02T02:04:05Z"),
            ("2026-01-02", "2026-01-02T00:00:00Z"),
            ("2026-01-02 03:04:05", "2026-01-02T03:04:05Z"),
            ("2026-01-02 03:04", "2026-01-02T03:04:00Z"),
            ("02.01.2026 10:00", "2026-01-02T10:00:00Z"),
            ("02.01.2026", "2026-01-02T00:00:00Z"),
        ] {
            let series = parse(&format!("timestamp,value\n{time},1\n")).unwrap();
            assert_eq!(series[0].points[0].timestamp.to_string(), expected, "{time}");
        }
    }

    #[test]
    fn semicolons_decimal_commas_and_tabs_are_read() {
        let series =
            parse("\u{feff}timestamp;value\r\n01.01.2026 10:00;100,5\r\n02.01.2026 10:00;99\r\n")
                .unwrap();
        assert_eq!(values(&series[0]), [100.5, 99.0]);
        assert_eq!(values(&parse("timestamp\tvalue\n0\t1,5\n1\t2.5\n").unwrap()[0]), [1.5, 2.5]);
    }

    #[test]
    fn utf_16_is_read_by_its_byte_order_mark() {
        let text = "\u{feff}timestamp,value,unit\r\n0,1,µs\r\n1,2,µs\r\n";
        for bytes in [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
        ] {
            let series = read_series_from(bytes.as_slice(), Path::new("series.csv")).unwrap();
            assert_eq!((values(&series[0]), series[0].unit.as_str()), (vec![1.0, 2.0], "µs"));
        }
    }

    #[test]
    fn missing_values_are_no_points() {
        let series = parse("timestamp,value\n0,1\n1,nan\n2,NaN\n3,\n4,NA\n5,2\n").unwrap();
        assert_eq!(values(&series[0]), [1.0, 2.0]);
        assert!(matches!(parse("timestamp,value\n0,nan\n"), Err(TrendInputError::Empty { .. })));
    }

    #[test]
    fn rows_of_one_id_and_time_are_samples_of_one_point() {
        let series = parse("timestamp,value,id\n0,1,a\n0,9,b\n1,4,a\n0,3,a\n0,50,a\n").unwrap();
        assert_eq!((values(&series[0]), values(&series[1])), (vec![3.0, 4.0], vec![9.0]));
    }

    #[test]
    fn aggregates_of_one_benchmark_are_one_series() {
        let four = ["f/8_mean", "f/8_median", "f/8_stddev", "f/8_cv"];
        assert_eq!(first_points(&four), [("f/8".to_owned(), 1.0)]);
        assert_eq!(first_points(&[&four[..], &["f/8"]].concat()), [("f/8".to_owned(), 4.0)]);
        assert_eq!(
            first_points(&["geo_mean", "x"]).len(),
            2,
            "a lone `_mean` suffix is not an aggregate"
        );
    }

    /// Returns the id and the first value of each series in a CSV with one row for each of `ids`,
    /// whose value is the row's position.
    fn first_points(ids: &[&str]) -> Vec<(String, f64)> {
        let rows: Vec<String> =
            ids.iter().enumerate().map(|(at, id)| format!("0,{at},{id}")).collect();
        let series = parse(&format!("timestamp,value,id\n{}\n", rows.join("\n"))).unwrap();
        series.iter().map(|one| (one.id.clone(), one.points[0].value)).collect()
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
