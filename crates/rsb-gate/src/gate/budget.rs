//! One rule for everything that is measured until it is decided: a step that would not end in time
//! is not begun.

use std::time::{Duration, Instant};

use rsb_engine::measure::interrupt;

/// Time to spend in steps.
pub(super) struct Budget {
    began: Instant,
    total: Duration,
    /// Seconds that a replicate of a case took in the last step.
    pace: f64,
    step: Instant,
}

impl Budget {
    /// `total`, from now on.
    pub(super) fn new(total: Duration) -> Self {
        let now = Instant::now();
        Self { began: now, total, pace: 0.0, step: now }
    }

    /// What is left for a step of so many replicates, all cases together; `None` when there is
    /// nothing to do, no time for it, or somebody asked to stop.
    pub(super) fn begin(&mut self, replicates: usize) -> Option<Duration> {
        let left = self.total.saturating_sub(self.began.elapsed());
        let needed = self.pace * replicates as f64;
        if replicates == 0
            || left.is_zero()
            || left.as_secs_f64() < needed
            || interrupt::is_requested()
        {
            return None;
        }
        self.step = Instant::now();
        Some(left)
    }

    /// The step that was begun is over.
    pub(super) fn end(&mut self, replicates: usize) {
        self.pace = self.step.elapsed().as_secs_f64() / replicates.max(1) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_would_not_end_in_time_is_not_begun() {
        let mut budget = Budget::new(Duration::from_hours(1));
        assert!(budget.begin(0).is_none(), "there is nothing to do");
        assert!(budget.begin(1000).is_some(), "nothing is known before the first step");
        budget.pace = 60.0;
        assert!(budget.begin(59).is_some());
        assert!(budget.begin(61).is_none());
        budget.end(10);
        assert!(budget.begin(61).is_some(), "the last step sets the pace");
        assert!(Budget::new(Duration::ZERO).begin(1).is_none());
    }
}
