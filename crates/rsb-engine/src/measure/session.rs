//! Measurement of one case in one worker, driven by Criterion: warm-up, then rounds of samples
//! until they agree or the time is up.

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

/// Samples of at least this many iterations are preceded by one discarded iteration, to refill
/// caches that the other side evicted.
const LONG_SAMPLE: u64 = 4;

/// Maximum factor by which the number of samples of a short case increases in a pair.
const FINER: usize = 3;

/// Measurement of a case in one fresh process.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicate {
    /// Every sample.
    pub samples: Samples,
    /// Fields that the workload derives from this replicate only.
    pub fields: Fields,
    /// Type of the device that ran the case.
    pub device_type: DeviceType,
    /// Number of iterations before sampling.
    pub warm_up: u64,
    /// Breakdown of the wall time.
    pub cost: ReplicateCost,
    /// Telemetry of the GPU, if it has sensors.
    pub telemetry: Option<GpuTelemetry>,
    /// A sentence about the GPU's clock, if it was still rising during sampling.
    pub clock_ramp: Option<String>,
}

/// Wall time of a replicate, by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReplicateCost {
    /// Time to start the worker, fill buffers and verify the result.
    pub prepare: Duration,
    /// Warm-up and samples, as seen by Criterion's closure.
    pub measure: Duration,
    /// Total time.
    pub total: Duration,
}

impl ReplicateCost {
    /// Returns the time spent neither preparing nor measuring: the harness overhead.
    pub fn harness(&self) -> Duration {
        self.total.saturating_sub(self.prepare + self.measure)
    }
}

/// The next replicate of a case, and the time left for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the replicate, from 0.
    pub replicate: u32,
    /// Time left for the whole run.
    pub time_left: Duration,
}

/// Criterion, configured once for a whole run, with its output suppressed.
pub struct Session<'a> {
    criterion: Criterion<DeviceTime>,
    tape: SampleRecorder,
    settings: &'a Settings,
    scratch: tempfile::TempDir,
    /// Time when each GPU last worked, by its PCI address, or its name if unknown.
    worked: HashMap<String, Instant>,
}

impl<'a> Session<'a> {
    /// Creates a session with the profile's sizes. Criterion uses few resamples and a temporary
    /// directory for its files.
    ///
    /// # Errors
    /// If the temporary directory cannot be created.
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

    /// Measures `case` in a fresh worker started with `command`, within the time left for the run.
    ///
    /// # Errors
    /// If the case cannot run here, fails, or the user requests a stop.
    pub fn replicate(
        &mut self,
        command: &WorkerCommand,
        case: &Case,
        turn: Turn,
    ) -> Result<Replicate, WorkerError> {
        // The processes of a run share computed reference results. The two sides of a pair do not,
        // because their reference results may differ.
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

    /// Measures `case` in two fresh workers that run side by side and sample interleaved, A B B A.
    /// A disturbance longer than a sample affects both, so the n-th samples of the two correspond.
    ///
    /// # Errors
    /// The problem, and the index of the side that had it.
    pub fn pair(
        &mut self,
        commands: &[WorkerCommand; 2],
        case: &Case,
        turn: Turn,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let Turn { replicate, time_left } = turn;
        let limit = self.limit(case, time_left);
        // The side that starts first finds the machine in a different state, so the sides
        // alternate.
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
            // The two sides share the time that a single one would have.
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

    /// Runs the warm-up: the number of iterations of `--warmup`, or as many as fit into a quarter
    /// of the measuring time. On a GPU, continues until the clocks have risen. The additional time
    /// counts neither as measuring time nor towards the time limit of the profile.
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
                // At most doubles the iterations: the first ones may have been slow.
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

    /// Records that the GPU of `side`, if it has one, was working until now.
    fn note_work(&mut self, case: &Case, side: &PreparedWorker) {
        if let Some(gpu) = side.gpu(case) {
            self.worked.insert(gpu, Instant::now());
        }
    }

    /// Returns the profile's number of samples, or fewer if that many iterations do not fit into
    /// its time.
    fn runs_of_one(&self, case: &Case, side: &PreparedWorker) -> usize {
        let fit = self.settings.measurement_time.as_secs_f64() / side.of_iteration().max(1e-9);
        let most = self.settings.runs_of(case);
        (fit as usize).clamp(self.settings.runs.long.min(most), most)
    }

    /// Returns the number of samples of a pair. Frequent alternation distributes disturbances over
    /// both sides. So the same time is divided into more samples if iterations are short, and into
    /// fewer if they are long.
    fn runs_of_pair(&self, sides: &[PreparedWorker; 2]) -> usize {
        let both: f64 = sides.iter().map(PreparedWorker::of_iteration).sum();
        let fit = 2.0 * self.settings.measurement_time.as_secs_f64() / both.max(1e-9);
        (fit as usize).clamp(MIN_SAMPLES, FINER * self.settings.runs.usual)
    }

    /// Runs one Criterion benchmark of `runs` samples. Returns the samples, and the number of
    /// iterations of Criterion's own warm-up.
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

/// A worker with its case prepared, and the time it has spent.
struct PreparedWorker {
    worker: Worker,
    device_type: DeviceType,
    began: Instant,
    prepare: Duration,
    measure: Duration,
    /// Part of `measure` spent to raise a GPU's clocks.
    warmed: Duration,
    warm_up: u64,
    /// Time at which the warm-up ended.
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

    /// Returns the GPU that runs the case: its PCI address, or its name if unknown. Several
    /// backends may use the same GPU.
    fn gpu(&self, case: &Case) -> Option<String> {
        if self.device_type == DeviceType::Cpu {
            return None;
        }
        Some(self.worker.pci_address().map_or_else(|| case.device.to_string(), str::to_owned))
    }

    /// Returns the time spent sampling.
    fn spent(&self) -> Duration {
        self.measure.saturating_sub(self.warmed)
    }

    /// Returns the mean duration of a warm-up iteration in seconds, including overhead.
    fn of_iteration(&self) -> f64 {
        self.measure.as_secs_f64() / self.warm_up.max(1) as f64
    }

    fn sample(&mut self, iters: u64) -> Result<f64, WorkerError> {
        let began = Instant::now();
        let time_ns = self.worker.sample(iters)?;
        self.measure += began.elapsed();
        Ok(time_ns)
    }

    /// Takes a sample as [`PreparedWorker::sample`] does. Before a sample of at least
    /// [`LONG_SAMPLE`] iterations, runs one discarded iteration to refill the caches that the other
    /// side evicted. Samples of fewer iterations are long enough not to need that.
    fn sample_warmed(&mut self, iters: u64) -> Result<f64, WorkerError> {
        if iters >= LONG_SAMPLE {
            self.worker.sample(1)?;
        }
        self.sample(iters)
    }

    /// Ends the worker and returns its replicate. The time `elsewhere`, spent on the other side, is
    /// subtracted from its total.
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
                "the device's clock is wrong; report it with the output of `probe --json`",
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

/// Request of Criterion's closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleRequest {
    /// Perform one-time work, such as starting a worker. Criterion does not see its duration and
    /// plans only with the time of samples.
    Begin,
    /// Run this many iterations.
    Sample(u64),
}

/// Lets Criterion run `case` with the given number of samples, or its own default; `sample` takes
/// each one. Criterion's closure cannot return an error, and Criterion would analyze, print and
/// keep any time returned instead. So an error in a sample unwinds through Criterion, without
/// calling a panic hook.
///
/// # Errors
/// The problem in a sample, or a panic of Criterion itself as a failure.
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
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            let why = format!("Criterion failed: {}", message.unwrap_or("no reason given"));
            WorkerError::Failed(Reason::new(
                format!("case {}", case.id),
                why,
                "check the arguments and the free disk space",
            ))
        }
    })
}

/// Splits a case ID into Criterion's two levels: `cpu_performance/gemm` and the rest.
fn split(id: &str) -> (&str, &str) {
    let second = id.match_indices('/').nth(1).map(|(at, _)| at);
    second.map_or((id, "case"), |at| (&id[..at], &id[at + 1..]))
}
