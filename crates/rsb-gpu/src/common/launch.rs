//! A kernel bound to its arguments, ready for repeated launches.

use std::ffi::c_void;
use std::rc::Rc;

use super::driver::KernelLaunch;
use super::memory::Allocation;
use super::module::Function;
use super::plan::{Argument, LaunchPlan};
use rsb_device::device::{Buffer, DeviceError, Kernel, Launcher};

/// A bound kernel. The values and the list of their addresses are boxed, so that they never move.
pub(super) struct Bound {
    function: Function,
    grid: u32,
    block: u32,
    /// Kept alive for `addresses`, which point into it.
    _values: Box<[u64]>,
    addresses: Box<[*mut c_void]>,
    /// Memory that addresses among the values point to.
    _buffers: Vec<Buffer>,
    _scratch: Vec<Allocation>,
}

impl Bound {
    /// Binds `function` to the arguments of `plan`.
    pub(super) fn new(
        function: Function,
        plan: &LaunchPlan,
        buffers: &[Buffer],
    ) -> Result<Self, DeviceError> {
        let core = Rc::clone(function.core());
        let (mut values, mut scratch) = (Vec::new(), Vec::new());
        for argument in &plan.arguments {
            values.push(match *argument {
                Argument::Buffer(index) => address_of(buffers.get(index))?,
                Argument::Count(count) => count,
                Argument::Number(number) => number.to_bits(),
                Argument::Scratch { .. } | Argument::Counter => {
                    let bytes = match *argument {
                        Argument::Scratch { bytes_per_block } => {
                            bytes_per_block.saturating_mul(u64::from(plan.grid))
                        }
                        _ => 8,
                    };
                    let room = Allocation::new_zeroed(&core, bytes.max(8))?;
                    let address = room.address() as u64;
                    scratch.push(room);
                    address
                }
            });
        }
        let mut values = values.into_boxed_slice();
        let addresses = values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
        Ok(Self {
            function,
            grid: plan.grid,
            block: plan.block,
            _values: values,
            addresses,
            _buffers: buffers.to_vec(),
            _scratch: scratch,
        })
    }

    fn raw(&mut self) -> KernelLaunch {
        KernelLaunch {
            function: self.function.handle,
            grid: self.grid,
            block: self.block,
            arguments: self.addresses.as_mut_ptr(),
            stream: self.function.core().stream,
        }
    }

    /// Launches the kernel once in the stream of its device.
    pub(super) fn start(&mut self) -> Result<(), DeviceError> {
        let raw = self.raw();
        let core = self.function.core();
        core.activate()?;
        // SAFETY: the kernel catalog and a test of the sources ensure that there is one address for
        // each parameter, each of 8 bytes. `self` keeps the memory behind the addresses alive;
        // stream and function are live.
        unsafe { core.driver.launch(raw) }
    }

    /// Returns a closure that launches the kernel from another thread.
    fn launcher(&mut self) -> Result<Launcher<'_>, DeviceError> {
        let raw = self.raw();
        let core = self.function.core();
        let mut activation = Some(core.driver.activation(core.ordinal)?);
        // SAFETY: as above; the launcher borrows `self`, which keeps everything alive.
        let mut launch = unsafe { core.driver.launcher(raw) }?;
        Ok(Box::new(move || {
            if let Some(activate) = activation.take() {
                activate()?;
            }
            launch()
        }))
    }
}

fn address_of(buffer: Option<&Buffer>) -> Result<u64, DeviceError> {
    Ok(allocation(buffer)?.address() as u64)
}

/// Returns the GPU memory of a buffer.
pub(super) fn allocation(buffer: Option<&Buffer>) -> Result<&Allocation, DeviceError> {
    rsb_device::held::storage(buffer)
}

/// A kernel of this program.
pub(super) struct NativeKernel {
    pub(super) bound: Bound,
    pub(super) provider: &'static str,
}

impl Kernel for NativeKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.bound.start()
    }

    fn launcher(&mut self) -> Option<Launcher<'_>> {
        self.bound.launcher().ok()
    }

    fn provider(&self) -> String {
        self.provider.to_owned()
    }
}
