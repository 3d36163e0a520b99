//! Trends of series that are passed in or stored.

use rsb_model::Better;
use rsb_model::record::TrendDocument;
use rsb_report::Style;
use rsb_stats::trend::ChangeMethod;
use rsb_stats::{SeriesInput, TrendSettings, trend_with};
use rsb_store::{Series, SeriesFilter};
use serde::{Deserialize, Serialize};

use crate::keep::{KeepError, text};
use crate::stored::{open, unwritten};

/// A series as JSON. Times are in RFC 3339.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesRecord {
    id: String,
    metric: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    better: Option<Better>,
    points: Vec<(String, f64)>,
}

/// Settings of an analysis as JSON; absent keys keep their defaults.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SettingsRecord {
    method: Option<String>,
    min_size: Option<usize>,
    significance: Option<f64>,
    alert_threshold_percent: Option<f64>,
    lookback_days: Option<f64>,
    min_data_points: Option<usize>,
    recent_points: Option<usize>,
    days_ahead: Option<u32>,
    confidence: Option<f64>,
    anomaly_z: Option<f64>,
    window_size: Option<usize>,
}

impl SettingsRecord {
    fn settings(&self) -> Result<TrendSettings, KeepError> {
        let usual = TrendSettings::DEFAULT;
        let below_one = |name, value| in_range(name, value, 1.0);
        let positive = |name, value| in_range(name, value, f64::INFINITY);
        Ok(TrendSettings {
            method: self.method.as_deref().map_or(Ok(usual.method), method)?,
            min_size: at_least("min_size", self.min_size, usual.min_size, 2)?,
            significance: below_one(
                "significance",
                self.significance.unwrap_or(usual.significance),
            )?,
            alert_threshold_percent: positive(
                "alert_threshold_percent",
                self.alert_threshold_percent.unwrap_or(usual.alert_threshold_percent),
            )?,
            lookback_days: positive(
                "lookback_days",
                self.lookback_days.unwrap_or(usual.lookback_days),
            )?,
            min_data_points: at_least(
                "min_data_points",
                self.min_data_points,
                usual.min_data_points,
                3,
            )?,
            recent_points: at_least("recent_points", self.recent_points, usual.recent_points, 1)?,
            days_ahead: self.days_ahead.unwrap_or(usual.days_ahead),
            confidence: below_one("confidence", self.confidence.unwrap_or(usual.confidence))?,
            anomaly_z: positive("anomaly_z", self.anomaly_z.unwrap_or(usual.anomaly_z))?,
            window_size: at_least("window_size", self.window_size, usual.window_size, 4)?,
            ..usual
        })
    }
}

/// Parses the name of a change point method. `binary_segmentation` is an alias of `auto`.
fn method(name: &str) -> Result<ChangeMethod, KeepError> {
    match name {
        "auto" | "binary_segmentation" => Ok(ChangeMethod::Auto),
        "exact" => Ok(ChangeMethod::Exact),
        "screened" => Ok(ChangeMethod::Screened),
        "off" => Ok(ChangeMethod::Off),
        other => Err(KeepError::Unknown(format!(
            "`{other}` is not a method of change point detection; use auto, binary_segmentation, \
             exact, screened or off"
        ))),
    }
}

fn in_range(name: &str, value: f64, below: f64) -> Result<f64, KeepError> {
    if value > 0.0 && value < below {
        return Ok(value);
    }
    let limit = if below.is_finite() { format!(" and below {below}") } else { String::new() };
    Err(KeepError::Unknown(format!("{name} {value} is out of range; use a number above 0{limit}")))
}

fn at_least(
    name: &str,
    given: Option<usize>,
    usual: usize,
    least: usize,
) -> Result<usize, KeepError> {
    let value = given.unwrap_or(usual);
    if value >= least {
        return Ok(value);
    }
    Err(KeepError::Unknown(format!("{name} {value} is out of range; use at least {least}")))
}

/// Parses settings in JSON; returns the defaults if there are none.
fn settings(given: Option<&str>) -> Result<TrendSettings, KeepError> {
    let Some(given) = given else { return Ok(TrendSettings::DEFAULT) };
    let record: SettingsRecord = serde_json::from_str(given)
        .map_err(|error| KeepError::Unknown(format!("invalid settings: {error}")))?;
    record.settings()
}

/// Converts a stored series to the input of an analysis.
pub(crate) fn input(series: &Series) -> SeriesInput {
    SeriesInput {
        id: series.id.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        better: series.better,
        points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
    }
}

/// Computes the trends of `series`, a JSON list, as `json`, `text`, `markdown` or `csv`.
pub(crate) fn given(
    series: &str,
    settings_text: Option<&str>,
    format: &str,
) -> Result<String, KeepError> {
    let records: Vec<SeriesRecord> = serde_json::from_str(series)
        .map_err(|error| KeepError::Unknown(format!("invalid series: {error}")))?;
    let mut inputs = Vec::new();
    for record in records {
        let mut points = Vec::new();
        for (time, value) in record.points {
            let Some(moment) = rsb_model::calendar::parse_time(&time) else {
                return Err(KeepError::Unknown(format!(
                    "`{time}` in the series is not a valid time; use RFC 3339 \
                     (2026-11-21T09:03:12Z)"
                )));
            };
            points.push((moment, value));
        }
        inputs.push(SeriesInput {
            id: record.id,
            metric: record.metric,
            unit: record.unit,
            better: record.better,
            points,
        });
    }
    write(&trend_with(&inputs, &settings(settings_text)?), format)
}

/// Computes the trends of `metric` for stored cases whose ID contains `case`, as [`given`] does.
pub(crate) fn stored(
    results_dir: &str,
    filter: &SeriesFilter,
    settings_text: Option<&str>,
    format: &str,
) -> Result<String, KeepError> {
    let series = open(results_dir)?.series(filter).map_err(KeepError::Store)?;
    let inputs: Vec<SeriesInput> = series.iter().map(input).collect();
    write(&trend_with(&inputs, &settings(settings_text)?), format)
}

/// Returns the selected stored series as JSON, in the form that [`given`] reads.
pub(crate) fn series(results_dir: &str, filter: &SeriesFilter) -> Result<String, KeepError> {
    let found = open(results_dir)?.series(filter).map_err(KeepError::Store)?;
    let mut records = Vec::new();
    for series in found {
        let points = series.points.iter().map(|point| (point.timestamp.to_string(), point.value));
        records.push(SeriesRecord {
            points: points.collect(),
            id: series.id,
            metric: series.metric,
            unit: series.unit,
            better: series.better,
        });
    }
    text(&records)
}

/// Returns the filter for the cases whose ID contains `case`, with one metric or all.
pub(crate) fn filter(metric: Option<&str>, case: Option<&str>) -> SeriesFilter {
    SeriesFilter {
        cases: case.map(|case| format!("*{case}*")),
        metric: metric.map(str::to_owned),
        ..SeriesFilter::default()
    }
}

fn write(document: &TrendDocument, format: &str) -> Result<String, KeepError> {
    match format {
        "json" => text(document),
        "text" => Ok(rsb_report::trend::text(document, None, Style::PLAIN)),
        "markdown" => Ok(rsb_report::trend::markdown(document)),
        "csv" => rsb_report::trend::csv_rows(document).map_err(unwritten),
        other => Err(KeepError::Unknown(format!(
            "`{other}` is not a format of trends; use json, text, markdown or csv"
        ))),
    }
}
