//! OpenCL backend for all platforms, loaded at run time: PoCL, rusticl, AMD, NVIDIA and Intel. The
//! backend `oneapi` uses only Intel's platform.
//!
//! Layers: `api` (raw functions), `runtime` (status codes converted to errors), then types that own
//! OpenCL objects. Kernels are planned by `crate::portable`; their sources are in kernels/opencl.
#![allow(unsafe_code)]

mod api;
mod bus;
mod core;
mod device;
mod events;
mod launch;
mod memory;
mod platform;
mod program;
mod runtime;
mod stream;
mod transfer;

use rsb_model::{BackendId, Reason};

pub use device::OpenclDevice;
use platform::DeviceCandidate;
use rsb_device::device::{Backend, Device, DeviceInfo};
use runtime::Runtime;

/// OpenCL backend. Enumerating devices loads every installed driver into this process, so planning
/// does it in a child process; see [`rsb_device::child::devices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenclBackend {
    /// All platforms.
    Every,
    /// Intel's platform.
    Intel,
}

impl OpenclBackend {
    fn find_devices(self) -> Result<(std::rc::Rc<Runtime>, Vec<DeviceCandidate>), Reason> {
        let runtime = Runtime::start().map_err(|missing| self.missing(missing))?;
        let found = platform::devices(&runtime, self).map_err(|missing| self.missing(missing))?;
        Ok((runtime, found))
    }

    /// Replaces the fix in `reason` by instructions for installing Intel's runtime, if only Intel's
    /// platform is used.
    fn missing(self, reason: Reason) -> Reason {
        match self {
            Self::Every => reason,
            Self::Intel => Reason { cure: INTEL_CURE.to_owned(), ..reason },
        }
    }
}

/// Instructions for installing Intel's platform.
const INTEL_CURE: &str = "install Intel's OpenCL runtime: intel-opencl-icd from the distribution \
                          for GPUs, intel-oneapi-runtime-opencl from Intel's packages for CPUs";

impl Backend for OpenclBackend {
    fn id(&self) -> BackendId {
        match self {
            Self::Every => BackendId::Opencl,
            Self::Intel => BackendId::Oneapi,
        }
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        let (_, found) = self.find_devices()?;
        Ok(found.into_iter().map(|found| found.info).collect())
    }

    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
        let (runtime, found) = self.find_devices()?;
        let count = found.len();
        let wanted = found.into_iter().nth(index as usize).ok_or_else(|| {
            let id = self.id();
            Reason::new(
                format!("device {id}:{index}"),
                format!("the devices here are {id}:0 to {id}:{}", count.saturating_sub(1)),
                "choose one of them",
            )
        })?;
        Ok(Box::new(OpenclDevice::open(runtime, wanted)?))
    }
}
