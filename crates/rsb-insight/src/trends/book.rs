//! Updating known alerts from earlier analyses to the current history.

use rsb_model::Timestamp;
use rsb_model::record::{AlertState, SeriesMove, TrackedAlert};

use super::group::{Group, LevelShift, MOVED, PLACE, SeriesPlaces};

/// Maximum distance from the old level at which a level counts as restored, in percent.
const BACK: f64 = 5.0;

/// Maximum distance from the old level at which a restored level still counts as restored, as a
/// fraction of the change.
const STILL_BACK: f64 = 0.5;

/// Result of analyzing the history.
#[derive(Debug)]
pub(super) struct HistoryScan<'a> {
    /// Machine whose runs were analyzed.
    pub(super) machine: &'a str,
    pub(super) now: Timestamp,
    /// Every series analyzed.
    pub(super) places: &'a SeriesPlaces,
    /// Level shifts of these series that are reported.
    pub(super) shifts: &'a [LevelShift],
    /// All changes of these series, reported or not.
    pub(super) traces: &'a [Trace<'a>],
    /// Minimum number of runs after a change for its absence to be conclusive.
    pub(super) min_size: usize,
}

/// A position at which a series changed, however little.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trace<'a> {
    pub(super) id: &'a str,
    pub(super) metric: &'a str,
    pub(super) moment: Timestamp,
}

impl HistoryScan<'_> {
    /// Returns the distance between `alert` and `group`, in points of the shared series for which
    /// it is smallest.
    fn apart(&self, alert: &TrackedAlert, group: &Group) -> Option<usize> {
        alert.moves.iter().filter_map(|one| self.distance(alert, one, group)).min()
    }

    /// Returns the distance between the changes of the series of `one` in `alert` and in `group`.
    fn distance(&self, alert: &TrackedAlert, one: &SeriesMove, group: &Group) -> Option<usize> {
        let other =
            group.moves.iter().find(|other| other.id == one.id && other.metric == one.metric)?;
        let now = other.range.as_ref().unwrap_or(&group.range).first_after.timestamp;
        self.places.apart(&one.id, &one.metric, alert.range_of(one).first_after.timestamp, now)
    }

    /// Returns whether the series of `one` has a change near that of `alert`.
    fn has_trace(&self, alert: &TrackedAlert, one: &SeriesMove) -> bool {
        let at = alert.range_of(one).first_after.timestamp;
        self.traces.iter().any(|trace| {
            trace.id == one.id
                && trace.metric == one.metric
                && self.places.apart(&one.id, &one.metric, trace.moment, at) <= Some(PLACE)
        })
    }

    /// Returns when the level of the series of `one`, which changed at `alert`, was restored by a
    /// later change. A fixed alert stays fixed on weaker evidence than an open one needs to become
    /// fixed, so that noise does not close and reopen it in turn.
    fn back(&self, alert: &TrackedAlert, one: &SeriesMove) -> Option<Timestamp> {
        let at = alert.range_of(one).first_after.timestamp;
        let own: Vec<&LevelShift> = self
            .shifts
            .iter()
            .filter(|shift| shift.id == one.id && shift.metric == one.metric)
            .collect();
        let old = own.iter().find(|shift| {
            let moment = shift.range.first_after.timestamp;
            shift.direction == alert.direction
                && self.places.apart(&one.id, &one.metric, moment, at) <= Some(PLACE)
        })?;
        let is_fixed = alert.state == AlertState::Fixed;
        let tolerance =
            if is_fixed { BACK.max(STILL_BACK * old.change_percent.abs()) } else { BACK };
        let back = own.iter().find(|shift| {
            let level = shift.before * (1.0 + shift.change_percent / 100.0);
            (shift.confirmed || is_fixed)
                && shift.range.first_after.timestamp > old.range.first_after.timestamp
                && (level - old.before).abs() <= tolerance / 100.0 * old.before.abs()
        })?;
        Some(back.range.first_after.timestamp)
    }
}

/// Updates `known` from `groups` and adds unknown groups as new alerts. Returns the positions of
/// the alerts for `groups`, in order.
pub(super) fn update(
    known: &mut Vec<TrackedAlert>,
    groups: Vec<Group>,
    look: &HistoryScan<'_>,
) -> Vec<usize> {
    let mut taken = vec![false; known.len()];
    let mut places = Vec::new();
    for group in groups {
        let place = matching(known, &taken, &group, look);
        if let Some((at, alert)) = place.and_then(|at| Some((at, known.get_mut(at)?))) {
            if let Some(flag) = taken.get_mut(at) {
                *flag = true;
            }
            renew(alert, group, look);
            places.push(at);
        } else {
            known.push(new_alert(group, known, look));
            taken.push(true);
            places.push(known.len() - 1);
        }
    }
    for (alert, found) in known.iter_mut().zip(taken) {
        settle(alert, found, look);
    }
    places
}

/// Returns the position of the alert that matches `group`: a shared series, the same direction, and
/// about the same position; or an open one that is not found at its position any more, so that one
/// change never becomes two alerts because its estimate moved.
fn matching(
    known: &[TrackedAlert],
    taken: &[bool],
    group: &Group,
    look: &HistoryScan<'_>,
) -> Option<usize> {
    let mut nearest: Option<(usize, usize)> = None;
    for (place, (alert, is_taken)) in known.iter().zip(taken).enumerate() {
        let is_candidate = !is_taken
            && alert.machine == look.machine
            && alert.direction == group.direction
            && group.shares(&alert.moves);
        if !is_candidate {
            continue;
        }
        let Some(apart) = look.apart(alert, group) else { continue };
        let has_moved = || {
            let is_found = alert.moves.iter().any(|one| look.has_trace(alert, one));
            apart <= MOVED && !alert.state.is_closed() && !is_found
        };
        if nearest.is_none_or(|(least, _)| apart < least) && (apart <= PLACE || has_moved()) {
            nearest = Some((apart, place));
        }
    }
    nearest.map(|(_, place)| place)
}

fn renew(alert: &mut TrackedAlert, group: Group, look: &HistoryScan<'_>) {
    // An alert that went away and returned is reported again; a user's decision is kept.
    if alert.state == AlertState::Invalid
        && alert.because.as_deref().is_some_and(|why| why.starts_with(WENT_AWAY))
    {
        alert.state = AlertState::New;
        alert.because = None;
    }
    // Series that are not part of this analysis keep their range.
    let others = alert.moves.iter().filter(|one| !look.places.knows(one)).map(|one| {
        let range = alert.range_of(one);
        SeriesMove { range: (*range != group.range).then(|| range.clone()), ..one.clone() }
    });
    let others: Vec<SeriesMove> = others.collect();
    alert.severity =
        if others.is_empty() { group.severity } else { group.severity.max(alert.severity) };
    // A confirmed change was real, even if it later has too few runs to be confirmed again.
    let was_confirmed = |one: &SeriesMove| {
        let same = |old: &&SeriesMove| old.id == one.id && old.metric == one.metric;
        alert.moves.iter().find(same).is_some_and(|old| old.confirmed)
    };
    let moves = group.moves.into_iter();
    let moves =
        moves.map(|one| SeriesMove { confirmed: one.confirmed || was_confirmed(&one), ..one });
    let moves: Vec<SeriesMove> = moves.chain(others).collect();
    alert.range = group.range;
    alert.moves = moves;
}

fn new_alert(group: Group, known: &[TrackedAlert], look: &HistoryScan<'_>) -> TrackedAlert {
    TrackedAlert {
        id: name(&group, known, look.machine),
        state: AlertState::New,
        machine: look.machine.to_owned(),
        direction: group.direction.to_owned(),
        severity: group.severity,
        range: group.range,
        moves: group.moves,
        environment_changes: Vec::new(),
        commits: Vec::new(),
        first_seen: look.now,
        because: None,
        decisions: Vec::new(),
    }
}

/// Returns an alert id: `a-` and eight digits of a hash over the machine, the leading series and
/// the time. The same history gives the same ids.
fn name(group: &Group, known: &[TrackedAlert], machine: &str) -> String {
    let leading = group.moves.first();
    let (id, metric) = leading.map_or(("", ""), |one| (one.id.as_str(), one.metric.as_str()));
    let moment = group.range.first_after.timestamp.to_string();
    let mut salt = 0_u32;
    loop {
        let text = [machine, id, metric, group.direction, &moment, &salt.to_string()].join("\n");
        let name = format!("a-{}", rsb_model::shown::short_hash(&text));
        if !known.iter().any(|alert| alert.id == name) {
            return name;
        }
        salt += 1;
    }
}

/// Prefix of the reason with which this program closes an alert.
const WENT_AWAY: &str = "it went away by itself";

/// Prefix of the reason with which this program marks an alert as fixed.
const CAME_BACK: &str = "the level came back";

/// Closes an alert that is over: its level was restored in every series, or its change is no longer
/// found and the last points are at the old level. Then it was a change only if enough runs had
/// confirmed it.
fn settle(alert: &mut TrackedAlert, found: bool, look: &HistoryScan<'_>) {
    if alert.machine != look.machine || !alert.moves.iter().any(|one| look.places.knows(one)) {
        return;
    }
    if found {
        take_back(alert, look);
    } else if !alert.state.is_closed() && alert.moves.iter().all(|one| is_gone(alert, one, look)) {
        let why = format!(": the last {} points show no change", look.min_size);
        if alert.moves.iter().any(|one| one.confirmed) {
            fix(alert, &why);
        } else if alert.state == AlertState::New {
            alert.state = AlertState::Invalid;
            alert.because = Some(format!("{WENT_AWAY}{why}"));
        }
    }
}

/// Marks an alert as fixed, and keeps the reason that a user gave for its earlier state.
fn fix(alert: &mut TrackedAlert, why: &str) {
    let words = alert.because.take();
    let words =
        words.map_or_else(String::new, |words| format!(" ({}: {words})", alert.state.as_str()));
    alert.state = AlertState::Fixed;
    alert.because = Some(format!("{CAME_BACK}{why}{words}"));
}

/// Marks an alert as fixed if the level was restored in every series. Otherwise removes the series
/// in which it was restored.
fn take_back(alert: &mut TrackedAlert, look: &HistoryScan<'_>) {
    let backs: Vec<Option<Timestamp>> =
        alert.moves.iter().map(|one| look.back(alert, one)).collect();
    let is_ours = alert.because.as_deref().is_some_and(|why| why.starts_with(CAME_BACK));
    match backs.iter().copied().collect::<Option<Vec<Timestamp>>>() {
        Some(all) if !alert.state.is_closed() => {
            let last =
                all.into_iter().max().map_or_else(String::new, |moment| format!(" at {moment}"));
            fix(alert, &last);
        }
        Some(_) => {}
        None => {
            if alert.state == AlertState::Fixed && is_ours {
                alert.state = AlertState::New;
                alert.because = None;
            }
            let mut backs = backs.into_iter();
            alert.moves.retain(|_| backs.next().flatten().is_none());
        }
    }
}

/// Returns whether the series of `one` was analyzed, shows no change at that of `alert`, and its
/// last points are at the old level. Without enough earlier points, for example after pruning, this
/// cannot be decided.
fn is_gone(alert: &TrackedAlert, one: &SeriesMove, look: &HistoryScan<'_>) -> bool {
    let began = alert.range_of(one).first_after.timestamp;
    !look.has_trace(alert, one) && look.places.is_back(one, began, look.min_size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::record::{ChangeRange, RunPoint, Severity};
    use rsb_store::{Series, SeriesPoint};

    fn moment(run: usize) -> Timestamp {
        Timestamp::from_second(1_000_000 + 3600 * i64::try_from(run).unwrap()).unwrap()
    }

    fn point(run: usize) -> RunPoint {
        RunPoint { timestamp: moment(run), run_id: None, commit: None }
    }

    fn shift(
        id: &str,
        run: usize,
        before: f64,
        change_percent: f64,
        confirmed: bool,
    ) -> LevelShift {
        LevelShift {
            id: id.to_owned(),
            metric: "time_ms".to_owned(),
            direction: if change_percent > 0.0 { "worse" } else { "better" },
            severity: Severity::Warning,
            change_percent,
            confirmed,
            before,
            range: ChangeRange { last_before: point(run - 1), first_after: point(run) },
        }
    }

    /// Analyzes a history of `runs` runs of the cases `a`, `b` and `c`.
    fn look(known: &mut Vec<TrackedAlert>, runs: usize, shifts: &[LevelShift]) -> Vec<usize> {
        look_from(known, 0..runs, &["a", "b", "c"], shifts)
    }

    fn look_from(
        known: &mut Vec<TrackedAlert>,
        runs: std::ops::Range<usize>,
        ids: &[&str],
        shifts: &[LevelShift],
    ) -> Vec<usize> {
        let end = moment(runs.end);
        let values = vec![1.0; runs.len()];
        look_at(known, &series(ids, runs, &values), end, shifts)
    }

    /// Returns series of `values` in `runs`.
    fn series(ids: &[&str], runs: std::ops::Range<usize>, values: &[f64]) -> Vec<Series> {
        let points: Vec<SeriesPoint> = runs
            .zip(values)
            .map(|(run, value)| SeriesPoint {
                timestamp: moment(run),
                value: *value,
                run_id: None,
                commit: None,
            })
            .collect();
        let mut series = Vec::new();
        for id in ids {
            series.push(Series {
                id: (*id).to_owned(),
                metric: "time_ms".to_owned(),
                unit: "ms".to_owned(),
                better: None,
                points: points.clone(),
            });
        }
        series
    }

    fn look_at(
        known: &mut Vec<TrackedAlert>,
        series: &[Series],
        now: Timestamp,
        shifts: &[LevelShift],
    ) -> Vec<usize> {
        let places = SeriesPlaces::new(series);
        let groups = super::super::group::together(shifts.to_vec(), &places);
        let traces: Vec<Trace<'_>> = shifts
            .iter()
            .map(|shift| Trace {
                id: &shift.id,
                metric: &shift.metric,
                moment: shift.range.first_after.timestamp,
            })
            .collect();
        let look = HistoryScan {
            machine: "m",
            now,
            places: &places,
            shifts,
            traces: &traces,
            min_size: 5,
        };
        update(known, groups, &look)
    }

    #[test]
    fn a_series_keeps_the_run_in_which_it_changed_itself() {
        let mut known = Vec::new();
        let steps = [shift("a", 20, 100.0, 30.0, false), shift("b", 21, 100.0, 60.0, false)];
        look(&mut known, 22, &steps);
        assert_eq!(
            (known.len(), known[0].range.first_after.timestamp),
            (1, moment(21)),
            "the largest change comes first"
        );
        assert_eq!((changed_at(&known, "a"), changed_at(&known, "b")), (moment(20), moment(21)));
        // An analysis of only series `b` must not move the change of series `a`.
        look_from(&mut known, 0..23, &["b"], &[shift("b", 22, 100.0, 60.0, true)]);
        assert_eq!(known.len(), 1);
        assert_eq!((changed_at(&known, "a"), changed_at(&known, "b")), (moment(20), moment(22)));
    }

    /// Returns when the series `id` of the first alert changed.
    fn changed_at(known: &[TrackedAlert], id: &str) -> Timestamp {
        let one = known[0].moves.iter().find(|one| one.id == id).unwrap();
        known[0].range_of(one).first_after.timestamp
    }

    #[test]
    fn what_came_back_in_some_series_alone_is_not_fixed_and_the_others_are_left() {
        let mut known = Vec::new();
        let steps = [shift("a", 20, 100.0, 40.0, true), shift("b", 20, 100.0, 30.0, true)];
        look(&mut known, 30, &steps);
        let half = [&steps[..], &[shift("a", 40, 140.0, -28.5, true)]].concat();
        look(&mut known, 50, &half);
        let worse = known.iter().find(|alert| alert.direction == "worse").unwrap();
        assert_eq!(worse.state, AlertState::New);
        assert_eq!(worse.moves.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["b"]);
        let whole = [&half[..], &[shift("b", 55, 130.0, -23.0, true)]].concat();
        look(&mut known, 70, &whole);
        let worse = known.iter().find(|alert| alert.direction == "worse").unwrap();
        assert_eq!(worse.state, AlertState::Fixed);
    }

    #[test]
    fn a_look_at_some_series_takes_nothing_from_an_alert() {
        let mut known = Vec::new();
        let steps = [shift("a", 20, 100.0, 40.0, true), shift("b", 20, 100.0, 30.0, true)];
        look(&mut known, 30, &steps);
        for ids in [["a"], ["b"]] {
            let own: Vec<LevelShift> =
                steps.iter().filter(|step| ids.contains(&step.id.as_str())).cloned().collect();
            look_from(&mut known, 0..30, &ids, &own);
            assert_eq!((known.len(), known[0].moves.len()), (1, 2), "{ids:?}");
        }
        look(&mut known, 31, &steps);
        assert_eq!((known.len(), known[0].state), (1, AlertState::New));
    }

    #[test]
    fn where_the_runs_before_were_deleted_nothing_went_away() {
        let mut known = Vec::new();
        look(&mut known, 40, &[shift("a", 20, 1.0, 12.0, true)]);
        look_from(&mut known, 18..60, &["a", "b", "c"], &[]);
        assert_eq!(known[0].state, AlertState::New);
    }

    #[test]
    fn a_point_that_moves_stays_one_alert_and_keeps_its_name() {
        let mut known = Vec::new();
        look(&mut known, 30, &[shift("a", 25, 1.0, 12.0, false)]);
        let (id, first) = (known[0].id.clone(), known[0].first_seen);
        for (runs, place) in [(31, 26), (33, 24), (36, 24)] {
            look(&mut known, runs, &[shift("a", place, 1.0, 11.0, true)]);
            assert_eq!(known.len(), 1);
            assert_eq!((&known[0].id, known[0].first_seen), (&id, first));
            assert_eq!(known[0].state, AlertState::New);
        }
        assert!(known[0].moves[0].confirmed);
    }

    #[test]
    fn a_change_whose_estimate_moves_far_stays_one_alert_and_a_second_change_is_another() {
        let mut known = Vec::new();
        look(&mut known, 30, &[shift("a", 20, 1.0, 12.0, true)]);
        look(&mut known, 31, &[shift("a", 26, 1.0, 11.0, true)]);
        assert_eq!((known.len(), known[0].range.first_after.timestamp), (1, moment(26)));
        let both = [shift("a", 26, 1.0, 11.0, true), shift("a", 34, 1.1, 12.0, false)];
        look(&mut known, 36, &both);
        assert_eq!(known.len(), 2);
        look(&mut known, 60, &[shift("a", 48, 1.0, 12.0, true)]);
        assert_eq!(known.len(), 3, "no estimate moves that far");
    }

    #[test]
    fn series_that_moved_together_are_one_alert_and_keep_its_name_when_another_leads() {
        let mut known = Vec::new();
        look(&mut known, 30, &[shift("a", 25, 1.0, 12.0, true), shift("b", 26, 1.0, 30.0, true)]);
        assert_eq!(known.len(), 1);
        assert_eq!(
            known[0].moves.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
            ["b", "a"]
        );
        let id = known[0].id.clone();
        look(&mut known, 31, &[shift("a", 25, 1.0, 31.0, true), shift("c", 24, 1.0, 13.0, true)]);
        assert_eq!((known.len(), &known[0].id), (1, &id));
    }

    #[test]
    fn what_moved_elsewhere_or_the_other_way_is_another_alert() {
        let mut known = Vec::new();
        look(
            &mut known,
            60,
            &[
                shift("a", 20, 1.0, 12.0, true),
                shift("a", 50, 1.12, 12.0, true),
                shift("b", 20, 1.0, -20.0, true),
            ],
        );
        assert_eq!(known.len(), 3);
        let mut ids: Vec<_> = known.iter().map(|alert| alert.id.clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn what_a_later_change_took_back_is_fixed_once_that_is_confirmed() {
        let mut known = Vec::new();
        look(
            &mut known,
            30,
            &[shift("a", 20, 100.0, 20.0, true), shift("a", 28, 120.0, -16.0, false)],
        );
        assert_eq!(known.iter().filter(|alert| alert.state == AlertState::New).count(), 2);
        look(
            &mut known,
            34,
            &[shift("a", 20, 100.0, 20.0, true), shift("a", 28, 120.0, -16.0, true)],
        );
        let worse = known.iter().find(|alert| alert.direction == "worse").unwrap();
        assert_eq!(worse.state, AlertState::Fixed);
        assert!(worse.because.as_deref().unwrap().contains("came back"));
    }

    #[test]
    fn noise_does_not_reopen_a_fixed_alert_and_half_of_the_change_does() {
        let slower = shift("a", 20, 100.0, 20.0, true);
        let mut known = Vec::new();
        let mut state_after = |back: LevelShift, runs| {
            look(&mut known, runs, &[slower.clone(), back]);
            known.iter().find(|alert| alert.direction == "worse").unwrap().state
        };
        assert_eq!(state_after(shift("a", 28, 120.0, -10.0, true), 34), AlertState::New, "108");
        assert_eq!(state_after(shift("a", 28, 120.0, -16.0, true), 35), AlertState::Fixed, "100.8");
        assert_eq!(state_after(shift("a", 28, 120.0, -10.0, true), 36), AlertState::Fixed, "108");
        assert_eq!(state_after(shift("a", 28, 120.0, -16.0, false), 37), AlertState::Fixed);
        assert_eq!(state_after(shift("a", 28, 120.0, -5.0, true), 38), AlertState::New, "114");
    }

    #[test]
    fn what_is_not_found_any_more_is_closed_when_runs_enough_say_so_and_told_again_when_it_returns()
    {
        let mut known = Vec::new();
        let found = [shift("a", 29, 1.0, 12.0, false)];
        look(&mut known, 30, &found);
        look(&mut known, 31, &[]);
        assert_eq!(known[0].state, AlertState::New, "two runs are too few to close an alert");
        look(&mut known, 36, &[]);
        assert_eq!(known[0].state, AlertState::Invalid);
        assert!(known[0].because.as_deref().unwrap().contains("the last 5 points"));
        look(&mut known, 37, &found);
        assert_eq!((known.len(), known[0].state, &known[0].because), (1, AlertState::New, &None));
    }

    #[test]
    fn what_was_confirmed_and_is_not_found_any_more_is_fixed_once_the_old_level_is_back() {
        let mut known = Vec::new();
        look(&mut known, 26, &[shift("a", 20, 1.0, 30.0, true)]);
        look(&mut known, 27, &[shift("a", 20, 1.0, 25.0, false)]);
        known[0].state = AlertState::Acknowledged;
        known[0].because = Some("wanted".to_owned());
        let slow = |runs: std::ops::Range<usize>| {
            let slow = runs.clone().map(|run| if (20..26).contains(&run) { 1.3 } else { 1.0 });
            series(&["a"], runs.clone(), &slow.collect::<Vec<_>>())
        };
        for (runs, expected) in [(30, AlertState::Acknowledged), (31, AlertState::Fixed)] {
            look_at(&mut known, &slow(0..runs), moment(runs), &[]);
            assert_eq!(known[0].state, expected, "{runs}");
        }
        let why = known[0].because.as_deref().unwrap();
        assert!(why.ends_with("the last 5 points show no change (acknowledged: wanted)"), "{why}");
    }

    #[test]
    fn what_a_person_decided_stays_and_what_was_not_looked_at_is_left_alone() {
        let mut known = Vec::new();
        look(&mut known, 40, &[shift("a", 20, 1.0, 12.0, true), shift("z", 30, 1.0, 12.0, true)]);
        for alert in &mut known {
            alert.state = AlertState::Acknowledged;
            alert.because = Some("wanted".to_owned());
        }
        look(&mut known, 45, &[shift("a", 20, 1.0, 12.0, true)]);
        assert!(known.iter().all(|alert| alert.state == AlertState::Acknowledged));
        known[0].state = AlertState::Invalid;
        look(&mut known, 46, &[shift("a", 20, 1.0, 12.0, true)]);
        assert_eq!(
            known[0].state,
            AlertState::Invalid,
            "an alert closed by a person must stay closed"
        );
    }
}
