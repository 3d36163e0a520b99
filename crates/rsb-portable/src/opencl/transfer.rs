//! Copies between host and device, with pinned or pageable memory, and within the device.

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

/// A bound [`Transfer`].
pub(super) struct TransferKernel {
    core: Rc<Core>,
    ends: TransferRoute,
    bytes: usize,
    /// Whether data received on the host was already copied to the second buffer. The first launch
    /// does this, so that the data can be verified.
    shown: bool,
    from: Buffer,
    to: Buffer,
}

/// Source and destination of a copy.
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
    let [from, to] = buffers else { return Err(defect("transfer", "it needs two buffers")) };
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
            // SAFETY: the block has `bytes` bytes and was just allocated, so there is no other
            // reference to it.
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
            "this backend creates one OpenCL context per device",
            "choose a backend that supports copies between devices, such as rocm or cuda",
        ));
    }
    if from.bytes() > to.bytes() {
        return Err(defect("copy", "the destination is smaller than the source"));
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
        // SAFETY: the block has `bytes` bytes, all transfers to it have completed, and it outlives
        // the slice.
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
        // Host memory must outlive pending copies.
        let _ = self.core.synchronize();
    }
}

fn within(core: &Core, from: Object, to: Object, bytes: usize) -> Result<(), ClError> {
    let none = std::ptr::null_mut::<c_void>();
    core.queue(|event| {
        // SAFETY: both buffers are live, belong to this context, and have at least this size.
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
        // SAFETY: both ends have at least `bytes` bytes, and the kernel that owns the host memory
        // waits for the copy before freeing it.
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
        // SAFETY: both ends have at least `bytes` bytes, and the kernel that owns the host memory
        // waits for the copy before freeing it.
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
