//! All-reduce over several devices with a ring of copies from each device to the next: a
//! reduce-scatter followed by an all-gather.
//!
//! Every device keeps its inputs unchanged, so that each iteration does the same work. All devices
//! are synchronized between the steps, which affects small messages.

use rsb_device::operation::{Elementwise, ElementwiseOp};
use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream, reference};
use rsb_model::{Dtype, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::collective::{Differences, allocate_each, fill, longest, sum, tolerance, values};

/// One device of the ring; each buffer is one chunk, and there are as many chunks as devices.
struct RingRank<'d> {
    device: &'d dyn Device,
    own: Vec<Buffer>,
    /// Partial sums received from the previous device.
    arrived: Vec<Buffer>,
    /// Partial sums including this device; at the end, the complete sum.
    sum: Vec<Buffer>,
}

/// One step of one device: a copy from the previous device, then an optional addition.
struct RingStep<'d> {
    copy: Box<dyn Kernel + 'd>,
    add: Option<Box<dyn Kernel + 'd>>,
}

/// A prepared ring.
pub(crate) struct Ring<'d> {
    stations: Vec<RingRank<'d>>,
    streams: Vec<Box<dyn Stream + 'd>>,
    /// Work of each device in each step.
    steps: Vec<Vec<RingStep<'d>>>,
    dtype: Dtype,
    /// Elements per chunk.
    chunk: u64,
    /// max|x − ref| / max|ref| over every element of every device.
    pub(crate) accuracy: Accuracy,
}

impl<'d> Ring<'d> {
    /// Allocates and fills `elements` numbers on each device, runs the all-reduce once and verifies
    /// it.
    pub(crate) fn prepare(
        devices: &[&'d dyn Device],
        dtype: Dtype,
        elements: u64,
    ) -> Result<Self, Failure> {
        let chunks = devices.len().max(1);
        let chunk = elements.div_ceil(chunks as u64).max(1);
        let (mut stations, mut streams) = (Vec::with_capacity(chunks), Vec::with_capacity(chunks));
        for (rank, &device) in (0..).zip(devices) {
            let own = allocate_each(device, chunks as u64, dtype.bytes(chunk))?;
            for (number, buffer) in own.iter().enumerate() {
                fill(device, buffer, 0, dtype, &values(rank, number), chunk)?;
            }
            let arrived = allocate_each(device, chunks as u64, dtype.bytes(chunk))?;
            let sum = allocate_each(device, chunks as u64, dtype.bytes(chunk))?;
            arrived
                .iter()
                .chain(&sum)
                .try_for_each(|buffer| reference::mark_unwritten(device, buffer))?;
            stations.push(RingRank { device, own, arrived, sum });
            streams.push(device.stream()?);
        }
        let mut ring = Self {
            stations,
            streams,
            steps: Vec::new(),
            dtype,
            chunk,
            accuracy: Accuracy::default(),
        };
        ring.steps = ring.connect()?;
        iterate(&mut ring.steps, &mut ring.streams)?;
        ring.accuracy = ring.verify()?;
        Ok(ring)
    }

    /// Builds the steps. In step s of the first round, device d receives chunk d − 1 − s from the
    /// previous device and adds its own values. With n devices, the sums are complete after n − 1
    /// steps, and the second round distributes them.
    fn connect(&self) -> Result<Vec<Vec<RingStep<'d>>>, Failure> {
        let count = self.stations.len();
        let mut steps = Vec::new();
        for round in 0..2 {
            for step in 0..count.saturating_sub(1) {
                let mut moves = Vec::with_capacity(count);
                for station in 0..count {
                    let chunk = (station + 2 * count - 1 - step + round) % count;
                    moves.push(self.prepare_step(station, chunk, round, step)?);
                }
                steps.push(moves);
            }
        }
        Ok(steps)
    }

    fn prepare_step(
        &self,
        station: usize,
        chunk: usize,
        round: usize,
        step: usize,
    ) -> Result<RingStep<'d>, Failure> {
        let count = self.stations.len();
        let (Some(before), Some(here)) =
            (self.stations.get((station + count - 1) % count), self.stations.get(station))
        else {
            return Err(wrong_ring());
        };
        // The first step sends the inputs of the previous device, later steps its partial sums.
        let source = if round == 0 && step == 0 { &before.own } else { &before.sum };
        let target = if round == 0 { &here.arrived } else { &here.sum };
        let (Some(source), Some(target)) = (source.get(chunk), target.get(chunk)) else {
            return Err(wrong_ring());
        };
        let copy = here.device.prepare_copy(source, target)?;
        let add = if round == 0 { Some(self.sum_of(here, chunk)?) } else { None };
        Ok(RingStep { copy, add })
    }

    fn sum_of(&self, here: &RingRank<'d>, chunk: usize) -> Result<Box<dyn Kernel + 'd>, Failure> {
        let operation = Operation::Elementwise(Elementwise {
            op: ElementwiseOp::Add,
            dtype: self.dtype,
            elements: self.chunk,
        });
        let own = here.own.get(chunk).ok_or_else(wrong_ring)?;
        let arrived = here.arrived.get(chunk).ok_or_else(wrong_ring)?;
        let sum = here.sum.get(chunk).ok_or_else(wrong_ring)?;
        let buffers = [own.clone(), arrived.clone(), sum.clone()];
        Ok(here.device.prepare(&operation, &Options::default(), &buffers)?)
    }

    /// Runs exactly `iters` iterations and returns the time of the slowest device. Since all
    /// devices are synchronized in each step, the last event of each device is recorded when all
    /// are done.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let steps = &mut self.steps;
        longest(&mut self.streams, |streams| (0..iters).try_for_each(|_| iterate(steps, streams)))
    }

    /// Compares every element on every device with the sum in f64.
    fn verify(&self) -> Result<Accuracy, Failure> {
        let (mut differences, devices) = (Differences::default(), self.stations.len());
        for chunk in 0..devices {
            let stations = self.stations.iter();
            let ends: Vec<(&dyn Device, &Buffer, u64)> = stations
                .filter_map(|station| Some((station.device, station.sum.get(chunk)?, 0)))
                .collect();
            differences.compare(
                &ends,
                self.dtype,
                self.chunk,
                chunk as u64 * self.chunk,
                |start, right| {
                    sum(self.dtype, devices as u64, chunk, start, right);
                },
            )?;
        }
        differences.accuracy("all-reduce", tolerance(self.dtype, devices))
    }

    /// Returns the provider of the copies.
    pub(crate) fn provider(&self) -> String {
        let first = self.steps.first().and_then(|moves| moves.first());
        first.map(|one| format!("ring, {}", one.copy.provider())).unwrap_or_default()
    }
}

fn iterate(
    steps: &mut [Vec<RingStep<'_>>],
    streams: &mut [Box<dyn Stream + '_>],
) -> Result<(), Failure> {
    for moves in steps {
        for one in moves {
            one.copy.launch()?;
            if let Some(add) = &mut one.add {
                add.launch()?;
            }
        }
        streams.iter_mut().try_for_each(|stream| stream.synchronize())?;
    }
    Ok(())
}

fn wrong_ring() -> Failure {
    Failure::Failed(Reason::new(
        "ring of devices",
        "a device or a chunk of it is missing",
        "report this as a bug with the case id",
    ))
}
