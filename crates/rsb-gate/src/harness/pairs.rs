//! Two builds of another project, whose processes take turns: A B B A. A harness cannot be paused
//! while it measures, so a turn is a whole, short process. A disturbance of one second then affects
//! both sides, or leaves some processes of each side undisturbed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rsb_engine::measure::{
    PairSource, Replicate, ReplicateCost, Settings, Turn, WorkerError, interrupt,
};
use rsb_model::{Case, CaseId, DeviceType, Fields, Reason, Samples};

use super::{Benches, Pace, SamplesByCase};

/// Processes of each side in a pair, if they are short and there is time. The fastest of their
/// samples is the value of the side: on a busy machine with two threads, ratios of two builds of
/// one source spread by 8.7 % with four processes of 50 ms, and by 23 % with one process of 150 ms
/// (docs/gate-study.md).
pub const TURNS: u32 = 4;
/// A pair that took longer than this gets no further turns.
const LONG: Duration = Duration::from_secs(1);

/// Source of pairs from two builds.
pub struct BenchPairs<'a> {
    sides: &'a [Arc<Benches>; 2],
    settings: &'a Settings,
    /// Processes of each side in a pair.
    turns: u32,
    scratch: tempfile::TempDir,
    /// Samples of other cases from the last process of each side, with its replicate number. A
    /// command measures all cases at once, so it is not run again for each of them.
    known: [Option<(u32, SamplesByCase)>; 2],
}

impl<'a> BenchPairs<'a> {
    /// Creates a source for `sides` whose pairs have `turns` processes of each side.
    ///
    /// # Errors
    /// Fails if no temporary directory can be created.
    pub fn new(
        sides: &'a [Arc<Benches>; 2],
        settings: &'a Settings,
        turns: u32,
    ) -> std::io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir()?;
        Ok(Self { sides, settings, turns, scratch, known: [None, None] })
    }

    /// Adds the samples of one process to those of its side.
    fn add(&mut self, part: &mut SideSamples, case: &Case, turn: Turn) -> Result<(), WorkerError> {
        if interrupt::is_requested() {
            return Err(WorkerError::Interrupted);
        }
        let began = Instant::now();
        let samples = match self.take(part.which, &case.id, turn.replicate) {
            Some(samples) => samples,
            None => self.run(part.which, part.pace, case, turn)?,
        };
        rsb_stats::location(&samples)
            .map_err(|error| case_failure(&case.id, &error.to_string()))?;
        for (&iters, &time) in samples.iters.iter().zip(&samples.times_ns) {
            part.samples.push(iters, time);
        }
        part.total += began.elapsed();
        Ok(())
    }

    /// Takes samples of the case from the last process of this side, if that process had the same
    /// replicate number.
    fn take(&mut self, which: usize, id: &CaseId, replicate: u32) -> Option<Samples> {
        let (of, measured) = self.known[which].as_mut()?;
        if *of == replicate { measured.remove(id) } else { None }
    }

    fn run(
        &mut self,
        which: usize,
        pace: Pace,
        case: &Case,
        turn: Turn,
    ) -> Result<Samples, WorkerError> {
        let limit = self.settings.limit_of(case).min(turn.time_left);
        let home = tempfile::tempdir_in(self.scratch.path());
        let home = home.map_err(|error| {
            case_failure(&case.id, &format!("cannot create a temporary directory: {error}"))
        })?;
        let ended = self.sides[which].measure(case, pace, home.path(), limit);
        if interrupt::is_requested() {
            return Err(WorkerError::Interrupted); // It may have died of it.
        }
        let mut measured = ended.map_err(WorkerError::Failed)?;
        let samples = measured.remove(&case.id);
        if !measured.is_empty() {
            self.known[which] = Some((turn.replicate, measured));
        }
        samples.ok_or_else(|| case_failure(&case.id, "the command measured other cases this time"))
    }
}

impl PairSource for BenchPairs<'_> {
    fn measure_pair(
        &mut self,
        case: &Case,
        turn: Turn,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let mut pace = self.pace(case);
        loop {
            let measured = self.take_turns(case, turn, pace);
            // If a case was cut off, both sides start again at the next pace.
            let next = self.pace(case);
            if measured.is_ok() || next == pace {
                return measured;
            }
            pace = next;
        }
    }

    fn measure_side(
        &mut self,
        which: usize,
        case: &Case,
        turn: Turn,
    ) -> Result<Replicate, WorkerError> {
        let mut part = SideSamples::new(which, turn.replicate, self.sides[which].pace(case));
        self.add(&mut part, case, turn)?;
        Ok(part.replicate())
    }
}

impl BenchPairs<'_> {
    /// Returns the pace of `case` on both sides.
    fn pace(&self, case: &Case) -> Pace {
        self.sides.iter().map(|side| side.pace(case)).max().unwrap_or_default()
    }

    /// Measures a pair, both sides at the same pace. At different paces, the fastest samples would
    /// not be comparable.
    fn take_turns(
        &mut self,
        case: &Case,
        turn: Turn,
        pace: Pace,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let began = Instant::now();
        let mut parts = [0, 1].map(|which| SideSamples::new(which, turn.replicate, pace));
        for round in 0..self.turns {
            // Alternate which side starts, because the first process of a round finds the machine
            // in another state than the second.
            let first = ((turn.replicate + round) % 2) as usize;
            for which in [first, 1 - first] {
                self.add(&mut parts[which], case, turn).map_err(|problem| (which, problem))?;
            }
            if self.sides.iter().any(|side| side.measures_all_at_once()) || began.elapsed() > LONG {
                break;
            }
        }
        Ok(parts.map(SideSamples::replicate))
    }
}

/// Samples of one side of a pair.
struct SideSamples {
    which: usize,
    pace: Pace,
    samples: Samples,
    total: Duration,
}

impl SideSamples {
    fn new(which: usize, replicate: u32, pace: Pace) -> Self {
        Self { which, pace, samples: Samples::new(replicate), total: Duration::ZERO }
    }

    fn replicate(self) -> Replicate {
        let inside = Duration::from_nanos(self.samples.times_ns.iter().sum::<f64>() as u64);
        Replicate {
            samples: self.samples,
            fields: Fields::new(),
            device_type: DeviceType::Cpu,
            warm_up: 0,
            cost: ReplicateCost { prepare: Duration::ZERO, measure: inside, total: self.total },
            telemetry: None,
            clock_ramp: None,
        }
    }
}

fn case_failure(id: &CaseId, why: &str) -> WorkerError {
    WorkerError::Failed(Reason::new(
        format!("case {id}"),
        why,
        "run the benchmark separately to see more",
    ))
}
