//! Small seeded random number generator for resampling: PCG32 (O'Neill, 2014, XSH-RR), implemented
//! here so that a verdict never changes because a dependency changed its stream.

/// A stream of random numbers that is determined by its seed.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

impl Rng {
    /// Creates the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut rng = Self { state: seed.wrapping_add(INCREMENT) };
        rng.next_u32();
        rng
    }

    /// Returns the next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let mixed = (((old >> 18) ^ old) >> 27) as u32;
        mixed.rotate_right((old >> 59) as u32)
    }

    /// Returns an unbiased integer below `bound` (Lemire, 2019); 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let Ok(bound) = u32::try_from(bound) else {
            return (self.uniform() * bound as f64) as usize;
        };
        if bound == 0 {
            return 0;
        }
        let rejected = bound.wrapping_neg() % bound;
        loop {
            let wide = u64::from(self.next_u32()) * u64::from(bound);
            if wide as u32 >= rejected {
                return (wide >> 32) as usize;
            }
        }
    }

    /// Returns a uniform value in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        let high = u64::from(self.next_u32()) << 21;
        (high ^ u64::from(self.next_u32() >> 11)) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a standard normal value (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        // Pinned values, because a changed stream would change verdicts.
        let mut rng = Rng::new(42);
        assert_eq!(
            [rng.next_u32(), rng.next_u32(), rng.next_u32()],
            [3_270_867_926, 1_795_671_209, 1_924_641_435]
        );
    }

    #[test]
    fn figures_have_the_moments_that_they_should() {
        let mut rng = Rng::new(7);
        let n = 20_000;
        let normal: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let uniform: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
        for (values, mean, variance) in [(normal, 0.0, 1.0), (uniform, 0.5, 1.0 / 12.0)] {
            let found = crate::estimate::mean(&values).unwrap();
            assert!((found - mean).abs() < 0.03, "mean {found}");
            let found = crate::estimate::variance(&values).unwrap();
            assert!((found - variance).abs() < 0.03, "variance {found}");
        }
    }

    #[test]
    fn positions_are_even_and_within_bounds() {
        let mut rng = Rng::new(8);
        let mut counts = [0; 7];
        for _ in 0..7000 {
            counts[rng.below(7)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        let mut items: Vec<u32> = (0..50).collect();
        rng.shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
