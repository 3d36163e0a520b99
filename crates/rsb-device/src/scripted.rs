//! A device for tests: correct results from the reference, a clock that follows a script, and
//! faults on demand.
//!
//! It runs in the process, needs no hardware, and its measurements are meaningless: everything is
//! simulated.

mod kernels;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rsb_model::environment::Cache;
use rsb_model::{DeviceRef, DeviceType, Reason};

use crate::device::{
    Buffer, CacheCounters, CacheCounts, Device, DeviceError, DeviceInfo, Kernel, Occupancy,
    Options, Stream, StreamEvent, no_peer,
};
use crate::operation::Operation;
use kernels::{ScriptedCopy, ScriptedGraph, ScriptedKernel};

/// Duration of each launch.
pub enum Clock {
    /// The same duration for all launches, in nanoseconds.
    Constant(f64),
    /// A list of durations in nanoseconds, one per launch from the first on, repeated when
    /// exhausted.
    List(Vec<f64>),
    /// A function of the launch number (from 0) and the operation, in nanoseconds.
    Function(ClockFunction),
}

/// Function from the number of a launch and its operation to its duration in nanoseconds.
pub type ClockFunction = Box<dyn Fn(u64, &Operation) -> f64>;

impl Clock {
    /// Returns the clock of a machine with 10 GFLOP/s and 10 GB/s that takes at least one
    /// microsecond for anything, so that every measurement is plausible.
    pub fn plausible() -> Self {
        Self::Function(Box::new(|_, operation| {
            let waiting = match operation {
                Operation::PointerChase(chase) => chase.accesses as f64 * 5.0,
                Operation::Launch(launch) => f64::from(launch.kernels) * 1000.0,
                _ => 0.0,
            };
            (operation.flops() / 10.0).max(operation.bytes_moved() / 10.0).max(waiting).max(1000.0)
        }))
    }
}

/// A simulated fault. Numbers count from 0 over the life of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// One allocation fails for lack of memory.
    OutOfMemory {
        /// Number of the allocation.
        allocation: u64,
    },
    /// One launch fails.
    LaunchFailure {
        /// Number of the launch.
        launch: u64,
    },
    /// Results are wrong from one launch on: one bit of the last byte of the output is flipped.
    WrongResult {
        /// Number of the first affected launch.
        launch: u64,
    },
    /// The first element of results is NaN from one launch on.
    NotANumber {
        /// Number of the first affected launch.
        launch: u64,
    },
    /// The clock reports a fixed value for any interval: zero, NaN, or an absurdly small time.
    LyingClock {
        /// Reported time in nanoseconds.
        elapsed_ns: f64,
    },
    /// A graph launches none of the recorded kernels.
    EmptyGraph,
    /// Everything fails from one launch on.
    DeviceLost {
        /// Number of the first affected launch.
        launch: u64,
    },
}

/// Behavior of a [`ScriptedDevice`].
pub struct Script {
    /// Duration of launches.
    pub clock: Clock,
    /// Faults to simulate.
    pub faults: Vec<Fault>,
    /// Values of the cache counters, if the device has any.
    pub counters: Option<CacheCounts>,
    /// Bandwidth of the link to the host in GB/s, if the device reports it.
    pub link_gb_s: Option<f64>,
    /// Identity and limits of the device. The type is always `Simulated`.
    pub info: DeviceInfo,
    /// Number of other devices of the backend, which follow the same script independently.
    pub peers: u32,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            clock: Clock::plausible(),
            faults: Vec::new(),
            counters: Some(CacheCounts { reads: 1000, misses: 50 }),
            link_gb_s: None,
            info: DeviceInfo {
                units: 4,
                usable_memory_bytes: 1 << 30,
                caches: vec![
                    Cache { level: 1, size_bytes: 32 << 10, shared_by: Some(1) },
                    Cache { level: 2, size_bytes: 1 << 20, shared_by: Some(4) },
                ],
                ..DeviceInfo::new(DeviceRef::CPU, "scripted device", DeviceType::Simulated)
            },
            peers: 7,
        }
    }
}

impl Script {
    /// Returns the default script with this fault.
    pub fn with_fault(fault: Fault) -> Self {
        Self { faults: vec![fault], ..Self::default() }
    }

    /// Returns the default script with this clock.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }
}

/// Counts of the calls to a [`ScriptedDevice`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScriptedCounts {
    /// Allocations attempted.
    pub allocations: u64,
    /// Buffers not yet freed.
    pub live_buffers: u64,
    /// Launches attempted.
    pub launches: u64,
    /// Cache flushes.
    pub flushes: u64,
}

/// A simulated device that follows a [`Script`].
pub struct ScriptedDevice {
    script: Rc<Script>,
    info: DeviceInfo,
    state: Rc<RefCell<State>>,
    /// Peers, opened on first use; the slot of this device is unused.
    peers: Vec<OnceCell<Box<ScriptedDevice>>>,
}

#[derive(Debug, Default)]
struct State {
    counts: ScriptedCounts,
    live_bytes: u64,
    now_ns: f64,
    /// Number of copies to the device.
    writes: u64,
    marks: Vec<f64>,
}

/// Memory of the scripted device, which tracks its live bytes.
struct Memory {
    bytes: RefCell<Vec<u8>>,
    state: Rc<RefCell<State>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut state = self.state.borrow_mut();
        state.counts.live_buffers -= 1;
        state.live_bytes -= self.bytes.borrow().len() as u64;
    }
}

impl ScriptedDevice {
    /// Creates a device at time zero with no calls made.
    pub fn new(mut script: Script) -> Self {
        script.info.device_type = DeviceType::Simulated;
        let info = script.info.clone();
        Self::following(Rc::new(script), info)
    }

    fn following(script: Rc<Script>, info: DeviceInfo) -> Self {
        let peers = (0..=script.peers).map(|_| OnceCell::new()).collect();
        Self { script, info, state: Rc::default(), peers }
    }

    /// Returns the position of the device, from its name.
    fn index(&self) -> u32 {
        self.info.device.index
    }

    /// Records a launch and advances the clock, unless the script makes the launch fail.
    fn record_launch(&self, duration_ns: impl FnOnce(u64) -> f64) -> Result<u64, DeviceError> {
        let launch = {
            let mut state = self.state.borrow_mut();
            state.counts.launches += 1;
            state.counts.launches - 1
        };
        self.check_present()?;
        if self.has(|fault| *fault == Fault::LaunchFailure { launch }) {
            return Err(broken("launch", "the device refused it", "check the driver log"));
        }
        self.state.borrow_mut().now_ns += duration_ns(launch);
        Ok(launch)
    }

    /// Returns the counts of calls made.
    pub fn counts(&self) -> ScriptedCounts {
        self.state.borrow().counts
    }

    fn has(&self, matches: impl Fn(&Fault) -> bool) -> bool {
        self.script.faults.iter().any(matches)
    }

    fn check_present(&self) -> Result<(), DeviceError> {
        let launches = self.counts().launches;
        if self.has(|fault| matches!(fault, Fault::DeviceLost { launch } if launches > *launch)) {
            return Err(broken("device", "it is lost", "reset the device"));
        }
        Ok(())
    }

    fn duration(&self, launch: u64, operation: &Operation) -> f64 {
        match &self.script.clock {
            Clock::Constant(ns) => *ns,
            Clock::List(list) => {
                list.get((launch % list.len().max(1) as u64) as usize).copied().unwrap_or_default()
            }
            Clock::Function(function) => function(launch, operation),
        }
    }
}

fn broken(what: &str, why: &str, cure: &str) -> DeviceError {
    DeviceError::Failed(Reason::new(what, why, cure))
}

fn memory(buffer: &Buffer) -> Result<&Rc<Memory>, DeviceError> {
    buffer.storage().ok_or_else(|| {
        broken(
            "buffer",
            "it belongs to another device",
            "use each buffer on the device that created it",
        )
    })
}

/// Returns the byte range of `count` bytes from `offset` on.
fn range(offset: u64, count: usize) -> std::ops::Range<usize> {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    offset..offset.saturating_add(count)
}

fn out_of_range() -> DeviceError {
    broken("copy", "the range does not fit in the buffer", "copy less")
}

impl Device for ScriptedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError> {
        self.check_present()?;
        let allocation = {
            let counts = &mut self.state.borrow_mut().counts;
            counts.allocations += 1;
            counts.allocations - 1
        };
        let refused = self.has(|fault| *fault == Fault::OutOfMemory { allocation });
        if refused || bytes > self.info.usable_memory_bytes {
            return Err(broken("memory", "the device is out of memory", "choose a smaller size"));
        }
        let bytes_kept = RefCell::new(vec![0; usize::try_from(bytes).unwrap_or_default()]);
        {
            let mut state = self.state.borrow_mut();
            state.counts.live_buffers += 1;
            state.live_bytes += bytes;
        }
        Ok(Buffer::new(bytes, Rc::new(Memory { bytes: bytes_kept, state: Rc::clone(&self.state) })))
    }

    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check_present()?;
        let mut kept = memory(buffer)?.bytes.borrow_mut();
        kept.get_mut(range(offset, bytes.len())).ok_or_else(out_of_range)?.copy_from_slice(bytes);
        self.state.borrow_mut().writes += 1;
        Ok(())
    }

    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.check_present()?;
        let kept = memory(buffer)?.bytes.borrow();
        bytes.copy_from_slice(kept.get(range(offset, bytes.len())).ok_or_else(out_of_range)?);
        Ok(())
    }

    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        _: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        self.check_present()?;
        let memories =
            buffers.iter().map(|buffer| memory(buffer).cloned()).collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(ScriptedKernel {
            device: self,
            operation: operation.clone(),
            memories,
            computed: None,
        }))
    }

    fn record<'d>(
        &'d self,
        kernels: Vec<Box<dyn Kernel + 'd>>,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        self.check_present()?;
        let lost = self.has(|fault| *fault == Fault::EmptyGraph);
        Ok(Box::new(ScriptedGraph(if lost { Vec::new() } else { kernels })))
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        self.check_present()?;
        Ok(Box::new(ScriptedStream { device: self }))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        self.check_present()?;
        self.state.borrow_mut().counts.flushes += 1;
        Ok(())
    }

    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        self.check_present()?;
        let (from, to) = (Rc::clone(memory(from)?), Rc::clone(memory(to)?));
        Ok(Box::new(ScriptedCopy { device: self, from, to }))
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.info.usable_memory_bytes.saturating_sub(self.state.borrow().live_bytes))
    }

    fn peers(&self) -> Vec<u32> {
        (0..=self.script.peers).filter(|&index| index != self.index()).collect()
    }

    fn peer(&self, index: u32) -> Result<&dyn Device, DeviceError> {
        let slot = self
            .peers
            .get(index as usize)
            .filter(|_| index != self.index())
            .ok_or_else(|| no_peer(&self.info, index, &self.peers()))?;
        Ok(&**slot.get_or_init(|| {
            let device = DeviceRef { index, ..self.info.device };
            Box::new(Self::following(
                Rc::clone(&self.script),
                DeviceInfo { device, ..self.info.clone() },
            ))
        }))
    }

    fn link_gb_s(&self) -> Option<f64> {
        self.script.link_gb_s
    }

    /// Returns an occupancy of 50 % for any kernel.
    fn occupancy(&self, _: &Operation, options: &Options) -> Result<Occupancy, DeviceError> {
        let block_size = options.block_size.unwrap_or(256);
        Ok(Occupancy {
            block_size,
            grid_size: 64,
            blocks_per_unit: 1024 / block_size.max(1),
            max_threads_per_unit: 2048,
            registers: Some(32),
            shared_bytes: Some(0),
        })
    }

    fn counters(&self) -> Result<Box<dyn CacheCounters + '_>, Reason> {
        self.script
            .counters
            .map(|counts| Box::new(ScriptedCounters(counts)) as Box<dyn CacheCounters>)
            .ok_or_else(|| {
                Reason::new(
                    "cache counters",
                    "the script defines none",
                    "define counters in the script",
                )
            })
    }
}

struct ScriptedStream<'d> {
    device: &'d ScriptedDevice,
}

impl Stream for ScriptedStream<'_> {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        self.device.check_present()?;
        let mut state = self.device.state.borrow_mut();
        let now = state.now_ns;
        state.marks.push(now);
        Ok(StreamEvent(state.marks.len() as u64 - 1))
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.device.check_present()
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        let lie = self.device.script.faults.iter().find_map(|fault| match fault {
            Fault::LyingClock { elapsed_ns } => Some(*elapsed_ns),
            _ => None,
        });
        if let Some(lie) = lie {
            return Ok(lie);
        }
        let state = self.device.state.borrow();
        match (state.marks.get(from.0 as usize), state.marks.get(to.0 as usize)) {
            (Some(from), Some(to)) => Ok(*to - *from),
            _ => Err(broken(
                "time between two events",
                "an event does not belong to this stream",
                "record both events on this stream",
            )),
        }
    }
}

struct ScriptedCounters(CacheCounts);

impl CacheCounters for ScriptedCounters {
    fn start(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn stop(&mut self) -> Result<CacheCounts, DeviceError> {
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests;
