//! Implementation of `Device` and `Kernel` for OpenCL.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use rsb_model::{Dtype, Reason};

use super::core::Core;
use super::launch::Bound;
use super::memory::Allocation;
use super::platform::DeviceCandidate;
use super::program::Program;
use super::runtime::{ClError, Runtime, call};
use super::stream::{ClStream, ClockReading, choose_clock};
use super::transfer;
use crate::portable::{self, Module, Plan, Target};
use rsb_device::device::{
    Buffer, Device, DeviceError, DeviceInfo, Kernel, Options, Stream, StreamClock,
};
use rsb_device::held::{HostSide, LazyCell};
use rsb_device::operation::{Launch, LaunchMode, Operation, PointerChase};

/// Maximum operations of a product and of a convolution on a CPU. CPUs execute some billion
/// operations per second in products, and some hundred million in convolutions.
const MAX_CPU_OPERATIONS: [f64; 2] = [20e9, 1e9];

/// An open OpenCL device.
pub struct OpenclDevice {
    info: DeviceInfo,
    core: Rc<Core>,
    /// Programs, each built on first use.
    programs: RefCell<BTreeMap<(Module, Dtype), Rc<Program>>>,
    /// Bound flush kernel, kept for later flushes.
    flush: LazyCell<Bound>,
    /// Clock for timing, selected when the first stream is created.
    clock: OnceCell<StreamClock>,
}

impl OpenclDevice {
    pub(super) fn open(runtime: Rc<Runtime>, found: DeviceCandidate) -> Result<Self, Reason> {
        let core = Core::open(runtime, &found)?;
        Ok(Self {
            info: found.info,
            core,
            programs: RefCell::default(),
            flush: LazyCell::default(),
            clock: OnceCell::new(),
        })
    }

    fn program(&self, plan: &Plan) -> Result<Rc<Program>, DeviceError> {
        let key = (plan.module, plan.dtype);
        let known = self.programs.borrow().get(&key).cloned();
        if let Some(program) = known {
            return Ok(program);
        }
        let program = Program::build(&self.core, plan.module, plan.dtype)?;
        self.programs.borrow_mut().insert(key, Rc::clone(&program));
        Ok(program)
    }

    fn bind(
        &self,
        plan: &Plan,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Bound, DeviceError> {
        Bound::new(&self.program(plan)?, &self.core, plan, buffers, options.block_size)
    }

    fn target(&self) -> Target {
        Target {
            device_type: self.info.device_type,
            units: self.info.units,
            most_groups: u32::MAX,
            store_bytes: 1,
            matrix: &[],
        }
    }

    /// Binds the flush kernel to two buffers of twice the last-level cache; see
    /// [`portable::flush`].
    fn flush_kernel(&self) -> Result<Bound, DeviceError> {
        let bytes = portable::flush_bytes(&self.info).min(self.core.limits.buffer_bytes);
        let buffers = [bytes, bytes, 8]
            .into_iter()
            .map(|bytes| self.allocate(bytes))
            .collect::<Result<Vec<_>, _>>()?;
        self.bind(
            &portable::flush(bytes / portable::PACK, self.target()),
            &Options::default(),
            &buffers,
        )
    }

    /// Times a kernel of several milliseconds by the driver's and the host's clock, and selects the
    /// one to use.
    fn believed_clock(&self) -> Result<StreamClock, DeviceError> {
        const LEAST_NS: f64 = 4e6;
        const MOST_ACCESSES: u64 = 1 << 26;
        const READINGS: usize = 3;
        let mut accesses = 1 << 12;
        while accesses < MOST_ACCESSES && self.read_clocks(accesses)?.host_ns < LEAST_NS {
            accesses *= 4;
        }
        let readings =
            (0..READINGS).map(|_| self.read_clocks(accesses)).collect::<Result<Vec<_>, _>>()?;
        Ok(choose_clock(&readings))
    }

    /// Times `accesses` dependent reads of one word by one work-item, with both clocks.
    fn read_clocks(&self, accesses: u64) -> Result<ClockReading, DeviceError> {
        let chase = PointerChase { nodes: 1, line_bytes: 64, accesses, seed: 0 };
        // The buffer is zero, so the first word contains its own offset.
        let buffers = [self.allocate(chase.bytes())?, self.allocate(8)?];
        let bound = self.bind(&portable::chase(&chase), &Options::default(), &buffers)?;
        // Drivers may compile or load the kernel at the first launch.
        bound.start()?;
        let mut stream = ClStream::new(&self.core, StreamClock::Device);
        stream.synchronize()?;
        let from = stream.record()?;
        let begin = Instant::now();
        bound.start()?;
        let to = stream.record()?;
        stream.synchronize()?;
        let host_ns = begin.elapsed().as_nanos() as f64;
        Ok(ClockReading { device_ns: stream.elapsed_ns(from, to).unwrap_or(f64::NAN), host_ns })
    }

    fn launches(&self, op: Launch) -> Result<Launches, DeviceError> {
        if op.mode == LaunchMode::Graph {
            return Err(portable::unsupported_error(
                "launches as a graph",
                "command buffers are still a provisional extension of OpenCL",
                "choose launch_mode=single or back-to-back, or measure graphs on rocm, cuda or \
                 vulkan",
            ));
        }
        let empty = self.bind(&portable::empty(), &Options::default(), &[])?;
        Ok(Launches { core: Rc::clone(&self.core), empty, kernels: op.kernels })
    }
}

impl Device for OpenclDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError> {
        portable::check_size(bytes, self.core.limits.buffer_bytes, &self.info)?;
        Ok(Buffer::new(bytes, Allocation::new_zeroed(&self.core, bytes)?))
    }

    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        portable::copy::<Allocation>(buffer, offset, HostSide::From(bytes))
    }

    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        portable::copy::<Allocation>(buffer, offset, HostSide::To(bytes))
    }

    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        portable::check_buffers(operation, buffers, |buffer| {
            buffer
                .storage::<Allocation>()
                .is_some_and(|memory| Rc::ptr_eq(memory.core(), &self.core))
        })?;
        portable::check_patience(operation, &self.info, MAX_CPU_OPERATIONS)?;
        match operation {
            Operation::Transfer(op) => Ok(Box::new(transfer::kernel(&self.core, op, buffers)?)),
            Operation::Launch(op) => Ok(Box::new(self.launches(*op)?)),
            _ => {
                let plan = portable::plan(operation, options, self.target())?;
                Ok(Box::new(self.bind(&plan, options, buffers)?))
            }
        }
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        let clock = *self.clock.get_or_init(|| self.believed_clock().unwrap_or(StreamClock::Host));
        Ok(Box::new(ClStream::new(&self.core, clock)))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        self.flush.with(|| self.flush_kernel(), |bound| Ok(bound.start()?))
    }

    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Ok(Box::new(transfer::copy(&self.core, from, to)?))
    }
}

/// Empty kernels, each launched by a separate call.
struct Launches {
    core: Rc<Core>,
    empty: Bound,
    kernels: u32,
}

impl Kernel for Launches {
    fn launch(&mut self) -> Result<(), DeviceError> {
        (0..self.kernels).try_for_each(|_| self.empty.start())?;
        // SAFETY: the queue lives as long as the core. Drivers may defer launches until a flush.
        let flushed: Result<(), ClError> =
            unsafe { call!(self.core.runtime, clFlush(self.core.queue)) };
        Ok(flushed?)
    }

    fn provider(&self) -> String {
        "native".to_owned()
    }
}
