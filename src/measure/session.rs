//! One case in one worker, driven by Criterion: warm-up, then rounds of samples until they agree or time is up.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode};
use rsb_model::{Case, DeviceType, Fields, Reason, Samples};

use super::client::{Trouble, Worker, WorkerCommand};
use super::quiet::Quiet;
use super::settings::Settings;
use super::tape::{DeviceTime, Shown, Tape};

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
    pub cost: Cost,
}

/// Wall time of a replicate, by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Starting the worker, filling buffers, verifying the result.
    pub prepare: Duration,
    /// Warm-up and samples, as the closure saw them.
    pub measure: Duration,
    /// Everything together.
    pub total: Duration,
}

impl Cost {
    /// What is neither preparing nor measuring: the harness itself.
    pub fn harness(&self) -> Duration {
        self.total.saturating_sub(self.prepare + self.measure)
    }
}

/// Criterion, set up once for a whole run and kept quiet.
pub struct Session<'a> {
    criterion: Criterion<DeviceTime>,
    tape: Tape,
    settings: &'a Settings,
    _scratch: tempfile::TempDir,
}

impl<'a> Session<'a> {
    /// Criterion with the profile's sizes, few resamples, and its files in a scratch folder.
    ///
    /// # Errors
    /// When there is no room for the scratch folder.
    pub fn new(settings: &'a Settings) -> std::io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir()?;
        let tape = Tape::default();
        let _quiet = Quiet::begin(); // It has opinions on so few resamples.
        let criterion = Criterion::default()
            .without_plots()
            .output_directory(scratch.path())
            .with_measurement(DeviceTime { tape: tape.clone(), shown: Shown::default() })
            .sample_size(settings.runs)
            .nresamples(100) // Its analysis is not used here: verdicts come from the replicates.
            .warm_up_time(settings.warm_up_time)
            .measurement_time(settings.measurement_time);
        Ok(Self { criterion, tape, settings, _scratch: scratch })
    }

    /// Measures `case` in a fresh worker that `command` starts, within the time that is `left` to the run.
    ///
    /// # Errors
    /// When it cannot run here, breaks, or somebody asks to stop.
    pub fn replicate(
        &mut self,
        command: &WorkerCommand,
        case: &Case,
        (replicate, left): (u32, Duration),
    ) -> Result<Replicate, Trouble> {
        let began = Instant::now();
        let limit = self.settings.case_limit(case.benchmark_type).min(left);
        let (mut worker, device_type) = Worker::start(command, case, limit)?;
        let prepare = began.elapsed();
        let mut measure = Duration::ZERO;
        let mut warm_up = self.warm_up(&mut worker, &mut measure)?;
        let mut samples = Samples::new(replicate);
        loop {
            warm_up += self.round(case, &mut worker, &mut samples, &mut measure)?;
            if self.settings.is_enough(&samples, measure) {
                break;
            }
        }
        let time_ns = rsb_stats::location(&samples).map_err(|error| {
            Trouble::Failed(Reason::new(
                format!("case {}", case.id),
                error.to_string(),
                "the device's clock cannot be right; report it with `probe --json`",
            ))
        })?;
        let fields = worker.finish(time_ns)?;
        let cost = Cost { prepare, measure, total: began.elapsed() };
        Ok(Replicate { samples, fields, device_type, warm_up, cost })
    }

    /// The iterations asked for with `--warmup`, or as many as fit in a quarter of the measuring time.
    fn warm_up(&self, worker: &mut Worker, measure: &mut Duration) -> Result<u64, Trouble> {
        let began = Instant::now();
        let mut done = 0;
        while done < self.settings.warmup && (done == 0 || began.elapsed() < self.settings.measurement_time / 4) {
            let iters = done.max(1).min(self.settings.warmup - done);
            worker.sample(iters)?;
            done += iters;
        }
        *measure += began.elapsed();
        Ok(done)
    }

    /// One Criterion benchmark; returns its own warm-up iterations.
    fn round(
        &mut self,
        case: &Case,
        worker: &mut Worker,
        samples: &mut Samples,
        measure: &mut Duration,
    ) -> Result<u64, Trouble> {
        let _quiet = Quiet::begin();
        self.tape.clear();
        let tape = self.tape.clone();
        drive(&mut self.criterion, case, |iters| {
            let began = Instant::now();
            let time_ns = worker.sample(iters)?;
            *measure += began.elapsed();
            tape.push(iters, time_ns);
            Ok(time_ns)
        })?;
        let (calls, warm_up) = self.tape.samples();
        for (iters, time_ns) in calls {
            samples.push(iters, time_ns);
        }
        Ok(warm_up)
    }
}

/// Has Criterion run `case`, each sample taken by `sample`. Trouble in a sample leaves through Criterion as an unwind
/// that no panic hook sees.
///
/// # Errors
/// The trouble that a sample met, or a panic of Criterion itself as a failure.
pub(super) fn drive(
    criterion: &mut Criterion<DeviceTime>,
    case: &Case,
    mut sample: impl FnMut(u64) -> Result<f64, Trouble>,
) -> Result<(), Trouble> {
    let (group_name, parameter) = split(case.id.as_str());
    let run = || {
        let mut group = criterion.benchmark_group(group_name);
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function(BenchmarkId::from_parameter(parameter), |bencher| {
            bencher.iter_custom(|iters| match sample(iters) {
                Ok(time_ns) => Duration::from_nanos((time_ns as u64).max(1)),
                Err(trouble) => resume_unwind(Box::new(trouble)),
            });
        });
        group.finish();
    };
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| match payload.downcast::<Trouble>() {
        Ok(trouble) => *trouble,
        Err(payload) => {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            let why = format!("Criterion gave up: {}", said.unwrap_or("it did not say why"));
            Trouble::Failed(Reason::new(
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
