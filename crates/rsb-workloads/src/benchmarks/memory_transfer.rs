//! Transfers between host and GPU, and within the GPU.

use rsb_device::operation::{HostMemory, Transfer, TransferDirection};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{Fields, Params, Reason};

use super::{axis, by_kind, bytes, grid, is_by_vendor, number, sized_grid, sizes};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn,
};
use crate::plausibility::{check, check_bandwidth, set_note};
use crate::timed::{Pace, PreparedCase, Timed};

/// Transfers to the GPU, from the GPU, in both directions at once, and within the GPU.
pub(super) struct MemoryTransfer;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Largest transfer of any suite to a GPU.
const LARGEST: u64 = 256 * MIB;

/// Largest transfer to software that emulates a GPU.
const LARGEST_OF_SOFTWARE: u64 = 32 * MIB;

/// Largest transfer for which each repetition is waited for: the latency of completion matters for
/// small transfers.
const SMALL: u64 = 64 * KIB;

/// Upper bound on the one-way bandwidth of any host link in GB/s (NVLink-C2C: 450).
const ANY_LINK_GB_S: f64 = 1000.0;

/// Tolerance above the nominal rate of a link, since clocks of host and GPU differ.
const LINK_SLACK: f64 = 1.02;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "direction",
        "source and target; bidirectional: to and from the GPU at the same time",
        AxisKind::Choice(&[
            "host-to-device",
            "device-to-host",
            "device-to-device",
            "bidirectional",
        ]),
    ),
    AxisInfo::value("size", "bytes per transfer", AxisKind::Bytes),
    AxisInfo::with_default(
        "host_memory",
        "type of host memory",
        "pinned",
        AxisKind::Choice(&["pinned", "pageable"]),
    ),
];

impl Benchmark for MemoryTransfer {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-transfer",
            about: "Transfers between host and GPU, pinned and pageable, and within the GPU",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            runs_on: RunsOn::Gpus,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let link = axis("direction", &["host-to-device", "device-to-host"]);
        let within = axis("direction", &["device-to-device"]);
        let pageable = axis("host_memory", &["pageable"]);
        let large = largest(device);
        let mut grids = vec![
            grid([link.clone(), sizes("size", &[large, (4 * KIB).min(large)])]),
            grid([within.clone(), sizes("size", &[large])]),
            grid([
                axis("direction", &["host-to-device"]),
                sizes("size", &[large]),
                pageable.clone(),
            ]),
        ];
        let every = match breadth {
            Breadth::Quick => return grids,
            Breadth::Standard => up_to(large, 16),
            Breadth::Full => up_to(large, 2),
        };
        grids.extend([
            grid([link.clone(), sizes("size", &every)]),
            grid([link, sizes("size", &every), pageable]),
            grid([within, sizes("size", &every)]),
        ]);
        if is_by_vendor(device) {
            grids.push(sized_grid("direction=bidirectional", &every));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let direction: TransferDirection = number(params, "direction")?;
        let host_memory: HostMemory = number(params, "host_memory")?;
        if direction == TransferDirection::DeviceToDevice && host_memory == HostMemory::Pageable {
            return Err(Reason::new(
                "pageable memory within a device",
                "the transfer does not use host memory",
                "choose host_memory=pinned",
            ));
        }
        Ok(Operation::Transfer(Transfer {
            direction,
            host_memory,
            bytes: whole(bytes(params, "size")?)?,
        }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let Operation::Transfer(transfer) = operation else {
            return Err(Failure::Skipped(wrong_size(0)));
        };
        let pace = if transfer.bytes <= SMALL { Pace::Awaited } else { Pace::Streamed };
        let timed = Timed::prepare(device, operation, Options::default())?.with_pace(pace);
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let mut fields = rates(timed, time_ns)?;
            if transfer.direction != TransferDirection::DeviceToDevice {
                fields.set("host_memory", transfer.host_memory.as_str());
            }
            fields.set("size_bytes", transfer.bytes);
            if pace == Pace::Awaited {
                fields.set("latency_us", time_ns / 1e3);
            }
            Ok(fields)
        }))
    }
}

/// Returns time and bandwidth of a transfer, and its share of the limit of the link or the GPU's
/// memory.
pub(super) fn rates(timed: &Timed<'_>, time_ns: f64) -> Result<Fields, Failure> {
    let rate = gigabytes_per_second(timed.operation.bytes_moved(), time_ns);
    let mut fields =
        timed.common_fields().with("time_us", time_ns / 1e3).with("bandwidth_gb_s", rate);
    let direction = match &timed.operation {
        Operation::Transfer(transfer) => Some(transfer.direction),
        _ => None,
    };
    if direction == Some(TransferDirection::DeviceToDevice) {
        let note = check_bandwidth(rate, &timed.operation, timed.device.info(), timed.threads())?;
        set_note(&mut fields, note.as_deref());
        if let Some(peak) = timed.device.info().peak_bandwidth_gb_s {
            fields.set("peak_bandwidth_gb_s", peak);
            fields.set("roofline_percent", 100.0 * rate / peak);
        }
        return Ok(fields);
    }
    // Links are full-duplex: each direction has the whole bandwidth at the same time.
    let ways = if direction == Some(TransferDirection::Bidirectional) { 2.0 } else { 1.0 };
    match timed.device.link_gb_s() {
        Some(peak) => {
            check(rate, LINK_SLACK * ways * peak, "GB/s", "the bandwidth of the link")?;
            fields.set("link_gb_s", peak);
            fields.set("link_percent", 100.0 * rate / (ways * peak));
        }
        None => check(rate, ways * ANY_LINK_GB_S, "GB/s", "the bandwidth of any known link")?,
    }
    Ok(fields)
}

/// Returns the largest transfer whose source and destination both fit in the GPU's memory with a
/// margin.
pub(super) fn largest(device: &DeviceInfo) -> u64 {
    let fits = (device.usable_memory_bytes / 4).max(4 * KIB);
    by_kind(device, LARGEST, LARGEST_OF_SOFTWARE)
        .min(fits.next_power_of_two() / if fits.is_power_of_two() { 1 } else { 2 })
}

/// Returns sizes from 4 KiB, each `factor` times the previous one, then `large`.
fn up_to(large: u64, factor: u64) -> Vec<u64> {
    let mut found: Vec<u64> = std::iter::successors(Some(4 * KIB), |size| size.checked_mul(factor))
        .take_while(|&size| size < large)
        .collect();
    found.push(large);
    found
}

/// Checks that a transfer consists of whole words of four bytes.
pub(super) fn whole(size: u64) -> Result<u64, Reason> {
    if size >= 4 && size.is_multiple_of(4) { Ok(size) } else { Err(wrong_size(size)) }
}

fn wrong_size(size: u64) -> Reason {
    Reason::new(
        format!("a transfer of {size} bytes"),
        "transfers move words of four bytes",
        "choose a positive multiple of four",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_end_with_the_largest_that_fits() {
        assert_eq!(up_to(256 * MIB, 16), [4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB]);
        assert_eq!(up_to(4 * KIB, 2), [4 * KIB]);
        assert_eq!(up_to(LARGEST, 2).len(), 17);
    }
}
