//! A verified operation on a device, ready to be timed. Every benchmark is built from these.

use std::time::Instant;

use rsb_device::device::{NumaMemory, StreamClock};
use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream, reference};
use rsb_model::{Fields, Params, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::{Failure, Prepared, unusable};

/// Seed of every input.
pub(crate) const SEED: u64 = 0x0052_7573_7479;

/// Whether caches are flushed before every iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheState {
    /// Iterations run back to back.
    Hot,
    /// Each iteration is timed separately, after a flush.
    Cold,
}

/// How hot iterations are launched and timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Launched back to back without waiting; timed together.
    Streamed,
    /// Each is waited for before the next starts, and timed separately, so that it includes the
    /// whole latency.
    Awaited,
}

/// An operation, allocated, filled and verified.
pub(crate) struct Timed<'d> {
    pub(crate) device: &'d dyn Device,
    pub(crate) operation: Operation,
    pub(crate) options: Options,
    pub(crate) accuracy: Accuracy,
    cache: CacheState,
    /// Requested memory, and its NUMA distance from the threads.
    numa: Option<(NumaMemory, u32)>,
    pace: Pace,
    buffers: Vec<Buffer>,
    kernel: Box<dyn Kernel + 'd>,
    stream: Box<dyn Stream + 'd>,
    /// The same operation bound to other buffers, used in rotation with the first.
    others: Vec<Bound<'d>>,
    /// Number of launches so far.
    turn: usize,
}

impl<'d> Timed<'d> {
    /// Allocates, fills and compiles, runs the operation once and verifies it.
    pub(crate) fn prepare(
        device: &'d dyn Device,
        operation: Operation,
        options: Options,
    ) -> Result<Self, Failure> {
        let mut stream = device.stream()?;
        let Bound { buffers, kernel, accuracy } = bind(device, &operation, &options, &mut *stream)?;
        Ok(Self {
            device,
            operation,
            options,
            accuracy,
            cache: CacheState::Hot,
            numa: None,
            pace: Pace::Streamed,
            buffers,
            kernel,
            stream,
            others: Vec::new(),
            turn: 0,
        })
    }

    /// Adds buffers until there are `sets` sets, each verified, and rotates through them, so that
    /// no iteration finds the data of the previous one in the caches.
    pub(crate) fn rotating(mut self, sets: u32) -> Result<Self, Failure> {
        for _ in 1..sets {
            let bound = bind(self.device, &self.operation, &self.options, &mut *self.stream)?;
            self.accuracy = self.accuracy.worst(bound.accuracy);
            self.others.push(bound);
        }
        Ok(self)
    }

    /// Launches the next kernel in the rotation.
    fn launch(&mut self) -> Result<(), Failure> {
        let place = self.turn % (self.others.len() + 1);
        self.turn = self.turn.wrapping_add(1);
        match place.checked_sub(1).and_then(|other| self.others.get_mut(other)) {
            Some(bound) => bound.kernel.launch()?,
            None => self.kernel.launch()?,
        }
        Ok(())
    }

    /// Returns whether the caches are flushed before each launch.
    pub(crate) fn is_cold(&self) -> bool {
        self.cache == CacheState::Cold
    }

    /// Sets how hot iterations are launched and timed.
    pub(crate) fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Prepares `operation` with threads, provider and cache state from `params`; see
    /// [`Timed::prepare`].
    pub(crate) fn from_params(
        device: &'d dyn Device,
        operation: Operation,
        params: &Params,
    ) -> Result<Self, Failure> {
        let memory = match params.text("numa") {
            Some("near") => Some(NumaMemory::Near),
            Some("far") => Some(NumaMemory::Far),
            _ => None,
        };
        // Must happen before any allocation.
        let numa =
            memory.map(|memory| Ok::<_, Failure>((memory, device.place(memory)?))).transpose()?;
        let threads = match params.text("threads") {
            Some(_) => Some(
                params.get::<u32>("threads").map_err(|error| Failure::Failed(unusable(&error)))?,
            ),
            None => None,
        };
        let provider = params.text("provider").filter(|&name| name != "auto").map(str::to_owned);
        let cache =
            if params.text("cache") == Some("cold") { CacheState::Cold } else { CacheState::Hot };
        let algorithms = match params.text("algorithms") {
            None | Some("1") => None,
            Some(_) => Some(
                params
                    .get::<u32>("algorithms")
                    .map_err(|error| Failure::Failed(unusable(&error)))?,
            ),
        };
        let mut timed = Self::prepare(
            device,
            operation,
            Options { threads, provider, algorithms, block_size: None },
        )?;
        timed.cache = cache;
        timed.numa = numa;
        Ok(timed)
    }

    /// Runs exactly `iters` iterations and returns their total time in nanoseconds.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let time = match (self.cache, self.pace) {
            (CacheState::Hot, Pace::Streamed) => measure_again(|| self.launches(iters))?,
            (cache, _) => {
                let mut total = 0.0;
                for _ in 0..iters {
                    total += measure_again(|| {
                        if cache == CacheState::Cold {
                            self.device.flush_caches()?;
                        }
                        self.launches(1)
                    })?;
                }
                total
            }
        };
        check_time(time)?;
        Ok(time)
    }

    fn launches(&mut self, iters: u64) -> Result<f64, Failure> {
        let from = self.stream.record()?;
        for _ in 0..iters {
            self.launch()?;
        }
        let to = self.stream.record()?;
        self.stream.synchronize()?;
        Ok(self.stream.elapsed_ns(from, to)?)
    }

    /// Returns the median host time in nanoseconds between launching on an idle device and the end
    /// of the wait for completion.
    pub(crate) fn host_latency_ns(&mut self) -> Result<f64, Failure> {
        const LAUNCHES: usize = 101;
        let mut times = Vec::with_capacity(LAUNCHES);
        for _ in 0..LAUNCHES {
            let begin = Instant::now();
            self.launch()?;
            self.stream.synchronize()?;
            times.push(begin.elapsed().as_nanos() as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[LAUNCHES / 2])
    }

    /// Reads the numbers in buffer `index`.
    pub(crate) fn read(&self, index: usize) -> Result<Vec<f64>, Failure> {
        let (Some(buffer), Some(spec)) =
            (self.buffers.get(index), self.operation.buffers().get(index).copied())
        else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; spec.bytes() as usize];
        self.device.read(buffer, 0, &mut bytes)?;
        Ok(rsb_device::convert::decode(spec.dtype, &bytes))
    }

    /// Returns the number of threads.
    pub(crate) fn threads(&self) -> u32 {
        self.options.threads.unwrap_or(1)
    }

    /// Returns the fields common to all cases: operation, provider, settings and accuracy.
    pub(crate) fn common_fields(&self) -> Fields {
        let mut fields = Fields::new().with("operation", self.operation.name());
        if let Some(dtype) = self.operation.dtype() {
            fields.set("dtype", dtype.as_str());
        }
        fields.set("provider", self.kernel.provider());
        if let Some(choice) = self.kernel.algorithm() {
            fields.set("algorithm_index", choice.index);
            fields.set("algorithms_tried", choice.tried);
        }
        if self.stream.clock() == StreamClock::Host {
            fields.set("timed_by", "host");
        }
        if self.options.threads.is_some() {
            fields.set("threads", self.threads());
        }
        if let Some((memory, distance)) = self.numa {
            fields.set("numa", memory.to_string());
            fields.set("numa_distance", distance);
        }
        // An operation without data has no cache state and no accuracy.
        let nothing = matches!(self.operation, Operation::Launch(_));
        if !nothing {
            let cache = match self.cache {
                CacheState::Hot => "hot",
                CacheState::Cold => "cold",
            };
            fields.set("cache", cache);
        }
        if !nothing && !matches!(self.operation, Operation::Allocate(_) | Operation::Churn(_)) {
            fields.set("init", reference::init(&self.operation));
            self.accuracy.set(&mut fields);
            if let Some(dtype) = self.kernel.sums_in() {
                fields.set("sums_in", dtype.as_str());
            }
        }
        fields
    }
}

/// An operation with its own buffers, run once and verified.
struct Bound<'d> {
    buffers: Vec<Buffer>,
    kernel: Box<dyn Kernel + 'd>,
    accuracy: Accuracy,
}

fn bind<'d>(
    device: &'d dyn Device,
    operation: &Operation,
    options: &Options,
    stream: &mut dyn Stream,
) -> Result<Bound<'d>, Failure> {
    let buffers = operation
        .buffers()
        .iter()
        .map(|spec| device.allocate(spec.bytes()))
        .collect::<Result<Vec<_>, _>>()?;
    reference::fill(device, operation, &buffers, SEED)?;
    let mut kernel = device.prepare(operation, options, &buffers)?;
    kernel.launch()?;
    stream.synchronize()?;
    let sums_in = kernel.sums_in();
    let error = reference::verify(device, operation, &buffers, SEED, sums_in)?;
    Ok(Bound {
        buffers,
        kernel,
        accuracy: Accuracy { error, limit: reference::tolerance(operation, sums_in) },
    })
}

/// Returns the time of `measure`. A time of zero or slightly below is measured again, since the
/// difference of two events of a very short interval can be negative (ROCm/rocm-systems issue
/// 9375).
///
/// # Errors
/// If every attempt fails, or the time is impossible for any clock.
fn measure_again(mut measure: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
    const TRIES: u32 = 4;
    /// Largest error of an event in nanoseconds; a more negative time is not measured again.
    const SLIGHTLY_NS: f64 = 1e5;
    let mut time = measure()?;
    for _ in 1..TRIES {
        if !(-SLIGHTLY_NS..=0.0).contains(&time) {
            break;
        }
        time = measure()?;
    }
    check_time(time)?;
    Ok(time)
}

/// Rejects times that are not finite or not positive.
pub(crate) fn check_time(time_ns: f64) -> Result<(), Failure> {
    if time_ns.is_finite() && time_ns > 0.0 {
        return Ok(());
    }
    Err(Failure::Failed(Reason::new(
        "time of an iteration",
        format!("the device's clock reports {time_ns} ns"),
        "suspect the driver's timer, or a kernel that was never launched",
    )))
}

/// Function that derives the fields of a case from the time of one iteration.
pub(crate) type Derive<'d> = Box<dyn FnMut(&mut Timed<'d>, f64) -> Result<Fields, Failure> + 'd>;

/// A timed operation with the benchmark's function to derive fields.
pub(crate) struct PreparedCase<'d> {
    timed: Timed<'d>,
    derive: Derive<'d>,
}

impl<'d> PreparedCase<'d> {
    /// Creates a boxed case.
    pub(crate) fn new_boxed(
        timed: Timed<'d>,
        derive: impl FnMut(&mut Timed<'d>, f64) -> Result<Fields, Failure> + 'd,
    ) -> Box<dyn Prepared + 'd> {
        Box::new(Self { timed, derive: Box::new(derive) })
    }
}

impl Prepared for PreparedCase<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.timed.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        (self.derive)(&mut self.timed, time_ns)
    }
}
