//! Several GPUs in one process: strong and weak scaling of a task, and copies between each pair of
//! GPUs.

mod training;

use rsb_device::operation::{
    Gemm, HostMemory, MemoryStream, Stores, StreamPattern, Transfer, TransferDirection,
};
use rsb_device::{Device, DeviceInfo, Operation, reference};
use rsb_model::unit::{gigabytes_per_second, gigaflops};
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};

use super::{affordable, axis, bytes, dtype, grid, last_level_cache, number, sizes, stream_size};
use crate::axis::{AxisInfo, AxisKind, DTYPE};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, Prepared,
    RunsOn,
};
use crate::data_parallel::{GradientSync, StepShape};
use crate::device_group::{DeviceGroup, devices};
use crate::peer_copy::{PeerCopy, PeerDirection};
use crate::plausibility::check_bandwidth;
use crate::timed::check_time;
use training::Training;

/// Scaling, and bandwidth between GPUs.
pub(super) struct MultiGpu;

/// Values of the `peer` axis. A node of eight MI300X in CPX mode has 64 partitions.
#[rustfmt::skip]
const POSITIONS: &[&str] = &[
    "none", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
    "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38", "39",
    "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59",
    "60", "61", "62", "63",
];

/// Maximum number of GPUs per node and of partitions per GPU. All pairs in a group of this size are
/// measured.
const OCTET: u32 = 8;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "operation",
        "triad, gemm or a data-parallel training step on several GPUs; peer-copy: from this GPU to \
         another; peer-exchange: both directions at once",
        AxisKind::Choice(&["triad", "gemm", "data-parallel", "peer-copy", "peer-exchange"]),
    ),
    DTYPE,
    AxisInfo::value("size", "bytes of one array or matrix, or of all weights", AxisKind::Bytes),
    AxisInfo::with_default(
        "scaling",
        "strong: the GPUs share one task of this size; weak: each GPU has one",
        "strong",
        AxisKind::Choice(&["strong", "weak"]),
    ),
    AxisInfo::with_default("num_gpus", "number of GPUs", "2", AxisKind::Count),
    AxisInfo::with_default(
        "peer",
        "for copies, index of the other GPU",
        "none",
        AxisKind::Choice(POSITIONS),
    ),
    AxisInfo::with_default(
        "batch_size",
        "for data-parallel, rows of the batch on all GPUs, or per GPU (weak)",
        BATCH,
        AxisKind::Count,
    ),
    AxisInfo::with_default(
        "overlap",
        "for data-parallel, whether gradients are summed during the backward pass",
        "off",
        AxisKind::Choice(&["off", "on"]),
    ),
];

/// Returns the size in bytes of an array shared by `count` GPUs: large enough that each part
/// exceeds the caches of its GPU, but small if software emulates the GPUs.
fn triad_size(device: &DeviceInfo, count: u64) -> u64 {
    if device.device_type != DeviceType::Gpu {
        return MIB;
    }
    let each = stream_size(device, last_level_cache(device));
    affordable(device, each.saturating_mul(count))
}

/// Rows of a batch, for GPUs and for software that emulates them.
const BATCH: &str = "1024";
const BATCH_OF_SOFTWARE: &str = "64";

const MIB: u64 = 1 << 20;

impl Benchmark for MultiGpu {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "multi-gpu",
            about: "Scaling over several GPUs, a training step, and bandwidth between GPUs",
            axes: AXES,
            group: Some(BenchmarkGroup::Scaling),
            runs_on: RunsOn::Gpus,
            fewest_gpus: 2,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let own = device.device.index;
        // Every group starts at the first GPU; starting at another would repeat the same
        // measurements.
        let is_head = own == 0;
        // Software that emulates GPUs is slow.
        let size = if device.device_type == DeviceType::Gpu { 64 * MIB } else { MIB };
        let mut grids = Vec::new();
        if is_head {
            grids.extend(shared_triads(device, &[2]));
            grids.push(scaled_grid("gemm", size, &["strong"], &["2"]));
            grids.push(step_grid(device, "f32", size, &["strong"], &["2"], &["on"]));
        }
        grids.push(copy_grid(
            &["peer-copy", "peer-exchange"],
            vec![(own ^ 1).to_string()],
            &[64 * MIB],
        ));
        if breadth >= Breadth::Standard {
            if is_head {
                let counts = &["2", "4", "8"];
                grids.extend(shared_triads(device, &[2, 4, 8]));
                grids.extend([
                    scaled_grid("triad", triad_size(device, 1), &["weak"], counts),
                    scaled_grid("gemm", size, &["strong", "weak"], counts),
                    step_grid(device, "f32", size, &["strong", "weak"], counts, &["off", "on"]),
                    // The usual data type for training.
                    step_grid(device, "bf16", size, &["strong", "weak"], counts, &["on"]),
                ]);
            }
            grids.push(copy_grid(&["peer-copy"], peers_of(own), &[64 * MIB]));
        }
        if breadth == Breadth::Full {
            if is_head {
                let counts = &["1", "3", "6", "16", "32", "64"];
                grids.extend(shared_triads(device, &[1, 3, 6, 16, 32, 64]));
                grids.push(scaled_grid("triad", triad_size(device, 1), &["weak"], counts));
                grids.push(scaled_grid("gemm", size, &["strong", "weak"], counts));
            }
            grids.push(copy_grid(
                &["peer-copy", "peer-exchange"],
                peers_of(own),
                &[64 << 10, MIB, 16 * MIB, 256 * MIB],
            ));
        }
        grids
    }

    /// Returns the bytes used on the first GPU, which also runs the whole task by itself to compute
    /// the speedup.
    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let task = Task::of(params)?;
        if task.kind == Kind::Step {
            return Ok(task.step(1).footprint_bytes().saturating_mul(2));
        }
        let whole = task.operation(1).footprint_bytes();
        Ok(match task.kind {
            Kind::Copy => whole / 2,
            Kind::Exchange => whole,
            Kind::Triad | Kind::Gemm | Kind::Step => whole.saturating_mul(2),
        })
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let task = Task::of(params).map_err(Failure::Skipped)?;
        if let Some(direction) = task.kind.direction() {
            return Ok(Box::new(PeerCopy::prepare(device, task.peer, task.size, direction)?));
        }
        let count: u32 = number(params, "num_gpus").map_err(Failure::Skipped)?;
        if task.kind == Kind::Step {
            return Ok(Box::new(Training::prepare(device, task, count)?));
        }
        let share = if task.weak { task.operation(1) } else { task.operation(u64::from(count)) };
        let group = DeviceGroup::prepare(&devices(device, count)?, &share)?;
        Ok(Box::new(Scaled { device, task, count, share, group }))
    }
}

fn copy_grid(operations: &[&str], peers: Vec<String>, every: &[u64]) -> Grid {
    grid([
        axis("operation", operations),
        axis("dtype", &["f32"]),
        sizes("size", every),
        ("peer", peers),
    ])
}

/// Returns the other GPUs in the group of eight that contains `own` and, if `own` is the first of
/// its group, the first GPU of the previous group.
fn peers_of(own: u32) -> Vec<String> {
    let first = own / OCTET * OCTET;
    let mut peers: Vec<String> = (first..first + OCTET)
        .filter(|&other| other != own)
        .map(|other| other.to_string())
        .collect();
    if own > 0 && own == first {
        peers.push((own - OCTET).to_string());
    }
    peers
}

fn scaled_grid(operation: &str, size: u64, kinds: &[&str], counts: &[&str]) -> Grid {
    grid([
        axis("operation", &[operation]),
        axis("dtype", &["f32"]),
        sizes("size", &[size]),
        axis("scaling", kinds),
        axis("num_gpus", counts),
    ])
}

/// Returns grids with a triad shared by each number of GPUs in `counts`. The size grows with the
/// count, so that each part exceeds the caches.
fn shared_triads(device: &DeviceInfo, counts: &[u64]) -> Vec<Grid> {
    let mut grids = Vec::with_capacity(counts.len());
    for &count in counts {
        let size = triad_size(device, count);
        grids.push(scaled_grid("triad", size, &["strong"], &[count.to_string().as_str()]));
    }
    grids
}

/// Returns steps of data-parallel training, with a batch size that suits `device`.
fn step_grid(
    device: &DeviceInfo,
    dtype: &str,
    size: u64,
    kinds: &[&str],
    counts: &[&str],
    overlap: &[&str],
) -> Grid {
    let batch = if device.device_type == DeviceType::Gpu { BATCH } else { BATCH_OF_SOFTWARE };
    grid([
        axis("operation", &["data-parallel"]),
        axis("dtype", &[dtype]),
        sizes("size", &[size]),
        axis("scaling", kinds),
        axis("num_gpus", counts),
        axis("batch_size", &[batch]),
        axis("overlap", overlap),
    ])
}

/// Type of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Triad,
    Gemm,
    Step,
    Copy,
    Exchange,
}

impl Kind {
    /// Returns the direction of a copy between two GPUs.
    const fn direction(self) -> Option<PeerDirection> {
        match self {
            Self::Copy => Some(PeerDirection::OneWay),
            Self::Exchange => Some(PeerDirection::BothWays),
            Self::Triad | Self::Gemm | Self::Step => None,
        }
    }
}

/// Parameters of a case, before its GPUs are opened.
#[derive(Clone, Copy)]
struct Task {
    kind: Kind,
    dtype: Dtype,
    size: u64,
    weak: bool,
    peer: Option<u32>,
    /// Rows of the batch of a step, and whether gradients are summed during the backward pass.
    batch: u64,
    overlapped: bool,
}

impl Task {
    fn of(params: &Params) -> Result<Self, Reason> {
        let kind = match params.text("operation") {
            Some("gemm") => Kind::Gemm,
            Some("data-parallel") => Kind::Step,
            Some("peer-copy") => Kind::Copy,
            Some("peer-exchange") => Kind::Exchange,
            _ => Kind::Triad,
        };
        let peer = params.text("peer").and_then(|peer| peer.parse().ok());
        let weak = params.text("scaling") == Some("weak");
        let (batch, overlapped) =
            (number(params, "batch_size")?, params.text("overlap") == Some("on"));
        let task = Self {
            kind,
            dtype: dtype(params)?,
            size: bytes(params, "size")?,
            weak,
            peer,
            batch,
            overlapped,
        };
        if kind != Kind::Step
            && (overlapped || ![BATCH, BATCH_OF_SOFTWARE].contains(&batch.to_string().as_str()))
        {
            return Err(Reason::new(
                "parameters of the case",
                "only data-parallel has a batch and an overlap",
                "choose --axis operation=data-parallel, or omit `batch_size` and `overlap`",
            ));
        }
        if kind.direction().is_some() != peer.is_some() {
            return Err(Reason::new(
                "parameters of the case",
                "copies between GPUs require `peer`, and other operations do not accept it",
                "choose --axis operation=peer-copy with --axis peer=1, or omit `peer`",
            ));
        }
        if task.size < 4096 {
            return Err(Reason::new(
                format!("{} bytes", task.size),
                "the size is too small to share among GPUs",
                "choose at least 4KiB",
            ));
        }
        Ok(task)
    }

    /// Returns a step with `1 / parts` of the batch.
    fn step(self, parts: u64) -> StepShape {
        let weights = self.size / self.dtype.bytes(1) / StepShape::LAYERS;
        StepShape {
            dtype: self.dtype,
            width: weights.isqrt().max(1),
            rows: self.batch.div_ceil(parts.max(1)),
        }
    }

    /// Returns when gradients are summed; a single GPU needs no summing.
    const fn gradient_sync(self, count: u32) -> GradientSync {
        match (count, self.overlapped) {
            (0 | 1, _) => GradientSync::Never,
            (_, true) => GradientSync::Overlapped,
            (_, false) => GradientSync::Afterwards,
        }
    }

    /// Returns `1 / parts` of the operation. Triads are split into ranges, products by rows of the
    /// result.
    fn operation(self, parts: u64) -> Operation {
        let parts = parts.max(1);
        let elements = self.size / self.dtype.bytes(1);
        match self.kind {
            Kind::Triad => Operation::Stream(MemoryStream {
                pattern: StreamPattern::Triad,
                dtype: self.dtype,
                elements: elements.div_ceil(parts),
                stores: Stores::Temporal,
            }),
            Kind::Gemm | Kind::Step => {
                let side = elements.isqrt();
                Operation::Gemm(Gemm::new(self.dtype, side.div_ceil(parts), side, side))
            }
            Kind::Copy | Kind::Exchange => Operation::Transfer(Transfer {
                direction: TransferDirection::DeviceToDevice,
                host_memory: HostMemory::Pinned,
                bytes: self.size / 4 * 4,
            }),
        }
    }
}

/// A task on several GPUs.
struct Scaled<'d> {
    device: &'d dyn Device,
    task: Task,
    count: u32,
    share: Operation,
    group: DeviceGroup<'d>,
}

impl Scaled<'_> {
    /// Returns the time on one GPU for comparison: of the whole task, or of one share under weak
    /// scaling.
    fn alone_ns(&mut self, time_ns: f64) -> Result<f64, Failure> {
        const SAMPLES: u32 = 7;
        const SAMPLE_NS: f64 = 2e7;
        if self.count == 1 {
            return Ok(time_ns);
        }
        let iters = (SAMPLE_NS / time_ns).clamp(1.0, 1000.0) as u64;
        let mut alone = DeviceGroup::prepare(&[self.device], &self.task.operation(1))?;
        alone.best_of(SAMPLES, iters)
    }
}

impl Prepared for Scaled<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.group.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let parts = f64::from(self.count);
        let of_one = gigabytes_per_second(self.share.bytes_moved(), time_ns);
        check_bandwidth(of_one, &self.share, self.device.info(), 1)?;
        let alone = self.alone_ns(time_ns)?;
        let speedup = if self.task.weak { parts * alone / time_ns } else { alone / time_ns };
        let mut fields = Fields::new()
            .with("operation", self.share.name())
            .with("dtype", self.task.dtype.as_str());
        fields.set("provider", self.group.provider());
        fields.set("size_bytes", self.task.size);
        fields.set("scaling", if self.task.weak { "weak" } else { "strong" });
        fields.set("num_gpus", self.count);
        fields.set("init", reference::init(&self.share));
        self.group.accuracy.set(&mut fields);
        fields.set("time_ms", time_ns / 1e6);
        fields.set("launch_time_us", self.group.launch_ns()? / 1e3);
        match self.task.kind {
            Kind::Gemm => {
                fields.set("tflops", parts * gigaflops(self.share.flops(), time_ns) / 1e3);
            }
            _ => fields.set("bandwidth_gb_s", parts * of_one),
        }
        fields.set("speedup", speedup);
        fields.set("efficiency", speedup / parts);
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Fault, Script, ScriptedDevice};

    fn machine(gpus: u32) -> ScriptedDevice {
        let mut script = Script { peers: gpus - 1, ..Script::default() };
        script.info.device = "rocm:0".parse().unwrap();
        ScriptedDevice::new(script)
    }

    fn scaled_params(operation: &str, scaling: &str, count: &str) -> Params {
        let params =
            Params::new().with("operation", operation).with("dtype", "f32").with("size", "1MiB");
        let params = params.with("batch_size", BATCH_OF_SOFTWARE).with("overlap", "off");
        params.with("scaling", scaling).with("num_gpus", count).with("peer", "none")
    }

    fn fields(device: &ScriptedDevice, params: &Params) -> Fields {
        let mut prepared = MultiGpu.prepare(params, device).unwrap();
        let time = prepared.sample(3).unwrap();
        prepared.fields(time / 3.0).unwrap()
    }

    #[test]
    fn gpus_that_follow_one_script_scale_perfectly() {
        let device = machine(4);
        for (scaling, count) in [("strong", 2), ("strong", 4), ("weak", 2), ("weak", 4)] {
            let found = fields(&device, &scaled_params("triad", scaling, &count.to_string()));
            let (speedup, efficiency) =
                (found.number("speedup").unwrap(), found.number("efficiency").unwrap());
            assert!((speedup - f64::from(count)).abs() < 1e-6, "{scaling} {count}: {speedup}");
            assert!((efficiency - 1.0).abs() < 1e-6);
            // Each GPU has 10 GB/s.
            assert!(
                (found.number("bandwidth_gb_s").unwrap() - 10.0 * f64::from(count)).abs() < 1e-6
            );
        }
    }

    #[test]
    fn a_product_is_cut_by_rows_and_every_part_is_verified() {
        let params = scaled_params("gemm", "strong", "2").with("size", "16KiB");
        let found = fields(&machine(2), &params);
        assert!(
            found.number("tflops").unwrap() > 0.0 && found.number("accuracy_error").unwrap() < 1e-3
        );
        let mut script = Script::with_fault(Fault::WrongResult { launch: 0 });
        script.peers = 1;
        let wrong = MultiGpu.prepare(&params, &ScriptedDevice::new(script)).err().unwrap();
        assert!(
            matches!(&wrong, Failure::Failed(reason) if reason.to_string().contains("wrong result")),
            "{wrong}"
        );
    }

    #[test]
    fn bytes_that_arrive_at_another_gpu_are_checked_there() {
        let device = machine(3);
        let params = scaled_params("peer-copy", "strong", "2").with("peer", "2");
        let found = fields(&device, &params);
        assert_eq!((found.number("peer"), found.number("accuracy_error")), (Some(2.0), Some(0.0)));
        assert!((found.number("bandwidth_gb_s").unwrap() - 10.0).abs() < 1e-6);
    }

    #[test]
    fn one_gpu_is_skipped_with_the_cure() {
        check_skipped(
            &machine(1),
            &scaled_params("triad", "strong", "2"),
            "rocm allows one process only 1 device here",
        );
        check_skipped(
            &machine(2),
            &scaled_params("triad", "strong", "4"),
            "rocm allows one process only 2 devices here",
        );
        check_skipped(
            &machine(1),
            &scaled_params("peer-copy", "strong", "2").with("peer", "1"),
            "only device",
        );
        check_skipped(
            &machine(2),
            &scaled_params("peer-copy", "strong", "2").with("peer", "5"),
            "other devices next to rocm:0: 1",
        );
        check_skipped(
            &machine(2),
            &scaled_params("peer-copy", "strong", "2").with("peer", "0"),
            "itself",
        );
    }

    fn check_skipped(device: &ScriptedDevice, params: &Params, word: &str) {
        match MultiGpu.prepare(params, device).err() {
            Some(Failure::Skipped(reason)) => {
                assert!(reason.to_string().contains(word), "{reason}");
                assert!(!reason.cure.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_peer_goes_with_copies_alone() {
        for (operation, peer) in [("triad", "1"), ("peer-copy", "none")] {
            let params = scaled_params(operation, "strong", "2").with("peer", peer);
            assert!(MultiGpu.footprint_bytes(&params).is_err(), "{operation} {peer}");
        }
    }
}
