//! What asks for attention in a series, and what to do about it.

use rsb_model::record::{Alert, ChangePoint, Severity};
use rsb_model::{Better, Timestamp};

use super::line::Line;
use super::{LEAST_SPAN, SeriesInput, days_between, percent_change};

/// Changes smaller than this are not worth an alert, in percent.
const WORTH_TELLING: f64 = 5.0;

/// Changes for the worse from here on are critical, in percent.
const CRITICAL: f64 = 20.0;

/// The last change of level, or else the trend over the whole series, where it is large enough to matter.
pub(super) fn of(
    series: &SeriesInput,
    points: &[(Timestamp, f64)],
    changes: &[ChangePoint],
    trend: Option<Line>,
) -> Vec<Alert> {
    let found = match changes.last() {
        Some(change) => stepped(series, change),
        None => trend.and_then(|line| drifted(series, points, line)),
    };
    found.into_iter().collect()
}

fn stepped(series: &SeriesInput, change: &ChangePoint) -> Option<Alert> {
    let description = format!(
        "{} went from {:.4} to {:.4} {} at {} ({:+.1} %)",
        series.metric, change.before, change.after, series.unit, change.timestamp, change.change_percent
    );
    let look =
        format!("compare the runs before and after {}: what changed in the code or on the machine?", change.timestamp);
    alert(series, change.change_percent, description, look)
}

fn drifted(series: &SeriesInput, points: &[(Timestamp, f64)], line: Line) -> Option<Alert> {
    let days = days_between(points.first()?.0, points.last()?.0);
    let change = percent_change(line.at(0.0), line.at(days))?;
    let (metric, unit, slope) = (&series.metric, &series.unit, line.slope);
    let description = if days < LEAST_SPAN {
        format!("{metric} goes by {change:+.1} % within less than a day")
    } else {
        format!("{metric} goes by {slope:+.4} {unit} a day: {change:+.1} % over {days:.1} days")
    };
    let look = "a slow drift is seldom one commit: compare the first run with the last, then those between".to_owned();
    alert(series, change, description, look)
}

fn alert(series: &SeriesInput, change_percent: f64, description: String, look: String) -> Option<Alert> {
    let size = change_percent.abs();
    if size < WORTH_TELLING {
        return None;
    }
    let for_the_worse = series.better.map(|better| (better == Better::Lower) == (change_percent > 0.0));
    let (direction, severity, recommendation) = match for_the_worse {
        Some(true) if size >= CRITICAL => ("worse", Severity::Critical, look),
        Some(true) => ("worse", Severity::Warning, look),
        Some(false) => ("better", Severity::Info, "save a new baseline, so that the gain is kept".to_owned()),
        None => {
            let unknown = format!("{look} Say which way is better with a column `better` (lower, higher).");
            ("changed", Severity::Warning, unknown)
        }
    };
    Some(Alert {
        metric: series.metric.clone(),
        direction: direction.to_owned(),
        change_percent,
        severity,
        description,
        recommendation,
    })
}
