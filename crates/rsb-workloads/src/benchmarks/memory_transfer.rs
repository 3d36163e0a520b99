//! Transfers between host and GPU, and within the GPU: how fast a tensor gets there and back.

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

/// To the GPU, from the GPU, both at once, within the GPU.
pub(super) struct MemoryTransfer;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The largest transfer of any breadth, to a GPU.
const LARGEST: u64 = 256 * MIB;

/// The same where software stands for a GPU.
const LARGEST_OF_SOFTWARE: u64 = 32 * MIB;

/// Transfers up to this size are waited for one by one: what counts of them is when they are done.
const SMALL: u64 = 64 * KIB;

/// More than any link between a host and a GPU carries one way (NVLink-C2C: 450), in GB/s.
const ANY_LINK_GB_S: f64 = 1000.0;

/// How far above its nominal rate a link may be measured: clocks of host and GPU differ.
const LINK_SLACK: f64 = 1.02;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "direction",
        "from where to where; bidirectional: to and from the GPU at once",
        AxisKind::Choice(&[
            "host-to-device",
            "device-to-host",
            "device-to-device",
            "bidirectional",
        ]),
    ),
    AxisInfo::value("size", "bytes in one transfer", AxisKind::Bytes),
    AxisInfo::with_default(
        "host_memory",
        "the host's side: pinned in place, or pageable",
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
                "such a transfer does not touch the host's memory",
                "leave `host_memory` at pinned for it",
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

/// Time and bandwidth of a transfer, beside what the link or the GPU's memory can do.
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
    // A link carries as much the other way at the same time.
    let ways = if direction == Some(TransferDirection::Bidirectional) { 2.0 } else { 1.0 };
    match timed.device.link_gb_s() {
        Some(peak) => {
            check(rate, LINK_SLACK * ways * peak, "GB/s", "what the link can carry")?;
            fields.set("link_gb_s", peak);
            fields.set("link_percent", 100.0 * rate / (ways * peak));
        }
        None => check(rate, ways * ANY_LINK_GB_S, "GB/s", "what any link can carry")?,
    }
    Ok(fields)
}

/// The largest transfer here: both its ends, with room to spare, fit in the GPU's memory.
pub(super) fn largest(device: &DeviceInfo) -> u64 {
    let fits = (device.usable_memory_bytes / 4).max(4 * KIB);
    by_kind(device, LARGEST, LARGEST_OF_SOFTWARE)
        .min(fits.next_power_of_two() / if fits.is_power_of_two() { 1 } else { 2 })
}

/// From 4 KiB on, each `factor` times the one before, and `large`.
fn up_to(large: u64, factor: u64) -> Vec<u64> {
    let mut found: Vec<u64> = std::iter::successors(Some(4 * KIB), |size| size.checked_mul(factor))
        .take_while(|&size| size < large)
        .collect();
    found.push(large);
    found
}

/// Transfers are of whole words of four bytes.
pub(super) fn whole(size: u64) -> Result<u64, Reason> {
    if size >= 4 && size.is_multiple_of(4) { Ok(size) } else { Err(wrong_size(size)) }
}

fn wrong_size(size: u64) -> Reason {
    Reason::new(
        format!("a transfer of {size} bytes"),
        "it moves whole words of four bytes",
        "choose a multiple of four from 4 on",
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
