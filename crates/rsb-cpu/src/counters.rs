//! Hardware counters of L1 data cache reads, through perf events of the kernel.

use rsb_model::Reason;

use rsb_device::device::CacheCounters;

/// Opens the counters for reads and misses on this thread.
pub(super) fn open() -> Result<Box<dyn CacheCounters>, Reason> {
    #[cfg(target_os = "linux")]
    return linux::open();
    #[cfg(not(target_os = "linux"))]
    Err(Reason::new(
        "cache counters",
        "only Linux makes them available to programs",
        "run cache-hit-rate on Linux",
    ))
}

#[cfg(target_os = "linux")]
pub(crate) use linux::refusal_reason;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult};
    use perf_event::{Builder, Counter, Group};
    use rsb_model::Reason;

    use rsb_device::device::{CacheCounters, CacheCounts, DeviceError};

    struct Pair {
        group: Group,
        reads: Counter,
        misses: Counter,
    }

    pub(super) fn open() -> Result<Box<dyn CacheCounters>, Reason> {
        match open_pair() {
            Ok(pair) => Ok(Box::new(pair)),
            Err(error) => Err(explain(&error)),
        }
    }

    fn open_pair() -> io::Result<Pair> {
        let mut group = Group::new()?;
        let reads = group.add(&Builder::new(first_level_read(CacheResult::ACCESS)))?;
        let misses = group.add(&Builder::new(first_level_read(CacheResult::MISS)))?;
        Ok(Pair { group, reads, misses })
    }

    fn first_level_read(result: CacheResult) -> Cache {
        Cache { which: CacheId::L1D, operation: CacheOp::READ, result }
    }

    fn explain(error: &io::Error) -> Reason {
        refusal_reason("cache counters", "L1-dcache-loads", error)
    }

    /// Explains why the kernel refused the counter `what`, named `event` in `perf`, and how to fix
    /// it.
    pub(crate) fn refusal_reason(what: &str, event: &str, error: &io::Error) -> Reason {
        let (why, cure) = match error.kind() {
            io::ErrorKind::PermissionDenied => (
                "the kernel does not let this user read hardware counters (perf_event_paranoid)",
                "run `sysctl kernel.perf_event_paranoid=2` as root, or give the program \
                 CAP_PERFMON",
            ),
            io::ErrorKind::NotFound => (
                "the CPU or the hypervisor does not provide these counters",
                "run on bare metal, or enable performance counters (vPMU) for the virtual machine",
            ),
            io::ErrorKind::Unsupported => {
                ("the kernel was built without perf events", "use a kernel with CONFIG_PERF_EVENTS")
            }
            _ => {
                let cure = format!("run `perf stat -e {event} true` for details");
                return Reason::new(what, format!("the kernel refused them: {error}"), cure);
            }
        };
        Reason::new(what, format!("{why}: {error}"), cure)
    }

    impl CacheCounters for Pair {
        fn start(&mut self) -> Result<(), DeviceError> {
            self.group
                .reset()
                .and_then(|()| self.group.enable())
                .map_err(|error| counter_error(&error))
        }

        fn stop(&mut self) -> Result<CacheCounts, DeviceError> {
            self.group.disable().map_err(|error| counter_error(&error))?;
            let counts = self.group.read().map_err(|error| counter_error(&error))?;
            let reads = counts.get(&self.reads).map(|entry| entry.value());
            let misses = counts.get(&self.misses).map(|entry| entry.value());
            match (reads, misses) {
                (Some(reads), Some(misses)) if reads > 0 => Ok(CacheCounts { reads, misses }),
                _ => Err(DeviceError::Unsupported(Reason::new(
                    "cache counters",
                    "they stayed at zero: another program uses the counters, or the hypervisor \
                     does not emulate them",
                    "stop other profilers (and the NMI watchdog), or run on bare metal",
                ))),
            }
        }
    }

    fn counter_error(error: &io::Error) -> DeviceError {
        DeviceError::Failed(explain(error))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn counters_count_or_say_why_not() {
            match open() {
                Ok(mut counters) => {
                    counters.start().unwrap();
                    let sum: u64 = std::hint::black_box(vec![1_u64; 10_000]).iter().sum();
                    assert_eq!(sum, 10_000);
                    if let Ok(counts) = counters.stop() {
                        assert!(counts.misses <= counts.reads);
                    }
                }
                Err(reason) => assert!(!reason.why.is_empty() && !reason.cure.is_empty()),
            }
        }

        #[test]
        fn refusals_name_their_cure() {
            for (kind, word) in [
                (io::ErrorKind::PermissionDenied, "perf_event_paranoid"),
                (io::ErrorKind::NotFound, "bare metal"),
                (io::ErrorKind::Unsupported, "CONFIG_PERF_EVENTS"),
                (io::ErrorKind::Other, "perf stat"),
            ] {
                assert!(explain(&io::Error::from(kind)).to_string().contains(word), "{kind}");
            }
        }
    }
}
