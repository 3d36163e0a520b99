//! Buffers and their memory, freed on drop.

use std::rc::Rc;

use ash::vk;

use super::core::Core;
use super::failure::{Failure, WithCall as _};
use crate::portable::PACK;
use crate::portable::Storage;
use rsb_device::device::DeviceError;
use rsb_device::held::HostSide;

/// Bytes per staging copy, if the device memory cannot be mapped.
const STAGE: u64 = 8 << 20;

/// Requested location of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Device memory.
    Device,
    /// Host memory, cached so that host reads are fast.
    Host,
}

/// A buffer and its memory.
pub(super) struct Allocation {
    core: Rc<Core>,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// Address of the mapping, if the memory is mapped.
    mapped: Option<*mut u8>,
}

impl Allocation {
    /// Allocates `bytes` zeroed bytes, rounded up to a multiple of [`PACK`].
    pub(super) fn new_zeroed(core: &Rc<Core>, bytes: u64, place: Place) -> Result<Self, Failure> {
        let size = bytes.max(1).saturating_add(PACK - 1) / PACK * PACK;
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let create = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: the device is live.
        let buffer =
            unsafe { core.raw.create_buffer(&create, None) }.with_call("vkCreateBuffer")?;
        // On later failures, dropping `made` destroys the buffer.
        let mut made =
            Self { core: Rc::clone(core), buffer, memory: vk::DeviceMemory::null(), mapped: None };
        made.back(place)?;
        // SAFETY: the buffer size is a multiple of four bytes, and the buffer is kept until the
        // wait completes.
        core.record(|device, commands| unsafe {
            device.cmd_fill_buffer(commands, buffer, 0, size, 0);
        })?;
        core.synchronize()?;
        Ok(made)
    }

    /// Allocates memory, binds it to the buffer, and maps it if it is host-visible.
    fn back(&mut self, place: Place) -> Result<(), Failure> {
        let core = &self.core;
        // SAFETY: the buffer is live.
        let needed = unsafe { core.raw.get_buffer_memory_requirements(self.buffer) };
        let kind = choose(core.memory.memory_types_as_slice(), needed.memory_type_bits, place)
            .ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)
            .with_call("selection of a memory type")?;
        let allocate =
            vk::MemoryAllocateInfo::default().allocation_size(needed.size).memory_type_index(kind);
        // SAFETY: the size and the memory type are those that the buffer requires.
        self.memory =
            unsafe { core.raw.allocate_memory(&allocate, None) }.with_call("vkAllocateMemory")?;
        // SAFETY: the buffer has no memory yet, and the memory is new and has the required size and
        // type.
        unsafe { core.raw.bind_buffer_memory(self.buffer, self.memory, 0) }
            .with_call("vkBindBufferMemory")?;
        let flags =
            core.memory.memory_types_as_slice().get(kind as usize).map(|kind| kind.property_flags);
        if flags.is_some_and(|flags| flags.contains(SEEN_BY_HOST)) {
            let none = vk::MemoryMapFlags::empty();
            // SAFETY: the memory type is host-visible, and the memory is mapped once, as a whole.
            let address = unsafe { core.raw.map_memory(self.memory, 0, vk::WHOLE_SIZE, none) }
                .with_call("vkMapMemory")?;
            self.mapped = Some(address.cast());
        }
        Ok(())
    }

    pub(super) const fn buffer(&self) -> vk::Buffer {
        self.buffer
    }

    /// Returns the device of the buffer.
    pub(super) const fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// Copies between host and buffer, and waits. The caller must have checked that the range is
    /// inside the buffer.
    pub(super) fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), Failure> {
        self.core.synchronize()?;
        if let Some(start) = self.mapped {
            let at = start.wrapping_add(offset as usize);
            // SAFETY: the caller checked the range against the buffer, which is mapped as a whole.
            // The device does not use the buffer after the wait above. The slice cannot overlap the
            // mapped memory, to which only this pointer leads.
            unsafe {
                match side {
                    HostSide::To(bytes) => {
                        at.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
                    }
                    HostSide::From(bytes) => {
                        at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                    }
                }
            }
            return Ok(());
        }
        self.copy_in_stages(offset, side)
    }

    fn copy_in_stages(&self, mut offset: u64, side: HostSide<'_>) -> Result<(), Failure> {
        let length = match &side {
            HostSide::To(bytes) => bytes.len(),
            HostSide::From(bytes) => bytes.len(),
        };
        let stage = Self::new_zeroed(&self.core, (length as u64).min(STAGE), Place::Host)?;
        match side {
            HostSide::To(bytes) => {
                for part in bytes.chunks_mut(STAGE as usize) {
                    self.copy_to(&stage, offset, 0, part.len() as u64)?;
                    stage.copy(0, HostSide::To(part))?;
                    offset += part.len() as u64;
                }
            }
            HostSide::From(bytes) => {
                for part in bytes.chunks(STAGE as usize) {
                    stage.copy(0, HostSide::From(part))?;
                    stage.copy_to(self, 0, offset, part.len() as u64)?;
                    offset += part.len() as u64;
                    self.core.synchronize()?;
                }
            }
        }
        Ok(())
    }

    /// Queues a copy of `bytes` from offset `from_at` to offset `to_at` of another buffer.
    pub(super) fn copy_to(
        &self,
        to: &Self,
        from_at: u64,
        to_at: u64,
        bytes: u64,
    ) -> Result<(), Failure> {
        let region = [vk::BufferCopy { src_offset: from_at, dst_offset: to_at, size: bytes }];
        let (from, to) = (self.buffer, to.buffer);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both ranges are inside the buffers, and dropping a buffer waits for the queue.
        self.core.record(|device, commands| unsafe {
            device.cmd_copy_buffer(commands, from, to, &region);
        })
    }
}

impl Storage for Allocation {
    fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), DeviceError> {
        Ok(Self::copy(self, offset, side)?)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Waiting fails if the device is lost; the error cannot be returned from `drop`.
        let _ = self.core.synchronize();
        // SAFETY: the commands that use the buffer and the memory have completed, and nothing else
        // destroys them.
        unsafe {
            self.core.raw.destroy_buffer(self.buffer, None);
            self.core.raw.free_memory(self.memory, None);
        }
    }
}

/// Memory that the host can access without flushing or invalidating it.
const SEEN_BY_HOST: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
        | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw(),
);

/// Selects a memory type for `place` among those whose bit is set in `allowed`. Prefers device
/// memory that is not host-visible, since that window may be small, and cached host memory.
fn choose(types: &[vk::MemoryType], allowed: u32, place: Place) -> Option<u32> {
    use vk::MemoryPropertyFlags as Flags;
    let wishes: [(Flags, Flags); 3] = match place {
        Place::Device => [
            (Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE),
            (Flags::DEVICE_LOCAL, Flags::empty()),
            (Flags::empty(), Flags::empty()),
        ],
        Place::Host => [
            (SEEN_BY_HOST | Flags::HOST_CACHED, Flags::DEVICE_LOCAL),
            (SEEN_BY_HOST | Flags::HOST_CACHED, Flags::empty()),
            (SEEN_BY_HOST, Flags::empty()),
        ],
    };
    // Types that some drivers report, but that must not be used for ordinary buffers.
    let odd = Flags::PROTECTED
        | Flags::LAZILY_ALLOCATED
        | Flags::DEVICE_COHERENT_AMD
        | Flags::DEVICE_UNCACHED_AMD;
    wishes.into_iter().find_map(|(with, without)| {
        (0_u32..).zip(types).find_map(|(index, kind)| {
            let flags = kind.property_flags;
            let may = index < 32 && allowed & (1 << index) != 0;
            (may && flags.contains(with) && !flags.intersects(without | odd)).then_some(index)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::MemoryPropertyFlags as Flags;

    fn types(flags: &[Flags]) -> Vec<vk::MemoryType> {
        flags
            .iter()
            .map(|&property_flags| vk::MemoryType { property_flags, heap_index: 0 })
            .collect()
    }

    #[test]
    fn memory_is_chosen_on_purpose() {
        let coherent = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let gpu = types(&[
            coherent,
            Flags::DEVICE_LOCAL | coherent,
            Flags::DEVICE_LOCAL,
            coherent | Flags::HOST_CACHED,
        ]);
        assert_eq!(
            choose(&gpu, !0, Place::Device),
            Some(2),
            "device memory that is not host-visible is preferred"
        );
        assert_eq!(
            choose(&gpu, !0, Place::Host),
            Some(3),
            "cached memory is preferred for reads by the host"
        );
        assert_eq!(choose(&gpu, 0b0011, Place::Device), Some(1));
        assert_eq!(choose(&gpu, 0b0001, Place::Host), Some(0));
        let cpu = types(&[Flags::DEVICE_LOCAL | coherent | Flags::HOST_CACHED]);
        assert_eq!(choose(&cpu, !0, Place::Device), Some(0));
        assert_eq!(choose(&cpu, !0, Place::Host), Some(0));
        assert_eq!(choose(&types(&[Flags::DEVICE_LOCAL]), !0, Place::Host), None);
        let odd = types(&[Flags::DEVICE_LOCAL | Flags::PROTECTED, Flags::DEVICE_LOCAL]);
        assert_eq!(choose(&odd, !0, Place::Device), Some(1));
    }
}
