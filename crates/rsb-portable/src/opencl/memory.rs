//! Buffers of a device, and memory of the host that a driver allocates so that a device reaches it;
//! given back when nobody holds them any more.

use std::ffi::c_void;
use std::rc::Rc;

use super::api::{Object, flag};
use super::core::Core;
use super::runtime::{ClError, call, create};
use crate::portable::PACK;
use crate::portable::Storage;
use rsb_device::device::DeviceError;
use rsb_device::held::HostSide;

/// A buffer.
pub(super) struct Allocation {
    core: Rc<Core>,
    object: Object,
}

impl Allocation {
    /// `bytes` zeros, with room to a whole pack.
    pub(super) fn new_zeroed(core: &Rc<Core>, bytes: u64) -> Result<Self, ClError> {
        let size = usize::try_from(bytes.max(1).saturating_add(PACK - 1) / PACK * PACK)
            .unwrap_or(usize::MAX);
        let allocation = Self::plain(core, size, flag::MEM_READ_WRITE)?;
        let zero = 0_u32;
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: the pattern is a live variable of four bytes, and the buffer is a multiple of
        // that long.
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
        // SAFETY: the context is live; no memory of the host is handed over.
        let object = unsafe {
            create!(core.runtime, clCreateBuffer(core.context, flags, size, std::ptr::null_mut()))
        }?;
        Ok(Self { core: Rc::clone(core), object })
    }

    /// The buffer itself.
    pub(super) const fn object(&self) -> Object {
        self.object
    }

    /// The device it is on.
    pub(super) const fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies and waits. The caller has checked that the range lies inside.
    pub(super) fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), ClError> {
        let (offset, core, none) = (offset as usize, &self.core, std::ptr::null_mut::<c_void>());
        match side {
            HostSide::To([]) | HostSide::From([]) => Ok(()),
            // SAFETY: the range was checked against the buffer; the call ends when the copy has.
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
            // SAFETY: as above.
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
        // SAFETY: it was made by clCreateBuffer, and nobody else gives it back. The driver waits
        // for what uses it.
        let _ = unsafe { call!(self.core.runtime, clReleaseMemObject(self.object)) };
    }
}

/// Memory of the host at one end of a transfer.
pub(super) enum HostBlock {
    /// Allocated by the driver.
    Pinned(Pinned),
    /// As any program has it. Its address stays while it is not changed in size.
    Pageable(Vec<u8>),
}

/// A buffer in the host's memory, mapped for as long as it lives.
pub(super) struct Pinned {
    memory: Allocation,
    address: *mut c_void,
}

impl HostBlock {
    /// `bytes` bytes that the driver can reach on its own.
    pub(super) fn new_pinned(core: &Rc<Core>, bytes: usize) -> Result<Self, ClError> {
        let size = bytes.max(1);
        let memory =
            Allocation::plain(core, size, flag::MEM_READ_WRITE | flag::MEM_ALLOC_HOST_PTR)?;
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: queue and buffer are live, and the whole buffer is mapped.
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

    /// `bytes` bytes of plain memory, every page of them in place.
    pub(super) fn pageable(bytes: usize) -> Self {
        Self::Pageable(vec![1; bytes.max(1)])
    }

    /// Its address.
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
        // SAFETY: it was mapped by clEnqueueMapBuffer, and nobody unmaps it but here.
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
