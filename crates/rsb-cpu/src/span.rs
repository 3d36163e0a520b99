//! A stretch of memory that several threads of a pool see at once.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::memory::Memory;

/// Where a buffer lies. Kernels turn shares of it into slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: a span is only an address; what is done with it is for the unsafe methods to justify.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    pub(crate) const EMPTY: Self =
        Self { start: std::ptr::NonNull::<u64>::dangling().as_ptr().cast(), bytes: 0 };

    pub(crate) fn of(memory: &Memory) -> Self {
        Self { start: memory.start(), bytes: memory.bytes() }
    }

    /// Room of a thread's own. Whoever uses the span sees to it that the room outlives it.
    pub(crate) fn of_slice<T>(room: &mut [T]) -> Self {
        Self { start: room.as_mut_ptr().cast(), bytes: size_of_val(room) }
    }

    /// Where it begins.
    pub(crate) fn start<T>(self) -> *mut T {
        self.start.cast()
    }

    /// What is left from element `first` of `T` on; nothing beyond the end.
    pub(crate) fn from<T>(self, first: usize) -> Self {
        let skipped = first.saturating_mul(size_of::<T>()).min(self.bytes);
        Self { start: self.start.wrapping_add(skipped), bytes: self.bytes - skipped }
    }

    /// Elements of `T` in it.
    fn clamp<T>(self, range: &Range<usize>) -> Range<usize> {
        let most = self.bytes / size_of::<T>();
        range.start.min(most)..range.end.min(most).max(range.start.min(most))
    }

    /// Elements `range`, cut to what is there.
    ///
    /// # Safety
    /// The memory must live for `'a`, nobody may write to these elements during it, and `T` must be
    /// a plain number (any bits are a value of it). Buffers are page-aligned, which is enough for
    /// any number.
    pub(crate) unsafe fn slice<'a, T: Copy>(self, range: &Range<usize>) -> &'a [T] {
        let range = self.clamp::<T>(range);
        // SAFETY: in bounds after `clamp`, initialized when it was allocated; the rest is the
        // caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.cast::<T>().add(range.start), range.len()) }
    }

    /// As [`Span::slice`], to write to.
    ///
    /// # Safety
    /// As there, and nobody else may even read these elements during `'a`: threads take disjoint
    /// shares.
    pub(crate) unsafe fn slice_mut<'a, T: Copy>(self, range: &Range<usize>) -> &'a mut [T] {
        let range = self.clamp::<T>(range);
        // SAFETY: as in `slice`.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.cast::<T>().add(range.start), range.len())
        }
    }
}
