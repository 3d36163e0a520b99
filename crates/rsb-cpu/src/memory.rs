//! Memory of the CPU: page-aligned, in huge pages where the system gives them, zeroed and touched before use.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// A page, and more than any vector needs.
const PAGE: usize = 4096;

/// A huge page. Large buffers start on one, or the first part of them would miss the translation cache more often.
const HUGE_PAGE: usize = 2 << 20;

/// A block of memory. It is neither `Send` nor `Sync`: its bytes change through shared references, and only the pool
/// of threads that a kernel starts and joins may see it beside its owner.
pub(super) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

impl Memory {
    /// `bytes` zeros, every page of them in place. `None` when there is not that much.
    pub(super) fn zeroed(bytes: usize) -> Option<Self> {
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE };
        let layout = Layout::from_size_align(bytes.max(1).checked_next_multiple_of(PAGE)?, align).ok()?;
        // SAFETY: the layout's size is at least one page.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        let memory = Self { start, layout, bytes };
        memory.ask_for_huge_pages();
        // SAFETY: the block is `layout.size()` long and nobody else knows it yet. Writing zeros is also the first
        // touch: the pages come into being here and not inside a measurement.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
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
        // SAFETY: `range` checked that the block holds this many bytes from there on; `bytes` cannot overlap a block
        // that is only reachable through raw pointers.
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

    #[cfg(target_os = "linux")]
    fn ask_for_huge_pages(&self) {
        if self.layout.align() == HUGE_PAGE {
            // SAFETY: the range is a block of ours, and the advice changes nothing but the size of its pages. A system
            // that refuses leaves small pages, which is no error.
            let _ = unsafe {
                rustix::mm::madvise(self.start.as_ptr().cast(), self.layout.size(), rustix::mm::Advice::LinuxHugepage)
            };
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn ask_for_huge_pages(&self) {}
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the block came from `alloc` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_aligned_and_bounded() {
        for bytes in [1, 100, 5000, HUGE_PAGE + 1] {
            let memory = Memory::zeroed(bytes).unwrap();
            assert_eq!(memory.bytes(), bytes);
            assert_eq!(memory.start().align_offset(PAGE), 0);
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
        assert!(Memory::zeroed(usize::MAX).is_none());
        assert!(Memory::zeroed(isize::MAX as usize - PAGE).is_none());
    }
}
