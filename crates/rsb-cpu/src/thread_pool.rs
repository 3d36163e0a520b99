//! Thread pools with static shares, one thread per pinned CPU.

use std::ops::Range;

use rsb_model::Reason;

use rsb_device::device::DeviceError;

/// A thread pool. With one thread, work runs on the calling thread; with more, on a dedicated pool
/// in which nothing else runs.
pub(super) struct ThreadPool {
    pool: Option<rayon::ThreadPool>,
    threads: usize,
}

impl ThreadPool {
    pub(super) fn new(threads: usize) -> Result<Self, DeviceError> {
        if threads <= 1 {
            return Ok(Self { pool: None, threads: 1 });
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("rsb-cpu-{index}"))
            .start_handler(pin)
            .build()
            .map_err(|error| {
                DeviceError::Failed(Reason::new(
                    format!("{threads} threads"),
                    error.to_string(),
                    "choose fewer threads, or raise the limit on processes (ulimit -u)",
                ))
            })?;
        Ok(Self { pool: Some(pool), threads })
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` once on every thread, with the thread number, and waits for all of them.
    pub(super) fn each(&self, work: impl Fn(usize) + Sync) {
        match &self.pool {
            None => work(0),
            Some(pool) => {
                pool.broadcast(|context| work(context.index()));
            }
        }
    }

    /// Runs `work` with this pool as the current Rayon pool.
    pub(super) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            None => work(),
            Some(pool) => pool.install(work),
        }
    }

    /// Returns the share of thread `index` in `total` items. Shares are contiguous, cut at
    /// multiples of `grain` (a cache line, a row), and the same in every launch, so that each
    /// thread finds its data in its own caches.
    pub(super) fn share(&self, index: usize, total: usize, grain: usize) -> Range<usize> {
        let grains = total.div_ceil(grain);
        let first = (grains * index / self.threads * grain).min(total);
        let end = (grains * (index + 1) / self.threads * grain).min(total);
        first..end
    }
}

/// Pins thread `index` to the `index`-th CPU that the process may use. If that fails, the system
/// schedules the thread on any CPU.
#[cfg(target_os = "linux")]
fn pin(index: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(cpu) = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).nth(index) else {
        return;
    };
    let mut only = CpuSet::new();
    only.set(cpu);
    let _ = sched_setaffinity(None, &only);
}

#[cfg(not(target_os = "linux"))]
fn pin(_index: usize) {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for threads in [1, 2, 3, 7] {
            let pool = ThreadPool { pool: None, threads };
            for (total, grain) in [(0, 1), (1, 64), (1000, 64), (1000, 1), (4096, 4096)] {
                let mut next = 0;
                for index in 0..threads {
                    let share = pool.share(index, total, grain);
                    assert_eq!(share.start, next);
                    assert!(share.end == total || share.end.is_multiple_of(grain));
                    next = share.end;
                }
                assert_eq!(next, total);
            }
        }
    }

    #[test]
    fn every_thread_works_once() {
        let pool = ThreadPool::new(2).unwrap();
        let seen = [AtomicUsize::new(0), AtomicUsize::new(0)];
        pool.each(|index| {
            seen[index].fetch_add(1, Ordering::Relaxed);
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}
