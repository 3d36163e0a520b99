//! Series that moved together: one change, however many cases show it.

use rsb_model::Timestamp;
use rsb_model::record::{ChangeRange, RunPoint, SeriesMove, Severity};

/// How many runs apart two estimates of one change may lie: a level of five points is placed no better.
pub(super) const PLACE: usize = 4;

/// How many runs apart changes of several series may lie and be told as one.
const TOGETHER: usize = 2;

/// A change of level of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
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

/// The runs of all series in order of time: where a moment lies among them.
#[derive(Debug, Default)]
pub struct RunOrder(Vec<Timestamp>);

impl RunOrder {
    /// Of the moments of all points, in any order.
    pub fn new(mut moments: Vec<Timestamp>) -> Self {
        moments.sort_unstable();
        moments.dedup();
        Self(moments)
    }

    /// How many runs come before `moment`.
    fn place(&self, moment: Timestamp) -> usize {
        self.0.partition_point(|run| *run < moment)
    }

    /// How many runs lie between two moments.
    pub(super) fn apart(&self, one: Timestamp, other: Timestamp) -> usize {
        self.place(one).abs_diff(self.place(other))
    }

    /// How many runs there are from `moment` on.
    pub(super) fn since(&self, moment: Timestamp) -> usize {
        self.0.len() - self.place(moment)
    }
}

/// `shifts` grouped by where and in which sense they moved; the worst group first, then the latest.
pub(super) fn together(mut shifts: Vec<Shift>, order: &RunOrder) -> Vec<Group> {
    let at = |shift: &Shift| shift.range.first_after.timestamp;
    shifts.sort_by(|a, b| (a.direction, at(a)).cmp(&(b.direction, at(b))).then_with(|| a.id.cmp(&b.id)));
    let mut groups: Vec<Vec<Shift>> = Vec::new();
    for shift in shifts {
        let joins = |group: &Vec<Shift>| {
            let same_series = |one: &Shift| one.id == shift.id && one.metric == shift.metric;
            group.first().is_some_and(|first| {
                first.direction == shift.direction && order.apart(at(first), at(&shift)) <= TOGETHER
            }) && !group.iter().any(same_series)
        };
        match groups.last_mut() {
            Some(group) if joins(group) => group.push(shift),
            _ => groups.push(vec![shift]),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().filter_map(Group::of).collect();
    groups
        .sort_by_key(|group| (std::cmp::Reverse(group.severity), std::cmp::Reverse(group.range.first_after.timestamp)));
    groups
}

impl Group {
    fn of(mut shifts: Vec<Shift>) -> Option<Self> {
        let size = |shift: &Shift| shift.change_percent.abs();
        shifts.sort_by(|a, b| b.confirmed.cmp(&a.confirmed).then(size(b).total_cmp(&size(a))));
        let leading = shifts.first()?;
        let severity = shifts.iter().map(|shift| shift.severity).max()?;
        let (direction, range) = (leading.direction, leading.range.clone());
        let moves = shifts.into_iter().map(|shift| SeriesMove {
            id: shift.id,
            metric: shift.metric,
            change_percent: shift.change_percent,
            confirmed: shift.confirmed,
        });
        Some(Self { direction, severity, range, moves: moves.collect() })
    }

    /// Whether it has a series in common with `moves`.
    pub(super) fn shares(&self, moves: &[SeriesMove]) -> bool {
        self.moves.iter().any(|own| moves.iter().any(|other| own.id == other.id && own.metric == other.metric))
    }
}

/// The range that begins before the point at `index` of `points`.
pub(super) fn range_at(points: &[rsb_store::SeriesPoint], index: usize) -> Option<ChangeRange> {
    let run = |point: &rsb_store::SeriesPoint| RunPoint {
        timestamp: point.timestamp,
        run_id: point.run_id.clone(),
        commit: point.commit.clone(),
    };
    let last_before = run(points.get(index.checked_sub(1)?)?);
    Some(ChangeRange { last_before, first_after: run(points.get(index)?) })
}
