//! GPU memory and pinned host memory, freed with their last owner.

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
    /// Allocates `bytes` zeroed bytes.
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

    /// Returns the address on the device.
    pub(crate) fn address(&self) -> *mut c_void {
        self.pointer
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the device that contains the memory.
    pub(crate) fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies and waits for the copy; returns `None` if the range is out of bounds.
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
        // SAFETY: `bytes` bytes are in the host's slice and, as checked above, in the device's
        // memory. A read-only slice is not written, although its address is cast to mutable. Both
        // are valid until the wait below ends.
        unsafe { core.driver.copy(Copy { to, from, bytes, ends }, core.stream) }?;
        core.synchronize()?;
        Ok(Some(()))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Errors are ignored: memory of a lost device cannot be freed.
        let _ = self.core.activate();
        // SAFETY: the runtime allocated the memory, which is freed only here. Both runtimes wait
        // for work that still uses it.
        let _ = unsafe { self.core.driver.free(self.pointer) };
    }
}

/// Host memory at one end of a transfer.
pub(super) enum HostBlock {
    /// Page-locked memory.
    Pinned(Pinned),
    /// Pageable memory. The vector is never resized, so its address does not change.
    Pageable(Vec<u8>),
}

/// Pinned host memory.
pub(super) struct Pinned {
    core: Rc<Core>,
    pointer: *mut c_void,
}

impl HostBlock {
    /// Allocates `bytes` bytes of pinned memory.
    pub(super) fn new_pinned(core: &Rc<Core>, bytes: usize) -> Result<Self, DeviceError> {
        core.activate()?;
        let pointer = core.driver.allocate_host(bytes.max(1))?;
        Ok(Self::Pinned(Pinned { core: Rc::clone(core), pointer }))
    }

    /// Allocates `bytes` bytes of pageable memory, with every page resident.
    pub(super) fn pageable(bytes: usize) -> Self {
        Self::Pageable(vec![1; bytes.max(1)])
    }

    /// Returns the address of the memory.
    pub(super) fn address(&mut self) -> *mut c_void {
        match self {
            Self::Pinned(pinned) => pinned.pointer,
            Self::Pageable(bytes) => bytes.as_mut_ptr().cast(),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Wait, since a copy may still be using the memory.
        let _ = self.core.synchronize();
        // SAFETY: the runtime allocated the memory, nothing uses it anymore, and it is freed only
        // here.
        let _ = unsafe { self.core.driver.free_host(self.pointer) };
    }
}
