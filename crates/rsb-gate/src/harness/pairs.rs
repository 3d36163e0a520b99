//! Two builds of another project, whose processes take turns: A B B A. How long a harness measures
//! without a pause is its own business, so that the turns are whole processes, and short ones: what
//! disturbs the machine for a second then falls on both sides, or leaves some processes of each
//! alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rsb_engine::measure::{
    PairSource, Replicate, ReplicateCost, Settings, Turn, WorkerError, interrupt,
};
use rsb_model::{Case, CaseId, DeviceType, Fields, Reason, Samples};

use super::{Benches, Pace, SamplesByCase};

/// Processes of each side in a pair, if they are short and there is time. The fastest sample of them is the
/// side's figure: on a busy machine with two threads, ratios of two builds of one source spread by
/// 8.7 % of four processes of 50 ms, and by 23 % of one process of 150 ms (docs/gate-study.md).
pub const TURNS: u32 = 4;
/// A pair that took so long has had its turns.
const LONG: Duration = Duration::from_secs(1);

/// Both builds, as something that measures pairs.
pub struct BenchPairs<'a> {
    sides: &'a [Arc<Benches>; 2],
    settings: &'a Settings,
    /// Processes of each side in a pair.
    turns: u32,
    scratch: tempfile::TempDir,
    /// What the last process of each side measured of other cases, by the number of its replicate:
    /// a command measures every case at once, and is run once for all of them.
    known: [Option<(u32, SamplesByCase)>; 2],
}

impl<'a> BenchPairs<'a> {
    /// Nothing of `sides` is measured yet. A pair has `turns` processes of each side.
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

    /// Adds a process of one side to what it has measured of `case`.
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

    /// What the last process of this side measured of the case besides, in this replicate.
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
        let home = home
            .map_err(|error| case_failure(&case.id, &format!("no room for its result: {error}")))?;
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
            // If a case was cut off, both sides begin again, asked in the next way.
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
    /// How `case` is to be asked on both sides.
    fn pace(&self, case: &Case) -> Pace {
        self.sides.iter().map(|side| side.pace(case)).max().unwrap_or_default()
    }

    /// A pair, both sides measured alike: in another way, the fastest sample would be another
    /// figure.
    fn take_turns(
        &mut self,
        case: &Case,
        turn: Turn,
        pace: Pace,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let began = Instant::now();
        let mut parts = [0, 1].map(|which| SideSamples::new(which, turn.replicate, pace));
        for round in 0..self.turns {
            // Who is first finds the machine as the other does not.
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

/// What one side measured of a pair.
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
        "run the benchmark alone to see more",
    ))
}
