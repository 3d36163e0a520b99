//! Backends and devices behind one set of traits.
//!
//! A workload describes an [`Operation`] and its buffers; a [`Device`] does it; the module [`mod@reference`] says what is right.

#[cfg(any(feature = "rocm", feature = "cuda"))]
pub mod cards;
pub mod child;
pub mod compiler;
pub mod convert;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
#[cfg(any(feature = "rocm", feature = "cuda", feature = "opencl", feature = "vulkan"))]
mod held;
#[cfg(feature = "rocm")]
pub mod hip;
#[cfg(feature = "opencl")]
pub mod opencl;
pub mod operation;
#[cfg(any(feature = "opencl", feature = "vulkan"))]
mod portable;
pub mod random;
pub mod reference;
pub mod scripted;
#[cfg(feature = "vulkan")]
pub mod vulkan;

pub use device::{
    Absence, Backend, Buffer, CacheCounts, Counters, Device, DeviceError, DeviceInfo, Event, Kernel, Occupancy,
    Options, Stream,
};
pub use operation::{BufferSpec, Operation, Role};

use rsb_model::{BackendId, DeviceRef, Reason};

/// Every backend that this build has.
pub fn backends() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(cpu::CpuBackend),
        #[cfg(feature = "rocm")]
        Box::new(hip::HipBackend),
        #[cfg(feature = "cuda")]
        Box::new(cuda::CudaBackend),
        #[cfg(feature = "vulkan")]
        Box::new(vulkan::VulkanBackend),
        #[cfg(feature = "opencl")]
        Box::new(opencl::OpenclBackend::Every),
        #[cfg(feature = "opencl")]
        Box::new(opencl::OpenclBackend::Intel),
    ]
}

/// Whether this build has `backend`.
pub fn has_backend(backend: BackendId) -> bool {
    backends().iter().any(|known| known.id() == backend)
}

/// Opens a device by its name, such as `cpu:0`.
///
/// # Errors
/// When the name is not of that form, this build lacks the backend, or the device cannot be opened.
pub fn open(device: &str) -> Result<Box<dyn Device>, Reason> {
    let wanted: DeviceRef = device.parse().map_err(|error: rsb_model::ids::ParseIdError| {
        Reason::new(format!("device `{device}`"), error.to_string(), "name a backend and a position, such as cpu:0")
    })?;
    let known = backends();
    let names = || known.iter().map(|backend| backend.id().as_str()).collect::<Vec<_>>().join(", ");
    match known.iter().find(|backend| backend.id() == wanted.backend) {
        Some(backend) => backend.open(wanted.index),
        None => Err(missing_backend(wanted.backend, &names())),
    }
}

fn missing_backend(backend: BackendId, known: &str) -> Reason {
    Reason::new(
        format!("backend {backend}"),
        format!("this build has no such backend; it has {known}"),
        "choose one that it has, or build a version that has it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_opened_by_name() {
        assert_eq!(open("cpu:0").unwrap().info().device, DeviceRef::CPU);
        for (name, word) in [("cpu", "cpu:0"), ("cpu:1", "cpu:0"), ("toaster:0", "cpu:0")] {
            let reason = open(name).err().unwrap();
            assert!(reason.to_string().contains(word), "{reason}");
        }
    }
}
