//! Limits of CPU time and memory for one input.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// CPU seconds that one input may take.
pub const CPU_SECONDS: f64 = 1.0;

/// Returns the bytes that may be allocated at a time for an input of `length` bytes.
pub const fn bytes_allowed(length: usize) -> usize {
    64 * length + (64 << 20)
}

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which also counts the bytes in use.
#[derive(Debug)]
pub struct CountingAllocator;

fn grow(bytes: usize) {
    let now = CURRENT.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator with unchanged arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System` through `alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
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

/// CPU nanoseconds of the process when the current input began, or `u64::MAX` between inputs.
static BEGAN: AtomicU64 = AtomicU64::new(u64::MAX);

fn cpu_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Starts the time of one input.
pub fn begin_time() {
    BEGAN.store(cpu_nanoseconds(), Ordering::Relaxed);
}

/// Ends the time of one input.
pub fn end_time() {
    BEGAN.store(u64::MAX, Ordering::Relaxed);
}

/// Starts a thread that calls `late` once an input has used [`CPU_SECONDS`]. CPU time does not
/// depend on what else runs on the machine.
pub fn watch(late: impl Fn() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let began = BEGAN.load(Ordering::Relaxed);
            #[allow(clippy::cast_precision_loss, reason = "at most some seconds")]
            let used = cpu_nanoseconds().saturating_sub(began) as f64 / 1e9;
            if began != u64::MAX && used > CPU_SECONDS {
                late();
            }
        }
    });
}
