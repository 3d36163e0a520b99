//! CPU backend: native kernels, BLAS libraries found at run time, and the host clock.
//!
//! Launches are synchronous, so the host clock is also the device clock.

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

/// The CPU backend, which is always available.
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
                "choose cpu:0",
            )),
        }
    }
}

/// A device that comprises every usable thread of the CPU.
pub struct CpuDevice {
    info: DeviceInfo,
    /// Thread pools by number of threads, created once because pinned threads are expensive to
    /// start.
    pools: RefCell<BTreeMap<usize, Rc<ThreadPool>>>,
    /// Buffer that is read and rewritten to flush the caches, kept between calls.
    flush: RefCell<Option<Memory>>,
    /// Node placement of threads and memory, if requested.
    place: RefCell<Option<numa::Place>>,
}

impl CpuDevice {
    /// Creates a device from the CPUs that this process can currently use.
    pub fn new() -> Self {
        Self {
            info: host_cpu::read(),
            pools: RefCell::default(),
            flush: RefCell::default(),
            place: RefCell::default(),
        }
    }

    /// Returns a pool with the number of threads requested by the options.
    fn pool(&self, options: &Options) -> Result<Rc<ThreadPool>, DeviceError> {
        let threads = options.threads.unwrap_or(1).max(1);
        let usable = host_cpu::usable_threads();
        if threads > usable {
            return Err(DeviceError::Unsupported(Reason::new(
                format!("{threads} threads"),
                format!("this process may use only {usable}"),
                "choose fewer threads, or allow the process more CPUs (taskset, control group)",
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
                "the number or size of the buffers does not match the operation",
                "report this as a bug with the case id",
            )));
        }
        let memories = buffers.iter().map(memory_of).collect::<Result<Vec<_>, _>>()?;
        kernels::prepare(operation, options, memories, self.pool(options)?)
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        Ok(Box::new(HostClock { start: Instant::now() }))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        /// Most bytes to flush: about twice 480 MiB, the largest known L3 cache. Flushing more is
        /// not worth the time.
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

/// Returns the CPU memory of a buffer.
fn memory_of(buffer: &Buffer) -> Result<Rc<Memory>, DeviceError> {
    buffer.storage::<Rc<Memory>>().cloned().ok_or_else(|| {
        DeviceError::Failed(Reason::new(
            "buffer",
            "it belongs to another device",
            "report this as a bug with the case id",
        ))
    })
}

fn out_of_range(buffer: &Buffer, offset: u64, count: usize) -> DeviceError {
    DeviceError::Failed(Reason::new(
        "copy",
        format!("{count} bytes at offset {offset} do not fit in a buffer of {}", buffer.bytes()),
        "report this as a bug with the case id",
    ))
}

/// The host clock as a stream. An event is the time in nanoseconds since the stream was created.
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
                "time between two events",
                "the second event is before the first",
                "report this as a bug with the case id",
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
