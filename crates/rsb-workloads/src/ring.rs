//! A sum over several devices: by a ring of copies from each to the next, which scatters the partial sums and then gathers
//! them; or by a library, in one call.
//!
//! Every device keeps its own numbers as they are, so that each iteration does the same again. Between the steps all
//! devices are waited for, which small messages feel.

use rsb_device::operation::{Elementwise, ElementwiseOp};
use rsb_device::random::{Distribution, Values};
use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream, convert};
use rsb_model::{Dtype, Reason};

use crate::benchmark::Failure;
use crate::timed::{SEED, check_time};

/// Elements handled at once while filling and checking.
const BLOCK: u64 = 1 << 16;

/// One device, with its numbers in as many chunks as there are devices.
struct Station<'d> {
    device: &'d dyn Device,
    stream: Box<dyn Stream + 'd>,
    own: Vec<Buffer>,
    /// A partial sum as it arrives from the device before.
    arrived: Vec<Buffer>,
    /// The partial sum with this device's share; in the end the whole sum.
    sum: Vec<Buffer>,
}

/// What one device does in one step: a copy from the device before, then perhaps a sum.
struct Move<'d> {
    copy: Box<dyn Kernel + 'd>,
    add: Option<Box<dyn Kernel + 'd>>,
}

/// How the sum comes about.
enum Way<'d> {
    /// What each device does in each step.
    Steps(Vec<Vec<Move<'d>>>),
    /// One call.
    Library(Box<dyn Kernel + 'd>),
}

/// Who adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Summing {
    /// Our own copies and sums.
    ByRing,
    /// The backend's library.
    ByLibrary,
}

/// The ring, ready.
pub(crate) struct Ring<'d> {
    stations: Vec<Station<'d>>,
    way: Way<'d>,
    dtype: Dtype,
    /// Elements in a chunk.
    chunk: u64,
    /// max|x − ref| / max|ref| over every element of every device.
    pub(crate) accuracy_error: f64,
}

impl<'d> Ring<'d> {
    /// Allocates and fills `elements` numbers on each device, runs once and verifies.
    pub(crate) fn prepare(
        devices: &[&'d dyn Device],
        dtype: Dtype,
        elements: u64,
        summing: Summing,
    ) -> Result<Self, Failure> {
        // A library takes the numbers as they are; a ring cuts them into a chunk for each device.
        let (chunks, on_the_way) = match summing {
            Summing::ByRing => (devices.len().max(1), devices.len().max(1)),
            Summing::ByLibrary => (1, 0),
        };
        let chunk = elements.div_ceil(chunks as u64).max(1);
        let bytes = dtype.bytes(chunk);
        let mut stations = Vec::with_capacity(devices.len());
        for &device in devices {
            let buffers = |count| (0..count).map(|_| device.allocate(bytes)).collect::<Result<Vec<_>, _>>();
            let (own, arrived, sum) = (buffers(chunks)?, buffers(on_the_way)?, buffers(chunks)?);
            stations.push(Station { device, stream: device.stream()?, own, arrived, sum });
        }
        let mut ring = Self { stations, way: Way::Steps(Vec::new()), dtype, chunk, accuracy_error: 0.0 };
        ring.fill()?;
        ring.way = match summing {
            Summing::ByRing => Way::Steps(ring.connect()?),
            Summing::ByLibrary => Way::Library(ring.bind_library()?),
        };
        ring.iterate()?;
        ring.synchronize()?;
        ring.accuracy_error = ring.verify()?;
        Ok(ring)
    }

    /// The numbers of chunk `chunk` of device `station`.
    fn values(station: usize, chunk: usize) -> Values {
        Values::new(SEED ^ (station as u64) << 32, chunk, Distribution::Signed)
    }

    fn fill(&self) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for (number, station) in self.stations.iter().enumerate() {
            for (chunk, buffer) in station.own.iter().enumerate() {
                let values = Self::values(number, chunk);
                for start in (0..self.chunk).step_by(BLOCK as usize) {
                    let count = (self.chunk - start).min(BLOCK) as usize;
                    convert::encode_values(self.dtype, &values, start, count, &mut bytes);
                    station.device.write(buffer, self.dtype.bytes(start), &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// In step s of the first round, device d takes chunk d − 1 − s from the device before it and adds its own; the sum is
    /// whole after as many steps as there are others, and is handed round in the second.
    fn connect(&self) -> Result<Vec<Vec<Move<'d>>>, Failure> {
        let count = self.stations.len();
        let mut steps = Vec::new();
        for round in 0..2 {
            for step in 0..count.saturating_sub(1) {
                let mut moves = Vec::with_capacity(count);
                for station in 0..count {
                    let chunk = (station + 2 * count - 1 - step + round) % count;
                    moves.push(self.connected(station, chunk, (round, step))?);
                }
                steps.push(moves);
            }
        }
        Ok(steps)
    }

    fn bind_library(&self) -> Result<Box<dyn Kernel + 'd>, Failure> {
        let pair = |station: &Station<'d>| Some((station.own.first()?.clone(), station.sum.first()?.clone()));
        let pairs: Option<Vec<(Buffer, Buffer)>> = self.stations.iter().map(pair).collect();
        let (Some(pairs), Some(first)) = (pairs, self.stations.first()) else { return Err(wrong_ring()) };
        Ok(first.device.prepare_all_reduce(self.dtype, self.chunk, &pairs)?)
    }

    fn synchronize(&mut self) -> Result<(), Failure> {
        self.stations.iter_mut().try_for_each(|station| Ok(station.stream.synchronize()?))
    }

    fn connected(&self, station: usize, chunk: usize, (round, step): (usize, usize)) -> Result<Move<'d>, Failure> {
        let count = self.stations.len();
        let (Some(before), Some(here)) = (self.stations.get((station + count - 1) % count), self.stations.get(station))
        else {
            return Err(wrong_ring());
        };
        // What is sent on: first the other device's own numbers, then what it has added up.
        let source = if round == 0 && step == 0 { &before.own } else { &before.sum };
        let target = if round == 0 { &here.arrived } else { &here.sum };
        let (Some(source), Some(target)) = (source.get(chunk), target.get(chunk)) else { return Err(wrong_ring()) };
        let copy = here.device.prepare_copy(source, target)?;
        let add = if round == 0 { Some(self.sum_of(here, chunk)?) } else { None };
        Ok(Move { copy, add })
    }

    fn sum_of(&self, here: &Station<'d>, chunk: usize) -> Result<Box<dyn Kernel + 'd>, Failure> {
        let operation =
            Operation::Elementwise(Elementwise { op: ElementwiseOp::Add, dtype: self.dtype, elements: self.chunk });
        let part = |of: &[Buffer]| of.get(chunk).cloned().ok_or_else(wrong_ring);
        let buffers = [part(&here.own)?, part(&here.arrived)?, part(&here.sum)?];
        Ok(here.device.prepare(&operation, &Options::default(), &buffers)?)
    }

    fn iterate(&mut self) -> Result<(), Failure> {
        let steps = match &mut self.way {
            Way::Library(kernel) => return Ok(kernel.launch()?),
            Way::Steps(steps) => steps,
        };
        for moves in steps {
            for one in moves {
                one.copy.launch()?;
                if let Some(add) = &mut one.add {
                    add.launch()?;
                }
            }
            for station in &mut self.stations {
                station.stream.synchronize()?;
            }
        }
        Ok(())
    }

    /// Exactly `iters` iterations by the clock of the device that takes longest. Every one of them is waited for in each
    /// step, so that its last mark stands when all are done.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let mut starts = Vec::with_capacity(self.stations.len());
        for station in &mut self.stations {
            starts.push(station.stream.record()?);
        }
        for _ in 0..iters {
            self.iterate()?;
        }
        // What a library has begun on one device ends when all the others have come that far.
        let mut ends = Vec::with_capacity(self.stations.len());
        for station in &mut self.stations {
            ends.push(station.stream.record()?);
        }
        let mut longest: f64 = 0.0;
        for ((station, start), end) in self.stations.iter_mut().zip(starts).zip(ends) {
            station.stream.synchronize()?;
            let time = station.stream.elapsed_ns(start, end)?;
            check_time(time)?;
            longest = longest.max(time);
        }
        check_time(longest)?;
        Ok(longest)
    }

    /// Every element on every device against the sum in f64.
    fn verify(&self) -> Result<f64, Failure> {
        let (mut difference, mut scale, mut finite) = (0.0_f64, 0.0_f64, true);
        let (mut bytes, mut found) = (Vec::new(), Vec::new());
        let chunks = self.stations.first().map_or(0, |station| station.sum.len());
        for chunk in 0..chunks {
            for start in (0..self.chunk).step_by(BLOCK as usize) {
                let count = (self.chunk - start).min(BLOCK) as usize;
                let expected = self.expected(chunk, start, count);
                for station in &self.stations {
                    let Some(buffer) = station.sum.get(chunk) else { return Err(wrong_ring()) };
                    bytes.resize(self.dtype.bytes(count as u64) as usize, 0);
                    station.device.read(buffer, self.dtype.bytes(start), &mut bytes)?;
                    convert::decode_into(self.dtype, &bytes, &mut found);
                    for (found, expected) in found.iter().zip(&expected) {
                        finite &= found.is_finite();
                        difference = difference.max((found - expected).abs());
                        scale = scale.max(expected.abs());
                    }
                }
            }
        }
        let error = if difference == 0.0 { 0.0 } else { difference / scale };
        let limit = convert::epsilon(self.dtype) * (8.0 + 2.0 * (self.stations.len() as f64).sqrt());
        if finite && error <= limit {
            return Ok(error);
        }
        Err(Failure::Failed(Reason::new(
            "wrong result of all-reduce",
            format!("its error is {error:.1e} of the largest value, above the {limit:.1e} allowed, or it is no number"),
            "suspect copies between the GPUs: try two of them at a time with num_gpus=2, and look at the kernel's log",
        )))
    }

    fn expected(&self, chunk: usize, start: u64, count: usize) -> Vec<f64> {
        let mut sum = vec![0.0; count];
        let mut part = vec![0.0; count];
        for station in 0..self.stations.len() {
            convert::rounded_values(self.dtype, &Self::values(station, chunk), start, &mut part);
            sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Who copies.
    pub(crate) fn provider(&self) -> String {
        match &self.way {
            Way::Library(kernel) => kernel.provider(),
            Way::Steps(steps) => {
                let first = steps.first().and_then(|moves| moves.first());
                first.map(|one| format!("ring, {}", one.copy.provider())).unwrap_or_default()
            }
        }
    }
}

fn wrong_ring() -> Failure {
    Failure::Failed(Reason::new(
        "ring of devices",
        "a device or a chunk of it is missing",
        "this is a defect of this program: please report it with the case's id",
    ))
}
