//! A plan bound to its buffers, ready for repeated launches.

use std::ffi::c_void;
use std::rc::Rc;

use rsb_model::Dtype;

use super::core::Core;
use super::memory::Allocation;
use super::program::{self, Program};
use super::runtime::{ClError, call};
use crate::portable::{Argument, GROUP, Plan, Step, Work, defect, unsupported_error};
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::held;

/// A bound plan.
pub(super) struct Bound {
    launches: Vec<Launch>,
    provider: &'static str,
    /// Buffers that the kernel arguments refer to.
    _buffers: Vec<Buffer>,
    _scratch: Vec<Allocation>,
}

/// One kernel with its arguments set.
struct Launch {
    kernel: program::Kernel,
    global: usize,
    local: usize,
}

impl Bound {
    /// Binds the kernels of `program` to the buffers and arguments of `plan`. Kernels that allow
    /// any group size use groups of `block` work-items.
    pub(super) fn new(
        program: &Rc<Program>,
        core: &Rc<Core>,
        plan: &Plan,
        buffers: &[Buffer],
        block: Option<u32>,
    ) -> Result<Self, DeviceError> {
        let rooms = plan.scratch.iter().map(|&bytes| Allocation::new_zeroed(core, bytes));
        let scratch = rooms.collect::<Result<Vec<_>, _>>()?;
        let mut launches = Vec::new();
        for step in &plan.steps {
            let kernel = program.kernel(step.kernel)?;
            let memory = Memory { buffers, scratch: &scratch };
            for (index, argument) in step.arguments.iter().enumerate() {
                set(&kernel, index as u32, *argument, plan.dtype, &memory)?;
            }
            launches.push(size_launch(kernel, step, block)?);
        }
        Ok(Self {
            launches,
            provider: plan.provider,
            _buffers: buffers.to_vec(),
            _scratch: scratch,
        })
    }

    /// Queues every launch once, in order.
    pub(super) fn start(&self) -> Result<(), ClError> {
        let none = std::ptr::null_mut::<c_void>();
        for Launch { kernel, global, local } in &self.launches {
            let core = kernel.core();
            core.queue(|event| {
                // SAFETY: queue and kernel are live, every argument is set, and `self` keeps the
                // memory of the arguments.
                unsafe {
                    call!(
                        core.runtime,
                        clEnqueueNDRangeKernel(
                            core.queue,
                            kernel.object,
                            1,
                            none.cast(),
                            std::ptr::from_ref(global),
                            std::ptr::from_ref(local),
                            0,
                            none.cast(),
                            event
                        )
                    )
                }
            })?;
        }
        Ok(())
    }
}

impl Kernel for Bound {
    fn launch(&mut self) -> Result<(), DeviceError> {
        Ok(self.start()?)
    }

    fn provider(&self) -> String {
        self.provider.to_owned()
    }
}

/// Buffers that arguments refer to.
struct Memory<'a> {
    buffers: &'a [Buffer],
    scratch: &'a [Allocation],
}

fn set(
    kernel: &program::Kernel,
    index: u32,
    argument: Argument,
    dtype: Dtype,
    memory: &Memory<'_>,
) -> Result<(), DeviceError> {
    // Kernels compute in `dtype`, which determines the type of numbers.
    match argument {
        Argument::Buffer(buffer) => {
            set_value(kernel, index, &allocation(memory.buffers.get(buffer))?.object())
        }
        Argument::Scratch(room) => {
            let room = memory.scratch.get(room).ok_or_else(|| {
                defect("plan", "it refers to a scratch buffer that it does not have")
            })?;
            set_value(kernel, index, &room.object())
        }
        Argument::Count(count) => set_value(kernel, index, &count),
        Argument::Number(number) if dtype == Dtype::F64 => set_value(kernel, index, &number),
        Argument::Number(number) => set_value(kernel, index, &(number as f32)),
    }
}

fn set_value<T: Copy>(kernel: &program::Kernel, index: u32, value: &T) -> Result<(), DeviceError> {
    let core = kernel.core();
    let value: *const T = value;
    // SAFETY: the value is live during the call, which copies it; the driver checks its size
    // against the parameter.
    Ok(unsafe {
        call!(core.runtime, clSetKernelArg(kernel.object, index, size_of::<T>(), value.cast()))
    }?)
}

/// Returns the launch with its grid and group sizes. Fails if the device does not support the group
/// size.
fn size_launch(
    kernel: program::Kernel,
    step: &Step,
    block: Option<u32>,
) -> Result<Launch, DeviceError> {
    let most =
        kernel.most_items()?.min(usize::try_from(kernel.core().limits.group).unwrap_or(usize::MAX));
    let local = match (step.work, block) {
        (Work::Items(_), Some(size)) => size as usize,
        (Work::Items(_), None) => (GROUP as usize).min(most),
        (Work::Groups(_), _) => GROUP as usize,
        (Work::One, _) => 1,
    };
    if local == 0 || local > most {
        return Err(unsupported_error(
            &format!("groups of {local} work-items"),
            format!("this device supports group sizes of 1 to {most} for {}", step.kernel),
            "choose another block size",
        ));
    }
    let global = match step.work {
        Work::Items(items) => {
            usize::try_from(items.max(1)).unwrap_or(usize::MAX / 2).div_ceil(local) * local
        }
        Work::Groups(groups) => groups as usize * local,
        Work::One => 1,
    };
    Ok(Launch { kernel, global, local })
}

/// Returns the OpenCL storage of a buffer.
pub(super) fn allocation(buffer: Option<&Buffer>) -> Result<&Allocation, DeviceError> {
    held::storage(buffer)
}
