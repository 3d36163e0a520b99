//! Raw timing samples, before any statistics.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of one replicate. Each sample is a number of iterations and their total time in
/// nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Index of the worker process that took the samples, from 0. Each replicate is a new process.
    pub replicate: u32,
    /// Iterations in each sample.
    pub iters: Vec<u64>,
    /// Device time of each sample, in nanoseconds; same length as `iters`.
    pub times_ns: Vec<f64>,
}

/// Largest number of iterations per sample: 2^53, the largest count that is exact as a double.
pub const MOST_ITERATIONS: u64 = 1 << 53;

/// Possible times per iteration, in nanoseconds. The ratio of any two of them is finite.
const TIMES_NS: RangeInclusive<f64> = 1e-150..=1e150;

/// Reasons why samples are invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SamplesError {
    /// The two lists differ in length.
    #[error("{iters} iteration counts but {times} times")]
    Lengths {
        /// Length of `iters`.
        iters: usize,
        /// Length of `times_ns`.
        times: usize,
    },
    /// A sample has an impossible time.
    #[error(
        "sample {index} is {time_ns:?} ns over {iters} iterations; a time per iteration must be \
         from {:?} to {:?} ns", TIMES_NS.start(), TIMES_NS.end()
    )]
    Impossible {
        /// Index of the sample.
        index: usize,
        /// Iterations of the sample.
        iters: u64,
        /// Time of the sample in nanoseconds.
        time_ns: f64,
    },
    /// A sample has an impossible number of iterations.
    #[error("sample {index} has {iters} iterations; a count must be a whole number from 1 to 2^53")]
    Uncounted {
        /// Index of the sample.
        index: usize,
        /// Iterations of the sample.
        iters: u64,
    },
    /// The list is empty.
    #[error("there are no samples")]
    Empty,
}

impl Samples {
    /// Returns an empty set of samples for `replicate`.
    pub fn new(replicate: u32) -> Self {
        Self { replicate, ..Self::default() }
    }

    /// Adds one sample.
    pub fn push(&mut self, iters: u64, time_ns: f64) {
        self.iters.push(iters);
        self.times_ns.push(time_ns);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Returns the time per iteration of each sample, in nanoseconds.
    ///
    /// # Errors
    /// If there are no samples, the lists differ in length, a time per iteration is not a number
    /// from 1e-150 to 1e150 ns, or a sample has more iterations than [`MOST_ITERATIONS`].
    pub fn per_iteration(&self) -> Result<Vec<f64>, SamplesError> {
        if self.iters.len() != self.times_ns.len() {
            return Err(SamplesError::Lengths {
                iters: self.iters.len(),
                times: self.times_ns.len(),
            });
        }
        if self.is_empty() {
            return Err(SamplesError::Empty);
        }
        let mut times = Vec::with_capacity(self.len());
        for (index, (&iters, &time_ns)) in self.iters.iter().zip(&self.times_ns).enumerate() {
            if iters > MOST_ITERATIONS {
                return Err(SamplesError::Uncounted { index, iters });
            }
            let time = time_ns / iters as f64;
            if !TIMES_NS.contains(&time) {
                return Err(SamplesError::Impossible { index, iters, time_ns });
            }
            times.push(time);
        }
        Ok(times)
    }

    /// Returns the time per iteration of the least disturbed sample, in nanoseconds. This is the
    /// minimum of up to 100 samples; for more samples, a share of [`FLOOR_SHARE`] is below it, so
    /// that the result does not depend on the number of samples.
    ///
    /// # Errors
    /// As for [`Samples::per_iteration`].
    pub fn floor(&self) -> Result<f64, SamplesError> {
        let mut times = self.per_iteration()?;
        times.sort_by(f64::total_cmp);
        share_of_sorted(&times, FLOOR_SHARE).ok_or(SamplesError::Empty)
    }

    /// Returns this replicate's time per iteration in nanoseconds: the 10 % quantile of its
    /// samples.
    ///
    /// Disturbances make a measurement longer, never shorter. The low end of the samples is
    /// therefore the cost of the code, and the rest is noise of the machine. The mean follows every
    /// disturbance; the median follows once half of the samples are disturbed, as happens next to a
    /// busy neighbor. The minimum is even steadier under load, but it falls as samples are added,
    /// so two sides with different numbers of samples would differ for that reason only. A low
    /// quantile keeps most of the minimum's steadiness and does not depend on the number of
    /// samples.
    ///
    /// # Errors
    /// As for [`Samples::per_iteration`].
    pub fn location(&self) -> Result<f64, SamplesError> {
        let mut times = self.per_iteration()?;
        times.sort_by(f64::total_cmp);
        quantile_of_sorted(&times, LOCATION_SHARE).ok_or(SamplesError::Empty)
    }
}

impl Samples {
    /// Returns at most [`SAMPLES_KEPT`] samples with the same center and spread. If there are more,
    /// their times per iteration are replaced by evenly spaced quantiles (0.5/30, 1.5/30 …), and
    /// the lowest by the floor. Times are rounded to six significant digits. Invalid samples are
    /// returned unchanged, so that the comparison can report the problem.
    #[must_use]
    pub fn thinned(&self) -> Self {
        let Ok(mut each) = self.per_iteration() else { return self.clone() };
        if each.len() <= SAMPLES_KEPT {
            let times_ns = self.times_ns.iter().map(|&time| six_digits(time)).collect();
            return Self { times_ns, ..self.clone() };
        }
        each.sort_by(f64::total_cmp);
        let mut iters = self.iters.clone();
        iters.sort_unstable();
        let typical = iters.get(iters.len() / 2).copied().unwrap_or(1);
        let mut times_ns = Vec::with_capacity(SAMPLES_KEPT);
        for index in 0..SAMPLES_KEPT {
            let share =
                if index == 0 { FLOOR_SHARE } else { (index as f64 + 0.5) / SAMPLES_KEPT as f64 };
            let time = share_of_sorted(&each, share).unwrap_or(f64::NAN); // Never empty.
            times_ns.push(six_digits(time * typical as f64));
        }
        Self { replicate: self.replicate, iters: vec![typical; SAMPLES_KEPT], times_ns }
    }
}

/// Largest number of samples that a baseline keeps per replicate of a case.
pub const SAMPLES_KEPT: usize = 30;

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Share of samples below [`Samples::floor`].
pub const FLOOR_SHARE: f64 = 1.0 / 200.0;

/// Share of samples below [`Samples::location`].
pub const LOCATION_SHARE: f64 = 0.10;

/// Returns the `p` quantile of the `sorted` values by linear interpolation between order statistics
/// (type 7 of Hyndman and Fan, the default of R and NumPy). `p` is clamped to 0..=1. `None` if
/// `sorted` is empty.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor();
    let (low, high) = (*sorted.get(below as usize)?, *sorted.get(position.ceil() as usize)?);
    let share = position - below;
    // Without this test, an infinite neighbor with weight 0 would produce NaN.
    Some(if share > 0.0 { low + share * (high - low) } else { low })
}

/// Returns the value below which `share` of the `sorted` values fall, if each value represents the
/// middle of an equal part of the distribution (type 5 of Hyndman and Fan). `None` if `sorted` is
/// empty.
pub fn share_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = (share * sorted.len() as f64 - 0.5).clamp(0.0, last as f64);
    let (low, high) =
        (*sorted.get(position.floor() as usize)?, *sorted.get(position.ceil() as usize)?);
    Some(low + (high - low) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(iters: &[u64], times_ns: &[f64]) -> Samples {
        Samples { replicate: 0, iters: iters.to_vec(), times_ns: times_ns.to_vec() }
    }

    #[test]
    fn time_is_divided_by_iterations() {
        assert_eq!(samples(&[1, 10], &[5.0, 60.0]).per_iteration(), Ok(vec![5.0, 6.0]));
    }

    /// Returns the floor of samples of 1 ns to `count` ns.
    fn floor_of(count: u32) -> f64 {
        let times: Vec<f64> = (0..count).rev().map(|at| f64::from(at + 1)).collect();
        samples(&vec![1; times.len()], &times).floor().unwrap()
    }

    #[test]
    fn the_floor_is_the_least_sample_unless_there_are_very_many() {
        assert!([1, 2, 30, 100].iter().all(|&count| (floor_of(count) - 1.0).abs() < 1e-12));
        // Five of the 1000 samples are below the floor.
        assert!((floor_of(1000) - 5.5).abs() < 1e-12, "{}", floor_of(1000));
        assert_eq!(samples(&[], &[]).floor(), Err(SamplesError::Empty));
    }

    #[test]
    fn impossible_samples_are_errors() {
        for (iters, times) in [
            (vec![1], vec![f64::NAN]),
            (vec![1], vec![-1.0]),
            (vec![0], vec![1.0]),
            (vec![1], vec![0.0]),
            (vec![1], vec![1e-310]),
            (vec![1], vec![1e300]),
        ] {
            assert!(matches!(
                samples(&iters, &times).per_iteration(),
                Err(SamplesError::Impossible { .. })
            ));
        }
        for (iters, possible) in [(1 << 53, true), ((1 << 53) + 1, false), (u64::MAX, false)] {
            assert_eq!(samples(&[iters], &[5e18]).per_iteration().is_ok(), possible, "{iters}");
        }
        assert!(matches!(
            samples(&[1, 2], &[1.0]).per_iteration(),
            Err(SamplesError::Lengths { .. })
        ));
        assert_eq!(samples(&[], &[]).per_iteration(), Err(SamplesError::Empty));
    }
}
