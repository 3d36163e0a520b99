//! Rolling mean and median.

/// A sliding window of values in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct SortedWindow {
    sorted: Vec<f64>,
}

impl SortedWindow {
    fn place(&self, value: f64) -> usize {
        self.sorted.partition_point(|known| *known < value)
    }

    pub(super) fn insert(&mut self, value: f64) {
        self.sorted.insert(self.place(value), value);
    }

    /// Removes a value that was inserted.
    pub(super) fn remove(&mut self, value: f64) {
        let at = self.place(value);
        if at < self.sorted.len() {
            self.sorted.remove(at);
        }
    }

    pub(super) fn median(&self) -> f64 {
        let [low, high] = self.middle();
        f64::midpoint(low, high)
    }

    /// Returns the middle value, or the one of two middle values that is nearer to `value`.
    pub(super) fn middle_nearest(&self, value: f64) -> f64 {
        let [low, high] = self.middle();
        if (value - low).abs() <= (value - high).abs() { low } else { high }
    }

    fn middle(&self) -> [f64; 2] {
        let n = self.sorted.len();
        [n.saturating_sub(1) / 2, n / 2].map(|at| self.sorted.get(at).copied().unwrap_or(f64::NAN))
    }
}

/// Returns the mean of each value and the `window − 1` before it, or of fewer at the beginning. The
/// result is as long as `values`.
pub fn rolling_mean(values: &[f64], window: usize) -> Vec<f64> {
    let window = window.max(1);
    let mut means = Vec::with_capacity(values.len());
    for end in 0..values.len() {
        let part = &values[(end + 1).saturating_sub(window)..=end];
        means.push(part.iter().sum::<f64>() / part.len() as f64);
    }
    means
}

/// Returns the median of each value and the `window − 1` before it, or of fewer at the beginning.
/// The result is as long as `values`.
pub fn rolling_median(values: &[f64], window: usize) -> Vec<f64> {
    let window = window.max(1);
    let mut seen = SortedWindow::default();
    let mut medians = Vec::with_capacity(values.len());
    for (at, &value) in values.iter().enumerate() {
        seen.insert(value);
        if let Some(gone) = at.checked_sub(window) {
            seen.remove(values[gone]);
        }
        medians.push(seen.median());
    }
    medians
}
