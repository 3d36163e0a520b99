//! Collectives between the GPUs of one machine: all-reduce, which data-parallel training waits for,
//! and others. All-reduce runs on a ring of copies between GPUs or on the vendor's library; the
//! others only on the library, if it is found.

use rsb_device::operation::{
    Collective, CollectiveKind, CollectiveLauncher, HostMemory, Placement, Transfer,
    TransferDirection,
};
use rsb_device::{Device, DeviceInfo, Operation, convert};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{BackendId, Fields, Params, Reason};

use super::{axis, by_kind, bytes, dtype, grid, number, sized_grid, sizes};
use crate::axis::{AxisInfo, AxisKind, DTYPE};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, Prepared,
    RunsOn,
};
use crate::collective::ByLibrary;
use crate::device_group::devices;
use crate::plausibility::check_bandwidth;
use crate::ring::Ring;
use crate::timed::check_time;

/// All-reduce and other collectives.
pub(super) struct AllReduce;

const AXES: &[AxisInfo] = &[
    DTYPE,
    AxisInfo::value(
        "size",
        "bytes per GPU, of the larger of its send and receive buffers",
        AxisKind::Bytes,
    ),
    AxisInfo::with_default("num_gpus", "number of GPUs", "2", AxisKind::Count),
    AxisInfo::with_default(
        "communication_backend",
        "ring: our own all-reduce, by copies between GPUs; rccl and nccl: AMD's and NVIDIA's \
         library",
        RING,
        AxisKind::Choice(&[RING, "rccl", "nccl"]),
    ),
    AxisInfo::with_default(
        "operation",
        "the collective",
        "all-reduce",
        AxisKind::Choice(&[
            "all-reduce",
            "all-gather",
            "reduce-scatter",
            "broadcast",
            "all-to-all",
            "send-receive",
        ]),
    ),
    AxisInfo::with_default(
        "placement",
        "whether the result overwrites the input",
        "out-of-place",
        AxisKind::Choice(&["out-of-place", "in-place"]),
    ),
    AxisInfo::with_default(
        "algorithm",
        "auto: chosen by the library; ring or tree: set with NCCL_ALGO in the process of the case",
        AUTO,
        AxisKind::Choice(&[AUTO, "ring", "tree"]),
    ),
    AxisInfo::with_default(
        "launcher",
        "one-thread: one thread calls the library for all GPUs in a group; threads: one thread per \
         GPU, as in frameworks",
        ONE_THREAD,
        AxisKind::Choice(&[ONE_THREAD, "threads"]),
    ),
];

const RING: &str = "ring";
const AUTO: &str = "auto";
const ONE_THREAD: &str = "one-thread";

/// Environment variable that selects an algorithm in NCCL and RCCL.
const ALGORITHM: &str = "NCCL_ALGO";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Collectives of undivided data, and those with one part per GPU.
const WHOLE: &[&str] = &["all-reduce", "broadcast", "send-receive"];
const IN_PARTS: &[&str] = &["all-gather", "reduce-scatter", "all-to-all"];

/// Returns the library of a backend's vendor.
const fn library(backend: BackendId) -> Option<&'static str> {
    match backend {
        BackendId::Rocm => Some("rccl"),
        BackendId::Cuda => Some("nccl"),
        _ => None,
    }
}

impl Benchmark for AllReduce {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "all-reduce",
            about: "All-reduce and other collectives over several GPUs: bus and algorithm \
                    bandwidth",
            axes: AXES,
            group: Some(BenchmarkGroup::Scaling),
            runs_on: RunsOn::Gpus,
            fewest_gpus: 2,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        // The first GPU covers all cases: starting from another GPU would use the same ring.
        if device.device.index != 0 {
            return Vec::new();
        }
        let large = by_kind(device, 64 * MIB, 4 * MIB);
        let mut grids = vec![sized_grid("dtype=f32", &[large])];
        if breadth >= Breadth::Standard {
            grids.push(sized_grid("dtype=f32 num_gpus=2,4,8", &[MIB, large]));
            grids.push(sized_grid("dtype=f16,bf16", &[large]));
        }
        if breadth == Breadth::Full {
            let every = sizes("size", &[64 * KIB, MIB, 16 * MIB, 256 * MIB]);
            grids.push(grid([
                axis("dtype", &["f32", "f16", "bf16"]),
                every,
                axis("num_gpus", &["2", "3", "4", "6", "8"]),
            ]));
        }
        if let Some(library) = library(device.device.backend) {
            grids.extend(of_library(breadth, library, large, by_kind(device, 1 << 30, 16 * MIB)));
        }
        grids
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let task = Task::of(params)?;
        // The ring needs buffers for its inputs, the received data and the sum.
        let buffers = match (task.is_ours(), task.placement) {
            (true, _) => 3,
            (false, Placement::OutOfPlace) => 2,
            (false, Placement::InPlace) => 1,
        };
        Ok(bytes(params, "size")?.saturating_mul(buffers))
    }

    /// Returns the environment variable with the algorithm. It is set only in the process of the
    /// case, since the library reads it when it is loaded.
    fn environment(&self, params: &Params) -> Option<(&'static str, &'static str)> {
        let value = match params.text("algorithm")? {
            "ring" => "Ring",
            "tree" => "Tree",
            _ => return None,
        };
        Some((ALGORITHM, value))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let task = Task::of(params).map_err(Failure::Skipped)?;
        let own = library(device.info().device.backend);
        if !task.is_ours() && own != Some(task.backend) {
            return Err(Failure::Skipped(Reason::new(
                format!("{} by {}", task.call.kind, task.backend),
                format!("the library does not support {}", device.info().device),
                format!(
                    "choose communication_backend={}, or another --backend",
                    own.unwrap_or(RING)
                ),
            )));
        }
        let algorithm = self.algorithm(params)?;
        let devices = devices(device, task.count)?;
        let work = if task.is_ours() {
            Work::Ring(Ring::prepare(&devices, task.call.dtype, task.call.elements)?)
        } else {
            Work::Library(ByLibrary::prepare(&devices, &task.call)?)
        };
        Ok(Box::new(Case { work, device, task, algorithm }))
    }
}

impl AllReduce {
    /// Returns the algorithm set in the environment of this process, which its parent must have
    /// set.
    fn algorithm(&self, params: &Params) -> Result<String, Failure> {
        let value = std::env::var(ALGORITHM).ok();
        match self.environment(params) {
            Some((_, name)) if value.as_deref() != Some(name) => Err(Failure::Failed(Reason::new(
                format!("algorithm={}", name.to_ascii_lowercase()),
                format!(
                    "the process of this case was started without {ALGORITHM}={name}, so the \
                         library would choose"
                ),
                "report this as a bug with the case id",
            ))),
            _ => Ok(value.map_or_else(|| AUTO.to_owned(), |value| value.to_ascii_lowercase())),
        }
    }
}

/// Returns the cases of a library: a few in quick, every collective at four sizes and every
/// algorithm in standard, from 8 B to the largest size in full.
fn of_library(breadth: Breadth, library: &str, large: u64, largest: u64) -> Vec<Grid> {
    let mut grids = vec![
        grid_of_library(library, &["all-reduce"], &[8, large]),
        grid_of_library(library, &["all-gather", "all-to-all"], &[large]),
    ];
    if breadth >= Breadth::Standard {
        grids.push(grid_of_library(library, WHOLE, &[8, MIB, large, largest]));
        grids.push(grid_of_library(library, IN_PARTS, &[KIB, MIB, large, largest]));
        let in_place = grid_of_library(
            library,
            &["all-reduce", "all-gather", "reduce-scatter", "broadcast"],
            &[large],
        );
        grids.push(with_axis(in_place, "placement", &["in-place"]));
        grids.push(with_axis(
            grid_of_library(library, &["all-reduce"], &[MIB, large]),
            "algorithm",
            &["ring", "tree"],
        ));
        grids.push(with_axis(
            grid_of_library(library, &["all-reduce", "all-to-all"], &[KIB, large]),
            "launcher",
            &["threads"],
        ));
        grids.push(with_axis(
            grid_of_library(library, &["all-reduce", "all-gather"], &[large]),
            "num_gpus",
            &["4", "8"],
        ));
        grids.push(vec![
            axis("dtype", &["f16", "bf16"]),
            sizes("size", &[large]),
            axis("communication_backend", &[library]),
        ]);
    }
    if breadth == Breadth::Full {
        let counts = &["2", "3", "4", "6", "8"];
        let whole = grid_of_library(library, WHOLE, &steps_of_four(8, largest));
        grids.push(with_axis(whole, "num_gpus", counts));
        let in_parts = grid_of_library(library, IN_PARTS, &steps_of_four(KIB, largest));
        grids.push(with_axis(in_parts, "num_gpus", counts));
        for kinds in [WHOLE, IN_PARTS] {
            let by_threads = with_axis(
                grid_of_library(library, kinds, &[KIB, MIB, large]),
                "launcher",
                &["threads"],
            );
            grids.push(with_axis(by_threads, "num_gpus", &["2", "8"]));
            // For several nodes combined, or GPUs split into partitions: a node of eight MI300X in
            // CPX mode has 64.
            grids.push(with_axis(
                grid_of_library(library, kinds, &[large]),
                "num_gpus",
                &["16", "32", "64"],
            ));
        }
    }
    grids
}

/// Returns the cases of `operations` in f32 at sizes of `bytes`.
fn grid_of_library(library: &str, operations: &[&str], bytes: &[u64]) -> Grid {
    grid([
        axis("dtype", &["f32"]),
        sizes("size", bytes),
        axis("communication_backend", &[library]),
        axis("operation", operations),
    ])
}

fn with_axis(mut grid: Grid, name: &'static str, values: &[&str]) -> Grid {
    grid.push(axis(name, values));
    grid
}

/// Returns sizes from `first`, each four times the previous one, up to `largest`.
fn steps_of_four(first: u64, largest: u64) -> Vec<u64> {
    std::iter::successors(Some(first), |size| size.checked_mul(4))
        .take_while(|&size| size <= largest)
        .collect()
}

/// Parameters of a case, before its GPUs are opened.
struct Task {
    call: Collective,
    placement: Placement,
    count: u32,
    size: u64,
    /// Provider of the collective.
    backend: &'static str,
}

impl Task {
    fn is_ours(&self) -> bool {
        self.backend == RING
    }

    /// Parses the parameters of a case.
    ///
    /// # Errors
    /// If the values are incompatible.
    fn of(params: &Params) -> Result<Self, Reason> {
        let (dtype, size, count) =
            (dtype(params)?, bytes(params, "size")?, number::<u32>(params, "num_gpus")?);
        let kind: CollectiveKind = number(params, "operation")?;
        let placement: Placement = number(params, "placement")?;
        let launcher: CollectiveLauncher = number(params, "launcher")?;
        let backend = match params.text("communication_backend") {
            Some("rccl") => "rccl",
            Some("nccl") => "nccl",
            _ => RING,
        };
        let plain = Collective::of_bytes(kind, dtype, size, u64::from(count.max(1)));
        let call = Collective { placement, launcher, ..plain };
        let task = Self { call, placement, count, size, backend };
        match task.mistake(params.text("algorithm").unwrap_or(AUTO)) {
            Some((what, why, cure)) => Err(Reason::new(what, why, cure)),
            None => Ok(task),
        }
    }

    /// Checks that the values are compatible. If not, returns a description, the reason and a fix.
    fn mistake(&self, algorithm: &str) -> Option<(String, &'static str, &'static str)> {
        let Collective { kind, dtype, launcher, .. } = self.call;
        let is_known = convert::is_known(dtype) && dtype.epsilon() > 0.0;
        let whole = matches!(kind, CollectiveKind::AllToAll | CollectiveKind::SendReceive);
        let tree_of_another = algorithm == "tree" && kind != CollectiveKind::AllReduce;
        let mistakes = [
            (
                !is_known,
                format!("{kind} of {dtype}"),
                "this program cannot add numbers of this data type",
                "choose f64, f32, f16 or bf16",
            ),
            (
                self.count < 2,
                format!("{kind} on one GPU"),
                "there is no other GPU to exchange data with",
                "choose num_gpus=2 or more",
            ),
            (
                self.call.elements == 0,
                format!("{} bytes", self.size),
                "the size is less than one element per part",
                "choose a larger size",
            ),
            (
                self.is_ours()
                    && (kind != CollectiveKind::AllReduce
                        || self.placement == Placement::InPlace
                        || launcher == CollectiveLauncher::Threads
                        || algorithm != AUTO),
                format!("{kind} {} by our own ring, launcher={launcher}", self.placement),
                "the ring supports only an out-of-place all-reduce with one thread and no choice \
                 of algorithm",
                "choose communication_backend=rccl or nccl",
            ),
            (
                self.placement == Placement::InPlace && !kind.can_be_in_place(),
                format!("{kind} in place"),
                "data would be overwritten before it is sent",
                "choose placement=out-of-place",
            ),
            (
                tree_of_another || (algorithm != AUTO && whole),
                format!("{kind} by algorithm={algorithm}"),
                "libraries use a ring for gather, scatter and broadcast, a tree only for \
                 all-reduce, and neither for all-to-all and send-receive",
                "choose algorithm=auto",
            ),
        ];
        mistakes.into_iter().find(|mistake| mistake.0).map(|(_, what, why, cure)| (what, why, cure))
    }
}

enum Work<'d> {
    Ring(Ring<'d>),
    Library(ByLibrary<'d>),
}

struct Case<'d> {
    work: Work<'d>,
    device: &'d dyn Device,
    task: Task,
    algorithm: String,
}

impl Prepared for Case<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        match &mut self.work {
            Work::Ring(ring) => ring.sample(iters),
            Work::Library(library) => library.sample(iters),
        }
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let Task { call, count, size, backend, .. } = &self.task;
        // Total size of the parts, which is slightly less than requested if it cannot be divided
        // evenly.
        let size = if self.task.is_ours() { *size } else { call.bytes() };
        // Algorithm bandwidth and bus bandwidth, as defined by nccl-tests. The latter is the
        // traffic on each link.
        let algorithm = gigabytes_per_second(size as f64, time_ns);
        let bus = algorithm * call.kind.bus_factor(*count);
        // Every byte over a link is read from one GPU's memory and written to another's.
        let copy = Transfer {
            direction: TransferDirection::DeviceToDevice,
            host_memory: HostMemory::Pinned,
            bytes: size,
        };
        check_bandwidth(bus, &Operation::Transfer(copy), self.device.info(), 1)?;
        let (provider, accuracy) = match &self.work {
            Work::Ring(ring) => (ring.provider(), ring.accuracy),
            Work::Library(library) => (library.provider(), library.accuracy),
        };
        let fields =
            Fields::new().with("operation", call.kind.as_str()).with("dtype", call.dtype.as_str());
        let fields = fields.with("provider", provider).with("size_bytes", size);
        let fields = fields
            .with("communication_backend", *backend)
            .with("placement", call.placement.as_str());
        let fields = fields.with("launcher", call.launcher.as_str());
        let name = if self.task.is_ours() { RING } else { &self.algorithm };
        let fields = fields.with("algorithm", name);
        let fields = fields.with("num_gpus", *count).with("init", "random uniform in [-1, 1)");
        let mut fields = fields.with("time_us", time_ns / 1e3);
        accuracy.set(&mut fields);
        Ok(fields.with("bandwidth_gb_s", bus).with("throughput_gb_s", algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Clock, Fault, Script, ScriptedDevice};

    fn machine(script: Script, gpus: u32) -> ScriptedDevice {
        ScriptedDevice::new(Script { peers: gpus - 1, ..script })
    }

    fn params(dtype: &str, size: &str, count: u32) -> Params {
        let params = Params::new().with("dtype", dtype).with("size", size);
        let params = params.with("num_gpus", count.to_string()).with("communication_backend", RING);
        params
            .with("operation", "all-reduce")
            .with("placement", "out-of-place")
            .with("algorithm", AUTO)
            .with("launcher", ONE_THREAD)
    }

    #[test]
    fn every_gpu_ends_with_the_sum_of_all_however_many_there_are() {
        for count in 2..=8 {
            let device = machine(Script::default(), count);
            for (dtype, size) in
                [("f32", "4KiB"), ("f16", "1002B"), ("f64", "8B"), ("bf16", "6KiB")]
            {
                let prepared = AllReduce.prepare(&params(dtype, size, count), &device);
                assert!(prepared.is_ok(), "{count} {dtype} {size}: {:?}", prepared.err());
            }
        }
    }

    #[test]
    fn the_bus_carries_more_than_the_sum_is_large() {
        let device = machine(Script::with_clock(Clock::Constant(1000.0)), 4);
        let mut prepared = AllReduce.prepare(&params("f32", "64KiB", 4), &device).unwrap();
        let time = prepared.sample(5).unwrap() / 5.0;
        let fields = prepared.fields(time).unwrap();
        let (bus, algorithm) =
            (fields.number("bandwidth_gb_s").unwrap(), fields.number("throughput_gb_s").unwrap());
        assert!((bus / algorithm - 1.5).abs() < 1e-9, "{bus} {algorithm}");
        assert!((algorithm - 65_536.0 / time).abs() < 1e-9);
        assert!(
            matches!(prepared.fields(1e-3), Err(Failure::Failed(_))),
            "a result faster than any memory must fail"
        );
    }

    #[test]
    fn a_wrong_sum_is_never_timed() {
        let device = machine(Script::with_fault(Fault::WrongResult { launch: 0 }), 3);
        match AllReduce.prepare(&params("f32", "4KiB", 3), &device).err() {
            Some(Failure::Failed(reason)) => {
                assert!(reason.what.contains("wrong result"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_is_skipped_with_the_cure() {
        check_skipped(&params("f32", "4KiB", 2), 1, "num_gpus");
        check_skipped(&params("f32", "4KiB", 1), 2, "no other GPU");
        check_skipped(&params("i8", "4KiB", 2), 2, "f64, f32, f16 or bf16");
        check_skipped(&params_by("rccl"), 2, "communication_backend=ring");
        check_skipped(
            &params_by(RING).with("operation", "broadcast"),
            2,
            "communication_backend=rccl or nccl",
        );
        check_skipped(
            &params_by(RING).with("launcher", "threads"),
            2,
            "communication_backend=rccl or nccl",
        );
        check_skipped(
            &params_by("nccl").with("operation", "all-to-all").with("placement", "in-place"),
            2,
            "out-of-place",
        );
        check_skipped(
            &params_by("nccl").with("operation", "all-gather").with("algorithm", "tree"),
            2,
            "algorithm=auto",
        );
        check_skipped(
            &params_by("nccl").with("operation", "all-gather").with("size", "4B"),
            2,
            "larger size",
        );
    }

    fn check_skipped(params: &Params, gpus: u32, word: &str) {
        match AllReduce.prepare(params, &machine(Script::default(), gpus)).err() {
            Some(Failure::Skipped(reason)) => {
                assert!(reason.to_string().contains(word), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }

    fn params_by(backend: &str) -> Params {
        params("f32", "4KiB", 2).with("communication_backend", backend)
    }

    #[test]
    fn a_library_is_told_its_algorithm_in_the_process_of_the_case() {
        let params = params("f32", "4KiB", 2);
        let automatic = params.clone().with("algorithm", AUTO);
        assert_eq!(AllReduce.environment(&automatic), None);
        assert_eq!(
            AllReduce.environment(&params.clone().with("algorithm", "tree")),
            Some((ALGORITHM, "Tree"))
        );
        // `NCCL_ALGO` is not set in this process.
        let failed = AllReduce.algorithm(&params.with("algorithm", "ring")).unwrap_err();
        assert!(failed.reason().why.contains("NCCL_ALGO=Ring"), "{failed}");
        assert_eq!(AllReduce.algorithm(&automatic).unwrap(), AUTO);
    }
}
