//! A memory range that several threads of a pool access at once.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::memory::Memory;

/// Address and size of a buffer. Kernels turn disjoint parts of it into slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: a span is only an address; the unsafe methods state the requirements for accessing it.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    pub(crate) const EMPTY: Self =
        Self { start: std::ptr::NonNull::<u64>::dangling().as_ptr().cast(), bytes: 0 };

    pub(crate) fn of(memory: &Memory) -> Self {
        Self { start: memory.start(), bytes: memory.bytes() }
    }

    /// Creates a span over memory of one thread. The caller ensures that `room` outlives the span.
    pub(crate) fn of_slice<T>(room: &mut [T]) -> Self {
        Self { start: room.as_mut_ptr().cast(), bytes: size_of_val(room) }
    }

    /// Returns the address of the first element.
    pub(crate) fn start<T>(self) -> *mut T {
        self.start.cast()
    }

    /// Returns the rest of the span from element `first` of `T`; empty beyond the end.
    pub(crate) fn from<T>(self, first: usize) -> Self {
        let skipped = first.saturating_mul(size_of::<T>()).min(self.bytes);
        Self { start: self.start.wrapping_add(skipped), bytes: self.bytes - skipped }
    }

    /// Limits `range` to the elements of `T` in the span.
    fn clamp<T>(self, range: &Range<usize>) -> Range<usize> {
        let most = self.bytes / size_of::<T>();
        range.start.min(most)..range.end.min(most).max(range.start.min(most))
    }

    /// Returns the elements of `range` that exist.
    ///
    /// # Safety
    /// The memory lives for `'a`, nothing writes to these elements meanwhile, and `T` is a plain
    /// number for which all bit patterns are valid. Buffers are page-aligned, which suffices for
    /// any number.
    pub(crate) unsafe fn slice<'a, T: Copy>(self, range: &Range<usize>) -> &'a [T] {
        let range = self.clamp::<T>(range);
        // SAFETY: in bounds after `clamp`, and initialized at allocation; the caller guarantees the
        // rest.
        unsafe { std::slice::from_raw_parts(self.start.cast::<T>().add(range.start), range.len()) }
    }

    /// Returns the mutable elements of `range` that exist.
    ///
    /// # Safety
    /// As for [`Span::slice`], and nothing else reads these elements during `'a`: threads use
    /// disjoint parts.
    pub(crate) unsafe fn slice_mut<'a, T: Copy>(self, range: &Range<usize>) -> &'a mut [T] {
        let range = self.clamp::<T>(range);
        // SAFETY: as in `slice`.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.cast::<T>().add(range.start), range.len())
        }
    }
}
