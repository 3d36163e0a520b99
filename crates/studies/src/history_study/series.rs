//! Series of values over time, from a CSV file with the columns `id`, `timestamp`, `value` and
//! `unit`, or from the `data.js` that github-action-benchmark publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rsb_model::{Better, Unit};
use serde_json::Value;

/// Share of the runs of each suite, by time, on which rules are tuned. Reported error rates come
/// from the rest. The share was fixed before any tuning; changing it would make new results
/// incomparable with old ones.
const TUNED_ON: f64 = 0.6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The first runs of each suite, used to tune rules.
    First,
    /// The remaining runs. The runs before a judged run may be in the first part.
    Second,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedSeries {
    pub(crate) id: String,
    /// Direction of the unit; an unknown unit counts as a time.
    pub(crate) better: Better,
    /// Time of each value, oldest first.
    pub(crate) times: Vec<i64>,
    pub(crate) values: Vec<f64>,
    /// Start time of the second part of the suite.
    second_from: i64,
}

impl RecordedSeries {
    /// Returns the suite: the id up to its first `/`. All values of a suite with the same time are
    /// one run.
    pub(super) fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or(&self.id)
    }

    pub(crate) fn first(&self, end: usize) -> Self {
        let mut first = self.clone();
        first.values.truncate(end);
        first.times.truncate(end);
        first
    }

    /// Returns the part that contains the value at index `at`.
    pub(super) fn part_of(&self, at: usize) -> Part {
        if self.times.get(at).is_some_and(|time| *time >= self.second_from) {
            Part::Second
        } else {
            Part::First
        }
    }
}

pub(crate) fn read(file: &Path) -> Result<Vec<RecordedSeries>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let points = match text.split_once('=') {
        Some((name, data)) if name.contains("BENCHMARK_DATA") => parse_benchmark_data(data),
        _ => table(&text),
    };
    points.map(series_of).with_context(|| format!("{} cannot be used", file.display()))
}

/// Points by time, for each id and unit.
type Points = BTreeMap<(String, String), BTreeMap<i64, f64>>;

fn table(text: &str) -> Result<Points> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let header: Vec<&str> =
        lines.next().map(|(line, _)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    let columns = [
        find_column(&header, "id")?,
        find_column(&header, "timestamp")?,
        find_column(&header, "value")?,
        find_column(&header, "unit")?,
    ];
    let mut points = Points::new();
    for (line, number) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != header.len() {
            bail!(
                "line {number}: {} fields under {} columns; commas within a field are not \
                 supported",
                cells.len(),
                header.len()
            );
        }
        let [id, time, value, unit] = columns.map(|at| cells.get(at).copied().unwrap_or_default());
        let time: i64 = time
            .parse()
            .with_context(|| format!("line {number}: `{time}` is not a whole number"))?;
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let value = value.with_context(|| {
            format!("line {number}: the value is not a finite number above zero")
        })?;
        points.entry((id.to_owned(), unit.to_owned())).or_default().entry(time).or_insert(value);
    }
    Ok(points)
}

fn find_column(header: &[&str], name: &str) -> Result<usize> {
    let found = header.iter().position(|known| *known == name);
    found.ok_or_else(|| {
        anyhow!("line 1: no column `{name}`; the columns are id,timestamp,value,unit")
    })
}

/// Parses the `data.js` of github-action-benchmark. Values without a logarithm are skipped, as by
/// the gate.
fn parse_benchmark_data(data: &str) -> Result<Points> {
    let document: Value = serde_json::from_str(data.trim().trim_end_matches(';'))?;
    let suites = document
        .get("entries")
        .and_then(Value::as_object)
        .context("the document has no `entries`")?;
    let mut points = Points::new();
    for (suite, runs) in suites {
        for run in runs.as_array().into_iter().flatten() {
            let time = run.get("date").and_then(Value::as_i64).context("a run has no `date`")?;
            for case in run.get("benches").and_then(Value::as_array).into_iter().flatten() {
                let [name, unit] =
                    ["name", "unit"].map(|key| case.get(key).and_then(Value::as_str));
                let value = case
                    .get("value")
                    .and_then(Value::as_f64)
                    .filter(|value| value.is_finite() && *value > 0.0);
                if let (Some(name), Some(value)) = (name, value) {
                    let id = (format!("{suite}/{name}"), unit.unwrap_or_default().to_owned());
                    points.entry(id).or_default().entry(time).or_insert(value);
                }
            }
        }
    }
    Ok(points)
}

fn series_of(points: Points) -> Vec<RecordedSeries> {
    let mut series = Vec::with_capacity(points.len());
    for ((id, unit), points) in points {
        let better = Unit::direction_of(&unit).unwrap_or(Better::Lower);
        let (times, values) = points.into_iter().unzip();
        series.push(RecordedSeries { id, better, times, values, second_from: i64::MAX });
    }
    let mut runs: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for one in &series {
        runs.entry(one.group().to_owned()).or_default().extend(&one.times);
    }
    for one in &mut series {
        let runs = runs.get(one.group()).into_iter().flatten();
        let count = runs.clone().count();
        one.second_from = runs.copied().nth((TUNED_ON * count as f64) as usize).unwrap_or(i64::MAX);
    }
    series
}

#[cfg(test)]
pub(super) fn every_second(id: &str, better: Better, values: Vec<f64>) -> RecordedSeries {
    let times: Vec<i64> = (0..).take(values.len()).collect();
    let second_from = (TUNED_ON * values.len() as f64) as i64;
    RecordedSeries { id: id.to_owned(), better, times, values, second_from }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<RecordedSeries>> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("series");
        std::fs::write(&file, text).unwrap();
        read(&file)
    }

    #[test]
    fn rows_and_published_data_become_series_in_order_of_time() {
        let rows = "unit,id,value,timestamp\nns/iter,b/x,2,20\nops/sec,a,9,5\n\nns/iter,b/x,1,10\nwidgets,c,1,1\n";
        let published = r#"window.BENCHMARK_DATA = {"entries": {
            "b": [{"date": 20, "benches": [{"name": "x", "value": 2, "unit": "ns/iter"}, {"name": "y", "value": 0, "unit": "ns"}]},
                  {"date": 10, "benches": [{"name": "x", "value": 1.0, "unit": "ns/iter"}]}],
            "a": [{"date": 5, "benches": [{"name": "y", "value": 9, "unit": "ops/sec"}]}]}};"#;
        for (text, others) in [(rows, 1), (published, 0)] {
            let series = read_text(text).unwrap();
            let told: Vec<_> =
                series.iter().map(|one| (one.group(), one.better, one.values.as_slice())).collect();
            assert_eq!(
                told[..2],
                [("a", Better::Higher, &[9.0][..]), ("b", Better::Lower, &[1.0, 2.0][..])]
            );
            assert_eq!((series.len(), &series[1].times[..]), (2 + others, &[10, 20][..]));
        }
    }

    #[test]
    fn the_second_part_begins_at_one_time_for_all_of_a_suite() {
        let rows: String = (0..10)
            .map(|time| row("a/x", time))
            .chain((5..10).map(|time| row("a/late", time)))
            .collect();
        let series = read_text(&format!("id,timestamp,value,unit\n{rows}")).unwrap();
        for one in &series {
            let second: Vec<i64> = (0..one.times.len())
                .filter(|at| one.part_of(*at) == Part::Second)
                .map(|at| one.times[at])
                .collect();
            assert_eq!(second, [6, 7, 8, 9], "{}", one.id);
        }
    }

    fn row(id: &str, time: i64) -> String {
        format!("{id},{time},1,ns\n")
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let header = "id,timestamp,value,unit\n";
        for (rows, expected) in [
            ("a,1,1\n", "line 2: 3 fields"),
            ("a,1,1,ms\na,soon,1,ms\n", "line 3: `soon`"),
            ("a,1,NaN,ms\n", "line 2: the value"),
            ("a,1,0,ms\n", "line 2: the value"),
        ] {
            let error = read_text(&format!("{header}{rows}")).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
        assert!(format!("{:#}", read_text("id,value\n").unwrap_err()).contains("`timestamp`"));
        assert!(
            format!("{:#}", read_text("BENCHMARK_DATA = {}").unwrap_err()).contains("`entries`")
        );
        assert!(read(Path::new("/nowhere.csv")).is_err());
    }
}
