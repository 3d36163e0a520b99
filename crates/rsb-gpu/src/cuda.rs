//! NVIDIA GPUs through the CUDA driver API, NVRTC and cuBLAS, all loaded at run time.
//!
//! Layers: `cuda-sys` (raw), `runtime` (statuses as values), `driver` (the calls common to all
//! GPUs); everything above is in [`crate::common`]. The kernel sources are shared with AMD GPUs.
#![allow(unsafe_code)]

mod arch;
mod blas;
mod blas_lt;
mod compile;
mod cubin;
mod driver;
mod info;
mod runtime;

use rsb_model::{BackendId, Reason};

use crate::common;
pub use compile::CudaCompiler;
pub use cubin::target;
use rsb_device::compiler::KernelCompiler;
use rsb_device::device::{Backend, Device, DeviceInfo};

/// CUDA backend. Listing devices loads and starts the driver in this process, so planning lists
/// them in a child process, see [`rsb_device::child::devices`].
#[derive(Debug, Clone, Copy, Default)]
pub struct CudaBackend;

impl Backend for CudaBackend {
    fn id(&self) -> BackendId {
        BackendId::Cuda
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
        Ok(Box::new(CudaCompiler::load()?))
    }
}
