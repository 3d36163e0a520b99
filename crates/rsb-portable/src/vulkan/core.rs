//! The instance, device and queue, shared by all objects of a device.

use std::cell::RefCell;
use std::rc::Rc;

use ash::vk;

use super::failure::{Failure, WithCall as _};
use super::info::{PhysicalCandidate, Presence, Traits};
use super::instance::Instance;
use super::matrix;
use super::queue::Queue;

/// An open device.
pub(super) struct Core {
    pub(super) raw: ash::Device,
    pub(super) traits: Traits,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    queue: RefCell<Queue>,
    /// Must be dropped after the device.
    _instance: Rc<Instance>,
}

impl Core {
    /// Opens a device with those features that kernels use and the device supports.
    pub(super) fn open(
        instance: Rc<Instance>,
        found: &PhysicalCandidate,
    ) -> Result<Rc<Self>, Failure> {
        let traits = found.traits;
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(traits.family)
            .queue_priorities(&priorities)];
        let features =
            vk::PhysicalDeviceFeatures::default().shader_float64(traits.f64 == Presence::Yes);
        let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_float16(true);
        let mut products =
            vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default().cooperative_matrix(true);
        let mut model =
            vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(true);
        let mut sizes =
            vk::PhysicalDeviceSubgroupSizeControlFeatures::default().subgroup_size_control(true);
        let mut names = Vec::new();
        let mut create =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&features);
        if traits.f16 == Presence::Yes {
            names.push(vk::KHR_SHADER_FLOAT16_INT8_NAME.as_ptr());
            create = create.push_next(&mut small);
        }
        if traits.size_control == Presence::Yes {
            names.push(vk::EXT_SUBGROUP_SIZE_CONTROL_NAME.as_ptr());
            create = create.push_next(&mut sizes);
        }
        if traits.matrix.is_some() {
            names.extend(matrix::EXTENSIONS.map(std::ffi::CStr::as_ptr));
            create = create.push_next(&mut products).push_next(&mut model);
        }
        let create = create.enabled_extension_names(&names);
        // SAFETY: every structure is live for the call, and the device supports the enabled
        // features.
        let raw = unsafe { instance.raw.create_device(found.physical, &create, None) }
            .with_call("vkCreateDevice")?;
        // SAFETY: the physical device belongs to this instance.
        let memory = unsafe { instance.raw.get_physical_device_memory_properties(found.physical) };
        let queue = match Queue::new(&raw, traits.family) {
            Ok(queue) => RefCell::new(queue),
            Err(failure) => {
                // SAFETY: creating the queue failed and destroyed its objects, so no object of the
                // device is left.
                unsafe { raw.destroy_device(None) };
                return Err(failure);
            }
        };
        Ok(Rc::new(Self { raw, traits, memory, queue, _instance: instance }))
    }

    /// Adds commands to the batch to be submitted. They start after all previous commands have
    /// completed.
    pub(super) fn record(
        &self,
        commands: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), Failure> {
        self.queue.borrow_mut().record(&self.raw, commands)
    }

    /// Submits the commands added since the last submission.
    pub(super) fn flush(&self) -> Result<(), Failure> {
        self.queue.borrow_mut().flush(&self.raw)
    }

    /// Submits a command buffer created by [`Core::recording`].
    pub(super) fn submit(&self, recording: vk::CommandBuffer) -> Result<(), Failure> {
        self.queue.borrow_mut().submit(&self.raw, recording)
    }

    /// Records `commands` in a command buffer that can be submitted any number of times.
    pub(super) fn recording(
        &self,
        commands: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, Failure> {
        self.queue.borrow().recording(&self.raw, commands)
    }

    /// Frees a command buffer created by [`Core::recording`], which must have completed.
    pub(super) fn forget(&self, recording: vk::CommandBuffer) {
        self.queue.borrow().forget(&self.raw, recording);
    }

    /// Submits the commands added since the last submission, and waits until all commands have
    /// completed.
    pub(super) fn synchronize(&self) -> Result<(), Failure> {
        self.queue.borrow_mut().synchronize(&self.raw)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: every object that uses the device owns a reference to this core, so none is left.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.queue.get_mut().destroy(&self.raw);
            self.raw.destroy_device(None);
        }
    }
}
