//! One case in one worker, driven by Criterion: warm-up, then rounds of samples until they agree or
//! time is up.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode};
use rsb_model::protocol::REFERENCES;
use rsb_model::telemetry::GpuTelemetry;
use rsb_model::{Case, DeviceType, Fields, Reason, Samples, Timestamp};

use super::client::{Finished, Worker, WorkerError};
use super::quiet::SilencedStdio;
use super::settings::{MIN_SAMPLES, Settings, gpu_warm_up};
use super::tape::{Call, DeviceTime, SampleRecorder, TimeFormatter};
use super::telemetry;
use crate::worker_command::WorkerCommand;

/// From so many iterations on, a sample of one side is preceded by one that is not counted.
const LONG_SAMPLE: u64 = 4;

/// How many times more samples a pair takes of a short case.
const FINER: usize = 3;

/// What one fresh process measured of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicate {
    /// Every sample.
    pub samples: Samples,
    /// Fields as the workload derives them from this replicate alone.
    pub fields: Fields,
    /// What ran it.
    pub device_type: DeviceType,
    /// Iterations before sampling.
    pub warm_up: u64,
    /// Where the wall time went.
    pub cost: ReplicateCost,
    /// How the GPU was, where there is one with sensors.
    pub telemetry: Option<GpuTelemetry>,
    /// A sentence on the GPU's clock, if it still rose while samples were taken.
    pub clock_ramp: Option<String>,
}

/// Wall time of a replicate, by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReplicateCost {
    /// Starting the worker, filling buffers, verifying the result.
    pub prepare: Duration,
    /// Warm-up and samples, as the closure saw them.
    pub measure: Duration,
    /// Everything together.
    pub total: Duration,
}

impl ReplicateCost {
    /// What is neither preparing nor measuring: the harness itself.
    pub fn harness(&self) -> Duration {
        self.total.saturating_sub(self.prepare + self.measure)
    }
}

/// The next replicate of a case, and the time left for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the replicate.
    pub replicate: u32,
    /// Time left to the whole run.
    pub time_left: Duration,
}

/// Criterion, set up once for a whole run and kept quiet.
pub struct Session<'a> {
    criterion: Criterion<DeviceTime>,
    tape: SampleRecorder,
    settings: &'a Settings,
    scratch: tempfile::TempDir,
    /// When each GPU last worked, by its address on the bus or else its name.
    worked: HashMap<String, Instant>,
}

impl<'a> Session<'a> {
    /// Criterion with the profile's sizes, few resamples, and its files in a temporary directory.
    ///
    /// # Errors
    /// When there is no room for the temporary directory.
    pub fn new(settings: &'a Settings) -> std::io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir()?;
        let tape = SampleRecorder::default();
        let _quiet = SilencedStdio::begin(); // It has opinions on so few resamples.
        let criterion = Criterion::default()
            .without_plots()
            .output_directory(scratch.path())
            .with_measurement(DeviceTime { tape: tape.clone(), shown: TimeFormatter::default() })
            .nresamples(100) // Its analysis is not used here: verdicts come from the replicates.
            .warm_up_time(settings.warm_up_time)
            .measurement_time(settings.measurement_time);
        Ok(Self { criterion, tape, settings, scratch, worked: HashMap::new() })
    }

    /// Measures `case` in a fresh worker that `command` starts, within the time left to the run.
    ///
    /// # Errors
    /// When it cannot run here, breaks, or somebody asks to stop.
    pub fn replicate(
        &mut self,
        command: &WorkerCommand,
        case: &Case,
        turn: Turn,
    ) -> Result<Replicate, WorkerError> {
        // Its processes share what references give. The two sides of a pair do not: theirs may
        // differ.
        let mut command = command.clone();
        command.environment.push((REFERENCES, self.scratch.path().to_str().map(str::to_owned)));
        let mut side = PreparedWorker::start(&command, case, self.limit(case, turn.time_left))?;
        self.warm_up(case, &mut side)?;
        let mut samples = Samples::new(turn.replicate);
        let runs = self.runs_of_one(case, &side);
        while {
            let (calls, warm_up) = self.round(case, runs, |iters| side.sample(iters))?;
            side.warm_up += warm_up;
            keep(&mut samples, &calls);
            !self.settings.is_enough(case, &samples, side.spent())
        } {}
        self.note_work(case, &side);
        side.finish(case, samples, Duration::ZERO)
    }

    /// Measures `case` in two fresh workers that live side by side and sample interleaved, A B B A.
    /// What disturbs the machine for longer than a sample falls on both, so the n-th samples of the
    /// two belong together.
    ///
    /// # Errors
    /// The problem that a side met, and which side it was.
    pub fn pair(
        &mut self,
        commands: &[WorkerCommand; 2],
        case: &Case,
        turn: Turn,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let Turn { replicate, time_left } = turn;
        let limit = self.limit(case, time_left);
        // Who starts first finds the machine as the other does not: in every second replicate it is
        // the other one.
        let mut sides = if replicate.is_multiple_of(2) {
            let first = start_side(commands, 0, case, limit)?;
            [first, start_side(commands, 1, case, limit)?]
        } else {
            let second = start_side(commands, 1, case, limit)?;
            [start_side(commands, 0, case, limit)?, second]
        };
        for (which, side) in sides.iter_mut().enumerate() {
            self.warm_up(case, side).map_err(|problem| (which, problem))?;
        }
        let runs = self.runs_of_pair(&sides);
        let mut samples = [Samples::new(replicate), Samples::new(replicate)];
        let mut call = replicate as usize;
        loop {
            let mut blamed = 0;
            let mut beside = Vec::new(); // What the second side took beside each call, its warm-up included.
            let round = self.round(case, runs, |iters| {
                let mut times = [0.0; 2];
                for which in if call.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
                    blamed = which;
                    times[which] = sides[which].sample_warmed(iters)?;
                }
                call += 1;
                beside.push((iters, times[1]));
                Ok(times[0])
            });
            let (calls, warm_up) = round.map_err(|problem| (blamed, problem))?;
            keep(&mut samples[0], &calls);
            keep(&mut samples[1], &beside[beside.len().saturating_sub(calls.len())..]);
            for side in &mut sides {
                side.warm_up += warm_up;
            }
            // Two sides share the time that one would have.
            let spent = sides[0].spent() + sides[1].spent();
            if samples.iter().all(|side| self.settings.is_enough(case, side, spent)) {
                break;
            }
        }
        for side in &sides {
            self.note_work(case, side);
        }
        let [of_first, of_second] = sides.each_ref().map(|side| side.prepare + side.measure);
        let ([first, second], [first_samples, second_samples]) = (sides, samples);
        Ok([
            first.finish(case, first_samples, of_second).map_err(|problem| (0, problem))?,
            second.finish(case, second_samples, of_first).map_err(|problem| (1, problem))?,
        ])
    }

    fn limit(&self, case: &Case, left: Duration) -> Duration {
        self.settings.limit_of(case).min(left)
    }

    /// The iterations asked for with `--warmup`, or as many as fit in a quarter of the measuring
    /// time. On a GPU more follow until its clocks are up; they count neither as measuring time nor
    /// towards the limit of the profile.
    fn warm_up(&mut self, case: &Case, side: &mut PreparedWorker) -> Result<(), WorkerError> {
        let (wanted, limit) = (self.settings.warmup_of(case), self.settings.measurement_time / 4);
        let gpu = side.gpu(case).filter(|_| wanted > 0);
        let work = gpu.map(|gpu| gpu_warm_up(self.worked.get(&gpu).map(Instant::elapsed)));
        while side.warm_up < wanted && (side.warm_up == 0 || side.measure < limit) {
            let iters = side.warm_up.max(1).min(wanted - side.warm_up);
            side.sample(iters)?;
            side.warm_up += iters;
        }
        if let Some(work) = work {
            while side.measure < work {
                let left =
                    work.saturating_sub(side.measure).as_secs_f64() / side.of_iteration().max(1e-9);
                // At most twice as many as so far: the first iterations may have been slow.
                let iters = (left.ceil() as u64).clamp(1, side.warm_up.max(1));
                side.sample(iters)?;
                side.warm_up += iters;
            }
            side.warmed = side.measure;
            side.sampled_since = Timestamp::now();
            self.note_work(case, side);
        }
        Ok(())
    }

    /// The GPU of `side`, if it has one, worked until now.
    fn note_work(&mut self, case: &Case, side: &PreparedWorker) {
        if let Some(gpu) = side.gpu(case) {
            self.worked.insert(gpu, Instant::now());
        }
    }

    /// As many as the profile has, or fewer where so many iterations, with what surrounds them, do
    /// not fit into its time.
    fn runs_of_one(&self, case: &Case, side: &PreparedWorker) -> usize {
        let fit = self.settings.measurement_time.as_secs_f64() / side.of_iteration().max(1e-9);
        let most = self.settings.runs_of(case);
        (fit as usize).clamp(self.settings.runs.long.min(most), most)
    }

    /// The more often two sides take turns, the less of what disturbs falls on one alone: where
    /// iterations are short, the same time is cut into more samples, and into fewer where they are
    /// long.
    fn runs_of_pair(&self, sides: &[PreparedWorker; 2]) -> usize {
        let both: f64 = sides.iter().map(PreparedWorker::of_iteration).sum();
        let fit = 2.0 * self.settings.measurement_time.as_secs_f64() / both.max(1e-9);
        (fit as usize).clamp(MIN_SAMPLES, FINER * self.settings.runs.usual)
    }

    /// One Criterion benchmark of `runs` samples: these, and the iterations of its own warm-up.
    fn round(
        &mut self,
        case: &Case,
        runs: usize,
        mut sample: impl FnMut(u64) -> Result<f64, WorkerError>,
    ) -> Result<(Vec<Call>, u64), WorkerError> {
        let _quiet = SilencedStdio::begin();
        self.tape.clear();
        let tape = self.tape.clone();
        drive(&mut self.criterion, case, Some(runs), |ask| {
            let SampleRequest::Sample(iters) = ask else { return Ok(0.0) }; // Its worker has started long ago.
            let time_ns = sample(iters)?;
            tape.push(iters, time_ns);
            Ok(time_ns)
        })?;
        Ok(self.tape.samples())
    }
}

fn start_side(
    commands: &[WorkerCommand; 2],
    which: usize,
    case: &Case,
    limit: Duration,
) -> Result<PreparedWorker, (usize, WorkerError)> {
    PreparedWorker::start(&commands[which], case, limit).map_err(|problem| (which, problem))
}

/// A worker with its case prepared, and where its time went.
struct PreparedWorker {
    worker: Worker,
    device_type: DeviceType,
    began: Instant,
    prepare: Duration,
    measure: Duration,
    /// The part of `measure` that brought a GPU to its clocks.
    warmed: Duration,
    warm_up: u64,
    /// When the warm-up was over.
    sampled_since: Timestamp,
}

impl PreparedWorker {
    fn start(command: &WorkerCommand, case: &Case, limit: Duration) -> Result<Self, WorkerError> {
        let began = Instant::now();
        let (worker, device_type) = Worker::start(command, case, limit)?;
        Ok(Self {
            worker,
            device_type,
            began,
            prepare: began.elapsed(),
            measure: Duration::ZERO,
            warmed: Duration::ZERO,
            warm_up: 0,
            sampled_since: Timestamp::now(),
        })
    }

    /// The GPU that works, by its address on the bus or else its name; several backends may reach
    /// one.
    fn gpu(&self, case: &Case) -> Option<String> {
        if self.device_type == DeviceType::Cpu {
            return None;
        }
        Some(self.worker.pci_address().map_or_else(|| case.device.to_string(), str::to_owned))
    }

    /// Time of its samples.
    fn spent(&self) -> Duration {
        self.measure.saturating_sub(self.warmed)
    }

    /// Seconds that an iteration took so far, with what surrounds it.
    fn of_iteration(&self) -> f64 {
        self.measure.as_secs_f64() / self.warm_up.max(1) as f64
    }

    fn sample(&mut self, iters: u64) -> Result<f64, WorkerError> {
        let began = Instant::now();
        let time_ns = self.worker.sample(iters)?;
        self.measure += began.elapsed();
        Ok(time_ns)
    }

    /// As [`PreparedWorker::sample`], after an iteration that brings back what the other side took
    /// out of the caches. A sample of few iterations is long enough not to need it.
    fn sample_warmed(&mut self, iters: u64) -> Result<f64, WorkerError> {
        if iters >= LONG_SAMPLE {
            self.worker.sample(1)?;
        }
        self.sample(iters)
    }

    /// The replicate, of whose life the time `elsewhere` went to another side.
    fn finish(
        self,
        case: &Case,
        samples: Samples,
        elsewhere: Duration,
    ) -> Result<Replicate, WorkerError> {
        let time_ns = rsb_stats::location(&samples).map_err(|error| {
            WorkerError::Failed(Reason::new(
                format!("case {}", case.id),
                error.to_string(),
                "the device's clock cannot be right; report it with `probe --json`",
            ))
        })?;
        let Finished { fields, telemetry } = self.worker.finish(time_ns)?;
        let since = self.sampled_since.as_millisecond();
        let clock_ramp = telemetry.as_ref().and_then(|known| telemetry::clock_ramp(known, since));
        let cost = ReplicateCost {
            prepare: self.prepare,
            measure: self.measure,
            total: self.began.elapsed().saturating_sub(elsewhere),
        };
        let (device_type, warm_up) = (self.device_type, self.warm_up);
        Ok(Replicate { samples, fields, device_type, warm_up, cost, telemetry, clock_ramp })
    }
}

fn keep(samples: &mut Samples, calls: &[Call]) {
    for &(iters, time_ns) in calls {
        samples.push(iters, time_ns);
    }
}

/// What Criterion's closure asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleRequest {
    /// Whatever must happen once, such as starting a worker. Criterion does not see the time that
    /// it takes, and plans by that of samples alone.
    Begin,
    /// So many iterations.
    Sample(u64),
}

/// Has Criterion run `case` for its own number of samples or the given one, each sample taken by
/// `sample`. An error in a sample leaves through Criterion as an unwind that no panic hook sees:
/// its closure cannot return an error, and whatever time it gave instead would be analyzed, printed
/// and kept as a figure.
///
/// # Errors
/// The problem that a sample met, or a panic of Criterion itself as a failure.
pub(super) fn drive(
    criterion: &mut Criterion<DeviceTime>,
    case: &Case,
    runs: Option<usize>,
    mut sample: impl FnMut(SampleRequest) -> Result<f64, WorkerError>,
) -> Result<(), WorkerError> {
    let (group_name, parameter) = split(case.id.as_str());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut group = criterion.benchmark_group(group_name);
        group.sampling_mode(SamplingMode::Flat);
        if let Some(runs) = runs {
            group.sample_size(runs);
        }
        group.bench_function(BenchmarkId::from_parameter(parameter), |bencher| {
            if let Err(problem) = sample(SampleRequest::Begin) {
                resume_unwind(Box::new(problem));
            }
            bencher.iter_custom(|iters| match sample(SampleRequest::Sample(iters)) {
                Ok(time_ns) => Duration::from_nanos((time_ns as u64).max(1)),
                Err(problem) => resume_unwind(Box::new(problem)),
            });
        });
        group.finish();
    }));
    ended.map_err(|payload| match payload.downcast::<WorkerError>() {
        Ok(problem) => *problem,
        Err(payload) => {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            let why = format!("Criterion gave up: {}", said.unwrap_or("it did not say why"));
            WorkerError::Failed(Reason::new(
                format!("case {}", case.id),
                why,
                "check the arguments and the free space of the disk",
            ))
        }
    })
}

/// Criterion's two levels: `cpu_performance/gemm` and the rest of the id.
fn split(id: &str) -> (&str, &str) {
    let second = id.match_indices('/').nth(1).map(|(at, _)| at);
    second.map_or((id, "case"), |at| (&id[..at], &id[at + 1..]))
}
