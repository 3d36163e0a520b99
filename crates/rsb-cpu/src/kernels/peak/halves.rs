//! Peak rate of f16 with AVX-512 FP16, using the same chains as f32.

use std::arch::x86_64::{__m512h, _mm512_fmadd_ph};
use std::hint::black_box;
use std::mem::transmute;

use half::f16;
use rsb_device::operation::PeakArithmetic;

use super::{BurstKernel, CHAINS, error, operands, order};

/// Elements per vector.
const LANES: usize = 32;

/// Returns the burst, if the CPU has f16 vectors.
pub(super) fn burst() -> Option<BurstKernel> {
    // SAFETY: used only if AVX-512 FP16 is detected below.
    let burst: super::Burst = |units| unsafe { f16_avx512(units) };
    std::arch::is_x86_feature_detected!("avx512fp16").then_some(BurstKernel {
        burst,
        name: "native-avx512fp16",
        grain: 1,
    })
}

#[target_feature(enable = "avx512f,avx512fp16")]
fn f16_avx512(units: usize) -> f64 {
    // SAFETY: arrays and vectors have the same size, and all bit patterns are valid, here and
    // below.
    let vector = |lanes: [f16; LANES]| unsafe { transmute::<[f16; LANES], __m512h>(lanes) };
    let operands = operands::<LANES>().map(|lanes| lanes.map(f16::from_f64));
    let order = order(black_box(operands).map(vector));
    let mut chains = [vector([f16::ZERO; LANES]); CHAINS].map(black_box);
    for _ in 0..units * (PeakArithmetic::UNIT as usize / (4 * CHAINS * LANES)) {
        for (x, [u, v, _]) in chains.iter_mut().zip(&order) {
            *x = _mm512_fmadd_ph(*u, *x, *v);
        }
        for (x, [_, _, a]) in chains.iter_mut().zip(&order) {
            *x = _mm512_fmadd_ph(*a, *x, *x);
        }
    }
    // SAFETY: as above.
    let lanes = |vector: __m512h| unsafe { transmute::<__m512h, [f16; LANES]>(vector) };
    error(
        operands.map(|lanes| lanes.map(f16::to_f64)),
        &chains.map(|chain| lanes(chain).map(f16::to_f64)),
    )
}
