//! Memory of the CPU: page-aligned, in huge pages where the system gives them, zeroed and touched
//! before use.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use rsb_device::device::DeviceError;
use rsb_model::Reason;

/// A page, and more than any vector needs.
const PAGE: usize = 4096;

/// A huge page. Large buffers start on one, or the first part of them would miss the translation
/// cache more often.
const HUGE_PAGE: usize = 2 << 20;

/// A block of memory. It is neither `Send` nor `Sync`: its bytes change through shared references,
/// and only the pool of threads that a kernel starts and joins may see it beside its owner.
pub(super) struct Memory {
    start: NonNull<u8>,
    block: Block,
    bytes: usize,
}

/// Where a block came from, and goes.
enum Block {
    Allocated(Layout),
    /// Whole pages of the system's own.
    #[cfg(target_os = "linux")]
    Mapped {
        start: NonNull<u8>,
        bytes: usize,
    },
}

impl Memory {
    /// `bytes` zeros, every page of them in place. `None` when there is not that much.
    pub(super) fn new_zeroed(bytes: usize) -> Option<Self> {
        #[cfg(target_os = "linux")]
        if bytes >= HUGE_PAGE {
            return Self::map_huge_pages(bytes);
        }
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE };
        let layout =
            Layout::from_size_align(bytes.max(1).checked_next_multiple_of(PAGE)?, align).ok()?;
        // SAFETY: the layout's size is at least one page.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: the block is `layout.size()` long and nobody else knows it yet. Writing zeros is
        // also the first touch: the pages come into being here and not inside a measurement.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Some(Self { start, block: Block::Allocated(layout), bytes })
    }

    /// As [`Memory::zeroed`], of pages that the system has just made, which are zeros: writing them
    /// again would take as long.
    #[cfg(target_os = "linux")]
    fn map_huge_pages(bytes: usize) -> Option<Self> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let used = bytes.checked_next_multiple_of(PAGE)?;
        let whole = used.checked_add(HUGE_PAGE)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the system chooses touches nobody else's memory.
        let mapping =
            unsafe { mmap_anonymous(std::ptr::null_mut(), whole, access, MapFlags::PRIVATE) }
                .ok()?;
        let mapping = NonNull::new(mapping.cast::<u8>())?;
        let block = Block::Mapped { start: mapping, bytes: whole };
        // SAFETY: the mapping is longer than what is used by what is skipped at most.
        let start = unsafe { mapping.add(mapping.as_ptr().align_offset(HUGE_PAGE)) };
        let memory = Self { start, block, bytes };
        // SAFETY: the range is a block of ours. The first advice changes nothing but the size of
        // its pages, and a system that refuses leaves small ones, which is no error; the second
        // brings them into being.
        let in_place = unsafe {
            let _ = madvise(start.as_ptr().cast(), used, Advice::LinuxHugepage);
            madvise(start.as_ptr().cast(), used, Advice::LinuxPopulateWrite)
        };
        match in_place {
            Ok(()) => {}
            // Every page is there once it was written to; where there is no room for one, the
            // process would be killed.
            Err(rustix::io::Errno::NOMEM) => return None,
            Err(_) => {
                for page in (0..used).step_by(PAGE) {
                    // SAFETY: within the block, which nobody else knows yet.
                    unsafe { start.add(page).as_ptr().write_volatile(0) };
                }
            }
        }
        Some(memory)
    }

    /// Where it begins.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// As it was asked for.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Option<()> {
        let at = self.range(offset, bytes.len())?;
        // SAFETY: `range` checked that the block holds this many bytes from there on; `bytes`
        // cannot overlap a block that is only reachable through raw pointers.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some(())
    }

    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let at = self.range(offset, bytes.len())?;
        // SAFETY: as in `write`; every byte was initialized by `zeroed`.
        unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Some(())
    }

    fn range(&self, offset: u64, count: usize) -> Option<*mut u8> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(count)?;
        // SAFETY: the offset lies within the block.
        (end <= self.bytes).then(|| unsafe { self.start.as_ptr().add(offset) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.block {
            // SAFETY: the block came from `alloc` with this layout.
            Block::Allocated(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            #[cfg(target_os = "linux")]
            Block::Mapped { start, bytes } => {
                // SAFETY: the mapping is this block's own, and whole. It can only fail if it is
                // none.
                let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
            }
        }
    }
}

/// Returns the error for an allocation that the system refused.
pub(super) fn refused_memory(bytes: u64) -> DeviceError {
    DeviceError::Failed(Reason::new(
        format!("{} of memory", rsb_model::shape::rounded_bytes(bytes)),
        "the system refused to give it to this process",
        "raise the limit of the process (`ulimit -v`), choose a smaller size, or free memory",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_aligned_and_bounded() {
        for bytes in [1, 100, 5000, HUGE_PAGE + 1] {
            let memory = Memory::new_zeroed(bytes).unwrap();
            assert_eq!(memory.bytes(), bytes);
            assert_eq!(
                memory.start().align_offset(if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE }),
                0
            );
            let mut found = vec![1; bytes];
            memory.read(0, &mut found).unwrap();
            assert!(found.iter().all(|&byte| byte == 0));
            memory.write(bytes as u64 - 1, &[9]).unwrap();
            memory.read(0, &mut found).unwrap();
            assert_eq!(found.last(), Some(&9));
            assert!(memory.write(bytes as u64, &[1]).is_none());
            assert!(memory.read(u64::MAX, &mut [0]).is_none());
        }
    }

    #[test]
    fn what_is_not_there_is_not_given() {
        assert!(Memory::new_zeroed(usize::MAX).is_none());
        assert!(Memory::new_zeroed(isize::MAX as usize - PAGE).is_none());
    }
}
