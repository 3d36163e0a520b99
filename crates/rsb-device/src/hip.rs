//! AMD's cards through the HIP run time, hiprtc and rocBLAS, all loaded at run time.
//!
//! Layers: `hip-runtime-sys` and `rocblas-sys` (raw), `runtime` (statuses as values), then what owns and gives back.
//! Kernels are chosen by `plan`, which touches no device, from the table in [`catalogue`].
#![allow(unsafe_code)]

mod arch;
mod blas;
mod cache;
pub mod catalogue;
mod code_object;
mod compile;
mod core;
mod device;
mod info;
mod launch;
mod launches;
mod link;
mod memory;
mod module;
mod plan;
mod runtime;
mod stream;
mod transfer;

use rsb_model::{BackendId, Reason};

use crate::device::{Backend, Device, DeviceInfo};
pub use arch::matrix_dtypes;
pub use compile::{Compiled, Compiler, Source, compile};
pub use device::HipDevice;

/// ROCm. Asking it for devices loads and initialises the run time in this process: planning does it in a child, see
/// [`crate::child::devices`].
#[derive(Debug, Clone, Copy, Default)]
pub struct HipBackend;

impl Backend for HipBackend {
    fn id(&self) -> BackendId {
        BackendId::Rocm
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        let runtime = runtime::Runtime::start()?;
        let count = runtime.device_count()?;
        (0..count).map(|index| Ok(info::read(&runtime, ordinal(index)?)?.info)).collect()
    }

    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
        let runtime = runtime::Runtime::start()?;
        let count = runtime.device_count()?;
        if index >= count {
            return Err(Reason::new(
                format!("device rocm:{index}"),
                format!("the devices here are rocm:0 to rocm:{}", count - 1),
                "name one of them",
            ));
        }
        Ok(Box::new(HipDevice::open(runtime, ordinal(index)?)?))
    }
}

fn ordinal(index: u32) -> Result<i32, Reason> {
    i32::try_from(index)
        .map_err(|_| Reason::new(format!("device rocm:{index}"), "there is no such device", "name a smaller position"))
}
