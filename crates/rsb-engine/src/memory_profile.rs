//! Memory profile of a workload (feature `memory-profiling`): counts heap allocations, and memory
//! that is not released by Rust, by native libraries and on the device. Without the feature,
//! nothing is counted.
#![cfg_attr(feature = "memory-profiling", allow(unsafe_code))]

use rsb_device::Device;
use rsb_model::Fields;

#[cfg(feature = "memory-profiling")]
pub use counted::CountingLedger as Ledger;

/// Stand-in without the feature; counts nothing.
#[cfg(not(feature = "memory-profiling"))]
#[derive(Debug)]
pub struct Ledger;

#[cfg(not(feature = "memory-profiling"))]
#[allow(clippy::unused_self)] // The same calls as where something is counted.
impl Ledger {
    /// Creates a ledger; the device is not queried.
    pub fn of(_: &dyn Device) -> Self {
        Self
    }

    /// Runs `work`.
    pub fn around<T>(&mut self, _iters: u64, work: impl FnOnce() -> T) -> T {
        work()
    }

    /// Returns no fields.
    pub fn fields(&self) -> Fields {
        Fields::new()
    }
}

#[cfg(feature = "memory-profiling")]
#[allow(clippy::cast_possible_wrap)] // No memory is larger than an i64 can hold.
mod counted {
    use super::{Device, Fields, counting};

    /// Allocations and unreleased memory during the samples of one case.
    pub struct CountingLedger<'d> {
        device: &'d dyn Device,
        samples: u64,
        iterations: u64,
        allocations: u64,
        left: [Option<i64>; 3],
    }

    /// Returns the bytes in use: on Rust's heap, by malloc in total, and on the device (negated
    /// free memory, so that only differences are meaningful).
    fn bytes_in_use(device: &dyn Device) -> [Option<i64>; 3] {
        let device_bytes = device.free_bytes().map(|bytes| -(bytes as i64));
        [Some(counting::live_bytes()), native_bytes(), device_bytes]
    }

    /// Returns the bytes allocated by the C library, from its arenas and by mmap, including Rust's
    /// heap.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(clippy::unnecessary_wraps)] // Other C libraries do not tell.
    fn native_bytes() -> Option<i64> {
        // SAFETY: `mallinfo2` has no arguments and no preconditions; it only reads, under malloc's
        // locks.
        let info = unsafe { libc::mallinfo2() };
        Some((info.uordblks + info.hblkhd) as i64)
    }

    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    fn native_bytes() -> Option<i64> {
        None
    }

    impl<'d> CountingLedger<'d> {
        /// Creates a ledger for a workload on `device`.
        pub fn of(device: &'d dyn Device) -> Self {
            Self { device, samples: 0, iterations: 0, allocations: 0, left: [Some(0); 3] }
        }

        /// Runs `work` and counts its allocations and unreleased memory. The first sample is
        /// excluded because it fills caches that persist.
        pub fn around<T>(&mut self, iters: u64, work: impl FnOnce() -> T) -> T {
            let (before, allocations) = (bytes_in_use(self.device), counting::allocations());
            let result = work();
            if self.samples > 0 {
                self.iterations += iters;
                self.allocations += counting::allocations() - allocations;
                for ((left, before), after) in
                    self.left.iter_mut().zip(before).zip(bytes_in_use(self.device))
                {
                    *left = (|| Some(left.as_ref()? + after? - before?))();
                }
            }
            self.samples += 1;
            result
        }

        /// Returns `allocations_per_iteration` and the unreleased bytes of each kind, after at
        /// least two samples.
        pub fn fields(&self) -> Fields {
            if self.iterations == 0 {
                return Fields::new();
            }
            let [heap, native, device] = self.left;
            // Subtract Rust's heap from malloc's total.
            let native = native.zip(heap).map(|(all, heap)| all - heap);
            let leaks = [
                ("memory_leaked_bytes", heap),
                ("native_memory_leaked_bytes", native),
                ("device_memory_leaked_bytes", device),
            ];
            let known = leaks.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
            let per_iteration = self.allocations as f64 / self.iterations as f64;
            known.fold(
                Fields::new().with("allocations_per_iteration", per_iteration),
                |fields, (name, bytes)| fields.with(name, bytes.max(0)),
            )
        }
    }
}

#[cfg(feature = "memory-profiling")]
#[allow(clippy::cast_possible_wrap)] // No allocation is larger than an i64 can hold.
mod counting {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

    static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
    static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

    /// Returns the number of allocations since the program began.
    pub(super) fn allocations() -> u64 {
        ALLOCATIONS.load(Relaxed)
    }

    /// Returns the bytes allocated and not freed.
    pub(super) fn live_bytes() -> i64 {
        LIVE_BYTES.load(Relaxed)
    }

    struct Counting;

    // SAFETY: every call is forwarded unchanged to `System`, which fulfills the contract of
    // `GlobalAlloc`; the counters are atomics and do not allocate.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
            // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc`, so `layout` is
            // valid for `System`.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            LIVE_BYTES.fetch_sub(layout.size() as i64, Relaxed);
            // SAFETY: `pointer` was allocated by `System` with this layout, because all allocations
            // are forwarded to it and the caller passes the original layout.
            unsafe { System.dealloc(pointer, layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
            // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc_zeroed`, so `layout`
            // is valid for `System`.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(new_size as i64 - layout.size() as i64, Relaxed);
            // SAFETY: `pointer` was allocated by `System` with this layout, because all allocations
            // are forwarded to it and the caller passes the original layout and a valid size.
            unsafe { System.realloc(pointer, layout, new_size) }
        }
    }

    #[global_allocator]
    static GLOBAL: Counting = Counting;
}

#[cfg(all(test, feature = "memory-profiling"))]
mod tests {
    use rsb_device::scripted::{Script, ScriptedDevice};

    use super::*;

    const BYTES: usize = 1 << 20;

    fn left_by(mut work: impl FnMut(&ScriptedDevice)) -> Fields {
        let device = ScriptedDevice::new(Script::default());
        let mut ledger = Ledger::of(&device);
        for _ in 0..4 {
            ledger.around(1, || work(&device));
        }
        ledger.fields()
    }

    #[test]
    fn a_leak_is_counted_where_it_is_and_a_clean_workload_is_clean() {
        let (mut boxes, mut buffers) = (Vec::new(), Vec::new());
        let clean = left_by(|device| {
            drop(std::hint::black_box(vec![0_u8; BYTES]));
            drop(device.allocate(1 << 20).unwrap());
        });
        let heap = left_by(|_| boxes.push(std::hint::black_box(vec![0_u8; BYTES])));
        let on_device = left_by(|device| buffers.push(device.allocate(1 << 20).unwrap()));
        // SAFETY: malloc accepts any size; the memory is not accessed.
        let native = left_by(|_| assert!(!unsafe { libc::malloc(BYTES) }.is_null()));

        // Three of the four samples are counted; other tests in this process may hold some memory
        // at the same time.
        assert!(clean.number("allocations_per_iteration").unwrap() >= 1.0);
        assert_eq!(leaked_samples(&clean), [Some(0.0); 3]);
        assert_eq!(leaked_samples(&heap)[..2], [Some(3.0), Some(0.0)]);
        assert_eq!(leaked_samples(&on_device)[2], Some(3.0));
        assert_eq!(leaked_samples(&native), [Some(0.0), Some(3.0), Some(0.0)]);
    }

    /// Returns the leaks of Rust, native and device memory, in units of one sample's allocation.
    fn leaked_samples(fields: &Fields) -> [Option<f64>; 3] {
        ["memory_leaked_bytes", "native_memory_leaked_bytes", "device_memory_leaked_bytes"]
            .map(|name| fields.number(name).map(|bytes| (bytes / BYTES as f64).round()))
    }
}
