//! Conversion between values and logarithms that are oriented so that larger is worse.

use rsb_model::Better;

use crate::compare::{change_of_log, log_of_change, orient};

/// Logarithmic scale of a metric, oriented by its direction of improvement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale(pub(super) Better);

impl Scale {
    /// Returns the logarithm of each value, or `None` if it has none.
    pub(super) fn logs(self, values: &[f64]) -> Vec<Option<f64>> {
        let log =
            |value: &f64| (value.is_finite() && *value > 0.0).then(|| orient(value.ln(), self.0));
        values.iter().map(log).collect()
    }

    /// Returns the value of a logarithm.
    pub(super) fn value(self, log: f64) -> f64 {
        orient(log, self.0).exp()
    }

    /// Returns Δ of a difference of logarithms, clamped because JSON has no infinity.
    pub(super) fn change(self, difference: f64) -> f64 {
        change_of_log(difference, self.0)
    }

    /// Returns the difference of logarithms of a change, the inverse of `change`. Infinite if a
    /// throughput falls by 100 % or more.
    pub(super) fn log_of(self, change: f64) -> f64 {
        log_of_change(change, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_the_figure_in_its_bad_direction() {
        for (better, before, after, change) in [
            (Better::Lower, 100.0, 125.0, 0.25),
            (Better::Higher, 100.0, 80.0, 0.2),
            (Better::Higher, 80.0, 100.0, -0.25),
        ] {
            let scale = Scale(better);
            let [before, after] = [before, after].map(|value| scale.logs(&[value])[0].unwrap());
            assert!((scale.change(after - before) - change).abs() < 1e-12, "{better:?}");
            assert!((scale.log_of(change) - (after - before)).abs() < 1e-12, "{better:?}");
        }
        assert!(Scale(Better::Higher).log_of(1.0).is_infinite());
        assert!(Scale(Better::Lower).change(f64::INFINITY) <= crate::compare::LARGEST);
    }
}
