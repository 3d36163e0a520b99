//! Virtual time. Every stream has its own, and the host has one that goes on when it waits: what is
//! launched after a wait begins no earlier than what was waited for ended, on whichever GPU.

use rsb_model::random::Generator;

/// Virtual nanoseconds of the host, and what makes times scatter.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    host_ns: f64,
    random: Generator,
}

/// What a call costs the host.
const CALL_NS: f64 = 400.0;

impl Clock {
    /// When work that is handed over now can begin in a stream that is busy until `busy_until`.
    pub(crate) fn begin(&mut self, busy_until: f64) -> f64 {
        self.host_ns += CALL_NS;
        busy_until.max(self.host_ns)
    }

    /// A mark in a stream that is busy until `busy_until`.
    pub(crate) fn mark(&self, busy_until: f64) -> f64 {
        busy_until.max(self.host_ns)
    }

    /// The host has waited until then.
    pub(crate) fn advance_host(&mut self, until: f64) {
        self.host_ns = self.host_ns.max(until);
    }

    /// `ns` with a scatter of up to half a percent, as if it had been measured; the same in every
    /// process.
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
        assert!(clock.begin(0.0) > 1e6, "on another stream too");
        assert!(clock.begin(5e6) >= 5e6, "but not before the stream is free");
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
