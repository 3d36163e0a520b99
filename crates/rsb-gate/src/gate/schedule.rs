//! Chooses the cases to measure next until the time is used up: the most urgent first, and among
//! equally urgent ones those that are decided soonest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rsb_engine::Listener;
use rsb_engine::measure::interrupt;
use rsb_model::{CaseId, Event};
use rsb_stats::remeasure::{OpenCase, Urgency};

/// Minimum duration of a batch if enough cases are open, so that a disturbance of one second does
/// not affect several replicates of one case.
const BATCH: Duration = Duration::from_secs(5);

/// Pairs of several turns are measured if this many fit into the time for each open case.
const PAIRS_TO_FIT: u32 = 3;

/// Time between two messages on the number of open cases.
const PROGRESS: Duration = Duration::from_secs(15);

/// The time to measure, and the duration of a turn of each case.
pub(super) struct Schedule {
    began: Instant,
    total: Duration,
    /// Duration of the last turn of each case. A turn is one process per side.
    costs: BTreeMap<CaseId, Duration>,
    reported: Instant,
}

impl Schedule {
    /// Creates a schedule of `total`, starting now.
    pub(super) fn new(total: Duration) -> Self {
        let now = Instant::now();
        Self { began: now, total, costs: BTreeMap::new(), reported: now }
    }

    /// Waits for at most `max` while other programs use more than half of the CPUs. Extends the
    /// time to measure by the time waited, and returns it.
    pub(super) fn wait_for_quiet(&mut self, max: Duration) -> Duration {
        let began = Instant::now();
        while began.elapsed() < max && !interrupt::is_requested() && is_busy() {}
        let waited = began.elapsed();
        self.total += waited;
        waited
    }

    /// Returns the time left; `None` if it is used up or the user interrupted.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.total.saturating_sub(self.began.elapsed());
        (!left.is_zero() && !interrupt::is_requested()).then_some(left)
    }

    /// Returns the cases to measure next, with `turns` turns each; none if no open case fits into
    /// the remaining time.
    pub(super) fn next(&self, open: Vec<OpenCase>, turns: u32) -> Vec<CaseId> {
        let Some(left) = self.left() else { return Vec::new() };
        choose(open, |id| turns * self.cost(id), left)
    }

    /// Returns the duration of one turn of every measured case, summed.
    pub(super) fn cost_of_all(&self) -> Duration {
        self.costs.values().sum()
    }

    /// Returns how many turns, at most `most`, the next pair of each open case gets. Returns one if
    /// fewer than [`PAIRS_TO_FIT`] pairs of the most urgent cases would otherwise fit into the
    /// remaining time: a rough result for every case is worth more than a precise one for some.
    pub(super) fn turns(&self, open: &[OpenCase], most: u32) -> u32 {
        let is_slower = |case: &&OpenCase| case.urgency <= Urgency::Slower;
        let slower: Duration = open.iter().filter(is_slower).map(|case| self.cost(&case.id)).sum();
        let all: Duration = open.iter().map(|case| self.cost(&case.id)).sum();
        let turn = if slower.is_zero() { all } else { slower };
        let fits = self.left().is_some_and(|left| PAIRS_TO_FIT * most * turn <= left);
        if fits { most } else { 1 }
    }

    /// Calls `measure` with a listener that forwards every event to `listener`, and derives from
    /// the events how long each of the `turns` of a pair takes.
    pub(super) fn time<T>(
        &mut self,
        turns: u32,
        listener: &mut Listener<'_>,
        measure: impl FnOnce(&mut Listener<'_>) -> T,
    ) -> T {
        let mut running: Option<(CaseId, Instant)> = None;
        let costs = &mut self.costs;
        let mut end = |running: Option<(CaseId, Instant)>| {
            if let Some((id, since)) = running {
                costs.insert(id, since.elapsed() / turns.max(1));
            }
        };
        let result = measure(&mut |event| {
            if let Event::ReplicateStarted { case, .. } = event {
                end(running.replace((case.id.clone(), Instant::now())));
            }
            listener(event);
        });
        end(running);
        result
    }

    /// Returns whether the next progress message is due, and restarts its interval if so.
    pub(super) fn is_report_due(&mut self) -> bool {
        let is_due = self.reported.elapsed() >= PROGRESS;
        if is_due {
            self.reported = Instant::now();
        }
        is_due
    }

    fn cost(&self, id: &CaseId) -> Duration {
        self.costs.get(id).copied().unwrap_or_default()
    }
}

/// Returns whether other tasks used more than half of the CPUs in the last second; false if the
/// system does not report them.
fn is_busy() -> bool {
    const LOOKS: u32 = 20;
    let mut others = 0;
    for _ in 0..LOOKS {
        std::thread::sleep(Duration::from_millis(50));
        let Some(runnable) = rsb_probe::runnable_tasks() else { return false };
        others += runnable.saturating_sub(1);
    }
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    f64::from(others) / f64::from(LOOKS) > cpus as f64 / 2.0
}

/// Returns the most urgent of `open`, enough to fill a batch. Skips cases that take longer than the
/// time `left`.
fn choose(
    mut open: Vec<OpenCase>,
    cost: impl Fn(&CaseId) -> Duration,
    left: Duration,
) -> Vec<CaseId> {
    let until_decided = |case: &OpenCase| case.replicates * cost(&case.id).as_secs_f64();
    open.sort_by(|one, other| {
        one.urgency
            .cmp(&other.urgency)
            .then_with(|| until_decided(one).total_cmp(&until_decided(other)))
    });
    let mut batch = Vec::new();
    let mut total = Duration::ZERO;
    for case in open {
        let sum = total + cost(&case.id);
        if sum > left {
            continue;
        }
        batch.push(case.id);
        total = sum;
        if total >= BATCH {
            break;
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(id: &str, urgency: Urgency, replicates: f64) -> OpenCase {
        OpenCase { id: id.parse().unwrap(), urgency, replicates }
    }

    fn chosen(open: Vec<OpenCase>, costs: &[(&str, f64)], left: f64) -> Vec<String> {
        let cost = |id: &CaseId| {
            let known = costs.iter().find(|(name, _)| *name == id.as_str());
            Duration::from_secs_f64(known.map_or(0.1, |(_, seconds)| *seconds))
        };
        let batch = choose(open, cost, Duration::from_secs_f64(left));
        batch.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_most_urgent_and_then_the_soonest_decided_come_first() {
        let cases = vec![
            open("passing", Urgency::Passing, 1.0),
            open("noisy", Urgency::Undecided, 400.0),
            open("near", Urgency::Undecided, 2.0),
            open("slower", Urgency::Slower, 8.0),
            open("called", Urgency::Confirm, 5.0),
        ];
        let expected = ["called", "slower", "near", "noisy", "passing"];
        assert_eq!(chosen(cases, &[], 60.0), expected);
    }

    #[test]
    fn a_batch_ends_when_it_is_long_enough() {
        let cases = || vec![open("a", Urgency::Confirm, 1.0), open("b", Urgency::Undecided, 1.0)];
        assert_eq!(chosen(cases(), &[("a", 4.9)], 60.0), ["a", "b"]);
        assert_eq!(chosen(cases(), &[("a", 5.0)], 60.0), ["a"]);
    }

    #[test]
    fn the_end_of_the_time_goes_to_the_cases_that_fit() {
        let cases = || {
            vec![
                open("long", Urgency::Confirm, 1.0),
                open("short", Urgency::Undecided, 9.0),
                open("other", Urgency::Undecided, 99.0),
            ]
        };
        assert_eq!(chosen(cases(), &[("long", 3.0)], 2.0), ["short", "other"]);
        assert_eq!(chosen(cases(), &[], 0.15), ["long"]);
        assert_eq!(chosen(cases(), &[], 0.05), [""; 0]);
    }

    #[test]
    fn pairs_have_several_turns_if_a_few_of_them_fit() {
        let schedule = |seconds: u64, costs: &[(&str, u64)]| {
            let mut schedule = Schedule::new(Duration::from_secs(seconds));
            let costs =
                costs.iter().map(|(id, cost)| (id.parse().unwrap(), Duration::from_secs(*cost)));
            schedule.costs.extend(costs);
            schedule
        };
        let open = [open("a", Urgency::Undecided, 1.0), open("b", Urgency::Slower, 1.0)];
        assert_eq!(schedule(60, &[("a", 2), ("b", 2)]).turns(&open[..1], 4), 4);
        assert_eq!(schedule(20, &[("a", 2), ("b", 2)]).turns(&open[..1], 4), 1);
        assert_eq!(
            schedule(60, &[("a", 9), ("b", 2)]).turns(&open, 4),
            4,
            "only the cost of b counts"
        );
    }

    #[test]
    fn nothing_is_chosen_after_the_time_is_over() {
        let cases = vec![open("a", Urgency::Confirm, 1.0)];
        assert!(Schedule::new(Duration::ZERO).next(cases.clone(), 1).is_empty());
        assert_eq!(Schedule::new(Duration::from_mins(1)).next(cases, 1).len(), 1);
    }

    #[test]
    fn the_cost_of_a_case_is_the_duration_of_its_last_replicate() {
        let mut schedule = Schedule::new(Duration::from_mins(1));
        let case = |id: &str| crate::harness::case_of(id.parse().unwrap());
        schedule.time(1, &mut |_| {}, |listener| {
            for (id, milliseconds) in [("short", 1), ("long", 30), ("short", 2)] {
                listener(&Event::ReplicateStarted { case: Box::new(case(id)), step: 1, steps: 3 });
                std::thread::sleep(Duration::from_millis(milliseconds));
            }
        });
        let [short, long] = ["short", "long"].map(|id| schedule.cost(&id.parse().unwrap()));
        assert!(long >= Duration::from_millis(30) && short < long, "{short:?} {long:?}");
        assert_eq!(schedule.cost_of_all(), short + long);
    }
}
