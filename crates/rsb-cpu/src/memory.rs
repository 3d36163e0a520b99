//! CPU memory: page-aligned, in huge pages if the system provides them, zeroed and touched before
//! use.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use rsb_device::device::DeviceError;
use rsb_model::Reason;

/// Page size, which exceeds the alignment of any vector.
const PAGE: usize = 4096;

/// Huge page size. Large buffers are aligned to it, since unaligned parts at their start would miss
/// the TLB more often.
const HUGE_PAGE: usize = 2 << 20;

/// A block of memory. It is neither `Send` nor `Sync`, because its bytes change through shared
/// references: only its owner and the thread pool of a running kernel may access it.
pub(super) struct Memory {
    start: NonNull<u8>,
    block: Block,
    bytes: usize,
}

/// Origin of a block, which determines how it is freed.
enum Block {
    Allocated(Layout),
    /// Whole pages mapped from the system.
    #[cfg(target_os = "linux")]
    Mapped {
        start: NonNull<u8>,
        bytes: usize,
    },
}

impl Memory {
    /// Allocates `bytes` zeros with every page resident. Returns `None` if there is not enough
    /// memory.
    pub(super) fn new_zeroed(bytes: usize) -> Option<Self> {
        if bytes < HUGE_PAGE { Self::allocate(bytes, PAGE) } else { Self::new_large(bytes) }
    }

    fn allocate(bytes: usize, align: usize) -> Option<Self> {
        let layout =
            Layout::from_size_align(bytes.max(1).checked_next_multiple_of(PAGE)?, align).ok()?;
        // SAFETY: the layout has at least one page.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: the block has `layout.size()` bytes and no other reference to it exists yet.
        // Writing zeros is also the first touch, so page faults happen here and not during a
        // measurement.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Some(Self { start, block: Block::Allocated(layout), bytes })
    }

    /// Implements [`Memory::new_zeroed`] for large blocks. Fresh pages from the system are already
    /// zero, so they are not written again.
    #[cfg(target_os = "linux")]
    fn new_large(bytes: usize) -> Option<Self> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let used = bytes.checked_next_multiple_of(PAGE)?;
        let whole = used.checked_add(HUGE_PAGE)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses affects no other memory.
        let mapping =
            unsafe { mmap_anonymous(std::ptr::null_mut(), whole, access, MapFlags::PRIVATE) }
                .ok()?;
        let mapping = NonNull::new(mapping.cast::<u8>())?;
        let block = Block::Mapped { start: mapping, bytes: whole };
        // SAFETY: the mapping exceeds the used size by the largest possible offset.
        let start = unsafe { mapping.add(mapping.as_ptr().align_offset(HUGE_PAGE)) };
        let memory = Self { start, block, bytes };
        // SAFETY: the range is within the mapping created above. The first advice changes only the
        // page size, and its failure is ignored, since small pages also work; the second advice
        // makes the pages resident.
        let in_place = unsafe {
            let _ = madvise(start.as_ptr().cast(), used, Advice::LinuxHugepage);
            madvise(start.as_ptr().cast(), used, Advice::LinuxPopulateWrite)
        };
        match in_place {
            Ok(()) => {}
            // Without enough memory, writing to the pages would get the process killed. After other
            // errors, writing makes each page resident.
            Err(rustix::io::Errno::NOMEM) => return None,
            Err(_) => {
                for page in (0..used).step_by(PAGE) {
                    // SAFETY: within the block, to which no other reference exists yet.
                    unsafe { start.add(page).as_ptr().write_volatile(0) };
                }
            }
        }
        Some(memory)
    }

    #[cfg(not(target_os = "linux"))]
    fn new_large(bytes: usize) -> Option<Self> {
        Self::allocate(bytes, HUGE_PAGE)
    }

    /// Returns the address of the first byte.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the requested size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Option<()> {
        let at = self.range(offset, bytes.len())?;
        // SAFETY: `range` checked that the block has this many bytes at the offset; `bytes` cannot
        // overlap the block, which is reachable only through raw pointers.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some(())
    }

    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let at = self.range(offset, bytes.len())?;
        // SAFETY: as in `write`; `new_zeroed` initialized every byte.
        unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Some(())
    }

    fn range(&self, offset: u64, count: usize) -> Option<*mut u8> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(count)?;
        // SAFETY: the offset is within the block.
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
                // SAFETY: the mapping belongs to this block and is unmapped as a whole. The call
                // fails only for an invalid mapping.
                let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
            }
        }
    }
}

/// Returns the error for an allocation that the system refused.
pub(super) fn refused_memory(bytes: u64) -> DeviceError {
    DeviceError::Failed(Reason::new(
        format!("{} of memory", rsb_model::shape::rounded_bytes(bytes)),
        "the system refused the allocation",
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
