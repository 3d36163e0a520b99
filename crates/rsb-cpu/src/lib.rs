//! The CPU as a device: kernels of our own, BLAS libraries found at run time, and the host's clock.
//!
//! Launches are synchronous, so the clock of the host is the clock of the device.

mod counters;
pub mod instructions;
mod kernel;
mod kernels;
mod memory;
mod numa;
mod span;
mod thread_pool;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use rsb_model::{BackendId, Reason};

pub use numa::bind_near;

use memory::{Memory, refused_memory};
use rsb_device::device::{
    Backend, Buffer, CacheCounters, Device, DeviceError, DeviceInfo, Kernel, NumaMemory, Options,
    Stream, StreamEvent, too_much_memory,
};
use rsb_device::host_cpu;
use rsb_device::operation::Operation;
use thread_pool::ThreadPool;

/// The one backend that is always there.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuBackend;

impl Backend for CpuBackend {
    fn id(&self) -> BackendId {
        BackendId::Cpu
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        Ok(vec![host_cpu::read()])
    }

    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
        match index {
            0 => Ok(Box::new(CpuDevice::new())),
            _ => Err(Reason::new(
                format!("device cpu:{index}"),
                "all CPUs together are cpu:0",
                "name cpu:0",
            )),
        }
    }
}

/// Every usable thread of the CPU.
pub struct CpuDevice {
    info: DeviceInfo,
    /// Made once for each number of threads: pinned threads are dear to start.
    pools: RefCell<BTreeMap<usize, Rc<ThreadPool>>>,
    /// What is streamed through to empty the caches, kept between calls.
    flush: RefCell<Option<Memory>>,
    /// Where threads and memory were put, when they were.
    place: RefCell<Option<numa::Place>>,
}

impl CpuDevice {
    /// As this process sees the machine now.
    pub fn new() -> Self {
        Self {
            info: host_cpu::read(),
            pools: RefCell::default(),
            flush: RefCell::default(),
            place: RefCell::default(),
        }
    }

    /// A pool of as many threads as the options ask for.
    fn pool(&self, options: &Options) -> Result<Rc<ThreadPool>, DeviceError> {
        let threads = options.threads.unwrap_or(1).max(1);
        let usable = host_cpu::usable_threads();
        if threads > usable {
            return Err(DeviceError::Unsupported(Reason::new(
                format!("{threads} threads"),
                format!("this process may use {usable}"),
                "ask for fewer, or allow it more (taskset, control group)",
            )));
        }
        let mut pools = self.pools.borrow_mut();
        if let Some(pool) = pools.get(&(threads as usize)) {
            return Ok(Rc::clone(pool));
        }
        let pool = Rc::new(ThreadPool::new(threads as usize)?);
        pools.insert(threads as usize, Rc::clone(&pool));
        Ok(pool)
    }
}

impl Default for CpuDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError> {
        if bytes > self.info.usable_memory_bytes {
            return Err(too_much_memory(bytes, &self.info));
        }
        if let Some(place) = &*self.place.borrow() {
            place.has_room(bytes)?;
        }
        let memory = Memory::new_zeroed(bytes as usize).ok_or_else(|| refused_memory(bytes))?;
        Ok(Buffer::new(bytes, Rc::new(memory)))
    }

    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        memory_of(buffer)?
            .write(offset, bytes)
            .ok_or_else(|| out_of_range(buffer, offset, bytes.len()))
    }

    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let count = bytes.len();
        memory_of(buffer)?.read(offset, bytes).ok_or_else(|| out_of_range(buffer, offset, count))
    }

    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let specs = operation.buffers();
        let fits = specs.len() == buffers.len()
            && specs.iter().zip(buffers).all(|(spec, buffer)| buffer.bytes() >= spec.bytes());
        if !fits {
            return Err(DeviceError::Failed(Reason::new(
                format!("buffers of {}", operation.name()),
                "they are not as many or not as large as the operation needs",
                "this is a defect of this program: please report it with the case's id",
            )));
        }
        let memories = buffers.iter().map(memory_of).collect::<Result<Vec<_>, _>>()?;
        kernels::prepare(operation, options, memories, self.pool(options)?)
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        Ok(Box::new(HostClock { start: Instant::now() }))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        /// About twice 480 MiB, the largest third cache that was seen; flushing more takes longer
        /// than it is worth.
        const MAX_FLUSH_BYTES: u64 = 1 << 30;
        const MIN_FLUSH_BYTES: u64 = 16 << 20;
        let bytes = self
            .info
            .last_level_cache_bytes()
            .map_or(64 << 20, |size| 2 * size)
            .clamp(MIN_FLUSH_BYTES, MAX_FLUSH_BYTES);
        let mut kept = self.flush.borrow_mut();
        if kept.is_none() {
            *kept = Memory::new_zeroed(bytes as usize);
        }
        let memory = kept.as_ref().ok_or_else(|| refused_memory(bytes))?;
        kernels::evict(memory);
        Ok(())
    }

    fn place(&self, memory: NumaMemory) -> Result<u32, DeviceError> {
        let place = numa::place(memory)?;
        let distance = place.distance;
        self.place.replace(Some(place));
        Ok(distance)
    }

    fn counters(&self) -> Result<Box<dyn CacheCounters + '_>, Reason> {
        counters::open()
    }
}

/// The CPU's own memory in a buffer.
fn memory_of(buffer: &Buffer) -> Result<Rc<Memory>, DeviceError> {
    buffer.storage::<Rc<Memory>>().cloned().ok_or_else(|| {
        DeviceError::Failed(Reason::new(
            "buffer",
            "it belongs to another device",
            "this is a defect of this program: please report it with the case's id",
        ))
    })
}

fn out_of_range(buffer: &Buffer, offset: u64, count: usize) -> DeviceError {
    DeviceError::Failed(Reason::new(
        "copy",
        format!("{count} bytes from {offset} on do not fit in a buffer of {}", buffer.bytes()),
        "this is a defect of this program: please report it with the case's id",
    ))
}

/// The host's clock. A mark is its own time in nanoseconds since the stream was made.
struct HostClock {
    start: Instant,
}

impl Stream for HostClock {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        Ok(StreamEvent(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)))
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        match to.0.checked_sub(from.0) {
            Some(elapsed) => Ok(elapsed as f64),
            None => Err(DeviceError::Failed(Reason::new(
                "time between two marks",
                "the second lies before the first",
                "this is a defect of this program: please report it with the case's id",
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
