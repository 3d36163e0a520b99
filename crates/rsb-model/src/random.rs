//! Pseudorandom numbers from a seed, identical on every machine. Used for inputs of benchmarks, the
//! order of cases and the noise of simulated clocks. Recorded results depend on every bit.
//!
//! `rsb-stats` has a separate generator (PCG), on which recorded p-values and intervals depend.

/// Sequence of random numbers, for orders and sizes.
#[derive(Debug, Clone, Default)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// Returns the generator for `seed`. The same seed gives the same sequence.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub const fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.state)
    }

    /// Returns a uniform number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * 2.0_f64.powi(-53)
    }

    /// Returns a uniform integer below `bound`, or zero for a bound of zero. The bias is below
    /// bound / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }
}

/// Mixes the bits of `x` with the finalizer of splitmix64 (Steele, Lea and Flood 2014).
#[inline]
pub const fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // SplitMix64 with the seed 1234567, as in the reference implementation.
        let mut random = Generator::new(1_234_567);
        let words = [random.word(), random.word(), random.word()];
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_lie_below_their_bound() {
        let mut random = Generator::new(3);
        assert!((0..1000).all(|_| random.below(7) < 7 && (0.0..1.0).contains(&random.unit())));
        assert_eq!(random.below(0), 0);
    }
}
