//! Traits that every backend implements: a device allocates memory, copies data and prepares
//! kernels; a stream orders work; an event marks a time.

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

/// A source of devices: a vendor runtime or the CPU.
pub trait Backend {
    /// Returns the backend's identity.
    fn id(&self) -> BackendId;

    /// Lists the available devices.
    ///
    /// # Errors
    /// If a library, driver, permission or device is missing, with the reason and a fix.
    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason>;

    /// Returns the defect of an installed but broken vendor library. Such a backend has no devices,
    /// and its cases fail. Called in a child process, like [`Backend::devices`].
    fn defect(&self) -> Option<Reason> {
        None
    }

    /// Opens the device at `index` of [`Backend::devices`].
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason>;

    /// Loads the backend's runtime compiler, which needs no device.
    ///
    /// # Errors
    /// If the backend has no compiler, or it is not installed.
    fn compiler(&self) -> Result<Box<dyn KernelCompiler>, Reason> {
        Err(no_compiler(self.id()))
    }
}

/// Identity and limits of a device. Unknown values are `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Backend and position.
    pub device: DeviceRef,
    /// Marketing name.
    pub name: String,
    /// Type of hardware.
    pub device_type: DeviceType,
    /// PCI address as in sysfs, such as `0000:03:00.0`. Distinguishes two GPUs of one vendor, and
    /// identifies one GPU seen through two runtimes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// Driver and its version, such as `radv 25.0.3`, if a GPU may have several drivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Target architecture of kernels, such as `gfx90a`, or `None` if it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Compute units, multiprocessors, or usable threads of a CPU.
    pub units: u32,
    /// Highest clock of the compute units in MHz, as reported by the driver. For a CPU it does not
    /// determine the peak rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clock_mhz: Option<f64>,
    /// Highest level of `pp_dpm_sclk` in MHz, for AMD GPUs. RDNA boards report a lower value as
    /// their highest clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_level_mhz: Option<f64>,
    /// Largest memory that a benchmark may use, in bytes.
    pub usable_memory_bytes: u64,
    /// Data caches, nearest first. The size of the last one determines how much a flush touches.
    pub caches: Vec<Cache>,
    /// Theoretical peak memory bandwidth of the hardware, in GB/s.
    pub peak_bandwidth_gb_s: Option<f64>,
}

impl DeviceInfo {
    /// Returns a device with one unit and no memory, of which nothing else is known.
    pub fn new(device: DeviceRef, name: impl Into<String>, device_type: DeviceType) -> Self {
        Self {
            device,
            name: name.into(),
            device_type,
            pci_address: None,
            driver: None,
            arch: None,
            units: 1,
            max_clock_mhz: None,
            power_level_mhz: None,
            usable_memory_bytes: 0,
            caches: Vec::new(),
            peak_bandwidth_gb_s: None,
        }
    }

    /// Returns the record of this device in a run.
    pub fn record(&self) -> RunDevice {
        RunDevice {
            device: self.device,
            name: self.name.clone(),
            device_type: self.device_type,
            pci_address: self.pci_address.clone(),
            driver: self.driver.clone(),
        }
    }

    /// Returns the size of the largest cache in bytes, if there is one.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        self.caches.iter().map(|cache| cache.size_bytes).max()
    }
}

/// Reason why a backend has no devices on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Absence {
    /// A library, driver or GPU is missing: the cases of the backend are skipped.
    #[error("{0}")]
    Missing(Reason),
    /// The library is installed but broken: it lacks a function, crashes the process that loads it,
    /// or hangs. The cases of the backend fail.
    #[error("{0}")]
    Broken(Reason),
}

impl From<Reason> for Absence {
    fn from(reason: Reason) -> Self {
        Self::Missing(reason)
    }
}

/// Memory of a device, opaque to all but the backend that allocated it. Clones share the memory,
/// which is freed with the last clone, so a kernel can keep its buffers alive. A buffer cannot move
/// to another thread, since reads and writes are not synchronized between threads.
#[derive(Clone)]
pub struct Buffer {
    bytes: u64,
    storage: Rc<dyn Any>,
}

impl Buffer {
    /// Wraps the backend's storage, which has `bytes` bytes.
    pub fn new<T: Any>(bytes: u64, storage: T) -> Self {
        Self { bytes, storage: Rc::new(storage) }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the backend's storage, if it is a `T`.
    pub fn storage<T: 'static>(&self) -> Option<&T> {
        self.storage.downcast_ref()
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Returns the error for a case that needs more memory than a benchmark may use on the device.
pub fn too_much_memory(bytes: u64, info: &DeviceInfo) -> DeviceError {
    DeviceError::Failed(Reason::new(
        format!("{} of memory", rounded_bytes(bytes)),
        format!(
            "a benchmark may use at most {} on {}",
            rounded_bytes(info.usable_memory_bytes),
            info.device
        ),
        "choose a smaller size, or stop other programs that use the memory",
    ))
}

/// Placement of a case's memory on a host with non-uniform memory access (NUMA).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumaMemory {
    /// Memory of the node that its threads run on.
    Near,
    /// Memory of the most distant other node.
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

/// A device of a backend.
pub trait Device {
    /// Returns the identity and limits of the device.
    fn info(&self) -> &DeviceInfo;

    /// Allocates `bytes` bytes of zeroed memory.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError>;

    /// Binds subsequent threads to the CPUs of one NUMA node, and subsequent allocations to the
    /// node that `memory` selects. Returns the distance between the two nodes as reported by the
    /// firmware: 10 for the same node.
    ///
    /// # Errors
    /// If there is no such node, or the system refuses.
    fn place(&self, memory: NumaMemory) -> Result<u32, DeviceError> {
        Err(DeviceError::Unsupported(Reason::new(
            format!("numa={memory}"),
            format!("{} is not a CPU with NUMA nodes", self.info().device),
            "choose numa=any, or measure cpu:0",
        )))
    }

    /// Copies `bytes` into `buffer`, starting at byte `offset`.
    ///
    /// # Errors
    /// If the bytes do not fit or the copy fails.
    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from `buffer` into `bytes`, starting at byte `offset`.
    ///
    /// # Errors
    /// If the buffer is too short or the copy fails.
    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Compiles or selects the kernel for `operation` and binds it to `buffers`, whose order and
    /// sizes [`Operation::buffers`] defines. The kernel keeps clones of the buffers.
    ///
    /// # Errors
    /// If this device does not support the operation.
    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError>;

    /// Records one launch of each of `kernels`, in order, as a graph that owns the kernels and
    /// launches all of them with one call. Each kernel must have been launched before, since a
    /// library's initialization in its first call cannot be recorded.
    ///
    /// # Errors
    /// If the device has no graphs, or a launch cannot be recorded.
    fn record<'d>(
        &'d self,
        kernels: Vec<Box<dyn Kernel + 'd>>,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Err(DeviceError::Unsupported(Reason::new(
            format!("a graph of {} kernels", kernels.len()),
            format!("{} does not support graphs", self.info().device),
            "choose launch_mode=stream, or measure on ROCm or CUDA",
        )))
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// If the device is gone.
    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError>;

    /// Evicts previously used data from every cache and leaves no dirty lines. An asynchronous
    /// device only enqueues the flush: while it runs, the host enqueues the events and the next
    /// kernel, so that the kernel's time includes no launch overhead.
    ///
    /// # Errors
    /// If there is not enough memory for the flush.
    fn flush_caches(&self) -> Result<(), DeviceError>;

    /// Compiles or selects the kernel that copies all of `from` to the start of `to`, either of
    /// which may belong to another device of the same backend. It runs in a stream of this device.
    ///
    /// # Errors
    /// If this backend cannot copy between devices, or a buffer belongs to another backend.
    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let _ = (from, to);
        Err(DeviceError::Unsupported(Reason::new(
            "copies between devices",
            format!("{} does not support them", self.info().name),
            "use a backend that supports several devices, such as rocm",
        )))
    }

    /// Prepares a library's collective over several devices of this backend, from the first buffer
    /// of each pair into the second. Both buffers of a pair are on one device; for an in-place
    /// collective they are the same buffer. One launch runs in the streams of all devices.
    ///
    /// # Errors
    /// If this backend has no such library, or the library does not support the collective.
    fn prepare_collective<'d>(
        &'d self,
        call: &Collective,
        pairs: &[(Buffer, Buffer)],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let _ = pairs;
        Err(DeviceError::Unsupported(Reason::new(
            format!("{} by a library", call.kind),
            format!("this program uses no collective library for {}", self.info().device),
            "measure on ROCm or CUDA; our own all-reduce needs no library \
             (communication_backend=ring)",
        )))
    }

    /// Returns the bytes of free device memory, if the driver reports them. Memory of other
    /// processes counts as used.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the bandwidth of the link between host and device in one direction, in GB/s, if the
    /// system reports it.
    fn link_gb_s(&self) -> Option<f64> {
        None
    }

    /// Returns the positions of the other devices of this backend that [`Device::peer`] can open.
    fn peers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns the device at `index` of the same backend, so that one process can use several
    /// devices. The device is opened at the first call and kept open.
    ///
    /// # Errors
    /// If there is no such device, or it cannot be opened.
    fn peer(&self, index: u32) -> Result<&dyn Device, DeviceError> {
        Err(no_peer(self.info(), index, &self.peers()))
    }

    /// Returns the PCI address, such as `0000:03:00.0`, if the device has one and reports it.
    fn pci_address(&self) -> Option<String> {
        self.info().pci_address.clone()
    }

    /// Returns how many blocks of the kernel for `operation` a compute unit can hold at once.
    ///
    /// # Errors
    /// If the device does not report it.
    fn occupancy(
        &self,
        operation: &Operation,
        options: &Options,
    ) -> Result<Occupancy, DeviceError> {
        let _ = options;
        Err(DeviceError::Unsupported(Reason::new(
            format!("occupancy of {}", operation.name()),
            format!("{} does not report it", self.info().name),
            "measure a GPU, with --backend rocm",
        )))
    }

    /// Opens hardware counters of the first-level data cache.
    ///
    /// # Errors
    /// If the device has no counters, or reading them is not permitted, with the reason and a fix.
    fn counters(&self) -> Result<Box<dyn CacheCounters + '_>, Reason> {
        Err(no_counters(self.info()))
    }
}

/// Returns the error for a `device` without cache counters.
pub fn no_counters(device: &DeviceInfo) -> Reason {
    Reason::new(
        "cache counters",
        format!("{} does not provide cache counters to programs", device.name),
        "measure cache-hit-rate on the CPU, or use the vendor's profiler",
    )
}

/// Returns the error for a missing peer at `index`.
pub fn no_peer(device: &DeviceInfo, index: u32, there_are: &[u32]) -> DeviceError {
    let why = match there_are {
        [] => format!("{} is the only device that this backend finds here", device.device),
        some => {
            let list = some.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("other devices next to {}: {list}", device.device)
        }
    };
    DeviceError::Unsupported(Reason::new(
        format!("device {index} as a peer of {}", device.device),
        why,
        "use a machine with several GPUs, and check that none is hidden (HIP_VISIBLE_DEVICES, \
         CUDA_VISIBLE_DEVICES)",
    ))
}

/// Hardware counters of the first-level data cache, for the thread that opened them.
pub trait CacheCounters {
    /// Resets the counters and starts them.
    ///
    /// # Errors
    /// If the system refuses.
    fn start(&mut self) -> Result<(), DeviceError>;

    /// Stops the counters and reads them.
    ///
    /// # Errors
    /// If the system refuses, or never scheduled them.
    fn stop(&mut self) -> Result<CacheCounts, DeviceError>;
}

/// Read counts of the first-level data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheCounts {
    /// All reads.
    pub reads: u64,
    /// Reads that missed.
    pub misses: u64,
}

/// Occupancy of a compute unit by one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Threads in a block.
    pub block_size: u32,
    /// Blocks in the grid of a launch.
    pub grid_size: u64,
    /// Blocks resident on a compute unit at once.
    pub blocks_per_unit: u32,
    /// Largest number of threads resident on a compute unit.
    pub max_threads_per_unit: u32,
    /// Registers per thread, if known.
    pub registers: Option<u32>,
    /// Shared memory per block in bytes, if known.
    pub shared_bytes: Option<u32>,
}

impl Occupancy {
    /// Returns the share of the unit's threads that are resident, in percent.
    pub fn percent(&self) -> f64 {
        let resident = f64::from(self.block_size) * f64::from(self.blocks_per_unit);
        100.0 * resident / f64::from(self.max_threads_per_unit.max(1))
    }
}

/// A closure that launches a kernel once, from any thread.
pub type Launcher<'a> = Box<dyn FnMut() -> Result<(), DeviceError> + Send + 'a>;

/// An operation ready to run.
pub trait Kernel {
    /// Launches the kernel once. On asynchronous devices it may still be running when this function
    /// returns; synchronize the stream to wait for it.
    ///
    /// # Errors
    /// If the launch fails.
    fn launch(&mut self) -> Result<(), DeviceError>;

    /// Launches the kernel `times` times, one launch after another.
    ///
    /// # Errors
    /// If a launch fails.
    fn launch_times(&mut self, times: u64) -> Result<(), DeviceError> {
        (0..times).try_for_each(|_| self.launch())
    }

    /// Returns a closure that launches the kernel once from another thread, or `None` if only the
    /// thread that prepared it can launch it.
    fn launcher(&mut self) -> Option<Launcher<'_>> {
        None
    }

    /// Makes subsequent launches wait for work that this kernel runs concurrently. Does nothing for
    /// kernels without such work.
    ///
    /// # Errors
    /// If the device is gone.
    fn join(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Returns the library or kernel family that does the work, for the record: `gemm`, `openblas`,
    /// `native-avx2`.
    fn provider(&self) -> String;

    /// Returns the type in which partial sums are accumulated before they are added in f32, if it
    /// is narrower than f32.
    fn sums_in(&self) -> Option<Dtype> {
        None
    }

    /// Returns the algorithm that the library uses, if it offers several.
    fn algorithm(&self) -> Option<AlgorithmChoice> {
        None
    }
}

/// An algorithm that a library offers for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmChoice {
    /// Position in the library's own order, from 0.
    pub index: u32,
    /// Number of algorithms timed; 1 if the library's first choice was used untimed.
    pub tried: u32,
}

/// A work queue with its own clock.
pub trait Stream {
    /// Records an event at the current end of the queue.
    ///
    /// # Errors
    /// If the device is gone.
    fn record(&mut self) -> Result<StreamEvent, DeviceError>;

    /// Waits until all previous work is done.
    ///
    /// # Errors
    /// If previous work failed.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// Returns the clock that measures the times of this stream.
    fn clock(&self) -> StreamClock {
        StreamClock::Device
    }

    /// Returns the nanoseconds of device time between two completed events.
    ///
    /// # Errors
    /// If an event belongs to another stream, or is not completed.
    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError>;
}

/// Clock that times the work of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamClock {
    /// Clock of the device, or of its driver.
    Device,
    /// Clock of the host, which waits for the device at each event: times include launch and wait.
    Host,
}

/// An event in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEvent(pub u64);
