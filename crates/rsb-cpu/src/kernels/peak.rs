//! The highest arithmetic rate: multiply-adds in registers, in twelve independent chains to hide their latency.

use std::sync::Mutex;

use rsb_model::Dtype;

use super::{Bound, CpuKernel, ThreadPool, no_kernel};
use rsb_device::device::DeviceError;
use rsb_device::operation::PeakArithmetic;

/// Chains in flight: latency times units is eight to ten on the CPUs of the last ten years.
const CHAINS: usize = 12;

/// Does `units` times [`PeakArithmetic::UNIT`] operations and gives the mean of all lanes.
type Burst = fn(units: usize) -> f64;

pub(super) fn kernel(op: &PeakArithmetic, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let (burst, name) = match op.dtype {
        Dtype::F32 => burst_f32(),
        Dtype::F64 => burst_f64(),
        other => return Err(no_kernel("peak arithmetic", other, "f32 and f64")),
    };
    let units = (op.operations / PeakArithmetic::UNIT) as usize;
    let (dtype, output) = (op.dtype, bound.span(0));
    let lowest = Mutex::new(f64::INFINITY);
    Ok(CpuKernel::new(name, move || {
        let pool: &ThreadPool = &bound.pool;
        set(&lowest, |_| f64::INFINITY);
        pool.each(|index| {
            let share = pool.share(index, units, 1).len();
            if share > 0 {
                let end = burst(share);
                set(&lowest, |lowest| lowest.min(end));
            }
        });
        let end = lowest.lock().map_or(f64::NAN, |lowest| *lowest);
        // SAFETY: the output is one element of this type, kept by `bound`, and only this thread is at work now.
        unsafe {
            match dtype {
                Dtype::F64 => output.slice_mut::<f64>(&(0..1)).fill(end),
                _ => output.slice_mut::<f32>(&(0..1)).fill(end as f32),
            }
        }
        Ok(())
    }))
}

fn set(lowest: &Mutex<f64>, value: impl FnOnce(f64) -> f64) {
    if let Ok(mut lowest) = lowest.lock() {
        *lowest = value(*lowest);
    }
}

fn burst_f32() -> (Burst, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: AVX-512F was just found.
            return (|units| unsafe { x86::f32_avx512(units) }, "native-avx512");
        }
        if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: AVX and FMA were just found.
            return (|units| unsafe { x86::f32_avx(units) }, "native-fma");
        }
    }
    (plain_f32, "native")
}

fn burst_f64() -> (Burst, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: AVX-512F was just found.
            return (|units| unsafe { x86::f64_avx512(units) }, "native-avx512");
        }
        if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: AVX and FMA were just found.
            return (|units| unsafe { x86::f64_avx(units) }, "native-fma");
        }
    }
    (plain_f64, "native")
}

/// A multiply and an add for each lane, as the compiler vectorizes them.
macro_rules! plain {
    ($name:ident, $number:ty, $lanes:literal) => {
        fn $name(units: usize) -> f64 {
            const LANES: usize = CHAINS * $lanes;
            let half: $number = std::hint::black_box(0.5);
            let mut chains: [$number; LANES] = std::hint::black_box([0.0; LANES]);
            for _ in 0..units * (PeakArithmetic::UNIT as usize / (2 * LANES)) {
                for chain in &mut chains {
                    *chain = *chain * half + half;
                }
            }
            std::hint::black_box(chains).iter().map(|&lane| f64::from(lane)).sum::<f64>() / LANES as f64
        }
    };
}
plain!(plain_f32, f32, 4);
plain!(plain_f64, f64, 2);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps,
        _mm256_storeu_pd, _mm256_storeu_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_set1_pd, _mm512_set1_ps,
        _mm512_setzero_pd, _mm512_setzero_ps, _mm512_storeu_pd, _mm512_storeu_ps,
    };

    use super::CHAINS;
    use rsb_device::operation::PeakArithmetic;

    macro_rules! burst {
        ($name:ident, $features:literal, $number:ty, $lanes:literal,
         $zero:ident, $set:ident, $multiply_add:ident, $store:ident) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name(units: usize) -> f64 {
                let half = $set(std::hint::black_box(0.5));
                // Each chain begins at a value that the compiler cannot see, or it would merge them all.
                let mut chains = [$zero(); CHAINS].map(std::hint::black_box);
                for _ in 0..units * (PeakArithmetic::UNIT as usize / (2 * CHAINS * $lanes)) {
                    for chain in &mut chains {
                        *chain = $multiply_add(*chain, half, half);
                    }
                }
                let mut lanes = [[0.0; $lanes]; CHAINS];
                for (lanes, chain) in lanes.iter_mut().zip(chains) {
                    // SAFETY: the array is as long as the vector.
                    unsafe { $store(lanes.as_mut_ptr(), chain) };
                }
                let all = lanes.as_flattened();
                all.iter().map(|&lane: &$number| f64::from(lane)).sum::<f64>() / all.len() as f64
            }
        };
    }

    burst!(f32_avx512, "avx512f", f32, 16, _mm512_setzero_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps);
    burst!(f64_avx512, "avx512f", f64, 8, _mm512_setzero_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd);
    burst!(f32_avx, "avx,fma", f32, 8, _mm256_setzero_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps);
    burst!(f64_avx, "avx,fma", f64, 4, _mm256_setzero_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_ends_at_one() {
        for burst in [plain_f32, plain_f64, burst_f32().0, burst_f64().0] {
            for units in [1, 2, 5] {
                assert_eq!(burst(units).to_bits(), 1.0_f64.to_bits());
            }
        }
    }
}
