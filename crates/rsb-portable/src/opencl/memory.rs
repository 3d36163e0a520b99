//! Device buffers and pinned host memory, released when the last owner is dropped.

use std::ffi::c_void;
use std::rc::Rc;

use super::api::{Object, flag};
use super::core::Core;
use super::runtime::{ClError, call, create};
use crate::portable::PACK;
use crate::portable::Storage;
use rsb_device::device::DeviceError;
use rsb_device::held::HostSide;

/// A device buffer.
pub(super) struct Allocation {
    core: Rc<Core>,
    object: Object,
}

impl Allocation {
    /// Allocates `bytes` zeroed bytes, rounded up to a multiple of [`PACK`].
    pub(super) fn new_zeroed(core: &Rc<Core>, bytes: u64) -> Result<Self, ClError> {
        let size = usize::try_from(bytes.max(1).saturating_add(PACK - 1) / PACK * PACK)
            .unwrap_or(usize::MAX);
        let allocation = Self::plain(core, size, flag::MEM_READ_WRITE)?;
        let zero = 0_u32;
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: the pattern is a live variable of four bytes, and the buffer size is a multiple
        // of four.
        unsafe {
            call!(
                core.runtime,
                clEnqueueFillBuffer(
                    core.queue,
                    allocation.object,
                    (&raw const zero).cast(),
                    4,
                    0,
                    size,
                    0,
                    none.cast(),
                    none.cast()
                )
            )
        }?;
        core.synchronize()?;
        Ok(allocation)
    }

    fn plain(core: &Rc<Core>, size: usize, flags: u64) -> Result<Self, ClError> {
        // SAFETY: the context is live; no host memory is passed.
        let object = unsafe {
            create!(core.runtime, clCreateBuffer(core.context, flags, size, std::ptr::null_mut()))
        }?;
        Ok(Self { core: Rc::clone(core), object })
    }

    /// Returns the buffer handle.
    pub(super) const fn object(&self) -> Object {
        self.object
    }

    /// Returns the device of the buffer.
    pub(super) const fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies between host and buffer, and waits. The caller must have checked that the range is
    /// inside the buffer.
    pub(super) fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), ClError> {
        let (offset, core, none) = (offset as usize, &self.core, std::ptr::null_mut::<c_void>());
        match side {
            HostSide::To([]) | HostSide::From([]) => Ok(()),
            // SAFETY: the range was checked against the buffer; the call returns after the copy.
            HostSide::To(bytes) => unsafe {
                let (to, size) = (bytes.as_mut_ptr().cast(), bytes.len());
                let blocking = flag::BLOCKING;
                call!(
                    core.runtime,
                    clEnqueueReadBuffer(
                        core.queue,
                        self.object,
                        blocking,
                        offset,
                        size,
                        to,
                        0,
                        none.cast(),
                        none.cast()
                    )
                )
            },
            // SAFETY: the caller checked the range against the buffer, and the blocking call
            // returns after the copy.
            HostSide::From(bytes) => unsafe {
                let (from, size) = (bytes.as_ptr().cast(), bytes.len());
                let blocking = flag::BLOCKING;
                call!(
                    core.runtime,
                    clEnqueueWriteBuffer(
                        core.queue,
                        self.object,
                        blocking,
                        offset,
                        size,
                        from,
                        0,
                        none.cast(),
                        none.cast()
                    )
                )
            },
        }
    }
}

impl Storage for Allocation {
    fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), DeviceError> {
        Ok(Self::copy(self, offset, side)?)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the buffer was created by clCreateBuffer, and nothing else releases it. The
        // driver defers the release until commands that use it have completed.
        let _ = unsafe { call!(self.core.runtime, clReleaseMemObject(self.object)) };
    }
}

/// Host memory for a transfer.
pub(super) enum HostBlock {
    /// Pinned memory allocated by the driver.
    Pinned(Pinned),
    /// Pageable memory. Its address is stable, since the vector never grows.
    Pageable(Vec<u8>),
}

/// A pinned buffer, mapped until it is dropped.
pub(super) struct Pinned {
    memory: Allocation,
    address: *mut c_void,
}

impl HostBlock {
    /// Allocates `bytes` bytes of pinned memory.
    pub(super) fn new_pinned(core: &Rc<Core>, bytes: usize) -> Result<Self, ClError> {
        let size = bytes.max(1);
        let memory =
            Allocation::plain(core, size, flag::MEM_READ_WRITE | flag::MEM_ALLOC_HOST_PTR)?;
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: the queue and the buffer are live, and the mapped range is the whole buffer.
        let address = unsafe {
            create!(
                core.runtime,
                clEnqueueMapBuffer(
                    core.queue,
                    memory.object,
                    flag::BLOCKING,
                    flag::MAP_READ_WRITE,
                    0,
                    size,
                    0,
                    none.cast(),
                    none.cast()
                )
            )
        }?;
        Ok(Self::Pinned(Pinned { memory, address }))
    }

    /// Allocates `bytes` of pageable memory. Writing to every page makes all of them resident.
    pub(super) fn pageable(bytes: usize) -> Self {
        Self::Pageable(vec![1; bytes.max(1)])
    }

    /// Returns the address.
    pub(super) fn address(&mut self) -> *mut c_void {
        match self {
            Self::Pinned(pinned) => pinned.address,
            Self::Pageable(bytes) => bytes.as_mut_ptr().cast(),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let core = &self.memory.core;
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: the address was returned by clEnqueueMapBuffer for this buffer, and nothing else
        // unmaps it.
        let _ = unsafe {
            call!(
                core.runtime,
                clEnqueueUnmapMemObject(
                    core.queue,
                    self.memory.object,
                    self.address,
                    0,
                    none.cast(),
                    none.cast()
                )
            )
        };
        let _ = core.synchronize();
    }
}
