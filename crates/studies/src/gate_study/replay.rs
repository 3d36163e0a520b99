//! Replays a suite from consecutive rounds of a recording. The gate judges it, and undecided cases
//! are remeasured as in the program.

use rsb_model::record::PAST_PROCESSES;
use rsb_model::{ComparisonResult, ReasonCode, Run, Samples, Timestamp, Verdict};
use rsb_stats::Policy;
use rsb_stats::remeasure::{AGAINST_BASELINE, PAIRS, Rounds};

use super::recording::{RecordedCase, Recording};

/// Origin of the two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `gate --against REV`: pairs of processes.
    Paired,
    /// The program that made the baseline is kept; suspected and undecided cases are remeasured in
    /// pairs with it.
    KeptProgram,
    /// Like `KeptProgram`, with a baseline from half a recording earlier: a committed baseline on a
    /// fresh checkout, whose revision is built.
    BuiltRevision,
    /// `gate --budget` against a stored baseline of the preceding rounds.
    Baseline,
    /// Like `Baseline`, with a baseline from half a recording earlier.
    LaterBaseline,
    /// Three saved runs per side, without remeasuring.
    Apart,
    /// Like `Apart`, with a baseline that also keeps the processes of four earlier runs.
    ApartWithPast,
}

/// Cases of a suite, and which of them are slowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Change {
    /// The cases that are the same in both programs.
    None,
    /// All cases; those of the patch are slower in the second program.
    InSource,
    /// The cases that are the same in both programs; every tenth is multiplied by a factor.
    Multiplied(f64),
}

/// One case in this many is slowed in [`Change::Multiplied`].
const ONE_IN: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CaseVerdict {
    pub(super) verdict: Verdict,
    /// Whether only the median prevents a pass.
    pub(super) is_median_worse: bool,
    /// Whether each process of the current side has a slower floor than every process of the
    /// baseline.
    pub(super) is_separate: bool,
}

#[derive(Debug, Default, Clone)]
pub(super) struct SuiteVerdicts {
    /// Verdicts of the slowed cases.
    pub(super) slowed: Vec<CaseVerdict>,
    /// Verdicts of the remaining cases.
    pub(super) untouched: Vec<CaseVerdict>,
    pub(super) seconds: f64,
}

/// A case of a suite, with the rounds in which it is measured.
struct Turn<'a> {
    case: &'a RecordedCase,
    is_slowed: bool,
    factor: f64,
    stored: std::ops::Range<usize>,
    /// First round of the current side, and the number of rounds measured.
    from: usize,
    taken: usize,
}

impl Mode {
    /// Returns the number of rounds, and the budget in seconds as in the program. The budget
    /// excludes the first run if a baseline is stored.
    const fn effort(self) -> (Rounds, f64) {
        match self {
            Self::Paired => (PAIRS, 180.0),
            Self::Baseline | Self::LaterBaseline => (AGAINST_BASELINE, 180.0),
            Self::KeptProgram | Self::BuiltRevision => (AGAINST_BASELINE, 0.0), // Pairs come next.
            Self::Apart | Self::ApartWithPast => (Rounds { first: 3, step: 0, enough: 3 }, 0.0),
        }
    }

    /// Returns the number of rounds of a stored baseline.
    const fn baseline_rounds(self) -> usize {
        match self {
            Self::Paired => 0,
            Self::KeptProgram | Self::BuiltRevision | Self::Baseline | Self::LaterBaseline => 10,
            Self::Apart | Self::ApartWithPast => 3,
        }
    }

    /// Returns the number of earlier runs; each has as many rounds as the baseline.
    const fn earlier(self) -> usize {
        match self {
            Self::ApartWithPast => 4,
            _ => 0,
        }
    }

    /// Returns the number of rounds that a suite uses before anything is remeasured. Suites at
    /// least this far apart share none of these rounds.
    pub(super) const fn length(self) -> usize {
        (self.earlier() + 1) * self.baseline_rounds() + self.effort().0.first as usize
    }

    /// Returns the number of rounds from the start of the baseline to the start of the current
    /// side.
    fn lag(self, recording: &Recording) -> usize {
        match self {
            Self::BuiltRevision | Self::LaterBaseline => recording.rounds() / 2,
            _ => self.baseline_rounds(),
        }
    }

    /// Returns whether suspected cases are remeasured in pairs with the program that made the
    /// baseline.
    const fn has_program(self) -> bool {
        matches!(self, Self::KeptProgram | Self::BuiltRevision)
    }

    fn is_paired(self) -> bool {
        self == Self::Paired
    }
}

/// Judges the suite that starts at round `start`. The first round follows the last one.
pub(super) fn suite(
    recording: &Recording,
    mode: Mode,
    change: Change,
    start: usize,
) -> SuiteVerdicts {
    let policy = Policy::default();
    let (mut result, current, mut seconds) =
        judge(recording, turns(recording, mode, change, start, 0), mode, &policy);
    if mode.has_program() {
        let suspects = rsb_stats::suspects(&result, &current);
        let after = mode.lag(recording) + mode.effort().0.first as usize;
        let mut pairs = turns(recording, Mode::Paired, change, start, after);
        pairs.retain(|turn| suspects.contains(&turn.case.result.benchmark_id));
        let (paired, _, more) = judge(recording, pairs, Mode::Paired, &policy);
        result = rsb_stats::with_paired(result, &paired, &policy);
        seconds += more;
    }
    let turns = turns(recording, mode, change, start, 0);
    let mut ended = SuiteVerdicts { seconds, ..SuiteVerdicts::default() };
    // Only the time: one row per case.
    for row in result.comparisons.iter().filter(|row| row.metric == "time_ms") {
        let Some(turn) = turns.iter().find(|turn| turn.case.result.benchmark_id == row.id) else {
            continue;
        };
        let verdict = CaseVerdict {
            verdict: row.verdict,
            is_median_worse: row.reason_code == ReasonCode::MedianWorse,
            is_separate: turn.is_separate(mode),
        };
        if turn.is_slowed { ended.slowed.push(verdict) } else { ended.untouched.push(verdict) }
    }
    ended
}

/// Returns the cases of the suite that starts at round `start`, with the current side `later`
/// rounds later.
fn turns(
    recording: &Recording,
    mode: Mode,
    change: Change,
    start: usize,
    later: usize,
) -> Vec<Turn<'_>> {
    let stored = start + mode.earlier() * mode.baseline_rounds();
    let from = stored + later + mode.lag(recording);
    let same = recording.cases.iter().filter(|case| change == Change::InSource || !case.is_slowed);
    let each = same.enumerate().map(|(at, case)| {
        let multiplied = match change {
            Change::Multiplied(factor) if at % ONE_IN == start % ONE_IN => Some(factor),
            _ => None,
        };
        Turn {
            case,
            is_slowed: case.is_slowed || multiplied.is_some(),
            factor: multiplied.unwrap_or(1.0),
            stored: stored..stored + mode.baseline_rounds(),
            from,
            taken: 0,
        }
    });
    each.collect()
}

/// Measures until all cases are decided or the budget is used up. Returns the verdicts, the current
/// run, and the seconds used.
fn judge(
    recording: &Recording,
    mut turns: Vec<Turn<'_>>,
    mode: Mode,
    policy: &Policy,
) -> (ComparisonResult, Run, f64) {
    let (rounds, mut budget) = mode.effort();
    let mut seconds: f64 =
        turns.iter_mut().map(|turn| turn.take(mode, rounds.first as usize)).sum();
    let mut longest = 0.0_f64;
    loop {
        let (baseline, current) = sides(recording, mode, &turns);
        let result = if mode.is_paired() {
            rsb_stats::gate_paired(&baseline, &current, policy, Timestamp::UNIX_EPOCH)
        } else {
            let sides = (std::slice::from_ref(&baseline), std::slice::from_ref(&current));
            rsb_stats::gate(sides.0, sides.1, policy, &[], Timestamp::UNIX_EPOCH)
        };
        let doubtful = rsb_stats::undecided_cases(&result, &current, rounds);
        if doubtful.is_empty() || budget - seconds <= longest {
            return (result, current, seconds);
        }
        let again =
            turns.iter_mut().filter(|turn| doubtful.contains(&turn.case.result.benchmark_id));
        let step: f64 = again.map(|turn| turn.take(mode, rounds.step as usize)).sum();
        if step <= 0.0 {
            budget = 0.0; // Nothing is left to take.
        }
        longest = longest.max(step);
        seconds += step;
    }
}

impl Turn<'_> {
    /// Measures `more` processes and returns the seconds they take. Each round is used at most
    /// once.
    fn take(&mut self, mode: Mode, more: usize) -> f64 {
        let before = self.taken;
        self.taken = (self.taken + more).min(self.case.rounds.len() - mode.baseline_rounds());
        let share = if mode.is_paired() { 1.0 } else { 0.5 }; // Of a pair only one side is measured.
        (self.taken - before) as f64 * self.case.seconds * share
    }

    fn process(&self, round: usize, side: usize) -> Samples {
        let mut samples = self.case.rounds[round % self.case.rounds.len()][side].clone();
        if side == 1 {
            samples.times_ns.iter_mut().for_each(|time| *time *= self.factor);
        }
        samples
    }

    fn side(&self, rounds: std::ops::Range<usize>, side: usize) -> Vec<Samples> {
        let numbered = rounds.zip(0..);
        numbered
            .map(|(round, replicate)| Samples { replicate, ..self.process(round, side) })
            .collect()
    }

    fn baseline(&self, mode: Mode) -> Vec<Samples> {
        self.side(
            if mode.is_paired() { self.from..self.from + self.taken } else { self.stored.clone() },
            0,
        )
    }

    /// Returns the process times of earlier runs that a baseline keeps.
    fn past(&self, mode: Mode) -> Vec<Vec<f64>> {
        let length = mode.baseline_rounds();
        let mut past = Vec::with_capacity(mode.earlier());
        for back in (1..=mode.earlier()).rev() {
            let begin = self.stored.start - back * length;
            let run = self.side(begin..begin + length, 0);
            past.push(run.iter().filter_map(|one| Some(one.floor().ok()? / 1e6)).collect());
        }
        past
    }

    fn current(&self) -> Vec<Samples> {
        self.side(self.from..self.from + self.taken, 1)
    }

    fn is_separate(&self, mode: Mode) -> bool {
        let first =
            Turn { taken: mode.effort().0.first as usize, stored: self.stored.clone(), ..*self };
        let (before, after) = (floors(&first.baseline(mode)), floors(&first.current()));
        let slowest = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        after.iter().all(|time| *time > slowest)
    }
}

fn floors(side: &[Samples]) -> Vec<f64> {
    side.iter().filter_map(|one| one.floor().ok()).collect()
}

fn sides(recording: &Recording, mode: Mode, turns: &[Turn<'_>]) -> (Run, Run) {
    let (mut baseline, mut current) = (recording.blank(), recording.blank());
    for turn in turns {
        let (mut before, mut after) = (turn.case.result.clone(), turn.case.result.clone());
        before.samples = turn.baseline(mode);
        if mode.earlier() > 0 {
            before.metadata.insert(PAST_PROCESSES.to_owned(), turn.past(mode).into());
        }
        after.samples = turn.current();
        baseline.keep(before);
        current.keep(after);
    }
    (baseline, current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_stats::rng::Rng;

    /// Returns twelve cases of 30 rounds. Each process has a random level; one round in five is
    /// disturbed, in both of its processes. The first case is slower in the second program.
    fn recording() -> Recording {
        let mut rng = Rng::new(11);
        Recording::made_up((0..12).map(|case| {
            let slower = if case == 0 { 1.3 } else { 1.0 };
            let rounds = (0..30_u32).map(|round| {
                let level = if round.is_multiple_of(5) { 1300.0 } else { 1000.0 };
                [samples(&mut rng, level), samples(&mut rng, level * slower)]
            });
            rounds.collect()
        }))
    }

    fn samples(rng: &mut Rng, level: f64) -> Samples {
        let level = level * (0.01 * rng.normal()).exp();
        let times_ns = (0..20).map(|_| level * (1.0 + 0.01 * rng.uniform())).collect();
        Samples { replicate: 0, iters: vec![1; 20], times_ns }
    }

    #[test]
    fn the_same_function_is_unchanged_and_a_slower_one_is_found() {
        let recording = recording();
        for mode in [Mode::Paired, Mode::Baseline, Mode::KeptProgram] {
            for start in 0..10 {
                let same = suite(&recording, mode, Change::None, start);
                assert_eq!((same.slowed.len(), same.untouched.len()), (0, 11));
                assert!(are_all(&same.untouched, Verdict::Unchanged), "{mode:?}: {same:?}");
                for (change, slowed) in
                    [(Change::InSource, 1..=1), (Change::Multiplied(1.3), 1..=2)]
                {
                    let slower = suite(&recording, mode, change, start);
                    assert!(slowed.contains(&slower.slowed.len()), "{mode:?}: {slower:?}");
                    assert!(are_all(&slower.slowed, Verdict::Regressed), "{mode:?}: {slower:?}");
                    assert!(are_all(&slower.untouched, Verdict::Unchanged), "{mode:?}: {slower:?}");
                }
                assert!(same.seconds > 0.0);
            }
        }
    }

    fn are_all(found: &[CaseVerdict], wanted: Verdict) -> bool {
        found.iter().all(|found| found.verdict == wanted)
    }

    #[test]
    fn sides_measured_apart_take_three_rounds_each_and_tell_whether_they_are_separate() {
        let recording = recording();
        let found = suite(&recording, Mode::Apart, Change::InSource, 1); // Rounds 1 to 3, and 4 to 6, of which 5 is disturbed.
        assert!((found.seconds - 12.0 * 3.0 * 0.5).abs() < 1e-9, "{found:?}");
        assert!(
            found.slowed[0].is_separate && found.untouched.iter().any(|one| !one.is_separate),
            "{found:?}"
        );
    }

    #[test]
    fn a_recording_that_runs_out_ends() {
        let mut recording = recording();
        for case in &mut recording.cases {
            case.rounds.truncate(12);
        }
        assert_eq!(suite(&recording, Mode::Baseline, Change::None, 3).untouched.len(), 11);
    }
}
