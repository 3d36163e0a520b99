//! Alerts on a series, with a recommendation for each.

use rsb_model::record::{Alert, AlertBasis, ChangePoint, LevelPart, Ramp, Severity};
use rsb_model::{Better, Timestamp};

use super::line::Line;
use super::settings::TrendSettings;
use super::{LEAST_SPAN, SeriesInput, days_between, percent_change};
use crate::estimate::mean;

/// Input of the alerts.
pub(super) struct Findings<'a> {
    pub(super) series: &'a SeriesInput,
    pub(super) points: &'a [(Timestamp, f64)],
    pub(super) confirmed: &'a [ChangePoint],
    pub(super) suspected: &'a [ChangePoint],
    pub(super) ramp: Option<&'a Ramp>,
    /// The line of a drift that is significant among all series.
    pub(super) drift: Option<Line>,
    pub(super) settings: &'a TrendSettings,
}

/// An alert whose severity is not determined yet.
struct AlertDraft {
    basis: AlertBasis,
    change_percent: f64,
    /// End of the points before the change, and first point of the change, as positions.
    places: [usize; 2],
    /// Whether only the share of runs at the upper of two levels changed, which a different mix of
    /// machines can explain.
    is_share: bool,
    description: String,
    look: String,
}

impl Findings<'_> {
    /// Returns the alerts, the newest first: suspected and confirmed changes, a drift or a ramp
    /// that are significant among all series and reach the threshold. Of the changes before the
    /// lookback, only the last one is reported, as information.
    pub(super) fn alerts(&self) -> Vec<Alert> {
        let counts =
            |change: &&ChangePoint| change.q_value.is_none_or(|q| q <= self.settings.significance);
        let suspected =
            self.suspected.iter().filter(counts).map(|change| self.draft_suspicion(change));
        let last = self.confirmed.len().saturating_sub(1);
        let confirmed = self.confirmed.iter().enumerate().rev();
        let confirmed =
            confirmed.filter(|(at, change)| *at == last || self.is_recent(change.index));
        let confirmed = confirmed.filter(|(_, change)| {
            !self.ramp.is_some_and(|ramp| (ramp.from_index..=ramp.to_index).contains(&change.index))
        });
        let confirmed = confirmed
            .filter(|(_, change)| counts(change))
            .map(|(_, change)| self.draft_step(change));
        let ramp = self.ramp.map(|ramp| self.draft_ramp(ramp));
        let drift = self.drift.and_then(|line| self.draft_drift(line));
        suspected
            .chain(confirmed)
            .chain(ramp)
            .chain(drift)
            .filter_map(|happened| self.alert(happened))
            .collect()
    }

    /// Returns whether the point is within the lookback: a number of days, or the last points,
    /// twice as many as a verdict needs, if these go back further. A weekly series therefore has
    /// alerts as well.
    fn is_recent(&self, index: usize) -> bool {
        let fewest = 2 * self.settings.min_data_points.max(self.settings.min_size);
        let (Some(&(time, _)), Some(&(last, _))) = (self.points.get(index), self.points.last())
        else {
            return false;
        };
        days_between(time, last) <= self.settings.lookback_days
            || index + fewest >= self.points.len()
    }

    /// Returns a remark for a change before the lookback; empty for a recent one.
    fn age(&self, index: usize) -> String {
        let days = self.settings.lookback_days;
        if self.is_recent(index) {
            String::new()
        } else {
            format!("; more than {days} days before the last point")
        }
    }

    fn draft_suspicion(&self, change: &ChangePoint) -> AlertDraft {
        let (metric, unit, needed) =
            (&self.series.metric, &self.series.unit, self.settings.min_size);
        let description = format!(
            "suspected: the last {} of {metric}, {:.4} {unit} since {}, {} not fit the level of \
             {:.4} before ({:+.1} %)",
            format_point_count(change.points),
            change.after,
            change.timestamp,
            if change.points == 1 { "does" } else { "do" },
            change.before,
            change.change_percent
        );
        let look = if change.points < needed {
            format!("measure again: a new level is confirmed after {needed} points")
        } else {
            "measure again: these points do not confirm a change in this much noise".to_owned()
        };
        AlertDraft {
            basis: AlertBasis::Suspected,
            change_percent: change.change_percent,
            places: [change.index; 2],
            is_share: false,
            description,
            look,
        }
    }

    fn draft_step(&self, change: &ChangePoint) -> AlertDraft {
        let (metric, unit, time) = (&self.series.metric, &self.series.unit, change.timestamp);
        let (before, after, percent) = (change.before, change.after, change.change_percent);
        let description = match change.part {
            None => format!(
                "{metric} went from {before:.4} to {after:.4} {unit} at {time} ({percent:+.1} %)"
            ),
            Some(LevelPart::Share) => format!(
                "the share of runs at the upper of two levels changed at {time}: {metric} went \
                 from {before:.4} to {after:.4} {unit} on average ({percent:+.1} %)"
            ),
            Some(part) => format!(
                "the {} of two levels of {metric} went from {before:.4} to {after:.4} {unit} at \
                 {time} ({percent:+.1} %)",
                if part == LevelPart::Lower { "lower" } else { "upper" }
            ),
        };
        let description = description + &self.age(change.index);
        let look = format!(
            "compare the runs before and after {time}: what changed in the code or on the machine?"
        );
        AlertDraft {
            basis: AlertBasis::Confirmed,
            change_percent: percent,
            places: [change.index; 2],
            is_share: change.part == Some(LevelPart::Share),
            description,
            look,
        }
    }

    fn draft_ramp(&self, ramp: &Ramp) -> AlertDraft {
        let (metric, unit) = (&self.series.metric, &self.series.unit);
        let (from, to) = (ramp.from_timestamp, ramp.to_timestamp);
        let description = format!(
            "{metric} went step by step from {:.4} to {:.4} {unit} between {from} and {to} ({:+.1} \
             %)",
            ramp.before, ramp.after, ramp.change_percent
        );
        let description = description + &self.age(ramp.to_index);
        let look = format!(
            "compare the runs before {from} and after {to}, then those in between: more than one \
             change adds up"
        );
        let places = [ramp.from_index, ramp.to_index];
        AlertDraft {
            basis: AlertBasis::Ramp,
            change_percent: ramp.change_percent,
            places,
            is_share: false,
            description,
            look,
        }
    }

    fn draft_drift(&self, line: Line) -> Option<AlertDraft> {
        let days = days_between(self.points.first()?.0, self.points.last()?.0);
        let change = percent_change(line.at(0.0), line.at(days))?;
        let (metric, unit, slope) = (&self.series.metric, &self.series.unit, line.slope);
        let description = if days < LEAST_SPAN {
            format!("{metric} drifts by {change:+.1} % within less than a day")
        } else {
            format!(
                "{metric} drifts by {slope:+.4} {unit} a day: {change:+.1} % over {days:.1} days"
            )
        };
        let look =
            "a slow drift is rarely one commit: compare the first run with the last, then those in \
             between"
                .to_owned();
        // A drift is current, wherever it began, so its end is the last point; it is compared with
        // the first points of the series.
        let before = self.settings.recent_points.clamp(1, self.points.len());
        let places = [before, self.points.len() - 1];
        Some(AlertDraft {
            basis: AlertBasis::Drift,
            change_percent: change,
            places,
            is_share: false,
            description,
            look,
        })
    }

    fn alert(&self, happened: AlertDraft) -> Option<Alert> {
        let AlertDraft {
            basis,
            change_percent,
            places: [before, since],
            is_share,
            description,
            look,
        } = happened;
        let threshold = self.settings.alert_threshold_percent;
        let size = change_percent.abs();
        // Tolerance, so that rounding does not put a change of exactly the threshold below it.
        if size < threshold * (1.0 - 1e-9) {
            return None;
        }
        let for_the_worse =
            self.series.better.map(|better| (better == Better::Lower) == (change_percent > 0.0));
        let is_proved = basis != AlertBasis::Suspected;
        let is_recent = self.is_recent(since);
        let (direction, severity, recommendation) = match for_the_worse {
            Some(true) if size >= 2.0 * threshold && is_proved && !is_share => {
                ("worse", Severity::Critical, look)
            }
            Some(true) => ("worse", Severity::Warning, look),
            Some(false) if is_proved => {
                ("better", Severity::Info, "save a new baseline to keep the gain".to_owned())
            }
            Some(false) => ("better", Severity::Info, look),
            None => {
                let unknown = format!(
                    "add a column `better` (lower, higher) to set which direction is better; {look}"
                );
                ("changed", Severity::Warning, unknown)
            }
        };
        let level_from = self
            .confirmed
            .iter()
            .map(|change| change.index)
            .rfind(|index| *index < before)
            .unwrap_or(0);
        let baseline: Vec<f64> =
            self.points.get(level_from..before)?.iter().map(|point| point.1).collect();
        let (baseline_mean, current_value) = (mean(&baseline)?, self.points.last()?.1);
        let series =
            if self.series.id.is_empty() { String::new() } else { format!("{}: ", self.series.id) };
        Some(Alert {
            metric: self.series.metric.clone(),
            direction: direction.to_owned(),
            change_percent,
            severity: if is_recent { severity } else { Severity::Info },
            message: format!("{series}{direction}: {description}; {recommendation}"),
            description,
            recommendation,
            basis,
            baseline_mean,
            current_value,
            deviation_percent: percent_change(baseline_mean, current_value),
        })
    }
}

fn format_point_count(points: usize) -> String {
    if points == 1 { "point".to_owned() } else { format!("{points} points") }
}
