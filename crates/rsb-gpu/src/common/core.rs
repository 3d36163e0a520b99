//! State shared by everything on one GPU: the runtime, the GPU's ordinal and its stream.

use std::ffi::c_int;
use std::rc::Rc;

use super::driver::{DeviceProperties, Driver, Handle};
use rsb_device::device::DeviceError;

/// An opened GPU.
pub(crate) struct Core {
    pub(crate) driver: Rc<dyn Driver>,
    pub(crate) ordinal: c_int,
    pub(crate) stream: Handle,
    /// Target architecture of kernels, such as `gfx90a`.
    pub(crate) arch: String,
    /// Compute units.
    pub(crate) units: u32,
    /// Whether copies between host and device cross PCI Express.
    pub(super) is_on_pcie: bool,
}

impl Core {
    /// Opens GPU `ordinal`.
    pub(super) fn open(
        driver: Rc<dyn Driver>,
        ordinal: c_int,
        facts: &DeviceProperties,
    ) -> Result<Rc<Self>, DeviceError> {
        driver.activate(ordinal)?;
        let stream = driver.create_stream()?;
        let DeviceProperties { info, arch, is_on_pcie, .. } = facts;
        Ok(Rc::new(Self {
            driver,
            ordinal,
            stream,
            arch: arch.clone(),
            units: info.units,
            is_on_pcie: *is_on_pcie,
        }))
    }

    /// Makes the GPU current.
    pub(crate) fn activate(&self) -> Result<(), DeviceError> {
        self.driver.activate(self.ordinal)
    }

    /// Waits for all work in the stream.
    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        self.activate()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { self.driver.synchronize(self.stream) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.activate();
        // SAFETY: everything that uses the stream keeps this core alive, so nothing uses the stream
        // anymore.
        let _ = unsafe { self.driver.destroy_stream(self.stream) };
    }
}
