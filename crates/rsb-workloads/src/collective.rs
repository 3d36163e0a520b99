//! A collective of a vendor's library over several devices, with every element verified on every
//! device. Also contains code shared with the ring: inputs, timing, and location of wrong elements.

use rsb_device::operation::{Collective, Placement};
use rsb_device::random::{Distribution, Values};
use rsb_device::{Buffer, Device, Kernel, Stream, convert, reference};
use rsb_model::{Dtype, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::timed::{SEED, check_time};

/// Elements filled or checked at a time.
const BLOCK: u64 = 1 << 16;

/// Returns the numbers that device `rank` sends in chunk `chunk`.
pub(crate) fn values(rank: u64, chunk: usize) -> Values {
    Values::new(SEED ^ rank << 32, chunk, Distribution::Signed)
}

/// Returns ranges of at most one block, as start and length.
fn blocks(elements: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..elements)
        .step_by(BLOCK as usize)
        .map(move |start| (start, (elements - start).min(BLOCK) as usize))
}

/// Writes `elements` of `values` to `buffer`, starting at element `at`.
pub(crate) fn fill(
    device: &dyn Device,
    buffer: &Buffer,
    at: u64,
    dtype: Dtype,
    values: &Values,
    elements: u64,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    for (start, count) in blocks(elements) {
        convert::encode_values(dtype, values, start, count, &mut bytes);
        device.write(buffer, dtype.bytes(at + start), &bytes)?;
    }
    Ok(())
}

/// Allocates `count` buffers of `bytes` each.
pub(crate) fn allocate_each(
    device: &dyn Device,
    count: u64,
    bytes: u64,
) -> Result<Vec<Buffer>, Failure> {
    let mut buffers = Vec::new();
    for _ in 0..count {
        buffers.push(device.allocate(bytes)?);
    }
    Ok(buffers)
}

/// Returns the nanoseconds of `work` on the slowest device, between events in all streams.
pub(crate) fn longest<'d>(
    streams: &mut [Box<dyn Stream + 'd>],
    work: impl FnOnce(&mut [Box<dyn Stream + 'd>]) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    // All devices are idle here, so all start events have the same time, except for the time to
    // record them.
    let starts = streams.iter_mut().map(|stream| stream.record()).collect::<Result<Vec<_>, _>>()?;
    work(streams)?;
    let ends = streams.iter_mut().map(|stream| stream.record()).collect::<Result<Vec<_>, _>>()?;
    let mut longest: f64 = 0.0;
    for ((stream, start), end) in streams.iter_mut().zip(starts).zip(ends) {
        stream.synchronize()?;
        let time = stream.elapsed_ns(start, end)?;
        check_time(time)?;
        longest = longest.max(time);
    }
    check_time(longest)?;
    Ok(longest)
}

/// Largest difference between received and expected data, and its location.
#[derive(Default)]
pub(crate) struct Differences {
    largest: f64,
    scale: f64,
    /// Device and element of the largest difference, with the found and expected values.
    place: String,
}

impl Differences {
    /// Compares `elements` elements of each of `ends` (device, buffer, first element) with the
    /// values that `expected` writes from an offset. In messages, the first element has the number
    /// `named`.
    pub(crate) fn compare(
        &mut self,
        ends: &[(&dyn Device, &Buffer, u64)],
        dtype: Dtype,
        elements: u64,
        named: u64,
        expected: impl Fn(u64, &mut [f64]),
    ) -> Result<(), Failure> {
        let (mut bytes, mut found, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for (start, count) in blocks(elements) {
            bytes.resize(dtype.bytes(count as u64) as usize, 0);
            right.resize(count, 0.0);
            expected(start, &mut right);
            self.scale = right.iter().fold(self.scale, |scale, right| scale.max(right.abs()));
            for (device, buffer, at) in ends {
                device.read(buffer, dtype.bytes(at + start), &mut bytes)?;
                convert::decode_into(dtype, &bytes, &mut found);
                for (index, (&found, &right)) in (named + start..).zip(found.iter().zip(&right)) {
                    let difference = (found - right).abs();
                    let difference = if difference.is_nan() { f64::INFINITY } else { difference };
                    if difference > self.largest {
                        self.largest = difference;
                        self.place = format!(
                            "element {index} on {} is {found}, not {right}",
                            device.info().device
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns max|x − ref| / max|ref|, or an error if it exceeds `limit`.
    pub(crate) fn accuracy(&self, what: &str, limit: f64) -> Result<Accuracy, Failure> {
        let error = if self.largest == 0.0 { 0.0 } else { self.largest / self.scale };
        if error <= limit {
            return Ok(Accuracy { error, limit });
        }
        Err(Failure::Failed(Reason::new(
            format!("wrong result of {what}"),
            format!(
                "{}: the error is {error:.1e} of the largest value, above the limit of {limit:.1e}",
                self.place
            ),
            "suspect copies between the GPUs: test them in pairs with num_gpus=2, and check the \
             kernel log (dmesg)",
        )))
    }
}

/// Returns the tolerance of sums over `devices` devices, relative to the largest value. Each device
/// may round the partial sum.
pub(crate) fn tolerance(dtype: Dtype, devices: usize) -> f64 {
    match dtype {
        Dtype::F64 | Dtype::F32 => dtype.epsilon() * (8.0 + 2.0 * (devices as f64).sqrt()),
        narrow => reference::chain_tolerance(narrow, devices as u64, 0),
    }
}

/// A prepared collective of a vendor's library.
pub(crate) struct ByLibrary<'d> {
    streams: Vec<Box<dyn Stream + 'd>>,
    kernel: Box<dyn Kernel + 'd>,
    /// max|x − ref| / max|ref| over every element of every device.
    pub(crate) accuracy: Accuracy,
}

impl<'d> ByLibrary<'d> {
    /// Allocates and fills the buffers on each device, runs the collective once and verifies it.
    pub(crate) fn prepare(devices: &[&'d dyn Device], call: &Collective) -> Result<Self, Failure> {
        let mut pairs = Vec::with_capacity(devices.len());
        let mut streams = Vec::with_capacity(devices.len());
        for (rank, &device) in (0..).zip(devices) {
            let pair = match call.placement {
                Placement::OutOfPlace => (
                    device.allocate(call.dtype.bytes(call.elements_sent()))?,
                    device.allocate(call.dtype.bytes(call.elements_received()))?,
                ),
                Placement::InPlace => {
                    let both = device.allocate(call.dtype.bytes(call.elements))?;
                    (both.clone(), both)
                }
            };
            if call.placement == Placement::OutOfPlace {
                reference::mark_unwritten(device, &pair.1)?;
            }
            fill(
                device,
                &pair.0,
                call.places(rank)[0],
                call.dtype,
                &values(rank, 0),
                call.elements_sent(),
            )?;
            pairs.push(pair);
            streams.push(device.stream()?);
        }
        let Some(first) = devices.first() else { return Err(no_device_error()) };
        let mut kernel = first.prepare_collective(call, &pairs)?;
        kernel.launch()?;
        streams.iter_mut().try_for_each(|stream| stream.synchronize())?;
        let mut differences = Differences::default();
        let ranks: Vec<u64> = (0..call.devices).collect();
        // Expected values that are equal on all devices are computed once.
        for team in ranks.chunks(if call.kind.is_alike() { ranks.len() } else { 1 }) {
            for part in team.first().map(|&rank| call.parts(rank)).unwrap_or_default() {
                let mut ends: Vec<(&dyn Device, &Buffer, u64)> = Vec::with_capacity(team.len());
                for &rank in team {
                    let device = devices.get(rank as usize);
                    let (Some(&device), Some(pair)) = (device, pairs.get(rank as usize)) else {
                        continue;
                    };
                    ends.push((device, &pair.1, call.places(rank)[1] + part.received_at));
                }
                differences.compare(
                    &ends,
                    call.dtype,
                    part.elements,
                    part.received_at,
                    |start, right| {
                        let start = part.sent_at + start;
                        match part.from {
                            Some(from) => {
                                convert::rounded_values(call.dtype, &values(from, 0), start, right);
                            }
                            None => sum(call.dtype, call.devices, 0, start, right),
                        }
                    },
                )?;
            }
        }
        // Data that is only moved must be unchanged.
        let limit = if call.kind.adds() { tolerance(call.dtype, devices.len()) } else { 0.0 };
        let accuracy = differences.accuracy(call.kind.as_str(), limit)?;
        Ok(Self { streams, kernel, accuracy })
    }

    /// Runs exactly `iters` iterations and returns the time of the slowest device. The library's
    /// work on one device completes only when all the others have reached it.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let kernel = &mut self.kernel;
        longest(&mut self.streams, |_| Ok(kernel.launch_times(iters)?))
    }

    /// Returns the name of the library.
    pub(crate) fn provider(&self) -> String {
        self.kernel.provider()
    }
}

/// Computes the sum over all devices of the values they send, starting at element `start` of chunk
/// `chunk`.
pub(crate) fn sum(dtype: Dtype, devices: u64, chunk: usize, start: u64, right: &mut [f64]) {
    let mut part = vec![0.0; right.len()];
    right.fill(0.0);
    for rank in 0..devices {
        convert::rounded_values(dtype, &values(rank, chunk), start, &mut part);
        right.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
    }
}

fn no_device_error() -> Failure {
    let cure = "report this as a bug with the case id";
    Failure::Failed(Reason::new("collective", "a device is missing", cure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Script, ScriptedDevice};

    #[test]
    fn the_wrong_element_is_named() {
        let device = ScriptedDevice::new(Script::default());
        let buffer = device.allocate(4 * 70_000).unwrap();
        fill(&device, &buffer, 0, Dtype::F32, &values(1, 0), 70_000).unwrap();
        assert!(accuracy_of_values(&device, &buffer).is_ok_and(|accuracy| accuracy.error == 0.0));
        for wrong in [7.5_f32, f32::NAN, f32::INFINITY] {
            device.write(&buffer, 4 * 66_000, &wrong.to_le_bytes()).unwrap();
            let failed = accuracy_of_values(&device, &buffer).unwrap_err();
            let expected = format!("element 66005 on cpu:0 is {wrong}, not ");
            assert!(failed.reason().why.contains(&expected), "{failed}");
        }
    }

    /// Compares the 70,000 elements of `buffer` with the values written to it.
    fn accuracy_of_values(device: &ScriptedDevice, buffer: &Buffer) -> Result<Accuracy, Failure> {
        let mut differences = Differences::default();
        differences
            .compare(&[(device, buffer, 0)], Dtype::F32, 70_000, 5, |start, right| {
                convert::rounded_values(Dtype::F32, &values(1, 0), start, right);
            })
            .unwrap();
        differences.accuracy("broadcast", 0.0)
    }
}
