//! A group of devices that work on one task, each launched by its own thread if the backend
//! supports that, and timed together, until the slowest device is done.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rsb_device::{Buffer, Device, DeviceError, Kernel, Operation, Options, Stream, reference};
use rsb_model::Reason;

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::collective::longest;
use crate::timed::SEED;

/// Returns `count` devices of one backend: `first` and those at the following positions.
pub(crate) fn devices(first: &dyn Device, count: u32) -> Result<Vec<&dyn Device>, Failure> {
    let peers = first.peers();
    let there = peers.len() + 1;
    if count as usize > there {
        let plural = if there == 1 { "" } else { "s" };
        return Err(Failure::Skipped(Reason::new(
            format!("{count} GPUs"),
            format!(
                "{} allows one process only {there} device{plural} here",
                first.info().device.backend
            ),
            "use a machine with that many GPUs, choose fewer with --axis num_gpus=N, or check that \
             none is hidden (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES)",
        )));
    }
    let own = position(first);
    // Wraps around after the last position, so that groups start at different devices if there are
    // more devices than needed.
    let (before, after): (Vec<u32>, Vec<u32>) = peers.into_iter().partition(|&index| index < own);
    let mut all = vec![first];
    for index in after.into_iter().chain(before).take(count.saturating_sub(1) as usize) {
        all.push(first.peer(index)?);
    }
    Ok(all)
}

/// Returns the position, as in `rocm:3`.
pub(crate) fn position(device: &dyn Device) -> u32 {
    device.info().device.index
}

/// The same operation on each of several devices, verified on each.
pub(crate) struct DeviceGroup<'d> {
    kernels: Vec<Box<dyn Kernel + 'd>>,
    streams: Vec<Box<dyn Stream + 'd>>,
    /// Largest error of all devices.
    pub(crate) accuracy: Accuracy,
    /// Whether each device has a launching thread.
    has_threads: bool,
}

/// Duration of a group's work and of its launches.
struct GroupTime {
    /// Duration on the slowest device, by its own clock.
    device_ns: f64,
    /// Duration of the slowest launching thread, by the host's clock.
    launch: Duration,
}

impl<'d> DeviceGroup<'d> {
    /// Allocates, fills and compiles on every device, runs the operation once and verifies it.
    pub(crate) fn prepare(
        devices: &[&'d dyn Device],
        operation: &Operation,
    ) -> Result<Self, Failure> {
        let mut group = Self {
            kernels: Vec::new(),
            streams: Vec::new(),
            accuracy: Accuracy::default(),
            has_threads: false,
        };
        for (number, &device) in (0_u64..).zip(devices) {
            // Each device has different data.
            let seed = SEED ^ number;
            let specs = operation.buffers();
            let buffers: Vec<Buffer> =
                specs.iter().map(|spec| device.allocate(spec.bytes())).collect::<Result<_, _>>()?;
            reference::fill(device, operation, &buffers, seed)?;
            let mut kernel = device.prepare(operation, &Options::default(), &buffers)?;
            let mut stream = device.stream()?;
            kernel.launch()?;
            stream.synchronize()?;
            let sums_in = kernel.sums_in();
            let error = reference::verify(device, operation, &buffers, seed, sums_in)?;
            let limit = reference::tolerance(operation, sums_in);
            group.accuracy = group.accuracy.worst(Accuracy { error, limit });
            group.kernels.push(kernel);
            group.streams.push(stream);
        }
        group.has_threads =
            devices.len() > 1 && group.kernels.iter_mut().all(|kernel| kernel.launcher().is_some());
        Ok(group)
    }

    /// Returns the library or kernel that does the work.
    pub(crate) fn provider(&self) -> String {
        self.kernels.first().map(|kernel| kernel.provider()).unwrap_or_default()
    }

    /// Runs exactly `iters` iterations on each device and returns the nanoseconds of the slowest.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        Ok(self.run(iters)?.device_ns)
    }

    /// Returns the host time in nanoseconds of one launch on each device, averaged over a number of
    /// launches too small to fill a queue.
    pub(crate) fn launch_ns(&mut self) -> Result<f64, Failure> {
        const LAUNCHES: u64 = 8;
        Ok(self.run(LAUNCHES)?.launch.as_nanos() as f64 / LAUNCHES as f64)
    }

    fn run(&mut self, iters: u64) -> Result<GroupTime, Failure> {
        if self.has_threads {
            return self.run_by_threads(iters);
        }
        let (kernels, mut launch) = (&mut self.kernels, Duration::ZERO);
        let device_ns = longest(&mut self.streams, |_| {
            let begin = Instant::now();
            (0..iters)
                .try_for_each(|_| kernels.iter_mut().try_for_each(|kernel| kernel.launch()))?;
            launch = begin.elapsed();
            Ok(())
        })?;
        Ok(GroupTime { device_ns, launch })
    }

    /// Runs with one launching thread per device. If a kernel is shorter than its launch, a single
    /// thread cannot launch fast enough to keep all devices busy.
    fn run_by_threads(&mut self, iters: u64) -> Result<GroupTime, Failure> {
        let (kernels, streams) = (&mut self.kernels, &mut self.streams);
        std::thread::scope(|scope| {
            let mut launch = Duration::ZERO;
            let (mut orders, mut threads) = (Vec::new(), Vec::new());
            for mut start in kernels.iter_mut().filter_map(|kernel| kernel.launcher()) {
                let (order, begin) = channel::<()>();
                orders.push(order);
                threads.push(scope.spawn(move || -> Result<Duration, DeviceError> {
                    // If the channel was closed, recording events failed, and that error is
                    // reported by the caller.
                    if begin.recv().is_err() {
                        return Ok(Duration::ZERO);
                    }
                    let begin = Instant::now();
                    (0..iters).try_for_each(|_| start())?;
                    Ok(begin.elapsed())
                }));
            }
            // The closure owns the senders, so no thread still waits for an order after the closure
            // returns.
            let longest_launch = &mut launch;
            let device_ns = longest(streams, move |_| {
                for order in orders {
                    let _ = order.send(());
                }
                for thread in threads {
                    let took = thread.join().map_err(|_| Failure::Failed(broken_thread()))??;
                    *longest_launch = (*longest_launch).max(took);
                }
                Ok(())
            })?;
            Ok(GroupTime { device_ns, launch })
        })
    }

    /// Returns the nanoseconds of one iteration: the best of several short samples.
    pub(crate) fn best_of(&mut self, samples: u32, iters: u64) -> Result<f64, Failure> {
        let mut best = f64::INFINITY;
        for _ in 0..samples {
            best = best.min(self.sample(iters)? / iters as f64);
        }
        Ok(best)
    }
}

fn broken_thread() -> Reason {
    Reason::new(
        "a thread that launches on a GPU",
        "it ended before it received its work",
        "report this as a bug with the case id",
    )
}
