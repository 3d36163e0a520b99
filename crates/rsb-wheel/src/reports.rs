//! Reports on runs, comparisons and environments.

use std::path::Path;

use rsb_model::{ComparisonResult, Environment, Run};
use rsb_report::charts::ChartSelection;
use rsb_report::comparison::Detail;
use rsb_report::{
    GateFormat, Glyphs, PageLook, PageTheme, Report, ReportPart, Style, Theme, ThemeName,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::keep::{GateRequest, KeepError, judge_files};
use crate::stored::unwritten;

/// Baseline or comparison of a report, its content, and its look.
#[derive(Default)]
pub(crate) struct ReportOptions {
    /// File of the baseline run.
    pub(crate) baseline: Option<String>,
    /// Comparison in JSON, instead of a baseline.
    pub(crate) comparison: Option<String>,
    /// Title that replaces the machine's name.
    pub(crate) title: Option<String>,
    /// Optional parts of human-readable reports to include; by default all.
    pub(crate) parts: Option<Vec<String>>,
    /// Color scheme of the HTML page.
    pub(crate) theme: Option<String>,
    /// Maximum width of a chart of the HTML page in pixels.
    pub(crate) chart_width: Option<u32>,
}

impl ReportOptions {
    fn parts(&self) -> Result<Vec<ReportPart>, KeepError> {
        let Some(parts) = &self.parts else { return Ok(ReportPart::ALL.to_vec()) };
        parts.iter().map(|name| named("part of a report", name)).collect()
    }

    fn look(&self) -> Result<PageLook<'static>, KeepError> {
        let theme: PageTheme = match &self.theme {
            Some(name) => named("theme", name)?,
            None => PageTheme::default(),
        };
        let chart_width = self.chart_width.unwrap_or(PageLook::CHART_WIDTH);
        Ok(PageLook { theme, chart_width, data: None })
    }
}

/// Parses the name of an enumeration value; the error lists the valid names.
fn named<T: DeserializeOwned>(kind: &str, name: &str) -> Result<T, KeepError> {
    serde_json::from_value(Value::String(name.to_owned()))
        .map_err(|error| KeepError::Unknown(format!("{kind}: {error}")))
}

/// Parses a comparison in JSON.
fn comparison_in(text: &str) -> Result<ComparisonResult, KeepError> {
    serde_json::from_str(text).map_err(KeepError::Comparison)
}

/// Returns a report on the run in the file `current`.
pub(crate) fn report(
    current: &str,
    format: &str,
    options: &ReportOptions,
) -> Result<String, KeepError> {
    let run: Run = rsb_store::read_run(Path::new(current)).map_err(unwritten)?;
    let mut earlier = Vec::new();
    let comparison = match (&options.comparison, &options.baseline) {
        (Some(text), _) => Some(comparison_in(text)?),
        (None, Some(baseline)) => {
            let answer = judge_files(GateRequest {
                baseline: vec![baseline.clone()],
                current: vec![current.to_owned()],
                threshold_percent: None,
                policy: None,
            })?;
            earlier = answer.baseline;
            Some(answer.result)
        }
        (None, None) => None,
    };
    let advice = rsb_insight::advice::of_run(&run, &earlier);
    let parts = options.parts()?;
    let mut report = Report::new(&run)
        .with_recommendations(&advice)
        .with_title(options.title.as_deref())
        .with_parts(&parts);
    if let Some(comparison) = &comparison {
        report = report.with_comparison(comparison);
    }
    match format {
        "markdown" => Ok(rsb_report::report::markdown(&report, &[])),
        "html" => Ok(rsb_report::html::page(&report, &options.look()?)),
        "text" => Ok(rsb_report::report::text(&report, &pictures_of(&report), Style::PLAIN)),
        "csv" => rsb_report::report::csv(&report).map_err(unwritten),
        "json" => rsb_report::report::json(&report).map_err(unwritten),
        other => Err(KeepError::Unknown(format!(
            "`{other}` is not a report format; use markdown, html, text, csv or json"
        ))),
    }
}

/// Draws the selected charts of `report` as text; empty if it has none.
fn pictures_of(report: &Report<'_>) -> String {
    if !report.has(ReportPart::Charts) {
        return String::new();
    }
    let charts = ChartSelection::of(report).shown;
    rsb_report::pictures(&charts, Glyphs::Unicode, &Theme::from(ThemeName::Dark), Style::PLAIN)
}

/// Formats an environment in JSON as Markdown.
pub(crate) fn environment(environment: &str) -> Result<String, KeepError> {
    let environment: Environment = serde_json::from_str(environment)
        .map_err(|error| KeepError::Unknown(format!("invalid environment: {error}")))?;
    Ok(rsb_report::environment::markdown(&environment))
}

/// Formats a comparison in JSON in one of the gate's formats.
pub(crate) fn comparison(comparison: &str, format: &str) -> Result<String, KeepError> {
    let format: GateFormat = format.parse().map_err(unwritten)?;
    let result = comparison_in(comparison)?;
    rsb_report::gate::write(&result, format, Style::PLAIN, Detail::Full).map_err(unwritten)
}

/// Draws the changes of a comparison in JSON as SVG; `None` if no value can be compared.
pub(crate) fn comparison_svg(comparison: &str) -> Result<Option<String>, KeepError> {
    let chart = rsb_report::charts::delta(&comparison_in(comparison)?);
    Ok(chart.and_then(|chart| rsb_report::svg(&chart)))
}
