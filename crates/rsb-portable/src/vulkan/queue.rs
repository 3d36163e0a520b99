//! Command queue. Commands are collected and submitted in batches, since a submission costs more
//! time than most kernels.

use ash::vk;

use super::failure::{Failure, WithCall as _};

/// Maximum number of commands per submission.
const TOGETHER: u32 = 64;

/// Number of command buffers, used in turn. Recording waits until the next one has completed.
const UNDER_WAY: usize = 8;

/// A command buffer and the fence that signals its completion.
struct Slot {
    commands: vk::CommandBuffer,
    ended: vk::Fence,
}

/// The single queue of a device.
pub(super) struct Queue {
    raw: vk::Queue,
    pool: vk::CommandPool,
    slots: Vec<Slot>,
    /// Index of the slot that is recording, and the number of commands recorded in it.
    current: usize,
    recorded: u32,
    /// Whether commands were submitted since the last wait.
    busy: bool,
    /// Failed submission, after which nothing more is submitted or waited for, since commands may
    /// never complete.
    broken: Option<Failure>,
}

impl Queue {
    pub(super) fn new(device: &ash::Device, family: u32) -> Result<Self, Failure> {
        let create = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the device is live and was created with one queue of this family.
        let raw = unsafe { device.get_device_queue(family, 0) };
        // SAFETY: the device is live and has a queue of this family.
        let pool = unsafe { device.create_command_pool(&create, None) }
            .with_call("vkCreateCommandPool")?;
        let mut queue = Self {
            raw,
            pool,
            slots: Vec::new(),
            current: 0,
            recorded: 0,
            busy: false,
            broken: None,
        };
        match queue.fill(device) {
            Ok(()) => Ok(queue),
            Err(failure) => {
                queue.destroy(device);
                Err(failure)
            }
        }
    }

    fn fill(&mut self, device: &ash::Device) -> Result<(), Failure> {
        for _ in 0..UNDER_WAY {
            let commands = self.allocate(device)?;
            let create = vk::FenceCreateInfo::default().flags(vk::FenceCreateFlags::SIGNALED);
            // SAFETY: the device is live. The command buffer is freed with its pool.
            let ended = unsafe { device.create_fence(&create, None) }.with_call("vkCreateFence")?;
            self.slots.push(Slot { commands, ended });
        }
        Ok(())
    }

    fn allocate(&self, device: &ash::Device) -> Result<vk::CommandBuffer, Failure> {
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool is live.
        let made = unsafe { device.allocate_command_buffers(&allocate) }
            .with_call("vkAllocateCommandBuffers")?;
        made.first().copied().ok_or(vk::Result::ERROR_UNKNOWN).with_call("vkAllocateCommandBuffers")
    }

    /// Adds commands to the current batch. They start after all previous commands have completed
    /// and their writes are visible.
    pub(super) fn record(
        &mut self,
        device: &ash::Device,
        commands: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), Failure> {
        let Some(slot) = self.slots.get(self.current) else { return Ok(()) };
        if let Some(failure) = self.broken {
            return Err(failure);
        }
        if self.recorded == 0 {
            // SAFETY: the fence is live, and was either created signaled or submitted.
            unsafe { device.wait_for_fences(&[slot.ended], true, u64::MAX) }
                .with_call("vkWaitForFences")?;
            begin(device, slot.commands, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
        }
        wait_for_all_before(device, slot.commands);
        commands(device, slot.commands);
        self.recorded += 1;
        if self.recorded >= TOGETHER { self.flush(device) } else { Ok(()) }
    }

    /// Submits the current batch.
    pub(super) fn flush(&mut self, device: &ash::Device) -> Result<(), Failure> {
        let Some(slot) = self.slots.get(self.current) else { return Ok(()) };
        if self.recorded == 0 {
            return Ok(());
        }
        show_to_host(device, slot.commands);
        // SAFETY: the command buffer is in the recording state.
        unsafe { device.end_command_buffer(slot.commands) }.with_call("vkEndCommandBuffer")?;
        // SAFETY: the fence belongs only to this command buffer; it was signaled before recording
        // began, and is not submitted.
        unsafe { device.reset_fences(&[slot.ended]) }.with_call("vkResetFences")?;
        let (recording, ended) = ([slot.commands], slot.ended);
        self.recorded = 0;
        self.current = (self.current + 1) % self.slots.len();
        self.hand_over(device, &recording, ended)
    }

    /// Submits a command buffer created by [`Queue::recording`], after the current batch.
    pub(super) fn submit(
        &mut self,
        device: &ash::Device,
        recording: vk::CommandBuffer,
    ) -> Result<(), Failure> {
        self.flush(device)?;
        self.hand_over(device, &[recording], vk::Fence::null())
    }

    fn hand_over(
        &mut self,
        device: &ash::Device,
        recording: &[vk::CommandBuffer],
        ended: vk::Fence,
    ) -> Result<(), Failure> {
        let submits = [vk::SubmitInfo::default().command_buffers(recording)];
        if let Some(failure) = self.broken {
            return Err(failure);
        }
        self.busy = true;
        // SAFETY: the command buffer is complete, and everything it uses lives until the queue has
        // been waited for.
        let handed_over =
            unsafe { device.queue_submit(self.raw, &submits, ended) }.with_call("vkQueueSubmit");
        self.broken = handed_over.err();
        handed_over
    }

    /// Submits the current batch, and waits until all commands have completed.
    pub(super) fn synchronize(&mut self, device: &ash::Device) -> Result<(), Failure> {
        self.flush(device)?;
        if !self.busy {
            return self.broken.map_or(Ok(()), Err);
        }
        // SAFETY: the queue is live.
        unsafe { device.queue_wait_idle(self.raw) }.with_call("vkQueueWaitIdle")?;
        self.busy = false;
        Ok(())
    }

    /// Records `commands` in a command buffer that can be submitted any number of times.
    pub(super) fn recording(
        &self,
        device: &ash::Device,
        commands: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, Failure> {
        let recording = self.allocate(device)?;
        let begun = begin(device, recording, vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        let ended = begun.and_then(|()| {
            commands(device, recording);
            show_to_host(device, recording);
            // SAFETY: the command buffer is in the recording state, since `begin` succeeded.
            unsafe { device.end_command_buffer(recording) }.with_call("vkEndCommandBuffer")
        });
        match ended {
            Ok(()) => Ok(recording),
            Err(failure) => {
                self.forget(device, recording);
                Err(failure)
            }
        }
    }

    /// Frees a command buffer created by [`Queue::recording`], which must have completed.
    pub(super) fn forget(&self, device: &ash::Device, recording: vk::CommandBuffer) {
        // SAFETY: the command buffer belongs to this pool, has completed, and is not freed
        // elsewhere.
        unsafe { device.free_command_buffers(self.pool, &[recording]) };
    }

    /// Destroys all objects. The device must be idle.
    pub(super) fn destroy(&mut self, device: &ash::Device) {
        for slot in std::mem::take(&mut self.slots) {
            // SAFETY: the device is idle, so nothing uses the fence.
            unsafe { device.destroy_fence(slot.ended, None) };
        }
        // SAFETY: the device is idle, so no command buffer of the pool is running.
        unsafe { device.destroy_command_pool(self.pool, None) };
    }
}

fn begin(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    usage: vk::CommandBufferUsageFlags,
) -> Result<(), Failure> {
    let begin = vk::CommandBufferBeginInfo::default().flags(usage);
    // SAFETY: the command buffer is not running, and beginning discards its previous contents.
    unsafe { device.begin_command_buffer(commands, &begin) }.with_call("vkBeginCommandBuffer")
}

/// Adds a barrier: the next kernels and copies start after the previous ones have completed and
/// their writes are visible.
pub(super) fn wait_for_all_before(device: &ash::Device, commands: vk::CommandBuffer) {
    let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
    let barrier = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(
            vk::AccessFlags::SHADER_READ
                | vk::AccessFlags::SHADER_WRITE
                | vk::AccessFlags::TRANSFER_READ
                | vk::AccessFlags::TRANSFER_WRITE,
        )];
    let none = vk::DependencyFlags::empty();
    // SAFETY: the command buffer is in the recording state.
    unsafe { device.cmd_pipeline_barrier(commands, stages, stages, none, &barrier, &[], &[]) };
}

/// Adds a barrier that makes all writes visible to the host once it has waited for the queue.
fn show_to_host(device: &ash::Device, commands: vk::CommandBuffer) {
    let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
    let barrier = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ)];
    let (host, none) = (vk::PipelineStageFlags::HOST, vk::DependencyFlags::empty());
    // SAFETY: the command buffer is in the recording state.
    unsafe { device.cmd_pipeline_barrier(commands, stages, host, none, &barrier, &[], &[]) };
}
