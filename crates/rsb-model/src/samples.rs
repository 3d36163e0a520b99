//! What the clock said, before any statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The samples of one replicate: each a number of iterations and the nanoseconds that they took
/// together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Which fresh process took them, from 0.
    pub replicate: u32,
    /// Iterations in each sample.
    pub iters: Vec<u64>,
    /// Device time of each sample, in nanoseconds, same length as `iters`.
    pub times_ns: Vec<f64>,
}

/// Iterations of a sample at most, 2^53: more are no exact number to whoever writes them as a
/// floating-point one.
pub const MOST_ITERATIONS: u64 = 1 << 53;

/// Why samples cannot be used.
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
    /// A sample that no clock can give.
    #[error(
        "sample {index} is {time_ns} ns over {iters} iterations; a time must be finite and above \
         zero"
    )]
    Impossible {
        /// Position in the list.
        index: usize,
        /// Its iterations.
        iters: u64,
        /// Its time.
        time_ns: f64,
    },
    /// A number of iterations that nobody can have counted.
    #[error(
        "sample {index} is of {iters} iterations; a count must be a whole number from 1 to 2^53"
    )]
    Uncounted {
        /// Position in the list.
        index: usize,
        /// Its iterations.
        iters: u64,
    },
    /// Nothing at all.
    #[error("there are no samples")]
    Empty,
}

impl Samples {
    /// An empty set for `replicate`.
    pub fn new(replicate: u32) -> Self {
        Self { replicate, ..Self::default() }
    }

    /// Adds one sample.
    pub fn push(&mut self, iters: u64, time_ns: f64) {
        self.iters.push(iters);
        self.times_ns.push(time_ns);
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Nanoseconds of one iteration, for each sample.
    ///
    /// # Errors
    /// When there is none, the lists differ in length, a time is NaN, infinite, zero or negative,
    /// or there are more iterations than [`MOST_ITERATIONS`].
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
            if !time.is_finite() || time <= 0.0 {
                return Err(SamplesError::Impossible { index, iters, time_ns });
            }
            times.push(time);
        }
        Ok(times)
    }

    /// Nanoseconds of one iteration in the least disturbed sample: the minimum of up to 100, and of
    /// more the one that [`FLOOR_SHARE`] of them lie below, so that it means the same at every
    /// number of samples.
    ///
    /// # Errors
    /// As [`Samples::per_iteration`].
    pub fn floor(&self) -> Result<f64, SamplesError> {
        let mut times = self.per_iteration()?;
        times.sort_by(f64::total_cmp);
        share_of_sorted(&times, FLOOR_SHARE).ok_or(SamplesError::Empty)
    }

    /// The time of one iteration in nanoseconds, as one replicate saw it: the 10 % quantile of its
    /// samples.
    ///
    /// Whatever disturbs a measurement makes it longer, never shorter, so the low end of the
    /// samples is what the code costs and the rest is what the machine did meanwhile. The mean
    /// follows every disturbance and the median follows once half of the samples are disturbed, as
    /// they are beside a busy neighbor. The minimum is steadier still under load, but it falls as
    /// samples are added, so two sides with unlike numbers of samples would differ by that alone. A
    /// low quantile keeps most of the minimum's steadiness and means the same thing at every number
    /// of samples.
    ///
    /// # Errors
    /// As [`Samples::per_iteration`].
    pub fn location(&self) -> Result<f64, SamplesError> {
        let mut times = self.per_iteration()?;
        times.sort_by(f64::total_cmp);
        quantile_of_sorted(&times, LOCATION_SHARE).ok_or(SamplesError::Empty)
    }
}

impl Samples {
    /// At most [`SAMPLES_KEPT`] samples that have the same center and spread: where there were
    /// more, their times of one iteration are replaced by as many evenly spaced quantiles (0.5/30,
    /// 1.5/30 …), the lowest of them by the floor. Times keep six significant digits. Samples that
    /// no clock can give stay as they are: what judges them says what is wrong with them.
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

/// Samples of one replicate of one case in a baseline, at most.
pub const SAMPLES_KEPT: usize = 30;

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The share of samples that lie below [`Samples::floor`].
pub const FLOOR_SHARE: f64 = 1.0 / 200.0;

/// The share of samples that [`Samples::location`] lies above.
pub const LOCATION_SHARE: f64 = 0.10;

/// The value that a share `p` of the `sorted` values stays below, by linear interpolation between
/// order statistics (type 7 of Hyndman and Fan, the default of R and NumPy). `p` is held to 0..=1.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor();
    let (low, high) = (*sorted.get(below as usize)?, *sorted.get(position.ceil() as usize)?);
    let share = position - below;
    // Without the test, an infinite neighbor that has no share would make NaN.
    Some(if share > 0.0 { low + share * (high - low) } else { low })
}

/// The value that `share` of the `sorted` values lie below, where each stands for the middle of its
/// own part (type 5 of Hyndman and Fan); `None` of nothing.
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

    /// The floor of samples of 1 ns to `count` ns.
    fn floor_of(count: u32) -> f64 {
        let times: Vec<f64> = (0..count).rev().map(|at| f64::from(at + 1)).collect();
        samples(&vec![1; times.len()], &times).floor().unwrap()
    }

    #[test]
    fn the_floor_is_the_least_sample_unless_there_are_very_many() {
        assert!([1, 2, 30, 100].iter().all(|&count| (floor_of(count) - 1.0).abs() < 1e-12));
        // Five of a thousand lie below.
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
