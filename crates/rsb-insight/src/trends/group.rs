//! Grouping of series that moved together: one change, however many cases it affects.

use std::collections::HashMap;

use rsb_model::record::{
    ChangePoint, ChangeRange, LevelPart, RunPoint, SeriesMove, SeriesTrend, Severity,
};
use rsb_model::{Better, Timestamp};
use rsb_stats::TrendSettings;
use rsb_stats::estimate::median;
use rsb_store::{Series, SeriesPoint};

/// Maximum distance between two estimates of one change, in runs. With five points per level, a
/// change cannot be located more precisely.
pub(super) const PLACE: usize = 4;

/// Maximum distance by which the estimate of an open change moves between two analyses, in runs.
pub(super) const MOVED: usize = 3 * PLACE;

/// Maximum distance between changes of several series that are reported as one, in runs.
const TOGETHER: usize = 2;

/// A change of level of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelShift {
    /// Id of the case or series.
    pub id: String,
    /// Metric name.
    pub metric: String,
    /// `worse`, `better` or `changed`.
    pub direction: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Change in percent of the old level.
    pub change_percent: f64,
    /// Whether enough runs are on the new level.
    pub confirmed: bool,
    /// Old level.
    pub before: f64,
    /// Runs between which the level changed.
    pub range: ChangeRange,
}

/// Shifts at about the same run in the same direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) direction: &'static str,
    pub(super) severity: Severity,
    pub(super) range: ChangeRange,
    /// Changes of the series, largest first.
    pub(super) moves: Vec<SeriesMove>,
}

/// Measurement times and values of each series. Distances are counted in points of a series, since
/// a suite may be measured only in every sixth run.
#[derive(Debug, Default)]
pub struct SeriesPlaces(HashMap<(String, String), Vec<PlacedValue>>);

/// A point of a series.
#[derive(Debug, Clone, Copy)]
struct PlacedValue {
    moment: Timestamp,
    value: f64,
}

impl SeriesPlaces {
    /// Collects the points of all series analyzed.
    pub fn new(all: &[Series]) -> Self {
        let mut places = HashMap::new();
        for series in all {
            let points = series.points.iter();
            let mut points: Vec<PlacedValue> = points
                .map(|point| PlacedValue { moment: point.timestamp, value: point.value })
                .collect();
            points.sort_by_key(|point| point.moment);
            places.insert((series.id.clone(), series.metric.clone()), points);
        }
        Self(places)
    }

    fn of(&self, id: &str, metric: &str) -> Option<&[PlacedValue]> {
        self.0.get(&(id.to_owned(), metric.to_owned())).map(Vec::as_slice)
    }

    /// Returns whether the series is part of the analysis.
    pub(super) fn knows(&self, one: &SeriesMove) -> bool {
        self.of(&one.id, &one.metric).is_some()
    }

    /// Returns the number of points of the series before `moment`; `None` if it is not part of the
    /// analysis.
    pub(super) fn before(&self, id: &str, metric: &str, moment: Timestamp) -> Option<usize> {
        Some(self.of(id, metric)?.partition_point(|point| point.moment < moment))
    }

    /// Returns the number of points of the series from `moment` on.
    pub(super) fn since(&self, id: &str, metric: &str, moment: Timestamp) -> Option<usize> {
        Some(self.of(id, metric)?.len() - self.before(id, metric, moment)?)
    }

    /// Returns whether the series of `one` has at least `count` points before the change at
    /// `moment` and after it, and its last `count` values are nearer to those before than to the
    /// new level.
    pub(super) fn is_back(&self, one: &SeriesMove, moment: Timestamp, count: usize) -> bool {
        let Some(points) = self.of(&one.id, &one.metric) else { return false };
        let (before, since) =
            points.split_at(points.partition_point(|point| point.moment < moment));
        if before.len().min(since.len()) < count {
            return false;
        }
        let newest = |points: &[PlacedValue]| -> Vec<f64> {
            points.iter().rev().take(count).map(|point| point.value).collect()
        };
        let Some(old) = median(&newest(before)) else { return false };
        let change = old * one.change_percent / 100.0;
        newest(since).iter().all(|value| (value - old - change / 2.0) * change < 0.0)
    }

    /// Returns the number of points of the series between two times.
    pub(super) fn apart(
        &self,
        id: &str,
        metric: &str,
        one: Timestamp,
        other: Timestamp,
    ) -> Option<usize> {
        Some(self.before(id, metric, one)?.abs_diff(self.before(id, metric, other)?))
    }
}

/// Groups `shifts` by position and direction; the worst group comes first, then the latest.
pub(super) fn together(mut shifts: Vec<LevelShift>, places: &SeriesPlaces) -> Vec<Group> {
    shifts.sort_by(|a, b| {
        (a.direction, changed_at(a), &a.id).cmp(&(b.direction, changed_at(b), &b.id))
    });
    let mut groups: Vec<Vec<LevelShift>> = Vec::new();
    for shift in shifts {
        match groups.last_mut() {
            Some(group) if is_part_of(&shift, group, places) => group.push(shift),
            _ => groups.push(vec![shift]),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().filter_map(Group::of).collect();
    groups.sort_by_key(|group| {
        (std::cmp::Reverse(group.severity), std::cmp::Reverse(group.range.first_after.timestamp))
    });
    groups
}

fn changed_at(shift: &LevelShift) -> Timestamp {
    shift.range.first_after.timestamp
}

/// Returns whether `shift` is close to the start of `group`, has the same direction, and is of a
/// series that the group lacks.
fn is_part_of(shift: &LevelShift, group: &[LevelShift], places: &SeriesPlaces) -> bool {
    let Some(first) = group.first() else { return false };
    if first.direction != shift.direction {
        return false;
    }
    let apart = places.apart(&shift.id, &shift.metric, changed_at(first), changed_at(shift));
    apart.is_some_and(|apart| apart <= TOGETHER)
        && !group.iter().any(|one| one.id == shift.id && one.metric == shift.metric)
}

impl Group {
    fn of(mut shifts: Vec<LevelShift>) -> Option<Self> {
        shifts.sort_by(|a, b| {
            b.confirmed
                .cmp(&a.confirmed)
                .then(b.change_percent.abs().total_cmp(&a.change_percent.abs()))
        });
        let leading = shifts.first()?;
        let severity = shifts.iter().map(|shift| shift.severity).max()?;
        let (direction, range) = (leading.direction, leading.range.clone());
        let moves = shifts.into_iter().map(|shift| SeriesMove {
            id: shift.id,
            metric: shift.metric,
            change_percent: shift.change_percent,
            confirmed: shift.confirmed,
            range: (shift.range != range).then_some(shift.range),
        });
        let moves = moves.collect();
        Some(Self { direction, severity, range, moves })
    }

    /// Returns whether the group has a series in common with `moves`.
    pub(super) fn shares(&self, moves: &[SeriesMove]) -> bool {
        self.moves
            .iter()
            .any(|own| moves.iter().any(|other| own.id == other.id && own.metric == other.metric))
    }
}

/// Returns the range from the point before `from` to the point at `to`.
fn range_at(points: &[SeriesPoint], from: usize, to: usize) -> Option<ChangeRange> {
    let last_before = run_point(points.get(from.checked_sub(1)?)?);
    Some(ChangeRange { last_before, first_after: run_point(points.get(to)?) })
}

fn run_point(point: &SeriesPoint) -> RunPoint {
    RunPoint {
        timestamp: point.timestamp,
        run_id: point.run_id.clone(),
        commit: point.commit.clone(),
    }
}

/// Returns the level shifts of one series to track: those that are significant among all series and
/// reach half of the threshold, or the whole threshold if they are only suspected.
pub(super) fn shifts_of(
    series: &Series,
    trend: &SeriesTrend,
    settings: &TrendSettings,
) -> Vec<LevelShift> {
    // Use the same points as `trend`: finite ones, ordered by time.
    let mut points: Vec<SeriesPoint> =
        series.points.iter().filter(|point| point.value.is_finite()).cloned().collect();
    points.sort_by_key(|point| point.timestamp);
    let threshold = settings.alert_threshold_percent;
    let confirmed = trend.change_points.iter().filter(|change| {
        is_significant(change, threshold / 2.0, settings) && !is_of_ramp(trend, change.index)
    });
    let suspected =
        trend.suspected.iter().filter(|change| is_significant(change, threshold, settings));
    let steps =
        confirmed.map(|change| (change, true)).chain(suspected.map(|change| (change, false)));
    let mut found: Vec<LevelShift> = steps
        .filter_map(|(change, confirmed)| {
            let range = range_at(&points, change.index, change.index)?;
            let is_recent = is_recent(&points, change.index, settings);
            let mut shift = shift(
                series,
                change.before,
                change.change_percent,
                confirmed,
                range,
                threshold,
                is_recent,
            );
            if change.part == Some(LevelPart::Share) {
                // A larger share of runs on the slower machine type would explain the change.
                shift.severity = shift.severity.min(Severity::Warning);
            }
            Some(shift)
        })
        .collect();
    found.extend(
        trend.ramp.iter().filter(|ramp| ramp.change_percent.abs() >= threshold / 2.0).filter_map(
            |ramp| {
                let range = range_at(&points, ramp.from_index, ramp.to_index)?;
                let is_recent = is_recent(&points, ramp.to_index, settings);
                Some(shift(
                    series,
                    ramp.before,
                    ramp.change_percent,
                    true,
                    range,
                    threshold,
                    is_recent,
                ))
            },
        ),
    );
    found
}

/// Returns whether `change` is significant and at least `least` percent.
fn is_significant(change: &ChangePoint, least: f64, settings: &TrendSettings) -> bool {
    change.q_value.is_none_or(|q| q <= settings.significance)
        && change.change_percent.abs() >= least * (1.0 - 1e-9)
}

fn is_of_ramp(trend: &SeriesTrend, at: usize) -> bool {
    trend.ramp.as_ref().is_some_and(|ramp| (ramp.from_index..=ramp.to_index).contains(&at))
}

/// Returns whether the point is within the lookback period: at most `lookback_days` before the last
/// one, or among the last points that a verdict needs.
fn is_recent(points: &[SeriesPoint], index: usize, settings: &TrendSettings) -> bool {
    let (Some(point), Some(last)) = (points.get(index), points.last()) else { return false };
    let days = last.timestamp.duration_since(point.timestamp).as_secs_f64() / 86_400.0;
    days <= settings.lookback_days
        || index + 2 * settings.min_data_points.max(settings.min_size) >= points.len()
}

fn shift(
    series: &Series,
    before: f64,
    change_percent: f64,
    confirmed: bool,
    range: ChangeRange,
    threshold: f64,
    is_recent: bool,
) -> LevelShift {
    let is_large = change_percent.abs() >= threshold * (1.0 - 1e-9);
    let is_worse = series.better.map(|better| (better == Better::Lower) == (change_percent > 0.0));
    let (direction, severity) = match is_worse {
        Some(true) if confirmed && change_percent.abs() >= 2.0 * threshold => {
            ("worse", Severity::Critical)
        }
        Some(true) if is_large => ("worse", Severity::Warning),
        Some(true) => ("worse", Severity::Info),
        Some(false) => ("better", Severity::Info),
        None if is_large => ("changed", Severity::Warning),
        None => ("changed", Severity::Info),
    };
    let severity = if is_recent { severity } else { Severity::Info };
    let (id, metric) = (series.id.clone(), series.metric.clone());
    LevelShift { id, metric, direction, severity, change_percent, confirmed, before, range }
}
