//! Series of the history page: their order, their steps, and the filter.

use rsb_model::Timestamp;
use rsb_model::record::{AlertState, ChangeRange, SeriesTrend, TrackedAlert};

use crate::message::HistoryPage;

/// Order of the series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SeriesOrder {
    /// Largest change of level first.
    #[default]
    Moved,
    /// Newest change of level first.
    Newest,
    /// By name.
    Name,
    /// Largest last value first.
    Last,
}

impl SeriesOrder {
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Moved => Self::Newest,
            Self::Newest => Self::Name,
            Self::Name => Self::Last,
            Self::Last => Self::Moved,
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Moved => "largest change first",
            Self::Newest => "newest change first",
            Self::Name => "by name",
            Self::Last => "largest value first",
        }
    }
}

/// Newest change of level of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeriesStep<'p> {
    pub(crate) percent: f64,
    /// Time of the first point at the new level.
    pub(crate) since: Timestamp,
    /// `worse`, `better` or `changed`.
    pub(crate) direction: &'p str,
    /// Runs before and after the change, if it is tracked.
    pub(crate) range: Option<&'p ChangeRange>,
    /// The tracked change.
    pub(crate) alert: Option<&'p TrackedAlert>,
}

impl SeriesStep<'_> {
    /// Returns whether a user has acknowledged the change, or named its cause.
    pub(crate) fn is_known(&self) -> bool {
        let state = self.alert.map(|alert| alert.state);
        matches!(state, Some(AlertState::Acknowledged | AlertState::Downstream))
    }
}

/// Returns the newest change of level of `series`: a tracked one, otherwise one of its points.
pub(crate) fn step_of<'p>(page: &'p HistoryPage, series: &SeriesTrend) -> Option<SeriesStep<'p>> {
    let point = series.change_points.last().map(|point| SeriesStep {
        percent: point.change_percent,
        since: point.timestamp,
        direction: "changed",
        range: None,
        alert: None,
    });
    let tracked = page.alerts.iter().filter(|alert| alert.state != AlertState::Invalid);
    let of_series = tracked.flat_map(|alert| {
        let own =
            alert.moves.iter().filter(|one| (&one.id, &one.metric) == (&series.id, &series.metric));
        own.map(|one| {
            let range = alert.range_of(one);
            let since = range.first_after.timestamp;
            SeriesStep {
                percent: one.change_percent,
                since,
                direction: &alert.direction,
                range: Some(range),
                alert: Some(alert),
            }
        })
    });
    point.into_iter().chain(of_series).max_by_key(|step| (step.since, step.range.is_some()))
}

/// Returns the series of `page` to list: those that match `search`, without those of a single run
/// unless `shows_all`, in `order`.
pub(crate) fn listed<'p>(
    page: &'p HistoryPage,
    search: &str,
    shows_all: bool,
    order: SeriesOrder,
) -> Vec<&'p SeriesTrend> {
    let search = search.to_lowercase();
    let hides = !shows_all && page.trends.series.iter().any(|series| series.n > 1);
    let mut listed: Vec<(&SeriesTrend, Option<SeriesStep<'_>>)> = Vec::new();
    for series in &page.trends.series {
        if matches_series(series, &search) && !(hides && series.n < 2) {
            listed.push((series, step_of(page, series)));
        }
    }
    match order {
        SeriesOrder::Moved => listed.sort_by(|(a, at), (b, bt)| {
            let size = |series: &SeriesTrend, step: &Option<SeriesStep<'_>>| {
                step.map(|step| step.percent)
                    .or_else(|| drift_percent(series))
                    .map_or(-1.0, f64::abs)
            };
            size(b, bt).total_cmp(&size(a, at))
        }),
        SeriesOrder::Newest => {
            listed.sort_by_key(|(_, step)| std::cmp::Reverse(step.map(|step| step.since)));
        }
        SeriesOrder::Name => {
            listed.sort_by(|(a, _), (b, _)| (&a.id, &a.metric).cmp(&(&b.id, &b.metric)));
        }
        SeriesOrder::Last => listed.sort_by(|(a, _), (b, _)| b.last.total_cmp(&a.last)),
    }
    listed.into_iter().map(|(series, _)| series).collect()
}

/// Returns the change of a series that an alert reports without a step.
pub(crate) fn drift_percent(series: &SeriesTrend) -> Option<f64> {
    series.alerts.first().map(|alert| alert.change_percent)
}

/// Returns the number of series of a single run, which have no trend.
pub(crate) fn single_count(page: &HistoryPage) -> usize {
    page.trends.series.iter().filter(|series| series.n < 2).count()
}

fn matches_series(series: &SeriesTrend, search: &str) -> bool {
    series.id.to_lowercase().contains(search) || series.metric.contains(search)
}

/// Returns `page` with only what matches `search`.
pub(crate) fn filtered(page: &HistoryPage, search: &str) -> HistoryPage {
    let search = search.to_lowercase();
    let matches = |text: &str| text.to_lowercase().contains(&search);
    let mut page = page.clone();
    page.trends.series.retain(|series| matches_series(series, &search));
    page.trends.common_changes.retain(|change| change.series.iter().any(|one| matches(&one.id)));
    for alerts in [&mut page.alerts, &mut page.trends.changes] {
        alerts.retain(|alert| matches(&alert.id) || alert.moves.iter().any(|one| matches(&one.id)));
    }
    let health = &mut page.health;
    for items in [
        &mut health.degraded,
        &mut health.improving,
        &mut health.noisy,
        &mut health.missing,
        &mut health.unmeasured,
    ] {
        items.retain(|item| matches(&item.id));
    }
    health.recommendations.retain(|advice| matches(&advice.action) || matches(&advice.evidence));
    page.models.models.retain(|model| matches(&model.model_id));
    page
}
