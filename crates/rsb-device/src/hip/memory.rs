//! Memory of a card and pinned memory of the host, given back when nobody holds it any more.

use std::ffi::c_void;
use std::rc::Rc;

use hip_runtime_sys::{HOST_MALLOC_DEFAULT, memcpy};

use super::core::Core;
use super::runtime::{HipError, call};

/// A block of device memory.
pub(super) struct Allocation {
    core: Rc<Core>,
    pointer: *mut c_void,
    bytes: u64,
}

/// Where a copy between device and host goes.
pub(super) enum HostSide<'a> {
    /// To the host.
    To(&'a mut [u8]),
    /// From the host.
    From(&'a [u8]),
}

impl Allocation {
    /// `bytes` zeros.
    pub(super) fn zeroed(core: &Rc<Core>, bytes: u64) -> Result<Self, HipError> {
        core.activate()?;
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable of this type.
        unsafe { call!(core.runtime, hipMalloc(&raw mut pointer, size)) }?;
        let allocation = Self { core: Rc::clone(core), pointer, bytes };
        // SAFETY: the memory is this long, and the stream is that of its device.
        unsafe { call!(core.runtime, hipMemsetAsync(pointer, 0, size, core.stream)) }?;
        core.synchronize()?;
        Ok(allocation)
    }

    /// Its address on the device.
    pub(super) fn address(&self) -> *mut c_void {
        self.pointer
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device it is on.
    pub(super) fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies and waits; nothing when the range lies outside.
    pub(super) fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<Option<()>, HipError> {
        let (host, count, kind) = match side {
            HostSide::To(bytes) => (bytes.as_mut_ptr(), bytes.len(), memcpy::DEVICE_TO_HOST),
            HostSide::From(bytes) => (bytes.as_ptr().cast_mut(), bytes.len(), memcpy::HOST_TO_DEVICE),
        };
        if offset.checked_add(count as u64).is_none_or(|end| end > self.bytes) {
            return Ok(None);
        }
        if count == 0 {
            return Ok(Some(()));
        }
        let core = &self.core;
        core.activate()?;
        let device = self.pointer.wrapping_byte_add(offset as usize);
        let (to, from) = if kind == memcpy::HOST_TO_DEVICE { (device, host.cast()) } else { (host.cast(), device) };
        // SAFETY: `count` bytes lie in the host's slice and, as checked above, in the device's memory. Of a slice that
        // is only read, only the address is taken as mutable. Both outlive the wait below.
        unsafe { call!(core.runtime, hipMemcpyAsync(to, from, count, kind, core.stream)) }?;
        core.synchronize()?;
        Ok(Some(()))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // A device that is lost cannot take memory back, and nobody could do anything about it.
        let _ = self.core.activate();
        // SAFETY: it was allocated by hipMalloc, and nobody else gives it back. hipFree waits for what still uses it.
        let _ = unsafe { call!(self.core.runtime, hipFree(self.pointer)) };
    }
}

/// Memory of the host at one end of a transfer.
pub(super) enum HostBlock {
    /// Locked in place.
    Pinned(Pinned),
    /// As any program has it. Its address stays while it is not changed in size.
    Pageable(Vec<u8>),
}

/// Pinned memory of the host.
pub(super) struct Pinned {
    core: Rc<Core>,
    pointer: *mut c_void,
}

impl HostBlock {
    /// `bytes` bytes of pinned memory.
    pub(super) fn pinned(core: &Rc<Core>, bytes: usize) -> Result<Self, HipError> {
        core.activate()?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable of this type.
        unsafe { call!(core.runtime, hipHostMalloc(&raw mut pointer, bytes.max(1), HOST_MALLOC_DEFAULT)) }?;
        Ok(Self::Pinned(Pinned { core: Rc::clone(core), pointer }))
    }

    /// `bytes` bytes of plain memory, every page of them in place.
    pub(super) fn pageable(bytes: usize) -> Self {
        Self::Pageable(vec![1; bytes.max(1)])
    }

    /// Its address.
    pub(super) fn address(&mut self) -> *mut c_void {
        match self {
            Self::Pinned(pinned) => pinned.pointer,
            Self::Pageable(bytes) => bytes.as_mut_ptr().cast(),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.core.activate();
        // SAFETY: it was allocated by hipHostMalloc, and nobody else gives it back.
        let _ = unsafe { call!(self.core.runtime, hipHostFree(self.pointer)) };
    }
}
