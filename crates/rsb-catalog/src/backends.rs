//! Backends of this build.

use rsb_device::{Backend, Registry};
use rsb_model::BackendId;

/// Returns all backends of this build.
pub fn backends() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(rsb_cpu::CpuBackend),
        #[cfg(feature = "rocm")]
        Box::new(rsb_gpu::hip::HipBackend),
        #[cfg(feature = "cuda")]
        Box::new(rsb_gpu::cuda::CudaBackend),
        #[cfg(feature = "vulkan")]
        Box::new(rsb_portable::vulkan::VulkanBackend),
        #[cfg(feature = "opencl")]
        Box::new(rsb_portable::opencl::OpenclBackend::Every),
        #[cfg(feature = "opencl")]
        Box::new(rsb_portable::opencl::OpenclBackend::Intel),
    ]
}

/// Returns a registry of all backends, with which devices and compilers can be opened by name.
pub fn registry() -> Registry {
    Registry::new(backends())
}

/// Returns whether this build includes `backend`.
pub fn has_backend(backend: BackendId) -> bool {
    backends().iter().any(|known| known.id() == backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_of_this_build_is_named_once_and_the_cpu_opens() {
        let mut ids: Vec<BackendId> = backends().iter().map(|backend| backend.id()).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert!(has_backend(BackendId::Cpu));
        let registry = registry();
        assert_eq!(registry.open("cpu:0").unwrap().info().device, rsb_model::DeviceRef::CPU);
        let reason = registry.open("cpu:1").err().unwrap();
        assert!(reason.to_string().contains("cpu:0"), "{reason}");
    }
}
