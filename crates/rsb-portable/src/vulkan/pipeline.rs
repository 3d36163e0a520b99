//! Kernels on a device: a shader module with its pipeline layout.

use std::ffi::CString;
use std::rc::Rc;

use ash::vk;

use super::core::Core;
use super::failure::{Failure, WithCall as _};

/// A kernel on a device.
pub(super) struct Pipeline {
    core: Rc<Core>,
    pub(super) raw: vk::Pipeline,
    pub(super) layout: vk::PipelineLayout,
    pub(super) set_layout: vk::DescriptorSetLayout,
    shader: vk::ShaderModule,
}

/// Buffers and constants of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Number of buffers.
    pub(super) buffers: u32,
    /// Bytes of push constants.
    pub(super) number_bytes: u32,
}

/// Subgroup size with which a pipeline is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubgroupSize {
    /// Chosen by the driver; the kernel does not depend on it.
    Any,
    /// Chosen by the driver. The kernel reads the actual size at run time, which requires a
    /// pipeline flag; without it, `gl_SubgroupSize` is a constant.
    Reported,
    /// This many lanes.
    Required(u32),
}

impl Pipeline {
    /// Creates the pipeline for kernel `name` of a shader.
    pub(super) fn new(
        core: &Rc<Core>,
        words: &[u32],
        name: &str,
        shape: Shape,
        size: SubgroupSize,
    ) -> Result<Rc<Self>, Failure> {
        // If a later call fails, dropping `pipeline` destroys the objects created before.
        let mut pipeline = Self {
            core: Rc::clone(core),
            raw: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
            shader: vk::ShaderModule::null(),
        };
        let device = &core.raw;
        let create = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words are SPIR-V that was validated when generated.
        pipeline.shader = unsafe { device.create_shader_module(&create, None) }
            .with_call("vkCreateShaderModule")?;
        let bindings: Vec<_> = (0..shape.buffers)
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the list is live for the call.
        pipeline.set_layout = unsafe { device.create_descriptor_set_layout(&create, None) }
            .with_call("vkCreateDescriptorSetLayout")?;
        let sets = [pipeline.set_layout];
        let stage = vk::ShaderStageFlags::COMPUTE;
        let numbers =
            [vk::PushConstantRange { stage_flags: stage, offset: 0, size: shape.number_bytes }];
        let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        let create =
            if shape.number_bytes > 0 { create.push_constant_ranges(&numbers) } else { create };
        // SAFETY: the lists of layouts and push constant ranges live during the call.
        pipeline.layout = unsafe { device.create_pipeline_layout(&create, None) }
            .with_call("vkCreatePipelineLayout")?;
        let entry = CString::new(name).unwrap_or_default();
        let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(stage)
            .module(pipeline.shader)
            .name(&entry);
        let stage = match size {
            SubgroupSize::Any => stage,
            SubgroupSize::Reported => {
                stage.flags(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE)
            }
            SubgroupSize::Required(lanes) => {
                required.required_subgroup_size = lanes;
                stage.push_next(&mut required)
            }
        };
        let create =
            [vk::ComputePipelineCreateInfo::default().stage(stage).layout(pipeline.layout)];
        // SAFETY: the shader and the layout are live. A test checks that every shader has this
        // entry point and matches its layout.
        let made =
            unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &create, None) };
        let made = made.map_err(|(_, result)| result).with_call("vkCreateComputePipelines")?;
        pipeline.raw = made.first().copied().unwrap_or_default();
        Ok(Rc::new(pipeline))
    }

    pub(super) const fn core(&self) -> &Rc<Core> {
        &self.core
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let _ = self.core.synchronize();
        let device = &self.core.raw;
        // SAFETY: nothing that uses the objects is running, and nothing else destroys them; null is
        // ignored.
        unsafe {
            device.destroy_pipeline(self.raw, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
            device.destroy_shader_module(self.shader, None);
        }
    }
}
