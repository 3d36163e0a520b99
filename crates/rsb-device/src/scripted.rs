//! A device for tests: right results from the reference, a clock that follows a script, and faults
//! on demand.
//!
//! It lives in the process, needs no hardware and its figures mean nothing: everything it runs is
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

/// How long each launch takes.
pub enum Clock {
    /// The same for all, in nanoseconds.
    Constant(f64),
    /// One after another, in nanoseconds, from the first launch on; over again when they are used
    /// up.
    List(Vec<f64>),
    /// From the number of the launch (from 0) and its operation, in nanoseconds.
    Function(ClockFunction),
}

/// Nanoseconds from the number of a launch and its operation.
pub type ClockFunction = Box<dyn Fn(u64, &Operation) -> f64>;

impl Clock {
    /// A machine of 10 GFLOP/s and 10 GB/s that needs a microsecond for anything: every figure is
    /// plausible.
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

/// What goes wrong. Numbers count from 0 over the life of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// This allocation finds no memory.
    OutOfMemory {
        /// Which.
        allocation: u64,
    },
    /// This launch fails.
    LaunchFailure {
        /// Which.
        launch: u64,
    },
    /// From this launch on results are wrong: one bit of the last byte of the output is turned.
    WrongResult {
        /// Which.
        launch: u64,
    },
    /// From this launch on the first element of a result is not a number.
    NotANumber {
        /// Which.
        launch: u64,
    },
    /// The clock gives this for any stretch of time: zero, NaN, or absurdly little.
    LyingClock {
        /// In nanoseconds.
        elapsed_ns: f64,
    },
    /// A graph starts nothing of what was recorded.
    EmptyGraph,
    /// From this launch on everything fails.
    DeviceLost {
        /// Which.
        launch: u64,
    },
}

/// How a [`ScriptedDevice`] behaves.
pub struct Script {
    /// Time.
    pub clock: Clock,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What its cache counters say, if it has any.
    pub counters: Option<CacheCounts>,
    /// What its link to the host says that it can carry, if it says so.
    pub link_gb_s: Option<f64>,
    /// What it says it is. Its kind is always `Simulated`.
    pub info: DeviceInfo,
    /// How many devices of its kind there are beside it; they follow the same script, each on its
    /// own.
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
                device: DeviceRef::CPU,
                name: "scripted device".to_owned(),
                device_type: DeviceType::Simulated,
                pci_address: None,
                driver: None,
                arch: None,
                units: 4,
                max_clock_mhz: None,
                power_level_mhz: None,
                usable_memory_bytes: 1 << 30,
                caches: vec![
                    Cache { level: 1, size_bytes: 32 << 10, shared_by: Some(1) },
                    Cache { level: 2, size_bytes: 1 << 20, shared_by: Some(4) },
                ],
                peak_bandwidth_gb_s: None,
            },
            peers: 7,
        }
    }
}

impl Script {
    /// The usual one with this fault.
    pub fn with_fault(fault: Fault) -> Self {
        Self { faults: vec![fault], ..Self::default() }
    }

    /// The usual one with this clock.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }
}

/// What was asked of a [`ScriptedDevice`] so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScriptedCounts {
    /// Allocations tried.
    pub allocations: u64,
    /// Buffers not freed yet.
    pub live_buffers: u64,
    /// Launches tried.
    pub launches: u64,
    /// Cache flushes.
    pub flushes: u64,
}

/// Follows a [`Script`].
pub struct ScriptedDevice {
    script: Rc<Script>,
    info: DeviceInfo,
    state: Rc<RefCell<State>>,
    /// Opened when they are first asked for; this one's own place is unused.
    peers: Vec<OnceCell<Box<ScriptedDevice>>>,
}

#[derive(Debug, Default)]
struct State {
    counts: ScriptedCounts,
    live_bytes: u64,
    now_ns: f64,
    /// Copies to the device so far.
    writes: u64,
    marks: Vec<f64>,
}

/// Memory of the scripted device, which counts how much of it is live.
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
    /// At time zero, nothing done yet.
    pub fn new(mut script: Script) -> Self {
        script.info.device_type = DeviceType::Simulated;
        let info = script.info.clone();
        Self::following(Rc::new(script), info)
    }

    fn following(script: Rc<Script>, info: DeviceInfo) -> Self {
        let peers = (0..=script.peers).map(|_| OnceCell::new()).collect();
        Self { script, info, state: Rc::default(), peers }
    }

    /// Its position, from its name.
    fn index(&self) -> u32 {
        self.info.device.index
    }

    /// One more launch, which takes its time unless the script says that it fails.
    fn record_launch(&self, duration_ns: impl FnOnce(u64) -> f64) -> Result<u64, DeviceError> {
        let launch = {
            let mut state = self.state.borrow_mut();
            state.counts.launches += 1;
            state.counts.launches - 1
        };
        self.check_present()?;
        if self.has(|fault| *fault == Fault::LaunchFailure { launch }) {
            return Err(broken("launch", "the device refused it", "look at the driver's log"));
        }
        self.state.borrow_mut().now_ns += duration_ns(launch);
        Ok(launch)
    }

    /// What was asked of it so far.
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
        broken("buffer", "it belongs to another device", "use each buffer where it was made")
    })
}

/// The bytes of `buffer` from `offset` on, as many as asked for.
fn range(offset: u64, count: usize) -> std::ops::Range<usize> {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    offset..offset.saturating_add(count)
}

fn out_of_range() -> DeviceError {
    broken("copy", "it does not fit in the buffer", "copy less")
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
            return Err(broken("memory", "the device has none left", "choose a smaller size"));
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

    /// Half full, whatever the kernel.
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
            .ok_or_else(|| Reason::new("cache counters", "the script has none", "give it some"))
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
                "time between two marks",
                "a mark is not of this stream",
                "record both on it",
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
