//! Limits of CPU time and memory for one input.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// CPU time that one input may take.
pub const CPU_TIME: Duration = Duration::from_secs(1);

/// Returns the bytes that may be allocated at a time for an input of `length` bytes.
pub const fn bytes_allowed(length: usize) -> usize {
    64 * length + (64 << 20)
}

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which also counts the bytes in use.
#[derive(Debug)]
pub struct CountingAllocator;

/// Bytes at which an allocation fails, which ends the process before the machine's memory is used
/// up.
const MOST_BYTES: usize = 2 << 30;

/// Counts `bytes` more. Returns whether they may be allocated.
fn grow(bytes: usize) -> bool {
    let now = CURRENT.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    // A comparison first, because an atomic maximum is slow.
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
    now <= MOST_BYTES
}

// SAFETY: every call is passed to the system's allocator with unchanged arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System` through `alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !grow(size) {
            return std::ptr::null_mut();
        }
        CURRENT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System` with this layout; the caller checked `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Starts to count the bytes of one input. Returns the bytes in use before it.
pub fn begin_bytes() -> usize {
    let now = CURRENT.load(Ordering::Relaxed);
    PEAK.store(now, Ordering::Relaxed);
    now
}

/// Returns the most bytes that were in use at a time since [`begin_bytes`] returned `before`.
pub fn peak_bytes(before: usize) -> usize {
    PEAK.load(Ordering::Relaxed).saturating_sub(before)
}

/// Number of the input that is being read, or 0 between inputs.
static INPUT: AtomicU64 = AtomicU64::new(0);

/// Returns the CPU time that this process has used.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Starts the time of the input with this number, which is not 0.
pub fn begin_time(input: u64) {
    INPUT.store(input, Ordering::Relaxed);
}

/// Ends the time of an input.
pub fn end_time() {
    INPUT.store(0, Ordering::Relaxed);
}

/// Returns whether an input is being read.
pub fn is_reading() -> bool {
    INPUT.load(Ordering::Relaxed) != 0
}

/// Starts a thread that calls `late` once an input has used [`CPU_TIME`], measured to a tenth of a
/// second. CPU time does not depend on what else runs on the machine.
pub fn watch(late: impl Fn() + Send + 'static) {
    std::thread::spawn(move || {
        let (mut input, mut began) = (0, Duration::ZERO);
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let (current, now) = (INPUT.load(Ordering::Relaxed), cpu_time());
            if current != input {
                (input, began) = (current, now);
            } else if input != 0 && now.saturating_sub(began) > CPU_TIME {
                late();
            }
        }
    });
}
