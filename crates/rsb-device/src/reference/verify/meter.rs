//! Error of a result, max|x − ref| over max|ref|, computed over whole chunks at a time.

use super::bounds::ErrorBound;

/// Compares results with the reference and records the largest errors.
#[derive(Debug)]
pub(super) struct ErrorMeter {
    bound: ErrorBound,
    difference: f64,
    pub(super) scale: f64,
    /// Largest difference beyond rounding and largest expected magnitude, both since the last
    /// [`ErrorMeter::end_group`].
    group: (f64, f64),
    /// Largest ratio of difference to magnitude in any group.
    unexplained: f64,
    pub(super) not_finite: bool,
}

impl ErrorMeter {
    pub(super) fn new(bound: ErrorBound) -> Self {
        Self {
            bound,
            difference: 0.0,
            scale: 0.0,
            group: (0.0, 0.0),
            unexplained: 0.0,
            not_finite: false,
        }
    }

    pub(super) fn compare(&mut self, found: f64, expected: f64) {
        self.compare_all(&[found], &[expected]);
    }

    /// Compares elements with their expected values, in slices of the same length. NaN or infinity
    /// in either sets `not_finite`.
    pub(super) fn compare_all(&mut self, found: &[f64], expected: &[f64]) {
        self.not_finite |= found.len() != expected.len();
        let spread = spread(found, expected, self.bound);
        // The difference is not finite if either element is NaN or infinite.
        self.not_finite |= !spread.difference.is_finite();
        self.difference = self.difference.max(spread.difference);
        self.scale = self.scale.max(spread.scale);
        self.group = (self.group.0.max(spread.unexplained), self.group.1.max(spread.scale));
    }

    /// Ends a part of the result whose errors do not depend on the magnitude of other parts, such
    /// as a row of attention.
    pub(super) fn end_group(&mut self) {
        let (unexplained, scale) = std::mem::take(&mut self.group);
        self.unexplained = self.unexplained.max(ratio(unexplained, scale));
    }

    /// Checks only for NaN and infinity.
    pub(super) fn look_at(&mut self, found: &[f64]) {
        self.not_finite |= !all_finite(found);
    }

    /// Returns max|x − ref| / max|ref|.
    pub(super) fn relative(&self) -> f64 {
        ratio(self.difference, self.scale)
    }

    /// Returns the largest difference beyond the rounding of its own element, over the largest
    /// expected magnitude of its group.
    pub(super) fn unexplained_error(&self) -> f64 {
        self.unexplained.max(ratio(self.group.0, self.group.1))
    }
}

fn ratio(difference: f64, scale: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / scale }
}

/// Number of lanes in which numbers are processed in parallel.
const LANES: usize = 8;

/// Results of [`spread`] for a chunk.
struct Spread {
    /// Largest difference; infinite if any number is NaN or infinite.
    difference: f64,
    /// Largest difference beyond the rounding of its own element.
    unexplained: f64,
    /// Largest expected magnitude.
    scale: f64,
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn spread(found: &[f64], expected: &[f64], bound: ErrorBound) -> Spread {
    let ErrorBound { rounding, smallest_normal, .. } = bound;
    let (mut differences, mut scales, mut beyond) =
        ([0.0_f64; LANES], [0.0_f64; LANES], [0.0_f64; LANES]);
    let mut each = |lane: usize, found: f64, expected: f64| {
        let difference = (found - expected).abs();
        let (Some(largest), Some(scale), Some(most)) =
            (differences.get_mut(lane), scales.get_mut(lane), beyond.get_mut(lane))
        else {
            return;
        };
        // Comparisons with NaN are false, so the infinity is kept.
        *largest = if difference < f64::INFINITY { largest.max(difference) } else { f64::INFINITY };
        *scale = scale.max(expected.abs());
        *most = most.max(difference - rounding * expected.abs().max(smallest_normal));
    };
    let ((found, rest), (expected, rest_expected)) =
        (found.as_chunks::<LANES>(), expected.as_chunks::<LANES>());
    for (found, expected) in found.iter().zip(expected) {
        for lane in 0..LANES {
            each(lane, found[lane], expected[lane]);
        }
    }
    for (lane, (&found, &expected)) in rest.iter().zip(rest_expected).enumerate() {
        each(lane, found, expected);
    }
    Spread {
        difference: largest(differences),
        unexplained: largest(beyond),
        scale: largest(scales),
    }
}

fn largest(lanes: [f64; LANES]) -> f64 {
    lanes.into_iter().fold(0.0, f64::max)
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn all_finite(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |all, number| all & (number.abs() < f64::INFINITY))
}

/// Returns the sum, accumulated in [`LANES`] parallel parts, and the largest number.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
pub(super) fn sum_and_largest(numbers: &[f64]) -> (f64, f64) {
    let (mut sums, mut largest) = ([0.0; LANES], [f64::NEG_INFINITY; LANES]);
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
            largest[lane] = largest[lane].max(chunk[lane]);
        }
    }
    let sum = sums.into_iter().sum::<f64>() + rest.iter().sum::<f64>();
    (sum, largest.into_iter().chain(rest.iter().copied()).fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact() -> ErrorMeter {
        ErrorMeter::new(ErrorBound { rounding: 0.0, smallest_normal: 0.0, sums: 0.0 })
    }

    #[test]
    fn rounding_is_relative_to_the_element_and_the_rest_to_its_group() {
        let mut meter =
            ErrorMeter::new(ErrorBound { rounding: 0.01, smallest_normal: 0.001, sums: 0.0 });
        meter.compare_all(&[100.9, 0.1005, 1e-9], &[100.0, 0.1, 0.0]);
        assert_eq!(
            meter.unexplained_error().to_bits(),
            0,
            "each element is within 1 % of its expected value"
        );
        meter.compare_all(&[0.5], &[0.4]);
        assert!(
            (meter.unexplained_error() - 0.096 / 100.0).abs() < 1e-12,
            "relative to the largest of the group"
        );
        meter.end_group();
        meter.compare_all(&[0.5], &[0.4]);
        assert!(
            (meter.unexplained_error() - 0.096 / 0.4).abs() < 1e-12,
            "each group is relative to its own largest element"
        );
        assert!((meter.relative() - 0.9 / 100.0).abs() < 1e-12);
    }

    #[test]
    fn one_wrong_number_shows_wherever_it_is() {
        let right: Vec<f64> = (0..37).map(|index| f64::from(index) - 18.0).collect();
        for at in 0..right.len() {
            for (wrong, relative) in
                [(0.25, Some(0.25 / 18.0)), (f64::NAN, None), (f64::INFINITY, None)]
            {
                let mut found = right.clone();
                found[at] = right[at] + wrong;
                let mut meter = exact();
                meter.compare_all(&found, &right);
                meter.compare_all(&right, &right);
                assert_eq!(meter.not_finite, relative.is_none(), "{at} {wrong}");
                if let Some(relative) = relative {
                    assert!(
                        (meter.relative() - relative).abs() < 1e-15,
                        "{at}: {}",
                        meter.relative()
                    );
                }
                let mut looked = exact();
                looked.look_at(&found);
                assert_eq!(looked.not_finite, relative.is_none());
            }
        }
        let mut expected_nothing = exact();
        expected_nothing.compare(1.0, f64::NAN);
        assert!(expected_nothing.not_finite, "a result without a finite reference must not pass");
        let mut shorter = exact();
        shorter.compare_all(&right, &right[1..]);
        assert!(shorter.not_finite);
    }

    #[test]
    fn sums_and_the_largest_are_of_all() {
        let numbers: Vec<f64> = (1..=100).map(f64::from).collect();
        for count in 0..100 {
            let (sum, largest) = sum_and_largest(&numbers[..count]);
            assert!((sum - (count * (count + 1)) as f64 / 2.0).abs() < 1e-9);
            assert!(count == 0 || (largest - count as f64).abs() < 1e-9);
        }
    }
}
