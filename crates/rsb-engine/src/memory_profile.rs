//! Counts the heap allocations of a workload, with the feature `memory-profiling`; without it, nothing is counted.
#![cfg_attr(feature = "memory-profiling", allow(unsafe_code))]

use rsb_model::Fields;

/// Allocations seen during the samples of one case.
#[derive(Debug, Default)]
pub struct Ledger {
    samples: u64,
    #[cfg(feature = "memory-profiling")]
    iterations: u64,
    #[cfg(feature = "memory-profiling")]
    allocations: u64,
    #[cfg(feature = "memory-profiling")]
    leaked_bytes: i64,
}

#[cfg(not(feature = "memory-profiling"))]
impl Ledger {
    /// Runs `work`.
    pub fn around<T>(&mut self, _iters: u64, work: impl FnOnce() -> T) -> T {
        self.samples += 1;
        work()
    }

    /// Nothing was counted.
    #[allow(clippy::unused_self)] // The same call as where something was.
    pub fn fields(&self) -> Fields {
        Fields::new()
    }
}

#[cfg(feature = "memory-profiling")]
impl Ledger {
    /// Runs `work` and counts what it allocates. The first sample is left out: it fills caches that stay.
    pub fn around<T>(&mut self, iters: u64, work: impl FnOnce() -> T) -> T {
        let before = counting::Totals::now();
        let result = work();
        let after = counting::Totals::now();
        if self.samples > 0 {
            self.iterations += iters;
            self.allocations += after.allocations - before.allocations;
            self.leaked_bytes += after.live_bytes - before.live_bytes;
        }
        self.samples += 1;
        result
    }

    /// `memory_leaked_bytes` and `allocations_per_iteration`, once there were two samples.
    pub fn fields(&self) -> Fields {
        if self.iterations == 0 {
            return Fields::new();
        }
        Fields::new()
            .with("memory_leaked_bytes", self.leaked_bytes.max(0))
            .with("allocations_per_iteration", self.allocations as f64 / self.iterations as f64)
    }
}

#[cfg(feature = "memory-profiling")]
#[allow(clippy::cast_possible_wrap)] // No allocation is larger than an i64 can hold.
mod counting {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

    static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
    static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

    /// The counters at one moment.
    pub(super) struct Totals {
        pub(super) allocations: u64,
        pub(super) live_bytes: i64,
    }

    impl Totals {
        pub(super) fn now() -> Self {
            Self { allocations: ALLOCATIONS.load(Relaxed), live_bytes: LIVE_BYTES.load(Relaxed) }
        }
    }

    struct Counting;

    // SAFETY: every call goes to `System` unchanged; the counters touch no memory of the caller.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
            // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            LIVE_BYTES.fetch_sub(layout.size() as i64, Relaxed);
            // SAFETY: `pointer` came from `System` with this layout, as the caller promises.
            unsafe { System.dealloc(pointer, layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
            // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is that of `System`.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(new_size as i64 - layout.size() as i64, Relaxed);
            // SAFETY: `pointer` came from `System` with this layout, as the caller promises.
            unsafe { System.realloc(pointer, layout, new_size) }
        }
    }

    #[global_allocator]
    static GLOBAL: Counting = Counting;
}

#[cfg(all(test, feature = "memory-profiling"))]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_counted_and_a_clean_workload_is_clean() {
        let mut clean = Ledger::default();
        let mut leaky = Ledger::default();
        let mut kept = Vec::new();
        for _ in 0..3 {
            clean.around(1, || drop(std::hint::black_box(vec![0_u8; 4096])));
            leaky.around(1, || kept.push(std::hint::black_box(Box::new([0_u8; 4096]))));
        }
        assert!(clean.fields().number("allocations_per_iteration").unwrap() >= 1.0);
        assert!(leaky.fields().number("memory_leaked_bytes").unwrap() >= 8192.0);
    }
}
