//! Memory bandwidth of sequential reads and writes, from the nearest cache to memory.

use rsb_device::operation::{MemoryStream, Stores, StreamPattern};
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{Fields, Params, Reason};

use super::{
    bytes, dtype, is_cpu, last_level_cache, last_level_caches, number, size_list, sized_grid,
    stream_size, text_grid, threaded,
};
use crate::axis::{AxisInfo, AxisKind, CACHE, DTYPE, NUMA, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::{check_bandwidth, lies_in, set_note};
use crate::timed::{PreparedCase, Timed};

/// Read, write, copy, triad and in-place read-write of arrays.
pub(super) struct MemoryBandwidth;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const ALL: &[&str] = &["read", "write", "copy", "triad", "read_write"];

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "operation",
        "read, write, copy (b = a), triad (c = a + 3b) or read_write (a = -a)",
        AxisKind::Choice(ALL),
    ),
    DTYPE,
    AxisInfo::value("size", "bytes per array", AxisKind::Bytes),
    AxisInfo::with_default(
        "stores",
        "temporal: through the caches; non-temporal: around the caches",
        "temporal",
        AxisKind::Choice(&["temporal", "non-temporal"]),
    ),
    CACHE,
    NUMA,
    THREADS,
];

impl Benchmark for MemoryBandwidth {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-bandwidth",
            about: "Bandwidth of reads and writes, from the nearest cache to memory",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            is_sized_by_caches: true,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let large = stream_size(device, last_level_cache(device));
        let mut grids = vec![
            sized_grid("operation=copy,read,triad dtype=f32", &[large]),
            sized_grid("operation=copy dtype=f32", &[8 * KIB, 128 * KIB]),
            sized_grid("operation=copy dtype=f32 cache=cold", &[MIB]),
        ];
        if is_cpu(device) {
            grids.insert(1, sized_grid("operation=copy dtype=f32 stores=non-temporal", &[large]));
        }
        if breadth == Breadth::Quick {
            return grids;
        }
        let of = |text: String| text_grid(AXES, &text);
        let all = format!("operation={} dtype=f32", ALL.join(","));
        let few = size_list(&[8 * KIB, 128 * KIB, 4 * MIB, large]);
        grids.push(of(format!("{all} size={few}")));
        grids.push(sized_grid("operation=copy,triad dtype=f16,bf16", &[large]));
        if is_cpu(device) {
            let around = "operation=write,copy,triad dtype=f32 stores=non-temporal";
            grids.push(sized_grid(around, &[large]));
            let beyond_all = size_list(&[stream_size(device, last_level_caches(device))]);
            grids.push(threaded(of(format!("{all} size={beyond_all}")), device));
            let beyond_all = format!("size={beyond_all} stores=non-temporal");
            let around = of(format!("operation=write,copy,triad dtype=f32 {beyond_all}"));
            grids.push(threaded(around, device));
        }
        if breadth == Breadth::Full {
            grids.extend(full(device));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let (pattern, stores): (StreamPattern, Stores) =
            (number(params, "operation")?, number(params, "stores")?);
        if pattern == StreamPattern::Read && stores == Stores::NonTemporal {
            return Err(Reason::new(
                "stores of a read",
                "a read stores nothing",
                "choose stores=temporal",
            ));
        }
        let (dtype, size) = (dtype(params)?, bytes(params, "size")?);
        let elements = size / dtype.bytes(1);
        if elements == 0 {
            return Err(Reason::new(
                format!("an array of {size} bytes"),
                format!("it is smaller than one {dtype}"),
                "choose a larger size",
            ));
        }
        Ok(Operation::Stream(MemoryStream { pattern, dtype, elements, stores }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let timed = Timed::from_params(device, operation, params)?;
        let stores: String = number(params, "stores").map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            fields(timed, time_ns, &stores, size)
        }))
    }
}

/// Returns the fields of an array of `size` bytes whose kernel takes `time_ns`.
pub(super) fn fields(
    timed: &Timed<'_>,
    time_ns: f64,
    stores: &str,
    size: u64,
) -> Result<Fields, Failure> {
    let rate = gigabytes_per_second(timed.operation.bytes_moved(), time_ns);
    let note = check_bandwidth(rate, &timed.operation, timed.device.info(), timed.threads())?;
    let mut fields = timed.common_fields();
    fields.set("size_bytes", size);
    fields.set("stores", stores);
    fields.set("time_us", time_ns / 1e3);
    fields.set("bandwidth_gb_s", rate);
    lies_in(timed, &mut fields);
    if let Some(peak) = timed.device.info().peak_bandwidth_gb_s {
        fields.set("peak_bandwidth_gb_s", peak);
        fields.set("roofline_percent", 100.0 * rate / peak);
    }
    set_note(&mut fields, note.as_deref());
    Ok(fields)
}

/// Returns the full suite: all data types, sizes from the nearest cache to several times the
/// last-level cache, cold caches, and all thread counts.
fn full(device: &DeviceInfo) -> Vec<Grid> {
    let most = stream_size(device, last_level_cache(device));
    let below = std::iter::successors(Some(8 * KIB), |size| size.checked_mul(2))
        .take_while(|&size| size < most);
    let every: Vec<u64> = below.chain([most]).collect();
    let of = |text: String| text_grid(AXES, &text);
    let (all, size) = (ALL.join(","), format!("size={}", size_list(&every)));
    let types = "dtype=f64,f32,f16,bf16";
    let mut grids = vec![
        of(format!("operation={all} {types} {size}")),
        of(format!("operation={all} {types} {size} cache=cold")),
    ];
    if is_cpu(device) {
        let (stores, around) = ("operation=write,copy,triad", "stores=non-temporal");
        grids.push(of(format!("{stores} {types} {size} {around}")));
        grids.push(threaded(of(format!("operation={all} dtype=f32 {size}")), device));
        grids.push(threaded(of(format!("{stores} dtype=f32 {size} {around}")), device));
        let most = size_list(&[most]);
        grids.push(of(format!("operation={all} dtype=f32 size={most} numa=near,far")));
    }
    grids
}
