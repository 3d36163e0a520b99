//! The whole report on a run: what a person opens after a night of measuring.

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
use crate::{run, targets};

pub use markdown::markdown;

/// A part that a report may leave out. The verdict, the results and what was not measured are
/// always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportPart {
    /// The machine.
    Environment,
    /// Each case beside the baseline, with what differs on the machine.
    Comparison,
    /// What to do about what the figures show.
    Recommendations,
    /// The charts.
    Charts,
}

impl ReportPart {
    /// Every part.
    pub const ALL: [Self; 4] =
        [Self::Environment, Self::Comparison, Self::Recommendations, Self::Charts];
}

/// Content of a report in addition to the run.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// The comparison with the baseline that is saved for the run's machine and suite.
    pub comparison: Option<ComparisonResult>,
    /// Why there is no comparison, if the reason is not just that no baseline is saved.
    pub not_compared: Option<String>,
    /// Environment of the baseline.
    pub baseline: Option<Environment>,
    /// Absolute targets.
    pub checks: Vec<ThresholdCheck>,
    /// Recommendations, each with the metrics that support it.
    pub recommendations: Vec<Recommendation>,
}

impl ReportInput {
    /// Returns the report on `run`.
    pub fn report<'a>(&'a self, run: &'a Run) -> Report<'a> {
        let report = Report {
            recommendations: &self.recommendations,
            threshold_checks: &self.checks,
            not_compared: self.not_compared.as_deref(),
            baseline: self.baseline.as_ref(),
            ..Report::new(run)
        };
        match &self.comparison {
            Some(comparison) => report.with_comparison(comparison),
            None => report,
        }
    }
}

/// A run, with what it was compared with and the targets it was held to.
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
}

impl<'a> Report<'a> {
    /// A report on `run` alone.
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
        }
    }

    /// With what came out of comparing it. Its targets are taken over, unless others were given.
    #[must_use]
    pub fn with_comparison(mut self, comparison: &'a ComparisonResult) -> Self {
        self.comparison = Some(comparison);
        if self.threshold_checks.is_empty() {
            self.threshold_checks = &comparison.threshold_checks;
        }
        self
    }

    /// With the reason why it was compared with nothing.
    #[must_use]
    pub const fn with_no_comparison(mut self, why: &'a str) -> Self {
        self.not_compared = Some(why);
        self
    }

    /// With the machine as it was when the baseline was measured.
    #[must_use]
    pub const fn with_baseline(mut self, environment: &'a Environment) -> Self {
        self.baseline = Some(environment);
        self
    }

    /// With absolute targets.
    #[must_use]
    pub const fn with_checks(mut self, checks: &'a [ThresholdCheck]) -> Self {
        self.threshold_checks = checks;
        self
    }

    /// With what to do, each with the figures it rests on.
    #[must_use]
    pub const fn with_recommendations(mut self, recommendations: &'a [Recommendation]) -> Self {
        self.recommendations = recommendations;
        self
    }

    /// With a title in place of the machine's name, for people.
    #[must_use]
    pub const fn with_title(mut self, title: Option<&'a str>) -> Self {
        self.title = title;
        self
    }

    /// With these parts, for people; documents for programs hold everything.
    #[must_use]
    pub const fn with_parts(mut self, parts: &'a [ReportPart]) -> Self {
        self.parts = parts;
        self
    }

    /// The run.
    pub const fn run(&self) -> &'a Run {
        self.run
    }

    /// Whether `part` is shown.
    pub fn has(&self, part: ReportPart) -> bool {
        self.parts.contains(&part)
    }
}

/// For programs: `{format_version, run, comparison, threshold_checks, recommendations}`.
///
/// # Errors
/// When the data has no form in JSON.
pub fn json(report: &Report<'_>) -> Result<String, ReportError> {
    to_json(report)
}

/// Every metric of every case; see [`run::csv_rows`].
///
/// # Errors
/// Never for data that the model can hold.
pub fn csv(report: &Report<'_>) -> Result<String, ReportError> {
    run::csv_rows(report.run)
}

/// For a terminal: the run, then the comparison or the targets; the verdict is the last line.
pub fn text(report: &Report<'_>, style: Style) -> String {
    let mut out = run::text(report.run, style);
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
