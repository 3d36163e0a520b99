//! Policy settings for percentiles, weights and the miss rate.

use std::collections::BTreeMap;

use rsb_model::Samples;
use rsb_model::samples::SamplesError;

use super::{Policy, PolicyError, check_pattern, checked_metric, in_range};
use crate::estimate::quantile;
use crate::glob;

/// A percentile of the samples' times that is compared as a separate metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Percentile {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
}

impl Percentile {
    const ALL: [Self; 3] = [Self::P50, Self::P90, Self::P99];

    /// Returns the name of its metric.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::P50 => "time_p50_ms",
            Self::P90 => "time_p90_ms",
            Self::P99 => "time_p99_ms",
        }
    }

    const fn percent(self) -> u32 {
        match self {
            Self::P50 => 50,
            Self::P90 => 90,
            Self::P99 => 99,
        }
    }

    /// Returns the number of samples of a process below which the percentile is merely its slowest
    /// sample.
    pub const fn samples_needed(self) -> usize {
        (100 / (100 - self.percent())) as usize
    }

    /// Computes the percentile for one process, in nanoseconds per iteration; `None` if there are
    /// too few samples.
    ///
    /// # Errors
    /// If the samples cannot be read.
    pub fn of(self, samples: &Samples) -> Result<Option<f64>, SamplesError> {
        let times = samples.per_iteration()?;
        let share = f64::from(self.percent()) / 100.0;
        Ok(quantile(&times, share).filter(|_| times.len() >= self.samples_needed()))
    }
}

/// Weight of the cases that match a pattern in the overall change.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Pattern on case ids, as in [`glob::matches`].
    pub id: String,
    /// Weight of a case; 1 if no pattern matches, 0 to leave it out.
    pub weight: f64,
}

impl Policy {
    /// Sets the percentiles, each 50, 90 or 99, that are compared in addition to the time of every
    /// case that has samples.
    ///
    /// # Errors
    /// If one is another number.
    pub fn set_percentiles(&mut self, key: &str, percents: &[f64]) -> Result<(), PolicyError> {
        let mut wanted = Vec::new();
        for (at, &percent) in percents.iter().enumerate() {
            let known =
                |each: &Percentile| (f64::from(each.percent()) - percent).abs() < f64::EPSILON;
            let found = Percentile::ALL.into_iter().find(known);
            wanted.push(found.ok_or_else(|| PolicyError::OutOfRange {
                key: format!("{key}[{at}]"),
                value: percent,
                allowed: "50, 90 or 99",
            })?);
        }
        wanted.sort_unstable();
        wanted.dedup();
        self.percentiles = wanted;
        Ok(())
    }

    /// Adds a weight; the last one that matches a case is used.
    ///
    /// # Errors
    /// If its pattern is empty, or it is not a finite number of at least zero.
    pub fn add_weight(&mut self, key: &str, added: Weight) -> Result<(), PolicyError> {
        check_pattern(&format!("{key}.id"), &added.id)?;
        checked_weight(key, added.weight)?;
        self.weights.push(added);
        Ok(())
    }

    /// Sets the weight of `metric` in the order of the report.
    ///
    /// # Errors
    /// If there is no such metric, or the weight is not a finite number of at least zero.
    pub fn set_metric_weight(
        &mut self,
        key: &str,
        metric: &str,
        weight: f64,
    ) -> Result<(), PolicyError> {
        let metric = checked_metric(&format!("{key}.metric"), metric)?;
        self.metric_weights.insert(metric, checked_weight(key, weight)?);
        Ok(())
    }

    /// Sets the probability, in percent, of missing a change of `detectable_percent`.
    ///
    /// # Errors
    /// If it is not from 0.1 to 50 %.
    pub fn set_miss_percent(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.miss =
            in_range(key, percent, |percent| (0.1..=50.0).contains(&percent), "from 0.1 to 50")?
                / 100.0;
        Ok(())
    }

    /// Returns the percentiles to compare.
    pub fn percentiles(&self) -> &[Percentile] {
        &self.percentiles
    }

    /// Returns the weight of the case called `id` in the overall change.
    pub fn weight_of(&self, id: &str) -> f64 {
        let entry = self.weights.iter().rev().find(|entry| glob::matches(&entry.id, id));
        entry.map_or(1.0, |entry| entry.weight)
    }

    /// Returns the weights of metrics in the order of the report; 1 for the others.
    pub const fn metric_weights(&self) -> &BTreeMap<String, f64> {
        &self.metric_weights
    }

    /// Returns the allowed probability of missing a detectable change.
    pub const fn miss(&self) -> f64 {
        self.miss
    }
}

fn checked_weight(key: &str, weight: f64) -> Result<f64, PolicyError> {
    in_range(
        &format!("{key}.weight"),
        weight,
        |weight| weight.is_finite() && weight >= 0.0,
        "a finite number of at least 0",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_samples_beyond_it() {
        for (percentile, count, expected) in [
            (Percentile::P50, 1, None),
            (Percentile::P50, 3, Some(2.0)),
            (Percentile::P90, 9, None),
            (Percentile::P90, 11, Some(10.0)),
            (Percentile::P99, 99, None),
            (Percentile::P99, 101, Some(100.0)),
        ] {
            let mut samples = Samples::new(0);
            for time in 1..=count {
                samples.push(2, f64::from(time) * 2.0);
            }
            assert_eq!(percentile.of(&samples), Ok(expected), "{percentile:?} of {count}");
        }
    }

    #[test]
    fn only_what_means_something_is_taken() {
        let mut policy = Policy::default();
        policy.set_percentiles("percentiles", &[99.0, 50.0, 99.0]).unwrap();
        assert_eq!(policy.percentiles(), [Percentile::P50, Percentile::P99]);
        let error = policy.set_percentiles("percentiles", &[95.0]).unwrap_err().to_string();
        assert!(error.contains("percentiles[0]") && error.contains("50, 90 or 99"), "{error}");
        assert!(policy.set_miss_percent("miss_percent", 0.0).is_err());
        assert!(
            policy.add_weight("weight[0]", Weight { id: "*".to_owned(), weight: -1.0 }).is_err()
        );
        policy.add_weight("weight[0]", Weight { id: "*/gemm/*".to_owned(), weight: 3.0 }).unwrap();
        assert!(policy.weight_of("a/gemm/b") > 2.0 && policy.weight_of("a/convolution/b") < 2.0);
        policy.set_metric_weight("weight[1]", "throughput_tflops", 2.0).unwrap();
        assert_eq!(policy.metric_weights().keys().collect::<Vec<_>>(), ["tflops"], "an alias");
        assert!(policy.set_metric_weight("weight[1]", "speed", 2.0).is_err());
    }
}
