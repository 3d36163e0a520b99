//! Series that moved together: one change, however many cases show it.

use std::collections::HashMap;

use rsb_model::record::{
    ChangePoint, ChangeRange, LevelPart, RunPoint, SeriesMove, SeriesTrend, Severity,
};
use rsb_model::{Better, Timestamp};
use rsb_stats::TrendSettings;
use rsb_store::{Series, SeriesPoint};

/// How many runs apart two estimates of one change may lie: a level of five points is placed no
/// better.
pub(super) const PLACE: usize = 4;

/// How many runs apart changes of several series may lie and be told as one.
const TOGETHER: usize = 2;

/// A change of level of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelShift {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// `worse`, `better` or `changed`.
    pub direction: &'static str,
    /// How bad.
    pub severity: Severity,
    /// How far, in percent of the old level.
    pub change_percent: f64,
    /// Whether enough runs stand on the new level.
    pub confirmed: bool,
    /// The level before.
    pub before: f64,
    /// Between which runs.
    pub range: ChangeRange,
}

/// Shifts at one run, in one sense.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) direction: &'static str,
    pub(super) severity: Severity,
    pub(super) range: ChangeRange,
    /// The largest first.
    pub(super) moves: Vec<SeriesMove>,
}

/// When each series was measured: distances are counted in its own points, since a suite may be
/// measured in every sixth run.
#[derive(Debug, Default)]
pub struct SeriesPlaces(HashMap<(String, String), Vec<Timestamp>>);

impl SeriesPlaces {
    /// Of all series that are looked at.
    pub fn new(all: &[Series]) -> Self {
        let mut places = HashMap::new();
        for series in all {
            let mut moments: Vec<Timestamp> =
                series.points.iter().map(|point| point.timestamp).collect();
            moments.sort();
            places.insert((series.id.clone(), series.metric.clone()), moments);
        }
        Self(places)
    }

    fn of(&self, id: &str, metric: &str) -> Option<&[Timestamp]> {
        self.0.get(&(id.to_owned(), metric.to_owned())).map(Vec::as_slice)
    }

    /// Whether the series is looked at.
    pub(super) fn knows(&self, one: &SeriesMove) -> bool {
        self.of(&one.id, &one.metric).is_some()
    }

    /// How many points of the series come before `moment`; `None` where it is not looked at.
    pub(super) fn before(&self, id: &str, metric: &str, moment: Timestamp) -> Option<usize> {
        Some(self.of(id, metric)?.partition_point(|point| *point < moment))
    }

    /// How many points of the series there are from `moment` on.
    pub(super) fn since(&self, id: &str, metric: &str, moment: Timestamp) -> Option<usize> {
        Some(self.of(id, metric)?.len() - self.before(id, metric, moment)?)
    }

    /// How many points of the series lie between two moments.
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

/// `shifts` grouped by where and in which sense they moved; the worst group first, then the latest.
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

/// Whether `shift` is where `group` began, in the same sense, and of a series that it lacks.
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

    /// Whether it has a series in common with `moves`.
    pub(super) fn shares(&self, moves: &[SeriesMove]) -> bool {
        self.moves
            .iter()
            .any(|own| moves.iter().any(|other| own.id == other.id && own.metric == other.metric))
    }
}

/// The range from before the point at `from` of `points` to that at `to`.
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

/// The changes of level of one series that are followed: those that are significant among all
/// series, from half of the threshold on, suspected ones from the whole threshold on.
pub(super) fn shifts_of(
    series: &Series,
    trend: &SeriesTrend,
    settings: &TrendSettings,
) -> Vec<LevelShift> {
    // The points that `trend` counts: finite ones in order of time.
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
                // More runs on the slower machine type explain it.
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

/// Whether `change` is significant and at least `least` percent.
fn is_significant(change: &ChangePoint, least: f64, settings: &TrendSettings) -> bool {
    change.q_value.is_none_or(|q| q <= settings.significance)
        && change.change_percent.abs() >= least * (1.0 - 1e-9)
}

fn is_of_ramp(trend: &SeriesTrend, at: usize) -> bool {
    trend.ramp.as_ref().is_some_and(|ramp| (ramp.from_index..=ramp.to_index).contains(&at))
}

/// Whether the point lies within the lookback: so many days before the last one, or among the last
/// points that a verdict needs.
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
