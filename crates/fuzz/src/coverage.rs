//! Coverage counters of LLVM's `SanitizerCoverage`, which stable rustc can insert with
//! `-Cpasses=sancov-module`. Without them every input counts as covering nothing new.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static START: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Receives the section of counters before `main`; the instrumented code calls it.
///
/// # Safety
/// `start` and `stop` delimit one section of bytes that lives as long as the process.
// SAFETY: the name belongs to `SanitizerCoverage`, and no other library here defines it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    START.store(start, Ordering::Relaxed);
    LENGTH.store((stop as usize).saturating_sub(start as usize), Ordering::Relaxed);
}

/// What an input reached for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Novelty {
    /// An edge.
    pub edge: bool,
    /// An edge, or one about twice as often as before.
    pub count: bool,
}

/// Edges that any input reached until now, with the size class of their hit count.
#[derive(Debug, Default)]
pub struct Coverage {
    seen: Vec<u8>,
}

impl Coverage {
    /// Adds the counters since the last call, and sets them to zero. Returns what is new.
    pub fn add(&mut self) -> Novelty {
        // Nearly all counters are 0. Blocks of them are compared by the `memcmp` of the C library,
        // which is fast and, unlike a loop here, has no counters.
        const BLOCK: usize = 512;
        const WORD: usize = 8;
        let counters = counters();
        self.seen.resize(counters.len(), 0);
        let mut new = Novelty::default();
        for (seen, counters) in self.seen.chunks_mut(BLOCK).zip(counters.chunks_mut(BLOCK)) {
            if *counters == [0; BLOCK][..counters.len()] {
                continue;
            }
            for (seen, word) in seen.chunks_mut(WORD).zip(counters.chunks(WORD)) {
                if <[u8; WORD]>::try_from(word).is_ok_and(|word| u64::from_ne_bytes(word) == 0) {
                    continue;
                }
                for (seen, counter) in seen.iter_mut().zip(word) {
                    let class = counter.checked_ilog2().map_or(0, |log| 1_u8 << log);
                    new.edge |= *seen == 0 && class != 0;
                    new.count |= *seen & class != class;
                    *seen |= class;
                }
            }
            counters.fill(0);
        }
        new
    }

    /// Returns the number of edges reached, and of all edges in the program.
    pub fn edges(&self) -> (usize, usize) {
        (self.seen.iter().filter(|seen| **seen != 0).count(), LENGTH.load(Ordering::Relaxed))
    }
}

#[allow(clippy::mut_from_ref, reason = "the memory belongs to the instrumented program")]
fn counters() -> &'static mut [u8] {
    let start = START.load(Ordering::Relaxed);
    if start.is_null() {
        return &mut [];
    }
    // SAFETY: `__sanitizer_cov_8bit_counters_init` got a section of this length that lives as long
    // as the process. Instrumented code increments the bytes without synchronization, as the tool
    // intends; only the thread that runs inputs reads and clears them.
    unsafe { std::slice::from_raw_parts_mut(start, LENGTH.load(Ordering::Relaxed)) }
}
