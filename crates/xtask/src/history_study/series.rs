//! Series of figures over time, from a CSV with the columns `id`, `timestamp`, `value` and `unit`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rsb_model::{Better, Unit};

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordedSeries {
    pub(super) id: String,
    /// A unit that does not say counts as a time.
    pub(super) better: Better,
    /// Oldest first.
    pub(super) values: Vec<f64>,
}

impl RecordedSeries {
    /// The suite: what the id has before its first `/`. Series of one suite were measured together.
    pub(super) fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or(&self.id)
    }
}

/// The series in `file`, by id.
pub(super) fn read(file: &Path) -> Result<Vec<RecordedSeries>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| format!("{} cannot be used", file.display()))
}

fn parse(text: &str) -> Result<Vec<RecordedSeries>> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let header: Vec<&str> = lines.next().map(|(line, _)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    let column = |name: &str| {
        let found = header.iter().position(|known| *known == name);
        found.ok_or_else(|| anyhow!("line 1: there is no column `{name}`; the columns are id,timestamp,value,unit"))
    };
    let columns = [column("id")?, column("timestamp")?, column("value")?, column("unit")?];
    let mut series: BTreeMap<(String, String), Vec<(i64, f64)>> = BTreeMap::new();
    for (line, number) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != header.len() {
            bail!(
                "line {number}: {} fields under {} columns; a comma within a field is not read",
                cells.len(),
                header.len()
            );
        }
        let [id, time, value, unit] = columns.map(|at| cells.get(at).copied().unwrap_or_default());
        let time: i64 = time.parse().with_context(|| format!("line {number}: `{time}` is no whole number"))?;
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let value = value.with_context(|| format!("line {number}: the value is no finite figure above zero"))?;
        series.entry((id.to_owned(), unit.to_owned())).or_default().push((time, value));
    }
    Ok(series.into_iter().map(|((id, unit), points)| of_points(id, &unit, points)).collect())
}

fn of_points(id: String, unit: &str, mut points: Vec<(i64, f64)>) -> RecordedSeries {
    points.sort_by_key(|(time, _)| *time);
    let values = points.into_iter().map(|(_, value)| value).collect();
    RecordedSeries { id, better: Unit::direction_of(unit).unwrap_or(Better::Lower), values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_series_in_order_of_time() {
        let text = "unit,id,value,timestamp\nns/iter,b/x,2,20\nops/sec,a,9,5\n\nns/iter,b/x,1,10\nwidgets,c,1,1\n";
        let series = parse(text).unwrap();
        let told: Vec<_> = series.iter().map(|one| (one.group(), one.better, one.values.as_slice())).collect();
        assert_eq!(
            told,
            [
                ("a", Better::Higher, &[9.0][..]),
                ("b", Better::Lower, &[1.0, 2.0][..]),
                ("c", Better::Lower, &[1.0][..])
            ]
        );
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
            let error = parse(&format!("{header}{rows}")).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
        assert!(parse("id,value\n").unwrap_err().to_string().contains("`timestamp`"));
        assert!(read(Path::new("/nowhere.csv")).is_err());
    }
}
