//! Vulkan backend for any GPU with a Vulkan driver, loaded at run time. Stock distributions include
//! such drivers, so no vendor software is needed. The backend uses storage buffers, one compute
//! queue and timestamp queries.
//!
//! Layers: the `ash` crate (raw functions), `instance` and `core` (ownership), then kernels.
//! Kernels are planned by `crate::portable`; their WGSL sources are in kernels/vulkan, with the
//! SPIR-V that `cargo xtask codegen` generates.
#![allow(unsafe_code)]

mod core;
mod device;
mod failure;
mod info;
mod instance;
mod launch;
mod matrix;
mod memory;
mod pipeline;
mod queue;
mod shaders;
mod stream;
mod transfer;

use std::rc::Rc;

use rsb_model::{BackendId, Reason};

pub use device::VulkanDevice;
use info::PhysicalCandidate;
use instance::Instance;
use rsb_device::device::{Backend, Device, DeviceInfo};

/// Vulkan backend. Enumerating devices loads every installed driver into this process, so planning
/// does it in a child process; see [`rsb_device::child::devices`].
#[derive(Debug, Clone, Copy, Default)]
pub struct VulkanBackend;

impl VulkanBackend {
    fn find_devices() -> Result<(Rc<Instance>, Vec<PhysicalCandidate>), Reason> {
        let instance = Instance::start()?;
        let found = info::devices(&instance)?;
        Ok((instance, found))
    }
}

impl Backend for VulkanBackend {
    fn id(&self) -> BackendId {
        BackendId::Vulkan
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        let (_instance, found) = Self::find_devices()?;
        Ok(found.into_iter().map(|found| found.info).collect())
    }

    fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
        let (instance, found) = Self::find_devices()?;
        let count = found.len();
        let wanted = found.into_iter().nth(index as usize).ok_or_else(|| {
            Reason::new(
                format!("device vulkan:{index}"),
                format!("the devices here are vulkan:0 to vulkan:{}", count.saturating_sub(1)),
                "choose one of them",
            )
        })?;
        Ok(Box::new(VulkanDevice::open(instance, wanted)?))
    }
}
