//! Several devices that work on one thing, each launched by a thread of its own where its backend
//! can, and timed as one: from the first mark on any of them to the last one.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rsb_device::{Buffer, Device, DeviceError, Kernel, Operation, Options, Stream, reference};
use rsb_model::Reason;

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::collective::longest;
use crate::timed::SEED;

/// `count` devices of one backend, `first` the first of them, and those at the next positions after
/// it.
pub(crate) fn devices(first: &dyn Device, count: u32) -> Result<Vec<&dyn Device>, Failure> {
    let peers = first.peers();
    let there = peers.len() + 1;
    if count as usize > there {
        let plural = if there == 1 { "" } else { "s" };
        return Err(Failure::Skipped(Reason::new(
            format!("{count} GPUs"),
            format!(
                "{} lets one process use {there} device{plural} here",
                first.info().device.backend
            ),
            "measure on a machine with as many, choose fewer with --axis num_gpus=N, and check \
             that none is hidden \
             (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES)",
        )));
    }
    let own = position(first);
    // Beginning with the next one, and round again: so every device has another team where there
    // are more than needed.
    let (before, after): (Vec<u32>, Vec<u32>) = peers.into_iter().partition(|&index| index < own);
    let mut all = vec![first];
    for index in after.into_iter().chain(before).take(count.saturating_sub(1) as usize) {
        all.push(first.peer(index)?);
    }
    Ok(all)
}

/// The position in `rocm:3`.
pub(crate) fn position(device: &dyn Device) -> u32 {
    device.info().device.index
}

/// The same operation on each of several devices, every one verified.
pub(crate) struct DeviceGroup<'d> {
    kernels: Vec<Box<dyn Kernel + 'd>>,
    streams: Vec<Box<dyn Stream + 'd>>,
    /// The largest of all.
    pub(crate) accuracy: Accuracy,
    /// Whether each has a thread that launches.
    has_threads: bool,
}

/// How long a group worked, and how long its work took to be handed over.
struct GroupTime {
    /// Of the device that took longest, by its own clock.
    device_ns: f64,
    /// Of the thread that took longest, by the host's clock.
    launch: Duration,
}

impl<'d> DeviceGroup<'d> {
    /// Allocates, fills, compiles, runs once and verifies on every device.
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
            // Each has its own part of the data.
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

    /// The library or kernel that does the work.
    pub(crate) fn provider(&self) -> String {
        self.kernels.first().map(|kernel| kernel.provider()).unwrap_or_default()
    }

    /// Exactly `iters` iterations on each; the nanoseconds of the device that took longest.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        Ok(self.run(iters)?.device_ns)
    }

    /// Nanoseconds of the host for one launch on each device: a few of them, so that no queue is
    /// full.
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

    /// One thread hands over what takes a GPU less time than its launch only as fast as it can
    /// launch on all of them.
    fn run_by_threads(&mut self, iters: u64) -> Result<GroupTime, Failure> {
        let (kernels, streams) = (&mut self.kernels, &mut self.streams);
        std::thread::scope(|scope| {
            let mut launch = Duration::ZERO;
            let (mut orders, mut threads) = (Vec::new(), Vec::new());
            for mut start in kernels.iter_mut().filter_map(|kernel| kernel.launcher()) {
                let (order, begin) = channel::<()>();
                orders.push(order);
                threads.push(scope.spawn(move || -> Result<Duration, DeviceError> {
                    // Without an order the marks could not be made, and the error is known
                    // elsewhere.
                    if begin.recv().is_err() {
                        return Ok(Duration::ZERO);
                    }
                    let begin = Instant::now();
                    (0..iters).try_for_each(|_| start())?;
                    Ok(begin.elapsed())
                }));
            }
            // The closure owns the orders: however it ends, no thread waits for one any more.
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

    /// Nanoseconds of one iteration: the best of several short samples.
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
        "it ended before its work was handed over",
        "this is a defect of this program: please report it with the case's id",
    )
}
