//! How far off a result is: max|x − ref| over max|ref|, of whole chunks at a time.

/// Keeps max|x − ref| and max|ref|.
#[derive(Debug, Default)]
pub(super) struct ErrorMeter {
    difference: f64,
    pub(super) scale: f64,
    pub(super) not_finite: bool,
}

impl ErrorMeter {
    pub(super) fn compare(&mut self, found: f64, expected: f64) {
        self.compare_all(&[found], &[expected]);
    }

    /// Compares each with what is expected of it; both are equally long. What is expected is finite, too.
    pub(super) fn compare_all(&mut self, found: &[f64], expected: &[f64]) {
        self.not_finite |= found.len() != expected.len();
        self.see(spread(found, expected));
    }

    /// Looks for NaN and infinity alone.
    pub(super) fn look_at(&mut self, found: &[f64]) {
        self.not_finite |= !all_finite(found);
    }

    fn see(&mut self, (difference, scale): (f64, f64)) {
        // Differences of NaN and infinity are neither, and so is their sum.
        self.not_finite |= !difference.is_finite();
        self.difference = self.difference.max(difference);
        self.scale = self.scale.max(scale);
    }

    pub(super) fn relative(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.scale }
    }
}

/// Numbers that are worked on side by side.
const LANES: usize = 8;

/// The largest difference and the largest expected size; the former is infinite where any number is NaN or infinite.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn spread(found: &[f64], expected: &[f64]) -> (f64, f64) {
    let (mut differences, mut scales) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    let mut each = |lane: usize, found: f64, expected: f64| {
        let difference = (found - expected).abs();
        // A comparison with NaN is false, and infinity stays.
        let (Some(largest), Some(scale)) = (differences.get_mut(lane), scales.get_mut(lane)) else { return };
        *largest = if difference < f64::INFINITY { largest.max(difference) } else { f64::INFINITY };
        *scale = scale.max(expected.abs());
    };
    let ((found, rest), (expected, rest_expected)) = (found.as_chunks::<LANES>(), expected.as_chunks::<LANES>());
    for (found, expected) in found.iter().zip(expected) {
        for lane in 0..LANES {
            each(lane, found[lane], expected[lane]);
        }
    }
    for (lane, (&found, &expected)) in rest.iter().zip(rest_expected).enumerate() {
        each(lane, found, expected);
    }
    (differences.into_iter().fold(0.0, f64::max), scales.into_iter().fold(0.0, f64::max))
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn all_finite(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |all, number| all & (number.abs() < f64::INFINITY))
}

/// The sum in so many parts side by side, and the largest.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
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

    #[test]
    fn one_wrong_number_shows_wherever_it_is() {
        let right: Vec<f64> = (0..37).map(|index| f64::from(index) - 18.0).collect();
        for at in 0..right.len() {
            for (wrong, relative) in [(0.25, Some(0.25 / 18.0)), (f64::NAN, None), (f64::INFINITY, None)] {
                let mut found = right.clone();
                found[at] = right[at] + wrong;
                let mut meter = ErrorMeter::default();
                meter.compare_all(&found, &right);
                meter.compare_all(&right, &right);
                assert_eq!(meter.not_finite, relative.is_none(), "{at} {wrong}");
                if let Some(relative) = relative {
                    assert!((meter.relative() - relative).abs() < 1e-15, "{at}: {}", meter.relative());
                }
                let mut looked = ErrorMeter::default();
                looked.look_at(&found);
                assert_eq!(looked.not_finite, relative.is_none());
            }
        }
        let mut expected_nothing = ErrorMeter::default();
        expected_nothing.compare(1.0, f64::NAN);
        assert!(expected_nothing.not_finite, "what no reference is known of is not right");
        let mut shorter = ErrorMeter::default();
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
