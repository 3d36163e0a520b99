//! Any OpenCL platform, loaded at run time: PoCL, rusticl, AMD's, NVIDIA's, Intel's. The backend
//! `oneapi` is Intel's alone.
//!
//! Layers: `api` (raw), `runtime` (statuses as values), then what owns and gives back. Kernels are
//! planned by `crate::portable` and stand in kernels/opencl.
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

/// OpenCL. Asking it for devices loads every installed driver into this process: planning does it
/// in a child, see [`rsb_device::child::devices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenclBackend {
    /// Every platform.
    Every,
    /// Intel's.
    Intel,
}

impl OpenclBackend {
    fn find_devices(self) -> Result<(std::rc::Rc<Runtime>, Vec<DeviceCandidate>), Reason> {
        let runtime = Runtime::start().map_err(|missing| self.missing(missing))?;
        let found = platform::devices(&runtime, self).map_err(|missing| self.missing(missing))?;
        Ok((runtime, found))
    }

    /// For Intel's platform the cure is Intel's runtime, whatever else is missing.
    fn missing(self, reason: Reason) -> Reason {
        match self {
            Self::Every => reason,
            Self::Intel => Reason { cure: INTEL_CURE.to_owned(), ..reason },
        }
    }
}

/// How to get a platform of Intel.
const INTEL_CURE: &str = "install Intel's OpenCL runtime: intel-opencl-icd of the distribution for \
                          GPUs, \
                          intel-oneapi-runtime-opencl of Intel's own packages for CPUs";

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
                "name one of them",
            )
        })?;
        Ok(Box::new(OpenclDevice::open(runtime, wanted)?))
    }
}
