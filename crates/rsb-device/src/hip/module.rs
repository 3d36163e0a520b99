//! Code objects on a card: compiled or taken from the cache, loaded once for each device.

use std::ffi::{CString, c_int};
use std::rc::Rc;

use hip_runtime_sys::{func_attribute, hipFunction_t, hipModule_t};
use rsb_model::Reason;

use super::catalogue::Module;
use super::compile::{self, Cached};
use super::core::Core;
use super::runtime::{HipError, call};
use crate::device::DeviceError;

/// A code object on a card.
pub(super) struct LoadedModule {
    core: Rc<Core>,
    handle: hipModule_t,
}

/// A kernel on a card. It keeps its module loaded.
#[derive(Clone)]
pub(super) struct Function {
    module: Rc<LoadedModule>,
    pub(super) handle: hipFunction_t,
}

impl LoadedModule {
    /// Compiles `module` for the card, or takes it from the cache, and loads it. What the cache holds may be damaged:
    /// then it is compiled again.
    pub(super) fn load(core: &Rc<Core>, module: Module) -> Result<Rc<Self>, DeviceError> {
        let code = compile::cached(module.source(), module.file(), &core.arch)?;
        match (Self::from_code(core, &code.bytes), code.cached) {
            (Ok(loaded), _) => Ok(loaded),
            (Err(_), Cached::Yes) => {
                let fresh = compile::fresh(module.source(), module.file(), &core.arch)?;
                Ok(Self::from_code(core, &fresh.bytes)?)
            }
            (Err(failed), Cached::No) => Err(failed.into()),
        }
    }

    fn from_code(core: &Rc<Core>, code: &[u8]) -> Result<Rc<Self>, HipError> {
        core.activate()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the image is a whole code object (its header says its length), and the run time copies it.
        unsafe { call!(core.runtime, hipModuleLoadData(&raw mut handle, code.as_ptr().cast())) }?;
        Ok(Rc::new(Self { core: Rc::clone(core), handle }))
    }

    /// The kernel `symbol`.
    pub(super) fn function(self: &Rc<Self>, symbol: &str) -> Result<Function, DeviceError> {
        let name = CString::new(symbol).map_err(|_| {
            DeviceError::Failed(Reason::new(symbol, "it is no name of a kernel", "report this as a bug"))
        })?;
        self.core.activate()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a zero, the pointer is to a live variable.
        unsafe { call!(self.core.runtime, hipModuleGetFunction(&raw mut handle, self.handle, name.as_ptr())) }?;
        Ok(Function { module: Rc::clone(self), handle })
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // What still runs may be a kernel of it.
        let _ = self.core.synchronize();
        // SAFETY: nothing of the module is left: every function holds it.
        let _ = unsafe { call!(self.core.runtime, hipModuleUnload(self.handle)) };
    }
}

impl Function {
    pub(super) fn core(&self) -> &Rc<Core> {
        &self.module.core
    }

    /// Blocks of `block_size` threads that a compute unit holds at once.
    pub(super) fn blocks_per_unit(&self, block_size: u32) -> Result<u32, HipError> {
        let core = self.core();
        core.activate()?;
        let mut blocks: c_int = 0;
        let size = c_int::try_from(block_size).unwrap_or(c_int::MAX);
        // SAFETY: the function is loaded, the pointer is to a live variable.
        unsafe {
            call!(
                core.runtime,
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, self.handle, size, 0)
            )
        }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    fn attribute(&self, attribute: c_int) -> Option<u32> {
        let core = self.core();
        core.activate().ok()?;
        let mut value: c_int = 0;
        // SAFETY: the function is loaded, the pointer is to a live variable.
        unsafe { call!(core.runtime, hipFuncGetAttribute(&raw mut value, attribute, self.handle)) }.ok()?;
        u32::try_from(value).ok()
    }

    /// Registers of a thread.
    pub(super) fn registers(&self) -> Option<u32> {
        self.attribute(func_attribute::NUM_REGS)
    }

    /// Static shared memory of a block.
    pub(super) fn shared_bytes(&self) -> Option<u32> {
        self.attribute(func_attribute::SHARED_SIZE_BYTES)
    }
}
