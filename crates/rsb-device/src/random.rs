//! Random numbers from a seed: the same on every machine, in any order.
//!
//! Inputs are a hash of their position, so that any element can be regenerated without storing the
//! others.

use rsb_model::random::{Generator, mix64};

rsb_model::named_enum! {
    /// Distribution of input values.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Distribution {
        /// Uniform in [-1, 1).
        Signed = "random uniform in [-1, 1)",
        /// Uniform in [0, 1): sums do not cancel, so that their relative error is meaningful.
        Unit = "random uniform in [0, 1)",
        /// Sine of the position, and cosine in every second buffer.
        Trigonometric = "trigonometric: sines and cosines of the position",
        /// `CONSTANT` everywhere.
        Constant = "constant: 0.5 everywhere",
    }
}

/// Value of [`Distribution::Constant`]: its products are exact in every type.
const CONSTANT: f64 = 0.5;

/// The values of one input buffer, before rounding to its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    key: u64,
    distribution: Distribution,
    /// Index of the buffer in its operation.
    buffer: usize,
}

impl Values {
    /// Creates the values of buffer `buffer` for seed `seed`.
    pub fn new(seed: u64, buffer: usize, distribution: Distribution) -> Self {
        let key = mix64(seed ^ mix64(buffer as u64 + 1));
        Self { key, distribution, buffer }
    }

    /// Fills `out` with elements from `start` on, as f32. Every f32 here has 24 random bits, so the
    /// value is exact.
    pub fn fill_f32(&self, start: u64, out: &mut [f32]) {
        if let Some(value) = self.plain() {
            (start..).zip(out).for_each(|(position, to)| *to = value(position) as f32);
            return;
        }
        let (offset, factor) = self.scale();
        let mut done = 0;
        // The high half of a position is part of the key, so that the inner loop uses 32-bit words
        // and vectorizes.
        while done < out.len() {
            let position = start + done as u64;
            let low = position as u32;
            let room =
                (u64::from(u32::MAX) - u64::from(low) + 1).min((out.len() - done) as u64) as usize;
            let Some(part) = out.get_mut(done..done + room) else { return };
            fill_block(self.key_for(position), low, offset, factor, part);
            done += room;
        }
    }

    /// Fills `out` with elements from `start` on, as f64 with 53 random bits.
    pub fn fill_f64(&self, start: u64, out: &mut [f64]) {
        for (position, value) in (start..).zip(out) {
            *value = self.wide(position);
        }
    }

    /// Returns the value as a function of the position, if the distribution is not random.
    fn plain(&self) -> Option<fn(u64) -> f64> {
        match self.distribution {
            Distribution::Signed | Distribution::Unit => None,
            Distribution::Trigonometric if self.buffer.is_multiple_of(2) => {
                Some(|position| (position as f64).sin())
            }
            Distribution::Trigonometric => Some(|position| (position as f64).cos()),
            Distribution::Constant => Some(|_| CONSTANT),
        }
    }

    /// Returns the element at `position`, with 53 random bits.
    pub fn wide(&self, position: u64) -> f64 {
        if let Some(value) = self.plain() {
            return value(position);
        }
        let unit = (mix64(self.key ^ mix64(position)) >> 11) as f64 * 2.0_f64.powi(-53);
        match self.distribution {
            Distribution::Signed => unit * 2.0 - 1.0,
            _ => unit,
        }
    }

    fn key_for(&self, position: u64) -> u32 {
        mix64(self.key ^ (position >> 32)) as u32
    }

    /// Returns the offset and factor that map a 24-bit number to the distribution.
    fn scale(&self) -> (f32, f32) {
        match self.distribution {
            Distribution::Signed => (-1.0, 2.0_f32.powi(-23)),
            _ => (0.0, 2.0_f32.powi(-24)),
        }
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn fill_block(key: u32, first: u32, offset: f32, factor: f32, out: &mut [f32]) {
    let mut position = first;
    for value in out {
        let mut x = position ^ key;
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        *value = (x >> 8).cast_signed() as f32 * factor + offset;
        position = position.wrapping_add(1);
    }
}

/// Returns one cycle through `nodes` in random order (Sattolo 1986): `next[i]` is the successor of
/// `i`.
pub fn cycle(nodes: u64, seed: u64) -> Vec<u32> {
    let mut next: Vec<u32> = (0..nodes.min(u64::from(u32::MAX)) as u32).collect();
    let mut random = Generator::new(seed);
    for last in (1..next.len()).rev() {
        next.swap(last, random.below(last as u64) as usize);
    }
    next
}

#[cfg(test)]
mod tests {
    use rsb_model::Dtype;

    use super::*;

    #[test]
    fn any_part_can_be_made_again() {
        let values = Values::new(7, 1, Distribution::Signed);
        let mut all = vec![0.0; 1000];
        values.fill_f32(0, &mut all);
        let mut part = vec![0.0; 300];
        values.fill_f32(500, &mut part);
        assert_eq!(part, all[500..800]);
        for position in [0, 1, 499, 999] {
            let at = crate::convert::value(Dtype::F32, &values, position);
            assert_eq!(at.to_bits(), f64::from(all[position as usize]).to_bits());
        }
    }

    #[test]
    fn values_are_spread_over_their_range_and_buffers_differ() {
        for (distribution, low, mean) in
            [(Distribution::Signed, -1.0, 0.0), (Distribution::Unit, 0.0, 0.5)]
        {
            let mut values = vec![0.0; 100_000];
            Values::new(1, 0, distribution).fill_f32(0, &mut values);
            assert!(values.iter().all(|&value| (low..1.0).contains(&value)));
            let average =
                values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
            assert!((average - mean).abs() < 0.01, "{average}");
            let mut other = vec![0.0; 100_000];
            Values::new(1, 1, distribution).fill_f32(0, &mut other);
            let equal = values
                .iter()
                .zip(&other)
                .filter(|(left, right)| left.to_bits() == right.to_bits())
                .count();
            assert!(equal < 10, "{equal}");
        }
    }

    #[test]
    fn what_is_not_random_is_the_same_by_every_way() {
        for distribution in [Distribution::Trigonometric, Distribution::Constant] {
            let [even, odd] = [0, 1].map(|buffer| Values::new(9, buffer, distribution));
            let (mut narrow, mut wide) = (vec![0.0; 50], vec![0.0; 50]);
            even.fill_f32(7, &mut narrow);
            even.fill_f64(7, &mut wide);
            for (position, (&narrow, &wide)) in (7..).zip(narrow.iter().zip(&wide)) {
                assert_eq!(
                    crate::convert::value(Dtype::F32, &even, position).to_bits(),
                    f64::from(narrow).to_bits()
                );
                assert_eq!(
                    crate::convert::value(Dtype::F64, &even, position).to_bits(),
                    wide.to_bits()
                );
                let square =
                    crate::convert::value(Dtype::F64, &odd, position).powi(2) + wide.powi(2);
                let expected = if distribution == Distribution::Constant { 0.5 } else { 1.0 };
                assert!((square - expected).abs() < 1e-12, "{square}");
            }
        }
    }

    #[test]
    fn values_go_on_beyond_32_bits() {
        let values = Values::new(3, 0, Distribution::Signed);
        let start = u64::from(u32::MAX) - 3;
        let mut across = vec![0.0; 8];
        values.fill_f32(start, &mut across);
        for (position, &value) in (start..).zip(&across) {
            assert_eq!(
                crate::convert::value(Dtype::F32, &values, position).to_bits(),
                f64::from(value).to_bits()
            );
        }
        assert_ne!(across[..4], across[4..]);
    }

    proptest::proptest! {
        #[test]
        fn a_cycle_visits_every_node(nodes in 1_u64..500, seed: u64) {
            let next = cycle(nodes, seed);
            let (mut at, mut steps) = (0_usize, 0_u64);
            loop {
                at = next[at] as usize;
                steps += 1;
                if at == 0 { break; }
            }
            proptest::prop_assert_eq!(steps, nodes);
        }
    }
}
