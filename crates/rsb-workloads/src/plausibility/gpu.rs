//! What a GPU can have at most, from what it says of itself: compute units, highest clock, architecture. Where one of
//! them is not known, the limit is that of the best GPU there is.

use rsb_device::DeviceInfo;
use rsb_device::operation::PeakArithmetic;
use rsb_model::architecture::{ARCHITECTURES, Architecture, Engine, peak_tflops};
use rsb_model::{BackendId, DeviceType, Dtype};

/// No GPU's compute units run faster.
const FASTEST_MHZ: f64 = 4000.0;

/// No compute unit moves more bytes between its registers and its nearest cache in a clock.
const CACHE_BYTES_PER_CLOCK: f64 = 128.0;

/// How long a burst is to last, in nanoseconds: long against a launch, short against patience.
const BURST_NS: f64 = 1e6;

/// Whether limits of CPU cores do not hold: a GPU, or software that stands for one.
pub(crate) fn is_gpu(info: &DeviceInfo) -> bool {
    !info.device.is_cpu() && info.device_type != DeviceType::Cpu
}

/// Compute units as the table of architectures has them. Interfaces other than a vendor's own may count pairs of them.
fn compute_units(info: &DeviceInfo) -> f64 {
    let is_native = matches!(info.device.backend, BackendId::Rocm | BackendId::Cuda);
    let each = if is_native { 1 } else { 2 };
    f64::from(info.units.max(1)) * f64::from(each)
}

/// More than all compute units move within their caches, in GB/s.
pub(super) fn cache_gb_s(info: &DeviceInfo) -> f64 {
    compute_units(info) * CACHE_BYTES_PER_CLOCK * info.max_clock_mhz.unwrap_or(FASTEST_MHZ) / 1e3
}

/// The data sheet's peak of `dtype` in GFLOP/s, by whichever engine is faster; none where the GPU does not say enough.
pub(super) fn peak_gflops(info: &DeviceInfo, dtype: Dtype) -> Option<f64> {
    let target = info.arch.as_deref()?;
    Some(1e3 * peak_tflops(target, dtype, info.units, info.max_clock_mhz?).ok()?)
}

/// More than the GPU can compute in `dtype`, in GFLOP/s.
pub(super) fn most_gflops(info: &DeviceInfo, dtype: Dtype) -> f64 {
    let each = match info.arch.as_deref().map(Architecture::find) {
        Some(Ok(known)) => best_rate(known, dtype),
        _ => ARCHITECTURES.iter().map(|known| best_rate(known, dtype)).max().unwrap_or(0),
    };
    f64::from(each) * compute_units(info) * info.max_clock_mhz.unwrap_or(FASTEST_MHZ) / 1e3
}

/// Operations of a compute unit in a clock; what there is no instruction for is computed in f32.
fn best_rate(known: &Architecture, dtype: Dtype) -> u32 {
    let rate = |dtype| {
        [Engine::Matrix, Engine::Vector]
            .into_iter()
            .filter_map(move |engine| known.per_clock_per_cu(dtype, engine))
            .max()
    };
    rate(dtype).or_else(|| rate(Dtype::F32)).unwrap_or(0)
}

/// Operations of a burst that lasts about [`BURST_NS`]: whole pieces of work, and some for every wave of threads.
pub(crate) fn burst_operations(info: &DeviceInfo, dtype: Dtype) -> u64 {
    /// Of a GPU that does not say enough: what most do in f32 at a usual clock.
    const USUAL: (f64, f64) = (128.0, 1500.0);
    /// Pieces of the matrix units are eight times those of the vector units; 16 waves work on each compute unit.
    const PIECE: u64 = 8 * PeakArithmetic::UNIT;
    const WAVES: u64 = 16;
    let (each, mhz) = USUAL;
    let usual = f64::from(info.units.max(1)) * each * info.max_clock_mhz.unwrap_or(mhz) / 1e3;
    let pieces = (peak_gflops(info, dtype).unwrap_or(usual) * BURST_NS / PIECE as f64) as u64;
    pieces.max(u64::from(info.units.max(1)) * WAVES) * PIECE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(device: &str, arch: Option<&str>, units: u32, max_clock_mhz: Option<f64>) -> DeviceInfo {
        DeviceInfo {
            device: device.parse().unwrap(),
            name: "GPU".to_owned(),
            device_type: DeviceType::Gpu,
            pci_address: None,
            driver: None,
            arch: arch.map(str::to_owned),
            units,
            max_clock_mhz,
            usable_memory_bytes: 1 << 30,
            caches: Vec::new(),
            peak_bandwidth_gb_s: None,
        }
    }

    #[test]
    fn a_known_gpu_has_the_limits_of_its_data_sheet() {
        let mi210 = gpu("rocm:0", Some("gfx90a:sramecc+:xnack-"), 104, Some(1700.0));
        for (dtype, tflops) in [(Dtype::F16, 181.0), (Dtype::F32, 45.3), (Dtype::F64, 45.3)] {
            let (peak, most) = (peak_gflops(&mi210, dtype).unwrap(), most_gflops(&mi210, dtype));
            assert!((peak - 1e3 * tflops).abs() < 100.0 && (most - peak).abs() < 1e-6, "{dtype}: {peak}, {most}");
        }
        assert_eq!(peak_gflops(&mi210, Dtype::Fp8), None);
        assert!((most_gflops(&mi210, Dtype::Fp8) - most_gflops(&mi210, Dtype::F32)).abs() < 1e-6);
        assert!((20e3..25e3).contains(&cache_gb_s(&mi210)));
    }

    #[test]
    fn an_unknown_gpu_is_given_the_benefit_of_the_doubt() {
        let unknown = gpu("opencl:0", None, 20, None);
        assert_eq!(peak_gflops(&unknown, Dtype::F32), None);
        let known = gpu("rocm:0", Some("gfx950"), 20, Some(FASTEST_MHZ));
        assert!(most_gflops(&unknown, Dtype::F16) >= 2.0 * most_gflops(&known, Dtype::F16));
    }

    #[test]
    fn cpus_behind_another_interface_are_no_gpus() {
        let cpu = DeviceInfo { device_type: DeviceType::Cpu, ..gpu("opencl:0", None, 2, None) };
        assert!(!is_gpu(&cpu) && !is_gpu(&gpu("cpu:0", None, 2, None)));
        let fake_gpu = DeviceInfo { device_type: DeviceType::Simulated, ..gpu("rocm:0", Some("gfx90a"), 104, None) };
        assert!(is_gpu(&fake_gpu));
    }

    #[test]
    fn a_burst_lasts_a_millisecond_at_the_peak_and_occupies_every_wave() {
        for (info, dtype) in [
            (gpu("rocm:0", Some("gfx942"), 304, Some(2100.0)), Dtype::F16),
            (gpu("rocm:0", Some("gfx90a"), 104, Some(1700.0)), Dtype::F64),
        ] {
            let operations = burst_operations(&info, dtype);
            let nanoseconds = operations as f64 / peak_gflops(&info, dtype).unwrap();
            assert!((nanoseconds - BURST_NS).abs() < 0.05 * BURST_NS, "{nanoseconds}");
        }
        let small = burst_operations(&gpu("rocm:0", None, 2, Some(0.1)), Dtype::F32);
        assert_eq!(small, 2 * 16 * 8 * PeakArithmetic::UNIT);
    }
}
