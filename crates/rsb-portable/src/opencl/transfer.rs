//! Copies: between host and device from memory of the driver or of the program, and within the
//! device.

use std::ffi::c_void;
use std::rc::Rc;

use super::api::{Object, flag};
use super::core::Core;
use super::launch::allocation;
use super::memory::HostBlock;
use super::runtime::{ClError, call};
use crate::portable::defect;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::held::HostSide;
use rsb_device::operation::{HostMemory, Transfer, TransferDirection};

/// A [`Transfer`], bound.
pub(super) struct TransferKernel {
    core: Rc<Core>,
    ends: TransferRoute,
    bytes: usize,
    /// What arrives on the host is sent on to the second buffer once, so that it can be checked.
    shown: bool,
    from: Buffer,
    to: Buffer,
}

/// Between what it goes.
enum TransferRoute {
    Within,
    FromHost(HostBlock),
    ToHost(HostBlock),
}

/// Binds `op` to its two buffers.
pub(super) fn kernel(
    core: &Rc<Core>,
    op: &Transfer,
    buffers: &[Buffer],
) -> Result<TransferKernel, DeviceError> {
    let [from, to] = buffers else { return Err(defect("transfer", "it has two buffers")) };
    let bytes = usize::try_from(op.bytes.min(from.bytes()).min(to.bytes())).unwrap_or(usize::MAX);
    let block = || match op.host_memory {
        HostMemory::Pinned => HostBlock::new_pinned(core, bytes),
        HostMemory::Pageable => Ok(HostBlock::pageable(bytes)),
    };
    let ends = match op.direction {
        TransferDirection::DeviceToDevice => TransferRoute::Within,
        TransferDirection::Bidirectional => return Err(crate::portable::both_ways_at_once()),
        TransferDirection::DeviceToHost => TransferRoute::ToHost(block()?),
        TransferDirection::HostToDevice => {
            let mut block = block()?;
            // SAFETY: the block is this long, and nobody else knows it yet.
            let room =
                unsafe { std::slice::from_raw_parts_mut(block.address().cast::<u8>(), bytes) };
            allocation(Some(from))?.copy(0, HostSide::To(room))?;
            TransferRoute::FromHost(block)
        }
    };
    Ok(TransferKernel {
        core: Rc::clone(core),
        ends,
        bytes,
        shown: false,
        from: from.clone(),
        to: to.clone(),
    })
}

/// Binds a copy of all of `from` to the start of `to` on one device.
pub(super) fn copy(
    core: &Rc<Core>,
    from: &Buffer,
    to: &Buffer,
) -> Result<TransferKernel, DeviceError> {
    let here =
        |buffer: &Buffer| allocation(Some(buffer)).map(|memory| Rc::ptr_eq(memory.core(), core));
    if !here(from)? || !here(to)? {
        return Err(crate::portable::unsupported_error(
            "copies between devices",
            "a context of OpenCL has one device here",
            "measure them on a backend that can, such as rocm or cuda",
        ));
    }
    if from.bytes() > to.bytes() {
        return Err(defect("copy", "the target is smaller than the source"));
    }
    let bytes = usize::try_from(from.bytes()).unwrap_or(usize::MAX);
    Ok(TransferKernel {
        core: Rc::clone(core),
        ends: TransferRoute::Within,
        bytes,
        shown: false,
        from: from.clone(),
        to: to.clone(),
    })
}

impl TransferKernel {
    fn start(&mut self) -> Result<(), DeviceError> {
        let (from, to) =
            (allocation(Some(&self.from))?.object(), allocation(Some(&self.to))?.object());
        let (core, bytes) = (&self.core, self.bytes);
        match &mut self.ends {
            TransferRoute::Within => within(core, from, to, bytes)?,
            TransferRoute::FromHost(block) => from_host(core, block.address(), to, bytes)?,
            TransferRoute::ToHost(block) => to_host(core, from, block.address(), bytes)?,
        }
        Ok(())
    }

    fn show(&mut self) -> Result<(), DeviceError> {
        let TransferRoute::ToHost(block) = &mut self.ends else { return Ok(()) };
        self.core.synchronize()?;
        // SAFETY: the block is this long, nothing writes to it after the wait above, and it
        // outlives the copy.
        let arrived =
            unsafe { std::slice::from_raw_parts(block.address().cast::<u8>(), self.bytes) };
        Ok(allocation(Some(&self.to))?.copy(0, HostSide::From(arrived))?)
    }
}

impl Kernel for TransferKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.start()?;
        if !self.shown {
            self.shown = true;
            self.show()?;
        }
        Ok(())
    }

    fn provider(&self) -> String {
        "opencl".to_owned()
    }
}

impl Drop for TransferKernel {
    fn drop(&mut self) {
        // The host's memory must outlive what is under way.
        let _ = self.core.synchronize();
    }
}

fn within(core: &Core, from: Object, to: Object, bytes: usize) -> Result<(), ClError> {
    let none = std::ptr::null_mut::<c_void>();
    core.queue(|event| {
        // SAFETY: both buffers are live, of this context, and at least this long.
        unsafe {
            call!(
                core.runtime,
                clEnqueueCopyBuffer(core.queue, from, to, 0, 0, bytes, 0, none.cast(), event)
            )
        }
    })
}

fn from_host(core: &Core, from: *mut c_void, to: Object, bytes: usize) -> Result<(), ClError> {
    let none = std::ptr::null_mut::<c_void>();
    let blocking = flag::NOT_BLOCKING;
    core.queue(|event| {
        // SAFETY: both ends are this long; the kernel that owns the host's waits before it gives it
        // back.
        unsafe {
            call!(
                core.runtime,
                clEnqueueWriteBuffer(
                    core.queue,
                    to,
                    blocking,
                    0,
                    bytes,
                    from,
                    0,
                    none.cast(),
                    event
                )
            )
        }
    })
}

fn to_host(core: &Core, from: Object, to: *mut c_void, bytes: usize) -> Result<(), ClError> {
    let none = std::ptr::null_mut::<c_void>();
    let blocking = flag::NOT_BLOCKING;
    core.queue(|event| {
        // SAFETY: as above.
        unsafe {
            call!(
                core.runtime,
                clEnqueueReadBuffer(
                    core.queue,
                    from,
                    blocking,
                    0,
                    bytes,
                    to,
                    0,
                    none.cast(),
                    event
                )
            )
        }
    })
}
