//! Code on a GPU: compiled or read from the cache, and loaded once per device.

use std::ffi::CString;
use std::rc::Rc;

use rsb_model::Reason;

use super::catalog::Module;
use super::compile::{self, CacheHit};
use super::core::Core;
use super::driver::{FunctionNeed, Handle};
use super::image::Image;
use rsb_device::device::DeviceError;

/// A loaded module.
pub(super) struct LoadedModule {
    core: Rc<Core>,
    handle: Handle,
}

/// A kernel of a loaded module, which it keeps loaded.
#[derive(Clone)]
pub(super) struct Function {
    module: Rc<LoadedModule>,
    pub(super) handle: Handle,
}

impl LoadedModule {
    /// Compiles `module` for the GPU, or reads it from the cache, and loads it. If cached code does
    /// not load, the module is compiled again.
    pub(super) fn load(core: &Rc<Core>, module: Module) -> Result<Rc<Self>, DeviceError> {
        let toolchain = core.driver.toolchain().map_err(DeviceError::Unsupported)?;
        let code = compile::load_or_compile(&*toolchain, module, &core.arch)?;
        match (Self::from_code(core, &code.bytes), code.cached) {
            (Ok(loaded), _) => Ok(loaded),
            (Err(_), CacheHit::Yes) => {
                Self::from_code(core, &compile::fresh(&*toolchain, module, &core.arch)?.bytes)
            }
            (Err(failed), CacheHit::No) => Err(failed),
        }
    }

    fn from_code(core: &Rc<Core>, code: &[u8]) -> Result<Rc<Self>, DeviceError> {
        let image = Image::of(code)?;
        core.activate()?;
        let handle = core.driver.load_module(image)?;
        Ok(Rc::new(Self { core: Rc::clone(core), handle }))
    }

    /// Returns the kernel `symbol`.
    pub(super) fn function(self: &Rc<Self>, symbol: &str) -> Result<Function, DeviceError> {
        let name = CString::new(symbol).map_err(|_| {
            DeviceError::Failed(Reason::new(
                symbol,
                "it is not a kernel name",
                "report this as a bug",
            ))
        })?;
        self.core.activate()?;
        // SAFETY: the module is loaded.
        let handle = unsafe { self.core.driver.function(self.handle, &name) }?;
        Ok(Function { module: Rc::clone(self), handle })
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // Wait, since one of its kernels may still be running.
        let _ = self.core.synchronize();
        // SAFETY: every function of the module keeps it alive, so none is left.
        let _ = unsafe { self.core.driver.unload_module(self.handle) };
    }
}

impl Function {
    pub(super) fn core(&self) -> &Rc<Core> {
        &self.module.core
    }

    /// Returns how many blocks of `block_size` threads a compute unit can hold at once.
    pub(super) fn blocks_per_unit(&self, block_size: u32) -> Result<u32, DeviceError> {
        self.core().activate()?;
        // SAFETY: the function is loaded.
        unsafe { self.core().driver.blocks_per_unit(self.handle, block_size) }
    }

    /// Returns the registers per thread, or the static shared memory per block.
    pub(super) fn query_need(&self, need: FunctionNeed) -> Option<u32> {
        self.core().activate().ok()?;
        // SAFETY: the function is loaded.
        unsafe { self.core().driver.function_need(self.handle, need) }
    }
}
