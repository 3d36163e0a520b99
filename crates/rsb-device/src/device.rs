//! The traits that every backend implements: a device allocates, moves and prepares; a stream
//! launches; an event marks a time.

use std::any::Any;
use std::rc::Rc;

use rsb_model::environment::Cache;
use rsb_model::shape::rounded_bytes;
use rsb_model::{BackendId, DeviceRef, DeviceType, Dtype, Reason, RunDevice};
use serde::{Deserialize, Serialize};

use crate::compiler::{KernelCompiler, no_compiler};
use crate::operation::{Collective, Operation};

pub use crate::error::DeviceError;
pub use crate::operation::Options;

/// A way to reach devices.
pub trait Backend {
    /// Which.
    fn id(&self) -> BackendId;

    /// The devices it finds, or why there is none.
    ///
    /// # Errors
    /// When a library, driver, permission or device is missing: what, why, cure.
    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason>;

    /// What is wrong with its own library, where that is here and broken: no device can be had
    /// through it then, and that is a failure. Asked in a child, like [`Backend::devices`].
    fn defect(&self) -> Option<Reason> {
        None
    }

    /// Opens the device at `index` of [`Backend::devices`].
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason>;

    /// Loads its runtime compiler, which needs no device.
    ///
    /// # Errors
    /// When it has none, or this machine has none.
    fn compiler(&self) -> Result<Box<dyn KernelCompiler>, Reason> {
        Err(no_compiler(self.id()))
    }
}

/// What a device is and can do at most. Unknown is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Backend and position.
    pub device: DeviceRef,
    /// Marketing name.
    pub name: String,
    /// What kind of hardware it is.
    pub device_type: DeviceType,
    /// Its address on the bus as sysfs writes it, such as `0000:03:00.0`: what tells two GPUs of
    /// one vendor apart, and one GPU seen through two runtimes from two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// The driver that shows it, where a backend may have several for one GPU: `radv`, `rusticl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The architecture that kernels are compiled for, such as `gfx90a`, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Compute units, multiprocessors, or usable threads of a CPU.
    pub units: u32,
    /// Highest clock of the compute units in MHz, as the driver lists it. Of a CPU it says nothing
    /// about peaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clock_mhz: Option<f64>,
    /// Highest level of `pp_dpm_sclk` in MHz, of AMD's GPUs. RDNA boards list less than this as
    /// their highest clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_level_mhz: Option<f64>,
    /// Memory that a benchmark may take at most, in bytes.
    pub usable_memory_bytes: u64,
    /// Data caches, nearest first; the last one sizes flushes.
    pub caches: Vec<Cache>,
    /// Highest memory bandwidth that the hardware can have, in GB/s.
    pub peak_bandwidth_gb_s: Option<f64>,
}

impl DeviceInfo {
    /// As a run records it.
    pub fn record(&self) -> RunDevice {
        RunDevice {
            device: self.device,
            name: self.name.clone(),
            device_type: self.device_type,
            pci_address: self.pci_address.clone(),
            driver: self.driver.clone(),
        }
    }

    /// Bytes of the largest cache, where there is one.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        self.caches.iter().map(|cache| cache.size_bytes).max()
    }
}

/// Why a backend has no devices here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Absence {
    /// Its library, driver or GPU is not here: what would run on it is skipped.
    #[error("{0}")]
    Missing(Reason),
    /// Its library is here and broken: it lacks a function, ends the process that asks, or never
    /// answers. What would run on it fails.
    #[error("{0}")]
    Broken(Reason),
}

impl From<Reason> for Absence {
    fn from(reason: Reason) -> Self {
        Self::Missing(reason)
    }
}

/// Memory of a device. Only the backend that made it can look inside. Clones share it, and it is
/// freed with the last one, so that a kernel can keep what it works on. It stays on its thread:
/// nothing else orders reads and writes.
#[derive(Clone)]
pub struct Buffer {
    bytes: u64,
    storage: Rc<dyn Any>,
}

impl Buffer {
    /// Wraps a backend's own storage of `bytes` bytes.
    pub fn new<T: Any>(bytes: u64, storage: T) -> Self {
        Self { bytes, storage: Rc::new(storage) }
    }

    /// Size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The backend's own storage, when it is a `T`.
    pub fn storage<T: 'static>(&self) -> Option<&T> {
        self.storage.downcast_ref()
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// For what needs more memory than a benchmark may take of the device.
pub fn too_much_memory(bytes: u64, info: &DeviceInfo) -> DeviceError {
    DeviceError::Failed(Reason::new(
        format!("{} of memory", rounded_bytes(bytes)),
        format!(
            "a benchmark may take {} on {}",
            rounded_bytes(info.usable_memory_bytes),
            info.device
        ),
        "choose a smaller size, or end what else uses the memory",
    ))
}

/// Which memory a case works in, on a host whose memory is nearer to some CPUs than to others
/// (NUMA).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumaMemory {
    /// Of the node that its threads run on.
    Near,
    /// Of the farthest other node.
    Far,
}

impl std::fmt::Display for NumaMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Near => "near",
            Self::Far => "far",
        })
    }
}

/// One unit of a backend.
pub trait Device {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Memory of `bytes` bytes, zeroed.
    ///
    /// # Errors
    /// When there is not that much.
    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError>;

    /// Ties the threads that work from here on to the CPUs of one NUMA node, and what is allocated
    /// from here on to `memory`. Gives the distance between the two as the firmware tells it: 10 is
    /// the node itself.
    ///
    /// # Errors
    /// When there is no such node, or the system refuses.
    fn place(&self, memory: NumaMemory) -> Result<u32, DeviceError> {
        Err(DeviceError::Unsupported(Reason::new(
            format!("numa={memory}"),
            format!("{} is no CPU whose memory lies at nodes", self.info().device),
            "choose numa=any, or measure cpu:0",
        )))
    }

    /// Copies `bytes` into `buffer` from byte `offset` on.
    ///
    /// # Errors
    /// When they do not fit or the copy fails.
    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from byte `offset` of `buffer` on to `bytes`.
    ///
    /// # Errors
    /// When there are not that many or the copy fails.
    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Compiles or chooses the kernel for `operation`, bound to `buffers`, which are in the order
    /// and of the sizes that [`Operation::buffers`] says. The kernel keeps clones of them.
    ///
    /// # Errors
    /// When this device cannot do it.
    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError>;

    /// Records one launch of each of `kernels` in their order, as a graph that starts them all by
    /// one call and keeps them. What a library makes at its first call cannot be recorded: each
    /// must have been launched before.
    ///
    /// # Errors
    /// When the device has no graphs, or something was launched that cannot be recorded.
    fn record<'d>(
        &'d self,
        kernels: Vec<Box<dyn Kernel + 'd>>,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Err(DeviceError::Unsupported(Reason::new(
            format!("a graph of {} kernels", kernels.len()),
            format!("{} is handed its work call by call", self.info().device),
            "choose launch_mode=stream, or measure on ROCm or CUDA",
        )))
    }

    /// A queue of work.
    ///
    /// # Errors
    /// When the device is gone.
    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError>;

    /// Evicts what was touched before from every cache, and leaves no line there that must be
    /// written back. A device that runs on its own queues this before what is launched next and
    /// does not wait: while it works, the host hands over the marks and the kernel behind it, whose
    /// time then holds no launch.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn flush_caches(&self) -> Result<(), DeviceError>;

    /// Compiles or chooses what copies all of `from` to the start of `to`, either of which may
    /// belong to another device of the same backend. It runs in the stream of this device.
    ///
    /// # Errors
    /// When this backend cannot copy between devices, or a buffer is not of this backend.
    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let _ = (from, to);
        Err(DeviceError::Unsupported(Reason::new(
            "copies between devices",
            format!("{} does not offer them", self.info().name),
            "measure them on a backend that has several devices, such as rocm",
        )))
    }

    /// Binds a library's collective over several devices of this backend: of the first buffer of
    /// each pair, which both lie on one device, into the second of each; in place both are one and
    /// the same. One launch runs in the streams of all of them.
    ///
    /// # Errors
    /// When there is no such library for this backend, or it cannot do it.
    fn prepare_collective<'d>(
        &'d self,
        call: &Collective,
        pairs: &[(Buffer, Buffer)],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let _ = pairs;
        Err(DeviceError::Unsupported(Reason::new(
            format!("{} by a library", call.kind),
            format!("no library for {} is called here", self.info().device),
            "measure on ROCm or CUDA; our own all-reduce needs no library \
             (communication_backend=ring)",
        )))
    }

    /// Bytes of its memory that nobody holds, by its driver, where that tells. Other processes
    /// count, too.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// What the link between the host and the device can carry one way, in GB/s, where the system
    /// tells.
    fn link_gb_s(&self) -> Option<f64> {
        None
    }

    /// Positions of the other devices of this backend that [`Device::peer`] can open.
    fn peers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The device at `index` of the same backend, opened at the first call and kept, so that one
    /// process can have several work together.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    fn peer(&self, index: u32) -> Result<&dyn Device, DeviceError> {
        Err(no_peer(self.info(), index, &self.peers()))
    }

    /// Its address on the bus, such as `0000:03:00.0`, where it has one and tells.
    fn pci_address(&self) -> Option<String> {
        self.info().pci_address.clone()
    }

    /// How many blocks of the kernel of `operation` a compute unit holds at once.
    ///
    /// # Errors
    /// When the device cannot tell.
    fn occupancy(
        &self,
        operation: &Operation,
        options: &Options,
    ) -> Result<Occupancy, DeviceError> {
        let _ = options;
        Err(DeviceError::Unsupported(Reason::new(
            format!("occupancy of {}", operation.name()),
            format!("{} does not tell it", self.info().name),
            "ask a GPU, with --backend rocm",
        )))
    }

    /// Hardware counters of the first-level data cache.
    ///
    /// # Errors
    /// When the device has none, or they may not be read here: what, why, cure.
    fn counters(&self) -> Result<Box<dyn CacheCounters + '_>, Reason> {
        Err(no_counters(self.info()))
    }
}

/// Why `device` counts no hits of its caches.
pub fn no_counters(device: &DeviceInfo) -> Reason {
    Reason::new(
        "cache counters",
        format!("{} offers none to programs", device.name),
        "measure cache-hit-rate on the CPU, or use the vendor's profiler",
    )
}

/// Why `device` has no peer at `index`.
pub fn no_peer(device: &DeviceInfo, index: u32, there_are: &[u32]) -> DeviceError {
    let why = match there_are {
        [] => format!("{} is the only device that this backend shows here", device.device),
        some => {
            let list = some.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("beside {} there are the devices {list}", device.device)
        }
    };
    DeviceError::Unsupported(Reason::new(
        format!("device {index} beside {}", device.device),
        why,
        "measure on a machine with several GPUs, and check that none is hidden \
         (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES)",
    ))
}

/// Hardware counters of the first-level data cache, for the thread that opened them.
pub trait CacheCounters {
    /// Sets them to zero and starts them.
    ///
    /// # Errors
    /// When the system refuses.
    fn start(&mut self) -> Result<(), DeviceError>;

    /// Stops and reads them.
    ///
    /// # Errors
    /// When the system refuses, or never scheduled them.
    fn stop(&mut self) -> Result<CacheCounts, DeviceError>;
}

/// Reads of the first-level data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheCounts {
    /// All.
    pub reads: u64,
    /// Those that missed.
    pub misses: u64,
}

/// How full a compute unit gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Threads in a block.
    pub block_size: u32,
    /// Blocks in the grid of a launch.
    pub grid_size: u64,
    /// Blocks that are resident on a unit at once.
    pub blocks_per_unit: u32,
    /// Threads that a unit can hold at most.
    pub max_threads_per_unit: u32,
    /// Registers of a thread, where known.
    pub registers: Option<u32>,
    /// Shared memory of a block in bytes, where known.
    pub shared_bytes: Option<u32>,
}

impl Occupancy {
    /// Share of the unit's threads that are resident.
    pub fn percent(&self) -> f64 {
        let resident = f64::from(self.block_size) * f64::from(self.blocks_per_unit);
        100.0 * resident / f64::from(self.max_threads_per_unit.max(1))
    }
}

/// Starts a kernel once, from any thread.
pub type Launcher<'a> = Box<dyn FnMut() -> Result<(), DeviceError> + Send + 'a>;

/// An operation ready to run.
pub trait Kernel {
    /// Starts it once. On devices that run on their own it has not ended on return; only the stream
    /// knows.
    ///
    /// # Errors
    /// When the launch fails.
    fn launch(&mut self) -> Result<(), DeviceError>;

    /// Starts it `times` times, one after another.
    ///
    /// # Errors
    /// When a launch fails.
    fn launch_times(&mut self, times: u64) -> Result<(), DeviceError> {
        (0..times).try_for_each(|_| self.launch())
    }

    /// What starts it once from another thread; none where only the thread that made it can.
    fn launcher(&mut self) -> Option<Launcher<'_>> {
        None
    }

    /// Lets what is launched next wait for what this does beside it; nothing, where it does nothing
    /// beside.
    ///
    /// # Errors
    /// When the device is gone.
    fn join(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// The library or kernel family that does the work, for the record: `gemm`, `openblas`,
    /// `native-avx2`.
    fn provider(&self) -> String;

    /// The type in which products are summed before their sums are added in f32, if that is
    /// narrower than f32.
    fn sums_in(&self) -> Option<Dtype> {
        None
    }

    /// Which algorithm of that library does it, where it offers several.
    fn algorithm(&self) -> Option<AlgorithmChoice> {
        None
    }
}

/// One of the algorithms that a library offers for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmChoice {
    /// Its place in the library's own order, from 0.
    pub index: u32,
    /// How many were timed; 1 where the library's first choice was taken untimed.
    pub tried: u32,
}

/// A queue of work with a clock of its own.
pub trait Stream {
    /// Marks the present point of the queue.
    ///
    /// # Errors
    /// When the device is gone.
    fn record(&mut self) -> Result<StreamEvent, DeviceError>;

    /// Waits until everything before is done.
    ///
    /// # Errors
    /// When something before failed.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// Whose clock gives its times.
    fn clock(&self) -> StreamClock {
        StreamClock::Device
    }

    /// Nanoseconds of device time between two marks, both passed.
    ///
    /// # Errors
    /// When a mark is not of this stream, or not passed.
    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError>;
}

/// Who times what a stream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamClock {
    /// The device, or its driver.
    Device,
    /// The host, which waits for the device at each mark: times hold the cost of launch and wait.
    Host,
}

/// A mark in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEvent(pub u64);
