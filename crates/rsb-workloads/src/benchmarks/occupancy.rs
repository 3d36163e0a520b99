//! Occupancy of a GPU and its effect: resident waves and time, by block size.

mod calculator;

use std::path::PathBuf;

use rsb_device::operation::{
    Elementwise, ElementwiseOp, Gemm, MemoryStream, Normalize, NormalizeOp, Reduce, ReduceOp,
    Stores, StreamPattern,
};
use rsb_device::{Device, DeviceInfo, Occupancy as Found, Operation, Options, Registry};
use rsb_model::unit::{gigabytes_per_second, gigaflops};
use rsb_model::{BenchmarkType, Case, CaseId, Params, Reason};

use super::{axis, by_kind, bytes, dtype, grid, is_cpu, number, sizes};
use crate::axis::{AxisInfo, AxisKind, DTYPE};
use crate::benchmark::{Benchmark, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn};
use crate::plausibility::{check_bandwidth, set_note};
use crate::profiler::{self, CounterTool, KernelProfile};
use crate::timed::{PreparedCase, Timed};

/// Native kernels at each block size.
pub(super) struct OccupancyBenchmark;

/// Operations with kernels for any block size, followed by those with shared memory and a fixed
/// block size.
const OPERATIONS: &[&str] = &[
    "read",
    "write",
    "copy",
    "triad",
    "add",
    "relu",
    "gelu",
    "sum",
    "max",
    "softmax",
    "layer-norm",
    "gemm",
];

const BLOCKS: &[&str] = &["64", "128", "256", "512", "1024"];

/// Bytes of an array on a GPU.
const LARGE: u64 = 64 << 20;

/// Columns for row-wise normalization.
const COLUMNS: u64 = 1024;

const AXES: &[AxisInfo] = &[
    AxisInfo::value("operation", "the kernel", AxisKind::Choice(OPERATIONS)),
    DTYPE,
    AxisInfo::value("block_size", "threads per block", AxisKind::Count),
    AxisInfo::with_default("size", "bytes per array", "64MiB", AxisKind::Bytes),
    AxisInfo::with_default(
        "arch",
        "here: measured on the GPU; another: calculated from the compiler's output, without a GPU",
        HERE,
        AxisKind::ArchitectureOrHere,
    ),
    AxisInfo::with_default(
        "profiler",
        "rocprofv3 (ROCm) or ncu (CUDA): also read the GPU's hardware counters with the vendor's \
         tool",
        "none",
        AxisKind::Choice(profiler::NAMES),
    ),
];

/// The architecture of the GPU of this host.
const HERE: &str = "here";

impl Benchmark for OccupancyBenchmark {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "occupancy",
            about: "Occupancy and time of a kernel by block size; calculated if there is no GPU",
            axes: AXES,
            runs_on: RunsOn::GpusAndHost(rsb_device::compiler::BACKENDS),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        if is_cpu(device) {
            return calculator::grids(breadth);
        }
        let size = by_kind(device, LARGE, LARGE / 16);
        match breadth {
            Breadth::Quick => vec![sweep_grid(&["triad"], size)],
            Breadth::Standard => {
                let mut grids = vec![
                    sweep_grid(&["copy", "triad", "gelu"], size),
                    sharing_grid(&["f32"], size),
                ];
                if let Some(tool) = profiler::for_backend(device.device.backend) {
                    let counted = grid([
                        axis("operation", &["triad", "softmax", "gemm"]),
                        axis("dtype", &["f32"]),
                        axis("block_size", &["256"]),
                        sizes("size", &[size]),
                        axis("profiler", &[tool.name]),
                    ]);
                    grids.push(counted);
                }
                grids
            }
            Breadth::Full => {
                let any = axis("operation", &["write", "triad", "add", "relu", "gelu"]);
                let types = axis("dtype", &["f64", "f32", "f16", "bf16"]);
                let all = grid([
                    any,
                    types,
                    axis("block_size", &[&["32", "96", "192", "384", "768"], BLOCKS].concat()),
                ]);
                vec![
                    sweep_grid(&["read", "copy", "triad", "gelu"], size),
                    all,
                    sharing_grid(&["f64", "f32", "f16", "bf16"], size),
                ]
            }
        }
    }

    /// Returns the bytes of the buffers on a GPU; a calculated case needs none.
    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let needed = self.operation(params)?.footprint_bytes();
        Ok(if params.text("arch").is_none_or(|arch| arch == HERE) { needed } else { 0 })
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let (dtype, size) = (dtype(params)?, bytes(params, "size")?);
        let elements = size / dtype.bytes(1);
        let name = params.text("operation").unwrap_or_default();
        let is_calculated = params.text("arch").is_some_and(|arch| arch != HERE);
        if let (true, Some(tool)) =
            (is_calculated, params.text("profiler").and_then(profiler::find_tool))
        {
            let why = "a calculated case launches no kernel to profile";
            return Err(Reason::new(
                tool.name,
                why,
                "choose profiler=none for another architecture",
            ));
        }
        if elements < COLUMNS {
            return Err(Reason::new(
                format!("{name} of {size} bytes"),
                format!("an array needs at least {COLUMNS} elements"),
                "choose a larger size",
            ));
        }
        if let Ok(pattern) = name.parse::<StreamPattern>() {
            return Ok(Operation::Stream(MemoryStream {
                pattern,
                dtype,
                elements,
                stores: Stores::Temporal,
            }));
        }
        if let Ok(op) = name.parse::<ElementwiseOp>() {
            return Ok(Operation::Elementwise(Elementwise { op, dtype, elements }));
        }
        if let Ok(op) = name.parse::<ReduceOp>() {
            return Ok(Operation::Reduce(Reduce { op, dtype, elements }));
        }
        if let Ok(op) = name.parse::<NormalizeOp>() {
            return Ok(Operation::Normalize(Normalize {
                op,
                dtype,
                rows: elements / COLUMNS,
                columns: COLUMNS,
            }));
        }
        // The size is limited so that the product finishes within milliseconds.
        let side = elements.isqrt().min(2048);
        Ok(Operation::Gemm(Gemm::new(dtype, side, side, side)))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        self.prepare_with(params, device, &Registry::default())
    }

    fn prepare_with<'d>(
        &self,
        params: &Params,
        device: &'d dyn Device,
        backends: &Registry,
    ) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        let arch = params.text("arch").unwrap_or(HERE);
        let block_size = Some(number(params, "block_size").map_err(Failure::Skipped)?);
        // The block size of library kernels cannot be chosen, so products use the native kernel.
        let provider = matches!(operation, Operation::Gemm(_)).then(|| "native".to_owned());
        let options = Options { block_size, provider, ..Options::default() };
        if arch != HERE {
            return calculator::prepare(&operation, &options, arch, backends);
        }
        let counted = prepare_counters(params, device).map_err(Failure::Skipped)?;
        let found = device.occupancy(&operation, &options)?;
        let timed = Timed::prepare(device, operation, options)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let mut fields = fields(timed, time_ns, size, found)?;
            add_recommendation(&mut fields, timed)?;
            let profile = match &counted {
                Some(counted) => counted.profile().map_err(Failure::Failed)?,
                None => KernelProfile::default(),
            };
            let bytes = timed.operation.bytes_moved();
            add_counters(&mut fields, profile, bytes, counted.as_ref().map(|counted| counted.tool));
            Ok(fields)
        }))
    }
}

/// Returns kernels in f32 at each block size.
fn sweep_grid(operations: &[&str], size: u64) -> Grid {
    grid([
        axis("operation", operations),
        axis("dtype", &["f32"]),
        axis("block_size", BLOCKS),
        sizes("size", &[size]),
    ])
}

/// Returns kernels that use shared memory.
fn sharing_grid(types: &[&str], size: u64) -> Grid {
    grid([
        axis("operation", &["sum", "max", "softmax", "layer-norm", "gemm"]),
        axis("dtype", types),
        axis("block_size", &["256"]),
        sizes("size", &[size]),
    ])
}

/// Settings of a profiler run: the tool, its path, this program, and the case to profile.
struct CounterRun {
    tool: &'static CounterTool,
    path: PathBuf,
    program: PathBuf,
    case: Case,
}

impl CounterRun {
    fn profile(&self) -> Result<KernelProfile, Reason> {
        self.tool.profile(&self.path, &self.program, &self.case)
    }
}

/// Prepares the profiler, if requested.
fn prepare_counters(params: &Params, device: &dyn Device) -> Result<Option<CounterRun>, Reason> {
    let Some(tool) = params.text("profiler").and_then(profiler::find_tool) else { return Ok(None) };
    let place = device.info().device;
    if place.backend != tool.backend {
        let why = format!("{place} is not a device of {}", tool.backend);
        let own = profiler::for_backend(place.backend).map_or("none", |own| own.name);
        return Err(Reason::new(
            tool.name,
            why,
            format!("choose --backend {}, or profiler={own}", tool.backend),
        ));
    }
    let path = tool.find()?;
    let program = std::env::current_exe().map_err(|error| {
        Reason::new(
            tool.name,
            format!("cannot find the path of this program: {error}"),
            "mount /proc",
        )
    })?;
    let benchmark_type = BenchmarkType::GpuPerformance;
    let case = Case {
        id: CaseId::from_segments(&[
            benchmark_type.as_str(),
            OccupancyBenchmark.name(),
            &place.to_string(),
            "under",
            tool.name,
        ]),
        benchmark: OccupancyBenchmark.name().to_owned(),
        benchmark_type,
        device: place.into(),
        params: params.clone().with("profiler", "none"),
    };
    Ok(Some(CounterRun { tool, path, program, case }))
}

/// Adds the block size with the most resident waves, and its speedup over the block size of the
/// case. Kernels that use shared memory have a fixed block size and get no recommendation.
fn add_recommendation(
    fields: &mut rsb_model::Fields,
    timed: &mut Timed<'_>,
) -> Result<(), Failure> {
    let (device, operation) = (timed.device, timed.operation.clone());
    if matches!(operation, Operation::Reduce(_) | Operation::Normalize(_) | Operation::Gemm(_)) {
        return Ok(());
    }
    let known = BLOCKS.iter().filter_map(|block| {
        let block: u32 = block.parse().ok()?;
        let occupancy = device.occupancy(&operation, &with_block_size(block)).ok()?;
        Some((occupancy.percent(), block))
    });
    let Some((_, block)) = known.max_by(|one, other| one.0.total_cmp(&other.0)) else {
        return Ok(());
    };
    fields.set("recommended_block_size", block);
    let gain = if timed.options.block_size == Some(block) {
        1.0
    } else {
        let mut other = Timed::prepare(device, operation.clone(), with_block_size(block))?;
        beside(timed, &mut other)?
    };
    fields.set("recommended_speedup", gain);
    Ok(())
}

fn with_block_size(block_size: u32) -> Options {
    Options { block_size: Some(block_size), ..Options::default() }
}

/// Returns the time of the case divided by that of `other`: the best of several alternating runs of
/// each.
fn beside(timed: &mut Timed<'_>, other: &mut Timed<'_>) -> Result<f64, Failure> {
    const TURNS: u32 = 7;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..TURNS {
        best = [best[0].min(timed.sample(1)?), best[1].min(other.sample(1)?)];
    }
    Ok(best[0] / best[1])
}

/// Adds the profiler's counters. Missing ones are null, with the reason.
fn add_counters(
    fields: &mut rsb_model::Fields,
    profile: KernelProfile,
    bytes: f64,
    tool: Option<&CounterTool>,
) {
    fields.set("profiler", tool.map_or("none", |tool| tool.name));
    fields.set("sm_efficiency_percent", profile.active_percent());
    fields.set("warp_efficiency_percent", profile.wave_efficiency_percent);
    fields.set("global_memory_efficiency_percent", profile.memory_efficiency_percent(bytes));
    let none = "not counted: profiler=rocprofv3 reads AMD's counters and profiler=ncu NVIDIA's, if \
                this user has permission";
    fields.set("counters_note", tool.map_or(none, |tool| tool.about));
    let counts = [("grid_size", profile.grid_size), ("block_size", profile.block_size)];
    for (name, count) in counts.into_iter().filter_map(|(name, count)| Some((name, count?))) {
        fields.set(name, count);
    }
    let shares = [
        ("measured_occupancy_percent", profile.occupancy_percent),
        ("wave_efficiency_percent", profile.wave_efficiency_percent),
        ("memory_busy_percent", profile.memory_busy_percent),
    ];
    for (name, share) in shares.into_iter().filter_map(|(name, share)| Some((name, share?))) {
        fields.set(name, share);
    }
}

/// Fails if more threads are reported on a compute unit than it can hold.
fn check_resident(found: &Found) -> Result<(), Failure> {
    if found.percent() <= 100.0 {
        return Ok(());
    }
    let resident = u64::from(found.block_size) * u64::from(found.blocks_per_unit);
    Err(Failure::Failed(Reason::new(
        "impossible result",
        format!(
            "{} blocks of {} threads are {resident} resident threads, more than the {} that a unit \
             can hold",
            found.blocks_per_unit, found.block_size, found.max_threads_per_unit
        ),
        "suspect the driver's occupancy calculator. On RDNA, one value may be per compute unit and \
         the other per work-group processor of two units: compare with GPU_ENABLE_WGP_MODE=0, and \
         report this as a bug",
    )))
}

fn fields(
    timed: &mut Timed<'_>,
    time_ns: f64,
    size: u64,
    found: Found,
) -> Result<rsb_model::Fields, Failure> {
    let rate = gigabytes_per_second(timed.operation.bytes_moved(), time_ns);
    let note = check_bandwidth(rate, &timed.operation, timed.device.info(), timed.threads())?;
    check_resident(&found)?;
    let mut fields = timed.common_fields().with("size_bytes", size).with("time_us", time_ns / 1e3);
    fields.set("occupancy_percent", found.percent());
    fields.set("grid_size", found.grid_size);
    fields.set("block_size", found.block_size);
    if let Some(registers) = found.registers {
        fields.set("registers", registers);
    }
    if let Some(bytes) = found.shared_bytes {
        fields.set("shared_bytes", bytes);
    }
    match timed.operation {
        Operation::Gemm(_) => fields.set("gflops", gigaflops(timed.operation.flops(), time_ns)),
        _ => fields.set("bandwidth_gb_s", rate),
    }
    set_note(&mut fields, note.as_deref());
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_resident_threads_than_fit_are_refused_with_both_counts() {
        let found = Found {
            block_size: 256,
            grid_size: 64,
            blocks_per_unit: 8,
            max_threads_per_unit: 2048,
            registers: None,
            shared_bytes: None,
        };
        assert!(check_resident(&found).is_ok());
        assert!(check_resident(&Found { blocks_per_unit: 1, ..found }).is_ok());
        // 16 is the number of blocks on a whole work-group processor, too many for the threads of
        // one of its two compute units.
        let refused = check_resident(&Found { blocks_per_unit: 16, ..found }).unwrap_err();
        assert!(matches!(refused, Failure::Failed(_)));
        let said = refused.to_string();
        assert!(
            ["4096 resident", "2048 that a unit", "work-group"]
                .iter()
                .all(|part| said.contains(part)),
            "{said}"
        );
    }
}
