//! Peak arithmetic rate: multiply-adds in registers, in twelve independent chains to hide latency.
//!
//! Each chain alternates `x ← u·x + v` and `x ← a·x + x`, with random u and v and an a from -3/4 to
//! -1/2: full mantissas, bounded, different in every chain and lane. It converges to a fixed point
//! computed in f64, for any number of iterations.

#[cfg(target_arch = "x86_64")]
mod dots;
#[cfg(target_arch = "x86_64")]
mod halves;
#[cfg(target_arch = "x86_64")]
mod tiles;

use std::sync::Mutex;

use half::{bf16, f16};
use rsb_model::Dtype;

use crate::kernel::{Bound, CpuKernel, no_kernel, unsupported_error};
use crate::thread_pool::ThreadPool;
use rsb_device::device::DeviceError;
use rsb_device::operation::PeakArithmetic;
use rsb_device::random::{Distribution, Values};

/// Seed of the operands.
const SEED: u64 = 0x7065_616b;

/// Number of chains. It must be at least instruction latency times units, which is eight to ten on
/// the CPUs of the last ten years.
const CHAINS: usize = 12;

/// Function that executes `units` × [`PeakArithmetic::UNIT`] operations and returns max|x − ref| /
/// max|ref| over all chains and lanes.
type Burst = fn(units: usize) -> f64;

/// A burst that the CPU supports, and its name.
#[derive(Clone, Copy)]
struct BurstKernel {
    burst: Burst,
    name: &'static str,
    /// The number of units must be a multiple of this.
    grain: usize,
}

/// Returns the widest burst of `dtype`.
///
/// # Errors
/// If the CPU has no unit for the data type.
fn find(dtype: Dtype) -> Result<BurstKernel, DeviceError> {
    let vectors = |(burst, name)| Ok(BurstKernel { burst, name, grain: 1 });
    match dtype {
        Dtype::F32 => return vectors(burst_f32()),
        Dtype::F64 => return vectors(burst_f64()),
        Dtype::F16 | Dtype::Bf16 | Dtype::I8 => {}
        other => {
            return Err(no_kernel(
                "peak arithmetic",
                other,
                "f32 and f64, and for f16, bf16 and i8 if it has units for them",
            ));
        }
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = tiles::burst(dtype).or_else(|| match dtype {
        Dtype::F16 => halves::burst(),
        _ => dots::burst(dtype),
    }) {
        return Ok(found);
    }
    let why = "this CPU has no unit for this type, which is computed in f32 or in wider integers";
    Err(unsupported_error(format!("peak arithmetic of {dtype}"), why, "choose f32 or f64"))
}

pub(super) fn kernel(op: &PeakArithmetic, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let BurstKernel { burst, name, grain } = find(op.dtype)?;
    let units = (op.operations / PeakArithmetic::UNIT) as usize;
    if !units.is_multiple_of(grain) {
        let why =
            format!("{name} executes {} operations at a time", grain as u64 * PeakArithmetic::UNIT);
        return Err(unsupported_error(
            format!("{} operations", op.operations),
            why,
            "ask for a multiple of it",
        ));
    }
    let (dtype, output) = (op.dtype, bound.span(0));
    let largest = Mutex::new(0.0);
    Ok(CpuKernel::new(name, move || {
        let pool: &ThreadPool = &bound.pool;
        set(&largest, |_| 0.0);
        pool.each(|index| {
            let share = pool.share(index, units, grain).len();
            if share > 0 {
                let error = burst(share);
                set(&largest, |largest| larger_error(largest, error));
            }
        });
        // The output is 1 plus the largest error among the threads.
        let end = 1.0 + largest.lock().map_or(f64::NAN, |largest| *largest);
        // SAFETY: the output is one element of this type, kept by `bound`, and only this thread
        // runs now.
        unsafe {
            match dtype {
                Dtype::F64 => output.slice_mut::<f64>(&(0..1)).fill(end),
                Dtype::F16 => output.slice_mut::<f16>(&(0..1)).fill(f16::from_f64(end)),
                Dtype::Bf16 => output.slice_mut::<bf16>(&(0..1)).fill(bf16::from_f64(end)),
                Dtype::I8 => output.slice_mut::<i8>(&(0..1)).fill(end as i8),
                _ => output.slice_mut::<f32>(&(0..1)).fill(end as f32),
            }
        }
        Ok(())
    }))
}

fn set(largest: &Mutex<f64>, value: impl FnOnce(f64) -> f64) {
    if let Ok(mut largest) = largest.lock() {
        *largest = value(*largest);
    }
}

/// Returns four operands per lane before rounding. Magnitudes are from 1/2 to 3/4; the last two
/// operands are negative.
fn operands<const LANES: usize>() -> [[f64; LANES]; 4] {
    std::array::from_fn(|which| {
        let (sizes, signs) = (
            Values::new(SEED, which, Distribution::Unit),
            Values::new(SEED, which + 4, Distribution::Signed),
        );
        std::array::from_fn(|lane| {
            let size = 0.5 + sizes.wide(lane as u64) / 4.0;
            if which >= 2 || signs.wide(lane as u64) < 0.0 { -size } else { size }
        })
    })
}

/// Returns the operands u, v and a of each chain, built from four vectors: six combinations, and
/// the same with the last two vectors exchanged.
fn order<V: Copy>([r, s, a, b]: [V; 4]) -> [[V; 3]; CHAINS] {
    let half = |a, b| [[r, s, a], [a, b, b], [r, a, a], [s, b, b], [r, b, a], [s, a, b]];
    let ([c, d, e, f, g, h], [i, j, k, l, m, n]) = (half(a, b), half(b, a));
    [c, d, e, f, g, h, i, j, k, l, m, n]
}

/// Returns the fixed point of a chain with these operands: `x = (1 + a)·(u·x + v)`.
fn end_of(u: f64, v: f64, a: f64) -> f64 {
    (1.0 + a) * v / (1.0 - (1.0 + a) * u)
}

/// Returns the larger of two errors, or NaN if either is NaN.
fn larger_error(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// Returns max|x − ref| / max|ref| for the final values of the chains.
fn error<const LANES: usize>(operands: [[f64; LANES]; 4], ends: &[[f64; LANES]; CHAINS]) -> f64 {
    let (mut off, mut scale) = (0.0, 0.0_f64);
    for ([u, v, a], ends) in order(operands).iter().zip(ends) {
        for (((u, v), a), end) in u.iter().zip(v).zip(a).zip(ends) {
            let right = end_of(*u, *v, *a);
            let difference = (end - right).abs();
            off = larger_error(off, difference);
            scale = scale.max(right.abs());
        }
    }
    off / scale
}

fn burst_f32() -> (Burst, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: AVX-512F was detected.
            return (|units| unsafe { x86::f32_avx512(units) }, "native-avx512");
        }
        if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: AVX and FMA were detected.
            return (|units| unsafe { x86::f32_avx(units) }, "native-fma");
        }
        // SAFETY: every CPU of this architecture has SSE2.
        (|units| unsafe { x86::f32_sse2(units) }, "native")
    }
    #[cfg(not(target_arch = "x86_64"))]
    (plain_f32, "native")
}

fn burst_f64() -> (Burst, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: AVX-512F was detected.
            return (|units| unsafe { x86::f64_avx512(units) }, "native-avx512");
        }
        if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: AVX and FMA were detected.
            return (|units| unsafe { x86::f64_avx(units) }, "native-fma");
        }
        // SAFETY: every CPU of this architecture has SSE2.
        (|units| unsafe { x86::f64_sse2(units) }, "native")
    }
    #[cfg(not(target_arch = "x86_64"))]
    (plain_f64, "native")
}

/// Defines a burst in vectors of `$lanes` numbers. `$multiply_add` computes a·b + c.
#[cfg(target_arch = "x86_64")]
macro_rules! burst {
    ($(#[$features:meta])* $name:ident, $number:ty, $lanes:literal, $load:expr, $multiply_add:expr, $store:expr) => {
        $(#[$features])*
        pub(super) fn $name(units: usize) -> f64 {
            let operands = operands::<$lanes>().map(|lanes| lanes.map(|value| value as $number));
            let order = order(std::hint::black_box(operands).map($load));
            // Each chain starts at a value unknown to the compiler, which would merge the chains
            // otherwise.
            let mut chains = [$load([0.0; $lanes]); CHAINS].map(std::hint::black_box);
            for _ in 0..units * (PeakArithmetic::UNIT as usize / (4 * CHAINS * $lanes)) {
                for (x, [u, v, _]) in chains.iter_mut().zip(&order) {
                    *x = $multiply_add(*u, *x, *v);
                }
                for (x, [_, _, a]) in chains.iter_mut().zip(&order) {
                    *x = $multiply_add(*a, *x, *x);
                }
            }
            error(operands.map(|lanes| lanes.map(f64::from)), &chains.map($store).map(|lanes| lanes.map(f64::from)))
        }
    };
}

/// Defines a burst with a multiply and an add per lane. The compiler vectorizes it because chains
/// are adjacent in memory.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! plain {
    ($name:ident, $number:ty, $lanes:literal) => {
        fn $name(units: usize) -> f64 {
            let operands = operands::<$lanes>().map(|lanes| lanes.map(|value| value as $number));
            let order = std::hint::black_box(order(operands));
            let [u, v, a]: [[[$number; $lanes]; CHAINS]; 3] =
                std::array::from_fn(|which| order.map(|chain| chain[which]));
            let mut chains = std::hint::black_box([[0.0; $lanes]; CHAINS]);
            for _ in 0..units * (PeakArithmetic::UNIT as usize / (4 * CHAINS * $lanes)) {
                for ((x, u), v) in
                    chains.as_flattened_mut().iter_mut().zip(u.as_flattened()).zip(v.as_flattened())
                {
                    *x = *u * *x + *v;
                }
                for (x, a) in chains.as_flattened_mut().iter_mut().zip(a.as_flattened()) {
                    *x = *a * *x + *x;
                }
            }
            error(
                operands.map(|lanes| lanes.map(f64::from)),
                &chains.map(|lanes| lanes.map(f64::from)),
            )
        }
    };
}
#[cfg(not(target_arch = "x86_64"))]
plain!(plain_f32, f32, 4);
#[cfg(not(target_arch = "x86_64"))]
plain!(plain_f64, f64, 2);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128, __m128d, __m256, __m256d, __m512, __m512d, _mm_add_pd, _mm_add_ps, _mm_mul_pd,
        _mm_mul_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm512_fmadd_pd, _mm512_fmadd_ps,
    };
    use std::mem::transmute;

    use super::{CHAINS, error, operands, order};
    use rsb_device::operation::PeakArithmetic;

    macro_rules! vectors {
        ($name:ident, $features:literal, $number:ty, $lanes:literal, $vector:ty, $multiply_add:ident) => {
            burst!(
                #[target_feature(enable = $features)]
                $name,
                $number,
                $lanes,
                // SAFETY: the array and the vector have the same size, and all bit patterns are
                // valid numbers.
                |lanes: [$number; $lanes]| unsafe {
                    transmute::<[$number; $lanes], $vector>(lanes)
                },
                $multiply_add,
                // SAFETY: as above.
                |vector: $vector| unsafe { transmute::<$vector, [$number; $lanes]>(vector) }
            );
        };
    }
    vectors!(f32_avx512, "avx512f", f32, 16, __m512, _mm512_fmadd_ps);
    vectors!(f64_avx512, "avx512f", f64, 8, __m512d, _mm512_fmadd_pd);
    vectors!(f32_avx, "avx,fma", f32, 8, __m256, _mm256_fmadd_ps);
    vectors!(f64_avx, "avx,fma", f64, 4, __m256d, _mm256_fmadd_pd);
    vectors!(f32_sse2, "sse2", f32, 4, __m128, apart_ps);
    vectors!(f64_sse2, "sse2", f64, 2, __m128d, apart_pd);

    /// Multiplies and adds in two instructions, for CPUs without FMA.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn apart_ps(a: __m128, b: __m128, c: __m128) -> __m128 {
        _mm_add_ps(_mm_mul_ps(a, b), c)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn apart_pd(a: __m128d, b: __m128d, c: __m128d) -> __m128d {
        _mm_add_pd(_mm_mul_pd(a, b), c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_in_one_lane_is_never_lost() {
        let operands = operands::<4>();
        let right =
            order(operands).map(|[u, v, a]| std::array::from_fn(|l| end_of(u[l], v[l], a[l])));
        for (chain, lane) in [(0, 0), (1, 2), (CHAINS - 1, 3)] {
            let mut ends: [[f64; 4]; CHAINS] = right;
            ends[chain][lane] = f64::NAN;
            assert!(error(operands, &ends).is_nan(), "chain {chain}, lane {lane}");
        }
        assert!(larger_error(f64::NAN, 1.0).is_nan() && larger_error(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn every_version_ends_where_the_reference_does_and_a_lost_step_shows() {
        let mut all = vec![(burst_f32().0, f64::from(f32::EPSILON)), (burst_f64().0, f64::EPSILON)];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every CPU of this architecture has SSE2.
            let least: [Burst; 2] =
                [|units| unsafe { x86::f32_sse2(units) }, |units| unsafe { x86::f64_sse2(units) }];
            all.extend(least.into_iter().zip([f64::from(f32::EPSILON), f64::EPSILON]));
        }
        for (burst, epsilon) in all {
            for units in [1, 2, 5] {
                let error = burst(units);
                assert!(error < 8.0 * epsilon, "{error:e}");
            }
            assert!((burst(0) - 1.0).abs() < 1e-12, "zero steps must give an error of 1");
        }
        let operands = operands::<4>();
        let ends =
            order(operands).map(|[u, v, a]| std::array::from_fn(|l| end_of(u[l], v[l], a[l])));
        assert!(error(operands, &ends) < 1e-15);
        let half_a_turn = order(operands)
            .map(|[u, v, a]| std::array::from_fn(|l| u[l] * end_of(u[l], v[l], a[l]) + v[l]));
        assert!(error(operands, &half_a_turn) > 0.1);
    }

    /// Tests every burst of other types that this CPU supports, even if it has wider ones.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn sums_of_products_end_where_they_should_and_those_that_never_moved_do_not() {
        let types = [(Dtype::Bf16, 1e-6), (Dtype::F16, 8.0 * 2_f64.powi(-11)), (Dtype::I8, 0.0)];
        let all = types.into_iter().flat_map(|(dtype, most)| {
            let vectors = if dtype == Dtype::F16 { halves::burst() } else { dots::burst(dtype) };
            [tiles::burst(dtype), vectors]
                .into_iter()
                .flatten()
                .map(move |found| (found, dtype, most))
        });
        for (BurstKernel { burst, name, grain }, dtype, most) in all {
            for turns in [1, 2, 5, 64] {
                let error = burst(turns * grain);
                assert!(error <= most, "{dtype} by {name}: {error:e}");
            }
            assert!((burst(0) - 1.0).abs() < 1e-12, "{dtype} by {name}");
        }
        assert!(find(Dtype::Fp8).is_err());
    }
}
