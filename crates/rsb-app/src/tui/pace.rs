//! Limits how often a frame is drawn: only on request, and at most ten times per second.

use std::time::{Duration, Instant};

/// Minimum time between two frames.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// State that determines when a frame is due.
#[derive(Debug, Default)]
pub(super) struct FramePacer {
    is_wanted: bool,
    last: Option<Instant>,
}

impl FramePacer {
    /// Requests a frame, because something visible has changed.
    pub(super) const fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Returns how long to wait for the requested frame; `None` if none is requested.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let since =
            self.last.map_or(MIN_FRAME_INTERVAL, |last| now.saturating_duration_since(last));
        self.is_wanted.then(|| MIN_FRAME_INTERVAL.saturating_sub(since))
    }

    /// Records that the frame was drawn.
    pub(super) const fn drawn(&mut self, now: Instant) {
        (self.is_wanted, self.last) = (false, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_unasked_and_ten_times_a_second_at_most() {
        let (mut pace, begin) = (FramePacer::default(), Instant::now());
        assert_eq!(pace.wait(begin), None);
        pace.want();
        assert_eq!(pace.wait(begin), Some(Duration::ZERO), "the first frame is drawn at once");
        pace.drawn(begin);
        assert_eq!(
            pace.wait(begin + Duration::from_secs(5)),
            None,
            "no frame is drawn without a request"
        );
        pace.want();
        let [soon, later] = [30, 300].map(|after| begin + Duration::from_millis(after));
        assert_eq!(pace.wait(soon), Some(Duration::from_millis(70)));
        assert_eq!(pace.wait(later), Some(Duration::ZERO));
    }
}
