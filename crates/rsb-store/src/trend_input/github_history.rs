//! The history file of github-action-benchmark: `data.js`, or the same document as JSON.

use rsb_model::{Better, Timestamp};
use serde_json::Value;

use super::{Problem, Series, SeriesByName, SeriesPoint, entry};

const CURE: &str = "restore the file from a copy, or remove the run";

/// Reads the series of a history; `None` if `bytes` are not such a file.
///
/// # Errors
/// If the file is cut off, or a run has no time or value: the line, its problem, and how to fix it.
pub(super) fn read(bytes: &[u8]) -> Option<Result<Vec<Series>, (u64, Problem)>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    let script = text.strip_prefix("window.BENCHMARK_DATA");
    let json =
        script.map_or(text, |rest| rest.trim_start_matches([' ', '=']).trim_end_matches(';'));
    if script.is_none() && !(json.starts_with('{') && json.contains("\"entries\"")) {
        return None;
    }
    let document: Value = match serde_json::from_str(json) {
        Ok(document) => document,
        Err(error) => {
            let problem = (rsb_model::json::without_place(&error), CURE);
            return Some(Err((error.line() as u64, problem)));
        }
    };
    Some(series_of(&document).map_err(|problem| (1, (problem, CURE))))
}

fn series_of(document: &Value) -> Result<Vec<Series>, String> {
    let entries = document.get("entries").and_then(Value::as_object);
    let entries = entries.ok_or("it has no `entries`")?;
    let mut series = SeriesByName::new();
    for (suite, runs) in entries {
        for run in runs.as_array().ok_or_else(|| format!("`{suite}` is not a list of runs"))? {
            add(&mut series, suite, run)?;
        }
    }
    Ok(series.into_values().collect())
}

/// Adds the values of one run to the series.
fn add(series: &mut SeriesByName, suite: &str, run: &Value) -> Result<(), String> {
    let date = run.get("date").and_then(Value::as_i64);
    let timestamp = date
        .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok())
        .ok_or_else(|| format!("a run of `{suite}` has no valid `date` in milliseconds"))?;
    let commit = run.pointer("/commit/id").and_then(Value::as_str);
    let better = better(run.get("tool").and_then(Value::as_str).unwrap_or_default());
    let benches = run.get("benches").and_then(Value::as_array);
    for bench in benches.ok_or_else(|| format!("a run of `{suite}` has no `benches`"))? {
        let text = |key: &str| bench.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        let value =
            bench.get("value").and_then(Value::as_f64).filter(|value| !value.is_subnormal());
        let value = value.ok_or_else(|| {
            format!("`{name}` of `{suite}` at {timestamp} has no number as `value`")
        })?;
        let one = entry(series, &format!("{suite}/{name}"), text("unit"));
        one.better = one.better.or(better);
        let commit = commit.map(str::to_owned);
        one.points.push(SeriesPoint { timestamp, value, run_id: None, commit });
    }
    Ok(())
}

/// Returns the direction of improvement for tools whose units do not determine it.
fn better(tool: &str) -> Option<Better> {
    match tool {
        "customBiggerIsBetter" | "benchmarkjs" | "pytest" => Some(Better::Higher),
        "customSmallerIsBetter" => Some(Better::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rsb_model::Better;

    use crate::trend_input::read_series_from;

    const RUNS: &str = r#"{"lastUpdate": 2, "repoUrl": "", "entries": {"Rust": [
        {"commit": {"id": "d06e217"}, "date": 1579585381703, "tool": "cargo",
         "benches": [{"name": "call", "value": 78575, "range": "± 1336", "unit": "ns/iter"}]},
        {"commit": {"id": "a1b2c3d"}, "date": 1579485381703, "tool": "cargo",
         "benches": [{"name": "call", "value": 70000, "unit": "ns/iter"}]}],
        "Custom": [{"date": 1579585381703, "tool": "customBiggerIsBetter",
         "benches": [{"name": "rate", "value": 5.5, "unit": "x"}]}]}}"#;

    #[test]
    fn runs_become_points_by_time_with_their_commits() {
        for text in [RUNS.to_owned(), format!("window.BENCHMARK_DATA = {RUNS};\n")] {
            let series = read_series_from(text.as_bytes(), Path::new("data.js")).unwrap();
            let [custom, rust] = &series[..] else { panic!("{series:?}") };
            assert_eq!((custom.id.as_str(), custom.better), ("Custom/rate", Some(Better::Higher)));
            assert_eq!((rust.id.as_str(), rust.better), ("Rust/call", Some(Better::Lower)));
            let points: Vec<_> =
                rust.points.iter().map(|point| (point.value, point.commit.as_deref())).collect();
            assert_eq!(points, [(70_000.0, Some("a1b2c3d")), (78_575.0, Some("d06e217"))]);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("window.BENCHMARK_DATA = {", "line 1: "),
            ("window.BENCHMARK_DATA = {}", "no `entries`"),
            (&RUNS.replace("1579485381703", "\"yesterday\""), "`Rust` has no valid `date`"),
            (&RUNS.replace("78575", "\"fast\""), "no number as `value`"),
        ] {
            let error = read_series_from(text.as_bytes(), Path::new("data.js")).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("`data.js`, line ") && error.contains(part), "{error}");
        }
    }
}
