//! What is compared beside the time of a case, how much each case counts, and how sure a verdict
//! must be.

use rsb_model::Samples;
use rsb_model::samples::SamplesError;

use super::{Policy, PolicyError, check_pattern, in_range};
use crate::estimate::quantile;
use crate::glob;

/// A percentile of the samples' times that is compared as a metric of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Percentile {
    /// The median.
    P50,
    /// 90 in 100 stay below it.
    P90,
    /// 99 in 100 stay below it.
    P99,
}

impl Percentile {
    const ALL: [Self; 3] = [Self::P50, Self::P90, Self::P99];

    /// The metric that it is compared as.
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

    /// Samples of a process below which the percentile is no more than its slowest sample.
    pub const fn samples_needed(self) -> usize {
        (100 / (100 - self.percent())) as usize
    }

    /// It, of one process, in nanoseconds an iteration; `None` where there are too few samples.
    ///
    /// # Errors
    /// When the samples cannot be read.
    pub fn of(self, samples: &Samples) -> Result<Option<f64>, SamplesError> {
        let times = samples.per_iteration()?;
        let share = f64::from(self.percent()) / 100.0;
        Ok(quantile(&times, share).filter(|_| times.len() >= self.samples_needed()))
    }
}

/// How much the cases of a pattern count in the change over all.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Pattern on case ids, as in [`glob::matches`].
    pub id: String,
    /// How often a case counts; 1 where no pattern fits, 0 to leave it out.
    pub weight: f64,
}

impl Policy {
    /// Compares these percentiles, each 50, 90 or 99, beside the time of every case that has
    /// samples.
    ///
    /// # Errors
    /// When one is another figure.
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

    /// Adds a weight; the last one that fits a case decides.
    ///
    /// # Errors
    /// When its pattern is empty, or it is not a finite figure of at least zero.
    pub fn add_weight(&mut self, key: &str, added: Weight) -> Result<(), PolicyError> {
        check_pattern(&format!("{key}.id"), &added.id)?;
        in_range(
            &format!("{key}.weight"),
            added.weight,
            |weight| weight.is_finite() && weight >= 0.0,
            "a finite figure of at least 0",
        )?;
        self.weights.push(added);
        Ok(())
    }

    /// Sets the chance that a change may be missed at which `detectable_percent` is told.
    ///
    /// # Errors
    /// Unless it is from 0.1 to 50 %.
    pub fn set_miss_percent(&mut self, key: &str, percent: f64) -> Result<(), PolicyError> {
        self.miss =
            in_range(key, percent, |percent| (0.1..=50.0).contains(&percent), "from 0.1 to 50")?
                / 100.0;
        Ok(())
    }

    /// The percentiles compared.
    pub fn percentiles(&self) -> &[Percentile] {
        &self.percentiles
    }

    /// How often the case called `id` counts in the change over all.
    pub fn weight_of(&self, id: &str) -> f64 {
        let entry = self.weights.iter().rev().find(|entry| glob::matches(&entry.id, id));
        entry.map_or(1.0, |entry| entry.weight)
    }

    /// The chance that a detectable change is missed.
    pub const fn miss(&self) -> f64 {
        self.miss
    }
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
    }
}
