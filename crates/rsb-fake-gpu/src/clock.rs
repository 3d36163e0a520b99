//! Virtual time. Every stream has a time. The host's time advances with each call and wait: work
//! launched after a wait starts no earlier than the end of the awaited work, on any GPU.

use rsb_model::random::Generator;

/// Virtual nanoseconds of the host, and the source of jitter.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    host_ns: f64,
    random: Generator,
}

/// Host time of a call, in nanoseconds.
const CALL_NS: f64 = 400.0;

impl Clock {
    /// Returns the start time of work enqueued now in a stream that is busy until `busy_until`.
    pub(crate) fn begin(&mut self, busy_until: f64) -> f64 {
        self.host_ns += CALL_NS;
        busy_until.max(self.host_ns)
    }

    /// Returns the time of an event in a stream that is busy until `busy_until`.
    pub(crate) fn mark(&self, busy_until: f64) -> f64 {
        busy_until.max(self.host_ns)
    }

    /// Advances the host's time to the end of a wait.
    pub(crate) fn advance_host(&mut self, until: f64) {
        self.host_ns = self.host_ns.max(until);
    }

    /// Returns `ns` with up to half a percent of jitter, as in real measurements. The sequence is
    /// the same in every process.
    pub(crate) fn add_jitter(&mut self, ns: f64) -> f64 {
        ns * (1.0 + 0.005 * self.random.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_wait_begins_after_it() {
        let mut clock = Clock::default();
        assert!(clock.begin(0.0) < 1000.0);
        clock.advance_host(1e6);
        assert!(clock.begin(0.0) > 1e6, "a wait of the host delays every stream");
        assert!(clock.begin(5e6) >= 5e6, "work must not begin before its stream is free");
    }

    #[test]
    fn times_scatter_a_little_and_always_alike() {
        let times = hundred_times();
        assert_eq!(times, hundred_times());
        assert!(times.iter().all(|&ns| (1000.0..=1005.0).contains(&ns)));
        assert!(times.windows(2).any(|pair| pair[0] < pair[1]));
    }

    fn hundred_times() -> Vec<f64> {
        let mut clock = Clock::default();
        (0..100).map(|_| clock.add_jitter(1000.0)).collect()
    }
}
