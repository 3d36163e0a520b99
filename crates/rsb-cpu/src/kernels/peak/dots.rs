//! Peak rate of bf16 and i8 dot-product instructions, in twelve chains as for f32.
//!
//! With bf16 a chain alternates `x ← x + a·b` and `x ← x − a·b`, with one more addition at the end,
//! so that it ends at a·b. With i8 it alternates `x ← x + a·b` for two pairs, modulo 2³², which has
//! an exact result. Operands are random in every lane.

use rsb_model::Dtype;

use super::BurstKernel;

/// Returns the burst of `dtype`, if the CPU has a unit for it.
pub(super) fn burst(dtype: Dtype) -> Option<BurstKernel> {
    let (burst, name) = x86::burst(dtype)?;
    Some(BurstKernel { burst, name, grain: 1 })
}

mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512, __m512bh, __m512i, _mm256_dpbusd_avx_epi32, _mm512_dpbf16_ps,
        _mm512_dpbusd_epi32,
    };
    use std::hint::black_box;
    use std::mem::transmute;

    use half::bf16;
    use rsb_device::operation::PeakArithmetic;
    use rsb_device::random::{Distribution, Values};
    use rsb_model::Dtype;

    use super::super::{Burst, CHAINS, SEED, larger_error};

    pub(super) fn burst(dtype: Dtype) -> Option<(Burst, &'static str)> {
        let avx512 = std::arch::is_x86_feature_detected!("avx512f");
        match dtype {
            Dtype::Bf16 if avx512 && std::arch::is_x86_feature_detected!("avx512bf16") => {
                // SAFETY: AVX-512 BF16 was detected.
                Some((|units| unsafe { bf16_avx512(units) }, "native-avx512bf16"))
            }
            Dtype::I8 if avx512 && std::arch::is_x86_feature_detected!("avx512vnni") => {
                // SAFETY: AVX-512 VNNI was detected.
                Some((|units| unsafe { i8_avx512(units) }, "native-avx512vnni"))
            }
            Dtype::I8
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("avxvnni") =>
            {
                // SAFETY: AVX-VNNI was detected.
                Some((|units| unsafe { i8_avx(units) }, "native-avxvnni"))
            }
            _ => None,
        }
    }

    /// Returns random numbers from 1/2 to 1 with random signs, exact in bf16.
    fn numbers(which: usize) -> [bf16; 32] {
        let values = Values::new(SEED, which, Distribution::Signed);
        std::array::from_fn(|lane| {
            let value = values.wide(lane as u64);
            bf16::from_f64(value / 2.0 + value.signum() / 2.0)
        })
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    fn bf16_avx512(units: usize) -> f64 {
        // SAFETY: arrays and vectors have the same size, and all bit patterns are valid, here and
        // below.
        let vector = |lanes: [bf16; 32]| unsafe { transmute::<[bf16; 32], __m512bh>(lanes) };
        let (a, b) = (black_box([0, 1, 2, 3].map(numbers)), black_box([4, 5, 6].map(numbers)));
        let of_a = a.map(vector);
        let of_b = b.map(|lanes| [vector(lanes), vector(lanes.map(|x| -x))]);
        // SAFETY: as above.
        let mut sums =
            [unsafe { transmute::<[f32; 16], __m512>([0.0; 16]) }; CHAINS].map(black_box);
        let mut half_a_turn = |sign: usize| {
            for (chain, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_dpbf16_ps(*sum, of_a[chain % 4], of_b[chain % 3][sign]);
            }
        };
        for _ in 0..units * (PeakArithmetic::UNIT as usize / (128 * CHAINS)) {
            half_a_turn(0);
            half_a_turn(1);
        }
        if units > 0 {
            half_a_turn(0);
        }
        let (mut off, mut scale) = (0.0_f64, 0.0_f64);
        for (chain, sum) in sums.into_iter().enumerate() {
            // SAFETY: as above.
            let ends = unsafe { transmute::<__m512, [f32; 16]>(sum) };
            let (a, b) = (a[chain % 4].map(bf16::to_f64), b[chain % 3].map(bf16::to_f64));
            for (lane, end) in ends.into_iter().enumerate() {
                let right = a[2 * lane] * b[2 * lane] + a[2 * lane + 1] * b[2 * lane + 1];
                let difference = (f64::from(end) - right).abs();
                off = larger_error(off, difference);
                scale = scale.max(right.abs());
            }
        }
        off / scale
    }

    /// Returns random bytes.
    fn bytes<const COUNT: usize>(which: usize) -> [u8; COUNT] {
        let values = Values::new(SEED, which, Distribution::Unit);
        std::array::from_fn(|lane| (values.wide(lane as u64) * 256.0) as u8)
    }

    macro_rules! whole_numbers {
        ($name:ident, $features:literal, $vector:ty, $bytes:literal, $add_products:ident) => {
            #[target_feature(enable = $features)]
            fn $name(units: usize) -> f64 {
                let vector = |lanes: [u8; $bytes]| {
                    // SAFETY: arrays and vectors have the same size, and all bit patterns are
                    // valid, here and below.
                    unsafe { transmute::<[u8; $bytes], $vector>(lanes) }
                };
                let (a, b) = (
                    black_box([0, 1, 2, 3].map(bytes::<$bytes>)),
                    black_box([4, 5, 6].map(bytes::<$bytes>)),
                );
                let (of_a, of_b) = (a.map(vector), b.map(vector));
                let mut sums = [vector([0; $bytes]); CHAINS].map(black_box);
                let turns = units * (PeakArithmetic::UNIT as usize / (4 * $bytes * CHAINS));
                for _ in 0..turns {
                    for (chain, sum) in sums.iter_mut().enumerate() {
                        *sum = $add_products(*sum, of_a[chain % 4], of_b[chain % 3]);
                    }
                    for (chain, sum) in sums.iter_mut().enumerate() {
                        *sum = $add_products(*sum, of_a[(chain + 1) % 4], of_b[chain % 3]);
                    }
                }
                let modulo = (turns as u32).cast_signed();
                let dot = |a: &[u8], b: &[u8]| -> i32 {
                    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(b.cast_signed())).sum()
                };
                let is_right = sums.into_iter().enumerate().all(|(chain, sum)| {
                    // SAFETY: as above.
                    let ends = unsafe { transmute::<$vector, [i32; $bytes / 4]>(sum) };
                    ends.into_iter().enumerate().all(|(lane, end)| {
                        let four = 4 * lane..4 * lane + 4;
                        let b = &b[chain % 3][four.clone()];
                        let turn =
                            dot(&a[chain % 4][four.clone()], b) + dot(&a[(chain + 1) % 4][four], b);
                        units > 0 && end == turn.wrapping_mul(modulo)
                    })
                });
                if is_right { 0.0 } else { 1.0 }
            }
        };
    }
    whole_numbers!(i8_avx512, "avx512f,avx512vnni", __m512i, 64, _mm512_dpbusd_epi32);
    whole_numbers!(i8_avx, "avx2,avxvnni", __m256i, 32, _mm256_dpbusd_avx_epi32);
}
