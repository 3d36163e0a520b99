//! The full report on a run.

pub(crate) mod blocks;
pub(crate) mod content;
mod markdown;
pub(crate) mod sections;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{Recommendation, ThresholdCheck};
use rsb_model::{ComparisonResult, Environment, Run};
use serde::{Deserialize, Serialize};

use crate::comparison::{self, Detail};
use crate::document::{ReportError, json as to_json};
use crate::style::Style;
use crate::{health, run, targets};

pub use markdown::markdown;

/// An optional part of a report. The verdict, the results and the cases that were not measured are
/// always included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportPart {
    /// The machine.
    Environment,
    /// Each case next to its baseline, and the differences between the machines.
    Comparison,
    /// Recommended actions.
    Recommendations,
    /// The charts.
    Charts,
}

impl ReportPart {
    /// All parts.
    pub const ALL: [Self; 4] =
        [Self::Environment, Self::Comparison, Self::Recommendations, Self::Charts];
}

/// Content of a report in addition to the run.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// The comparison with the baseline that is saved for the run's machine and suite.
    pub comparison: Option<ComparisonResult>,
    /// Why there is no comparison, unless the only reason is that no baseline is saved.
    pub not_compared: Option<String>,
    /// Environment of the baseline.
    pub baseline: Option<Environment>,
    /// Absolute targets.
    pub checks: Vec<ThresholdCheck>,
    /// Recommendations, each with the metrics that support it.
    pub recommendations: Vec<Recommendation>,
    /// Whether to draw charts of simulated results.
    pub draws_simulated: bool,
}

impl ReportInput {
    /// Returns the report on `run`.
    pub fn report<'a>(&'a self, run: &'a Run) -> Report<'a> {
        let report = Report {
            recommendations: &self.recommendations,
            threshold_checks: &self.checks,
            not_compared: self.not_compared.as_deref(),
            baseline: self.baseline.as_ref(),
            draws_simulated: self.draws_simulated,
            ..Report::new(run)
        };
        match &self.comparison {
            Some(comparison) => report.with_comparison(comparison),
            None => report,
        }
    }
}

/// A run, with its comparison and targets.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Report<'a> {
    format_version: u32,
    run: &'a Run,
    pub(crate) comparison: Option<&'a ComparisonResult>,
    pub(crate) threshold_checks: &'a [ThresholdCheck],
    pub(crate) recommendations: &'a [Recommendation],
    #[serde(skip)]
    pub(crate) not_compared: Option<&'a str>,
    #[serde(skip)]
    pub(crate) baseline: Option<&'a Environment>,
    #[serde(skip)]
    title: Option<&'a str>,
    #[serde(skip)]
    parts: &'a [ReportPart],
    #[serde(skip)]
    pub(crate) draws_simulated: bool,
}

impl<'a> Report<'a> {
    /// Returns a report on `run` only.
    pub const fn new(run: &'a Run) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            run,
            comparison: None,
            threshold_checks: &[],
            recommendations: &[],
            not_compared: None,
            baseline: None,
            title: None,
            parts: &ReportPart::ALL,
            draws_simulated: false,
        }
    }

    /// Sets the comparison. Its targets are used unless others were set.
    #[must_use]
    pub fn with_comparison(mut self, comparison: &'a ComparisonResult) -> Self {
        self.comparison = Some(comparison);
        if self.threshold_checks.is_empty() {
            self.threshold_checks = &comparison.threshold_checks;
        }
        self
    }

    /// Sets the reason why there is no comparison.
    #[must_use]
    pub const fn with_no_comparison(mut self, why: &'a str) -> Self {
        self.not_compared = Some(why);
        self
    }

    /// Sets the environment in which the baseline was measured.
    #[must_use]
    pub const fn with_baseline(mut self, environment: &'a Environment) -> Self {
        self.baseline = Some(environment);
        self
    }

    /// Sets absolute targets.
    #[must_use]
    pub const fn with_checks(mut self, checks: &'a [ThresholdCheck]) -> Self {
        self.threshold_checks = checks;
        self
    }

    /// Sets the recommendations, each with the metrics that support it.
    #[must_use]
    pub const fn with_recommendations(mut self, recommendations: &'a [Recommendation]) -> Self {
        self.recommendations = recommendations;
        self
    }

    /// Sets a title that replaces the machine's name.
    #[must_use]
    pub const fn with_title(mut self, title: Option<&'a str>) -> Self {
        self.title = title;
        self
    }

    /// Sets the parts of human-readable reports; JSON and CSV contain everything.
    #[must_use]
    pub const fn with_parts(mut self, parts: &'a [ReportPart]) -> Self {
        self.parts = parts;
        self
    }

    /// Sets whether charts of simulated results are drawn, each with a mark.
    #[must_use]
    pub const fn with_simulated(mut self, draws_simulated: bool) -> Self {
        self.draws_simulated = draws_simulated;
        self
    }

    /// Returns the run.
    pub const fn run(&self) -> &'a Run {
        self.run
    }

    /// Returns whether `part` is included.
    pub fn has(&self, part: ReportPart) -> bool {
        self.parts.contains(&part)
    }
}

/// Formats the report as JSON: `{format_version, run, comparison, threshold_checks,
/// recommendations}`.
///
/// # Errors
/// If the data cannot be represented in JSON.
pub fn json(report: &Report<'_>) -> Result<String, ReportError> {
    to_json(report)
}

/// Formats all metrics of all cases as CSV; see [`run::csv_rows`].
///
/// # Errors
/// If the CSV writer fails, which the data of a run cannot cause.
pub fn csv(report: &Report<'_>) -> Result<String, ReportError> {
    run::csv_rows(report.run)
}

/// Formats the report for a terminal: the charts, drawn as `pictures`, then the run, the
/// recommendations, the targets and the comparison. The verdict is the last line.
pub fn text(report: &Report<'_>, pictures: &str, style: Style) -> String {
    let mut out = pictures.to_owned();
    out.push_str(&run::text(report.run, style));
    if report.has(ReportPart::Recommendations) {
        out.push_str(&health::recommendations(report.recommendations, "Recommendations", style));
    }
    let shown = report
        .comparison
        .is_some_and(|comparison| comparison.threshold_checks == report.threshold_checks);
    if !shown && !report.threshold_checks.is_empty() {
        out.push('\n');
        out.push_str(targets::text(report.threshold_checks, style).trim_end());
        out.push('\n');
    }
    if let Some(comparison) = report.comparison {
        out.push('\n');
        out.push_str(&comparison::text(comparison, style, Detail::Brief));
    }
    out
}
