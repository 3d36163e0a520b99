//! A plan bound to its buffers, ready for repeated launches.

use std::rc::Rc;

use ash::vk;
use rsb_model::Dtype;

use super::core::Core;
use super::failure::{Failure, WithCall as _};
use super::memory::{Allocation, Place};
use super::pipeline::{Pipeline, Shape};
use crate::portable::{Argument, GROUP, Plan, Step, Work, defect, unsupported_error};
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::held;

/// A bound plan.
pub(super) struct Bound {
    launches: Vec<Launch>,
    provider: &'static str,
    /// Buffers that the kernel arguments refer to.
    _buffers: Vec<Buffer>,
    _scratch: Vec<Allocation>,
}

/// One kernel with its arguments.
pub(super) struct Launch {
    pipeline: Rc<Pipeline>,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
    numbers: Vec<u8>,
    groups: u32,
}

impl Bound {
    /// Binds the buffers and arguments of `plan` to pipelines, which `pipeline` returns by kernel
    /// name.
    pub(super) fn new(
        core: &Rc<Core>,
        plan: &Plan,
        buffers: &[Buffer],
        pipeline: impl Fn(&'static str, Shape) -> Result<Rc<Pipeline>, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let rooms =
            plan.scratch.iter().map(|&bytes| Allocation::new_zeroed(core, bytes, Place::Device));
        let scratch = rooms.collect::<Result<Vec<_>, _>>()?;
        let mut launches = Vec::new();
        for step in &plan.steps {
            let memory = memory(step, buffers, &scratch)?;
            let numbers = numbers(step, plan.dtype)?;
            let shape = Shape { buffers: memory.len() as u32, number_bytes: numbers.len() as u32 };
            let groups = groups(step.work, core.traits.most_groups);
            launches.push(Launch::new(pipeline(step.kernel, shape)?, &memory, numbers, groups)?);
        }
        Ok(Self {
            launches,
            provider: plan.provider,
            _buffers: buffers.to_vec(),
            _scratch: scratch,
        })
    }

    /// Changes the provider name in records.
    pub(super) fn with_provider(self, provider: &'static str) -> Self {
        Self { provider, ..self }
    }

    /// Queues every launch once, in order.
    pub(super) fn start(&self) -> Result<(), Failure> {
        self.launches.iter().try_for_each(|launch| {
            launch.pipeline.core().record(|device, commands| launch.commands(device, commands))
        })
    }

    /// Returns the launches, so that they can be recorded in a command buffer.
    pub(super) fn launches(&self) -> &[Launch] {
        &self.launches
    }
}

impl Kernel for Bound {
    fn launch(&mut self) -> Result<(), DeviceError> {
        Ok(self.start()?)
    }

    fn provider(&self) -> String {
        self.provider.to_owned()
    }
}

impl Launch {
    /// Binds the buffers to a new descriptor set. They are bound in reverse order, so that the
    /// output is binding 0.
    fn new(
        pipeline: Rc<Pipeline>,
        memory: &[&Allocation],
        numbers: Vec<u8>,
        groups: u32,
    ) -> Result<Self, Failure> {
        let (pool, set) = (vk::DescriptorPool::null(), vk::DescriptorSet::null());
        let mut launch = Self { pipeline, pool, set, numbers, groups };
        if memory.is_empty() {
            return Ok(launch);
        }
        let device = &launch.pipeline.core().raw;
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: memory.len() as u32,
        }];
        let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the list is live for the call.
        let pool = unsafe { device.create_descriptor_pool(&create, None) }
            .with_call("vkCreateDescriptorPool")?;
        launch.pool = pool;
        let device = &launch.pipeline.core().raw;
        let layouts = [launch.pipeline.set_layout];
        let allocate =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: the pool and the layout are live.
        let sets = unsafe { device.allocate_descriptor_sets(&allocate) }
            .with_call("vkAllocateDescriptorSets")?;
        let set = sets.first().copied().unwrap_or_default();
        let infos: Vec<_> = memory
            .iter()
            .rev()
            .map(|memory| {
                [vk::DescriptorBufferInfo {
                    buffer: memory.buffer(),
                    offset: 0,
                    range: vk::WHOLE_SIZE,
                }]
            })
            .collect();
        let writes: Vec<_> = (0_u32..)
            .zip(&infos)
            .map(|(binding, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: the set and the buffers are live, no command uses the set yet, and the layout has
        // one binding per buffer.
        unsafe { device.update_descriptor_sets(&writes, &[]) };
        launch.set = set;
        Ok(launch)
    }

    /// Adds the launch to a command buffer.
    pub(super) fn commands(&self, device: &ash::Device, commands: vk::CommandBuffer) {
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, self.pipeline.layout);
        // SAFETY: the command buffer is in the recording state. The pipeline, the set and its
        // buffers live until the commands have completed, since dropping them waits for the queue.
        // The push constants have the size given in the layout.
        unsafe {
            device.cmd_bind_pipeline(commands, point, self.pipeline.raw);
            if self.set != vk::DescriptorSet::null() {
                device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[self.set], &[]);
            }
            if !self.numbers.is_empty() {
                device.cmd_push_constants(
                    commands,
                    layout,
                    vk::ShaderStageFlags::COMPUTE,
                    0,
                    &self.numbers,
                );
            }
            device.cmd_dispatch(commands, self.groups, 1, 1);
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        let core = self.pipeline.core();
        let _ = core.synchronize();
        // SAFETY: nothing that uses the set is running, and nothing else destroys its pool; null is
        // ignored.
        unsafe { core.raw.destroy_descriptor_pool(self.pool, None) };
    }
}

fn memory<'m>(
    step: &Step,
    buffers: &'m [Buffer],
    scratch: &'m [Allocation],
) -> Result<Vec<&'m Allocation>, DeviceError> {
    let mut memory = Vec::new();
    for argument in &step.arguments {
        match *argument {
            Argument::Buffer(index) => memory.push(allocation(buffers.get(index))?),
            Argument::Scratch(index) => {
                let room = scratch.get(index);
                memory.push(room.ok_or_else(|| {
                    defect("plan", "it refers to a scratch buffer that it does not have")
                })?);
            }
            Argument::Count(_) | Argument::Number(_) => {}
        }
    }
    Ok(memory)
}

/// Returns the push constants in the layout of the shader: counts with 32 bits, and numbers in the
/// type that the kernel computes in, each aligned to its size.
fn numbers(step: &Step, dtype: Dtype) -> Result<Vec<u8>, DeviceError> {
    let mut bytes = Vec::new();
    for argument in &step.arguments {
        match *argument {
            Argument::Count(count) => {
                let count = u32::try_from(count).map_err(|_| {
                    unsupported_error(
                        &format!("{} of {count}", step.kernel.trim_start_matches("rsb_")),
                        "the shaders use 32-bit counts",
                        "choose a smaller size",
                    )
                })?;
                bytes.extend(count.to_le_bytes());
            }
            Argument::Number(number) if dtype == Dtype::F64 => {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend(number.to_le_bytes());
            }
            Argument::Number(number) => bytes.extend((number as f32).to_le_bytes()),
            Argument::Buffer(_) | Argument::Scratch(_) => {}
        }
    }
    Ok(bytes)
}

/// Returns the number of groups, limited to the maximum of the device. If that is too few, each
/// group processes several parts.
fn groups(work: Work, most: u32) -> u32 {
    let wanted = match work {
        Work::Items(items) => u32::try_from(items.div_ceil(u64::from(GROUP))).unwrap_or(u32::MAX),
        Work::Groups(groups) => groups,
        Work::One => 1,
    };
    wanted.clamp(1, most.max(1))
}

/// Returns the Vulkan storage of a buffer.
pub(super) fn allocation(buffer: Option<&Buffer>) -> Result<&Allocation, DeviceError> {
    held::storage(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(arguments: Vec<Argument>) -> Step {
        Step { kernel: "rsb_triad", arguments, work: Work::One }
    }

    #[test]
    fn numbers_lie_where_the_shader_looks() {
        use Argument::{Buffer, Count, Number};
        let narrow = numbers(&step(vec![Buffer(0), Count(7), Number(0.5)]), Dtype::F32).unwrap();
        assert_eq!(narrow, [[7, 0, 0, 0], [0, 0, 0, 63]].concat());
        let wide = numbers(&step(vec![Count(7), Number(1.0)]), Dtype::F64).unwrap();
        assert_eq!(wide, [[7, 0, 0, 0, 0, 0, 0, 0], 1.0_f64.to_le_bytes()].concat());
        assert!(matches!(
            numbers(&step(vec![Count(1 << 32)]), Dtype::F32),
            Err(DeviceError::Unsupported(reason)) if reason.what.contains("triad")
        ));
    }

    #[test]
    fn a_launch_keeps_to_what_the_device_takes() {
        assert_eq!(groups(Work::Items(257), 65535), 2);
        assert_eq!(groups(Work::Items(1 << 40), 65535), 65535);
        assert_eq!(groups(Work::Items(0), 65535), 1);
        assert_eq!(groups(Work::One, 65535), 1);
    }
}
