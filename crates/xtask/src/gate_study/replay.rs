//! One suite drawn from a recording and judged by the gate, remeasured where it doubts, as the program would.

use rsb_model::{ComparisonResult, Run, Samples, Timestamp, Verdict};
use rsb_stats::Policy;
use rsb_stats::remeasure::{AGAINST_BASELINE, PAIRS, Rounds};
use rsb_stats::rng::Rng;

use super::recording::{RecordedCase, Recording};

/// How the two sides come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `gate --against REV`: pairs of processes.
    Paired,
    /// `gate --budget` against a stored baseline; all processes in random order.
    Baseline,
    /// The same, with the baseline from the first half of the recording and the run from the second.
    LaterBaseline,
    /// As the last, and the program that made the baseline is kept: what looks slower or is undecided is paired with it.
    KeptProgram,
}

/// Processes of a stored baseline.
pub(super) const BASELINE_REPLICATES: usize = 10;

/// Every tenth case is made slower.
const ONE_IN: usize = 10;

/// What came of one suite.
#[derive(Debug, Default, Clone)]
pub(super) struct SuiteVerdicts {
    /// Verdicts on the cases that were made slower.
    pub(super) slowed: Vec<Verdict>,
    /// Verdicts on the others.
    pub(super) untouched: Vec<Verdict>,
    /// Seconds of measuring.
    pub(super) seconds: f64,
}

/// What is drawn for one side of one suite.
struct Draw<'a> {
    case: &'a RecordedCase,
    factor: f64,
    /// Pairs in the order in which they are measured, and whether their sides are exchanged.
    order: Vec<(usize, bool)>,
    /// Processes of a stored baseline.
    stored: Vec<(usize, bool)>,
    taken: usize,
}

/// Draws and judges a suite of every recorded case, of which some are slower by `factor`.
pub(super) fn suite(recording: &Recording, mode: Mode, factor: f64, seed: u64) -> SuiteVerdicts {
    let mut rng = Rng::new(seed);
    let first = rng.below(ONE_IN);
    let is_slowed = |at: usize| factor > 1.0 && at % ONE_IN == first;
    let factor_of = |at: usize| if is_slowed(at) { factor } else { 1.0 };
    let mut draw = |mode: Mode, wanted: &dyn Fn(&RecordedCase) -> bool| -> Vec<Draw<'_>> {
        let cases = recording.cases.iter().enumerate().filter(|(_, case)| wanted(case));
        cases.map(|(at, case)| Draw::of(case, mode, factor_of(at), &mut rng)).collect()
    };
    let policy = Policy::default();
    let (mut result, current, mut seconds) = judge(recording, draw(mode, &|_| true), mode, &policy);
    if mode == Mode::KeptProgram {
        let suspects = rsb_stats::suspects(&result, &current);
        let pairs = draw(Mode::Paired, &|case| suspects.contains(&case.result.benchmark_id));
        let (paired, _, more) = judge(recording, pairs, Mode::Paired, &policy);
        result = rsb_stats::with_paired(result, &paired, &policy);
        seconds += more;
    }
    let mut ended = SuiteVerdicts { seconds, ..SuiteVerdicts::default() };
    // One row for each case: its time.
    for comparison in result.comparisons.iter().filter(|comparison| comparison.metric == "time_ms") {
        let at = recording.cases.iter().position(|case| case.result.benchmark_id == comparison.id);
        let list = if at.is_some_and(is_slowed) { &mut ended.slowed } else { &mut ended.untouched };
        list.push(comparison.verdict);
    }
    ended
}

/// Measures what was drawn until the verdicts stand or the budget is over: they, what was judged, and the seconds.
fn judge(recording: &Recording, mut draws: Vec<Draw<'_>>, mode: Mode, policy: &Policy) -> (ComparisonResult, Run, f64) {
    let (rounds, mut budget) = mode.effort();
    let mut seconds: f64 = draws.iter_mut().map(|draw| draw.take(mode, rounds.first as usize)).sum();
    let mut longest = 0.0_f64;
    loop {
        let (baseline, current) = sides(recording, mode, &draws);
        let result = match mode {
            Mode::Paired => rsb_stats::gate_paired(&baseline, &current, policy, Timestamp::UNIX_EPOCH),
            Mode::Baseline | Mode::LaterBaseline | Mode::KeptProgram => {
                let sides = (std::slice::from_ref(&baseline), std::slice::from_ref(&current));
                rsb_stats::gate(sides.0, sides.1, policy, &[], Timestamp::UNIX_EPOCH)
            }
        };
        let doubtful = rsb_stats::undecided_cases(&result, &current, rounds);
        if doubtful.is_empty() || budget - seconds <= longest {
            return (result, current, seconds);
        }
        let again = draws.iter_mut().filter(|draw| doubtful.contains(&draw.case.result.benchmark_id));
        let step: f64 = again.map(|draw| draw.take(mode, rounds.step as usize)).sum();
        if step <= 0.0 {
            budget = 0.0; // Nothing is left to draw.
        }
        longest = longest.max(step);
        seconds += step;
    }
}

impl Mode {
    /// Rounds, and the budget in seconds: that of the program, without the first run where a baseline is stored.
    const fn effort(self) -> (Rounds, f64) {
        match self {
            Self::Paired => (PAIRS, 180.0),
            Self::Baseline | Self::LaterBaseline => (AGAINST_BASELINE, 180.0),
            Self::KeptProgram => (AGAINST_BASELINE, 0.0), // Pairs come next.
        }
    }
}

impl<'a> Draw<'a> {
    fn of(case: &'a RecordedCase, mode: Mode, factor: f64, rng: &mut Rng) -> Self {
        let count = case.pairs.len();
        let mut all: Vec<usize> = (0..count).collect();
        if !matches!(mode, Mode::LaterBaseline | Mode::KeptProgram) {
            rng.shuffle(&mut all);
        }
        let stored_from = if mode == Mode::Paired { 0 } else { count / 2 };
        let (stored, fresh) = all.split_at_mut(stored_from);
        rng.shuffle(stored);
        rng.shuffle(fresh);
        let mut exchange =
            |list: &[usize]| -> Vec<(usize, bool)> { list.iter().map(|&at| (at, rng.below(2) == 1)).collect() };
        Self { case, factor, order: exchange(fresh), stored: exchange(stored), taken: 0 }
    }

    /// Measures `more` processes; the seconds that they take.
    fn take(&mut self, mode: Mode, more: usize) -> f64 {
        let before = self.taken;
        self.taken = (self.taken + more).min(self.order.len());
        let share = if mode == Mode::Paired { 1.0 } else { 0.5 }; // Of a pair only one side is measured.
        (self.taken - before) as f64 * self.case.seconds * share
    }

    fn process(&self, (at, exchanged): (usize, bool), side: usize, factor: f64, replicate: usize) -> Samples {
        let mut samples = self.case.pairs[at][side ^ usize::from(exchanged)].clone();
        samples.replicate = replicate as u32;
        samples.times_ns.iter_mut().for_each(|time| *time *= factor);
        samples
    }
}

fn sides(recording: &Recording, mode: Mode, draws: &[Draw<'_>]) -> (Run, Run) {
    let (mut baseline, mut current) = (recording.blank(), recording.blank());
    for draw in draws {
        let taken = draw.order.iter().take(draw.taken);
        let (mut before, mut after) = (draw.case.result.clone(), draw.case.result.clone());
        if mode == Mode::Paired {
            let first = taken.clone().enumerate().map(|(n, &pair)| draw.process(pair, 0, 1.0, n));
            before.samples = first.collect();
        } else {
            let stored = draw.stored.iter().take(BASELINE_REPLICATES).enumerate();
            before.samples = stored.map(|(n, &pair)| draw.process(pair, 0, 1.0, n)).collect();
        }
        after.samples = taken.enumerate().map(|(n, &pair)| draw.process(pair, 1, draw.factor, n)).collect();
        baseline.keep(before);
        current.keep(after);
    }
    (baseline, current)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve cases of 30 pairs: a process is a little fast or slow as a whole, one in five is disturbed, and what
    /// disturbs a pair disturbs both of it.
    fn recording() -> Recording {
        let mut rng = Rng::new(11);
        let mut samples = |replicate: u32, disturbed: f64| {
            let level = 1000.0 * (0.01 * rng.normal()).exp() * disturbed;
            let times_ns = (0..20).map(|_| level * (1.0 + 0.01 * rng.uniform())).collect();
            Samples { replicate, iters: vec![1; 20], times_ns }
        };
        Recording::made_up((0..12).map(|_| {
            (0..30_u32)
                .map(|pair| {
                    let disturbed = if pair % 5 == 0 { 1.3 } else { 1.0 };
                    [samples(pair, disturbed), samples(pair, disturbed)]
                })
                .collect()
        }))
    }

    #[test]
    fn the_same_program_is_unchanged_and_a_slower_one_is_found() {
        let recording = recording();
        for mode in [Mode::Paired, Mode::Baseline, Mode::KeptProgram] {
            for seed in 0..10 {
                let same = suite(&recording, mode, 1.0, seed);
                assert!(same.untouched.iter().all(|&verdict| verdict == Verdict::Unchanged), "{mode:?}: {same:?}");
                let slower = suite(&recording, mode, 1.3, seed);
                assert!(!slower.slowed.is_empty(), "{mode:?}: a tenth of the cases is slower");
                assert!(slower.slowed.iter().all(|&verdict| verdict == Verdict::Regressed), "{mode:?}: {slower:?}");
                assert!(slower.untouched.iter().all(|&verdict| verdict == Verdict::Unchanged), "{mode:?}: {slower:?}");
                assert!(same.seconds > 0.0);
            }
        }
    }

    #[test]
    fn a_recording_that_runs_out_ends() {
        let mut recording = recording();
        for case in &mut recording.cases {
            case.pairs.truncate(2);
        }
        assert_eq!(suite(&recording, Mode::Baseline, 1.0, 3).untouched.len(), 12);
    }
}
