//! Memory of a GPU and pinned memory of the host, given back when nobody holds it any more.

use std::ffi::c_void;
use std::rc::Rc;

use super::core::Core;
use super::driver::{Copy, CopyDirection};
use rsb_device::device::DeviceError;
use rsb_device::held::HostSide;

/// A block of device memory.
pub(crate) struct Allocation {
    core: Rc<Core>,
    pointer: *mut c_void,
    bytes: u64,
}

impl Allocation {
    /// `bytes` zeros.
    pub(super) fn new_zeroed(core: &Rc<Core>, bytes: u64) -> Result<Self, DeviceError> {
        core.activate()?;
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let pointer = core.driver.allocate(size)?;
        let allocation = Self { core: Rc::clone(core), pointer, bytes };
        // SAFETY: the memory is this long, and the stream is that of its device.
        unsafe { core.driver.zero(pointer, size, core.stream) }?;
        core.synchronize()?;
        Ok(allocation)
    }

    /// Its address on the device.
    pub(crate) fn address(&self) -> *mut c_void {
        self.pointer
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device it is on.
    pub(crate) fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies and waits; nothing when the range lies outside.
    pub(super) fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<Option<()>, DeviceError> {
        let (host, bytes, ends) = match side {
            HostSide::To(bytes) => (bytes.as_mut_ptr(), bytes.len(), CopyDirection::DeviceToHost),
            HostSide::From(bytes) => {
                (bytes.as_ptr().cast_mut(), bytes.len(), CopyDirection::HostToDevice)
            }
        };
        if offset.checked_add(bytes as u64).is_none_or(|end| end > self.bytes) {
            return Ok(None);
        }
        if bytes == 0 {
            return Ok(Some(()));
        }
        let core = &self.core;
        core.activate()?;
        let device = self.pointer.wrapping_byte_add(offset as usize);
        let (to, from) = if ends == CopyDirection::HostToDevice {
            (device, host.cast())
        } else {
            (host.cast(), device)
        };
        // SAFETY: `bytes` bytes lie in the host's slice and, as checked above, in the device's
        // memory. Of a slice that is only read, only the address is taken as mutable. Both outlive
        // the wait below.
        unsafe { core.driver.copy(Copy { to, from, bytes, ends }, core.stream) }?;
        core.synchronize()?;
        Ok(Some(()))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // A device that is lost cannot take memory back, and nobody could do anything about it.
        let _ = self.core.activate();
        // SAFETY: the runtime allocated it, and nobody else gives it back. Both runtimes wait for
        // what still uses it.
        let _ = unsafe { self.core.driver.free(self.pointer) };
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
    pub(super) fn new_pinned(core: &Rc<Core>, bytes: usize) -> Result<Self, DeviceError> {
        core.activate()?;
        let pointer = core.driver.allocate_host(bytes.max(1))?;
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
        // A copy may still read or write it.
        let _ = self.core.synchronize();
        // SAFETY: the runtime allocated it, nothing uses it any more, and nobody else gives it
        // back.
        let _ = unsafe { self.core.driver.free_host(self.pointer) };
    }
}
