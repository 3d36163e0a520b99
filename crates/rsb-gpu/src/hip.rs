//! AMD GPUs through the HIP runtime, hiprtc, rocBLAS and hipBLASLt, all loaded at run time.
//!
//! Layers: `hip-runtime-sys`, `rocblas-sys` and `hipblaslt-sys` (raw), `runtime` (status codes as
//! values), `driver` (the calls common to all GPUs). Everything above them is in [`crate::common`].
#![allow(unsafe_code)]

mod arch;
mod blas;
mod blas_lt;
mod code_object;
mod compile;
mod driver;
mod info;
mod runtime;

use rsb_model::{BackendId, Reason};

use crate::common;
pub use code_object::target;
pub use common::{Compiled, Source, catalog, matrix_dtypes};
pub use compile::{HipCompiler, compile};
use rsb_device::compiler::KernelCompiler;
use rsb_device::device::{Backend, Device, DeviceInfo};

/// ROCm backend. Listing devices loads and initializes the runtime in this process, so planning
/// lists them in a child process, see [`rsb_device::child::devices`].
#[derive(Debug, Clone, Copy, Default)]
pub struct HipBackend;

impl Backend for HipBackend {
    fn id(&self) -> BackendId {
        BackendId::Rocm
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        common::devices(&*runtime::Runtime::start()?)
    }

    fn defect(&self) -> Option<Reason> {
        runtime::defect()
    }

    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
        common::open(runtime::Runtime::start()?, index)
    }

    fn compiler(&self) -> Result<Box<dyn KernelCompiler>, Reason> {
        Ok(Box::new(HipCompiler::load()?))
    }
}
