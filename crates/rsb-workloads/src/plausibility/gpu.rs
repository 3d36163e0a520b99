//! Limits of a GPU from its compute units, highest clock and architecture. If one of them is
//! unknown, the limit is that of the best known GPU.

use rsb_device::DeviceInfo;
use rsb_device::operation::PeakArithmetic;
use rsb_model::architecture::{ARCHITECTURES, Architecture, Engine, RatedGpu};
use rsb_model::{BackendId, DeviceType, Dtype};

/// Upper bound on the clock of a GPU's compute units.
const FASTEST_MHZ: f64 = 4000.0;

/// Upper bound on bytes moved between registers and nearest cache, per compute unit and clock.
const CACHE_BYTES_PER_CLOCK: f64 = 128.0;

/// Target duration of a burst in nanoseconds: long compared with a launch, but short for the user.
const BURST_NS: f64 = 1e6;

/// Returns whether the device is a GPU, or software that emulates one, so that limits of CPU cores
/// do not apply.
pub(crate) fn is_gpu(info: &DeviceInfo) -> bool {
    !info.device.is_cpu() && info.device_type != DeviceType::Cpu
}

/// Returns the number of compute units as in the table of architectures. Runtimes other than a
/// vendor's own may count pairs of them.
fn compute_units(info: &DeviceInfo) -> f64 {
    let is_native = matches!(info.device.backend, BackendId::Rocm | BackendId::Cuda);
    let each = if is_native { 1 } else { 2 };
    f64::from(info.units.max(1)) * f64::from(each)
}

/// Returns the properties of the GPU that determine its peaks.
pub(crate) fn rated_gpu(info: &DeviceInfo) -> RatedGpu<'_> {
    RatedGpu {
        target: info.arch.as_deref(),
        name: Some(&info.name),
        compute_units: Some(info.units),
        listed_mhz: info.max_clock_mhz,
        level_mhz: info.power_level_mhz,
    }
}

/// Returns the highest clock of all sources, or an upper bound for all GPUs.
fn highest_mhz(info: &DeviceInfo) -> f64 {
    rated_gpu(info).clock().map_or(FASTEST_MHZ, |clock| clock.mhz)
}

/// Returns an upper bound on the cache bandwidth of all compute units in GB/s.
pub(super) fn cache_gb_s(info: &DeviceInfo) -> f64 {
    compute_units(info) * CACHE_BYTES_PER_CLOCK * highest_mhz(info) / 1e3
}

/// Returns the data sheet's peak of `dtype` in GFLOP/s on the faster engine, or `None` if the GPU
/// does not report the required properties.
pub(super) fn peak_gflops(info: &DeviceInfo, dtype: Dtype) -> Option<f64> {
    Some(1e3 * rated_gpu(info).best(dtype)?.1)
}

/// Returns a note on the peak of `dtype` on `engine` for a result of `gflops`: a halved rate,
/// differing sources of the clock, or a result above the peak at the listed clock. `None` if none
/// applies.
pub(crate) fn peak_note(
    info: &DeviceInfo,
    dtype: Dtype,
    engine: Engine,
    gflops: f64,
) -> Option<String> {
    let rated = rated_gpu(info);
    let mut notes = rated.notes(dtype, engine);
    let listed =
        info.max_clock_mhz.and_then(|mhz| Some((rated.tflops_at(dtype, engine, mhz)?, mhz)));
    if let Some((tflops, mhz)) = listed.filter(|(tflops, _)| gflops > 1e3 * tflops) {
        let share = 100.0 * gflops / (1e3 * tflops);
        notes.push(format!(
            "the result is {share:.0} % of the peak at the {mhz:.0} MHz that the driver lists"
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Returns the note for the engine that is faster for dense products. For an architecture missing
/// from the table, the note reports that there is no peak.
pub(crate) fn best_peak_note(info: &DeviceInfo, dtype: Dtype, gflops: f64) -> Option<String> {
    if let Some(Err(unknown)) = info.arch.as_deref().map(Architecture::find) {
        return Some(unknown.to_string());
    }
    let (engine, _) = rated_gpu(info).best(dtype)?;
    peak_note(info, dtype, engine, gflops)
}

/// Returns an upper bound on the rate of the GPU in `dtype` in GFLOP/s. Uses the full rate of the
/// chip, since sources disagree on whether every `GeForce` halves it.
pub(super) fn most_gflops(info: &DeviceInfo, dtype: Dtype) -> f64 {
    let each = match info.arch.as_deref().map(Architecture::find) {
        Some(Ok(known)) => best_rate(known, dtype),
        _ => ARCHITECTURES.iter().map(|known| best_rate(known, dtype)).max().unwrap_or(0),
    };
    f64::from(each) * compute_units(info) * highest_mhz(info) / 1e3
}

/// Returns the operations per compute unit and clock. Types without an instruction are computed in
/// f32.
fn best_rate(known: &Architecture, dtype: Dtype) -> u32 {
    rate_of_type(known, dtype).or_else(|| rate_of_type(known, Dtype::F32)).unwrap_or(0)
}

fn rate_of_type(known: &Architecture, dtype: Dtype) -> Option<u32> {
    [Engine::Matrix, Engine::Vector]
        .into_iter()
        .filter_map(|engine| known.per_clock_per_cu(dtype, engine))
        .max()
}

/// Returns the operations of a burst of about [`BURST_NS`], as whole pieces of work and at least
/// one per wave.
pub(crate) fn burst_operations(info: &DeviceInfo, dtype: Dtype) -> u64 {
    /// Operations per clock of a unit and clock in MHz, assumed if a GPU does not report them.
    /// These values are common for f32.
    const USUAL: (f64, f64) = (128.0, 1500.0);
    /// Operations in one piece on the matrix units, eight times as many as on the vector units. 16
    /// waves run on each compute unit.
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
            arch: arch.map(str::to_owned),
            units,
            max_clock_mhz,
            usable_memory_bytes: 1 << 30,
            ..DeviceInfo::new(device.parse().unwrap(), "GPU", DeviceType::Gpu)
        }
    }

    #[test]
    fn a_known_gpu_has_the_limits_of_its_data_sheet() {
        let mi210 = gpu("rocm:0", Some("gfx90a:sramecc+:xnack-"), 104, Some(1700.0));
        for (dtype, tflops) in [(Dtype::F16, 181.0), (Dtype::F32, 45.3), (Dtype::F64, 45.3)] {
            let (peak, most) = (peak_gflops(&mi210, dtype).unwrap(), most_gflops(&mi210, dtype));
            assert!(
                (peak - 1e3 * tflops).abs() < 100.0 && (most - peak).abs() < 1e-6,
                "{dtype}: {peak}, {most}"
            );
        }
        assert_eq!(peak_gflops(&mi210, Dtype::Fp8), None);
        assert!((most_gflops(&mi210, Dtype::Fp8) - most_gflops(&mi210, Dtype::F32)).abs() < 1e-6);
        assert!((20e3..25e3).contains(&cache_gb_s(&mi210)));
    }

    #[test]
    fn a_radeon_has_the_peak_of_its_boost_clock_and_a_result_above_the_listed_one_is_noted() {
        let radeon = DeviceInfo {
            name: "AMD Radeon RX 9070 XT".to_owned(),
            power_level_mhz: Some(3320.0),
            ..gpu("rocm:0", Some("gfx1201"), 64, Some(2400.0))
        };
        let gflops_per_mhz = 64.0 * 256.0 / 1e3;
        assert!((peak_gflops(&radeon, Dtype::F32).unwrap() - gflops_per_mhz * 3320.0).abs() < 1e-6);
        assert!((most_gflops(&radeon, Dtype::F32) - gflops_per_mhz * 3320.0).abs() < 1e-6);
        let below =
            peak_note(&radeon, Dtype::F32, Engine::Vector, gflops_per_mhz * 2300.0).unwrap();
        assert!(!below.contains("% of the peak"), "{below}");
        let above =
            peak_note(&radeon, Dtype::F32, Engine::Vector, gflops_per_mhz * 3000.0).unwrap();
        assert!(
            above.contains("125 % of the peak at the 2400 MHz")
                && above.contains("pp_dpm_sclk 3320 MHz"),
            "{above}"
        );
        let mi210 = gpu("rocm:0", Some("gfx90a"), 104, Some(1700.0));
        assert_eq!(
            peak_note(&mi210, Dtype::F32, Engine::Matrix, 40e3),
            None,
            "a rate below the peak must have no note"
        );
    }

    #[test]
    fn a_geforce_is_compared_with_half_rate_and_refused_above_the_full_one() {
        let geforce = DeviceInfo {
            name: "NVIDIA GeForce RTX 4090".to_owned(),
            ..gpu("cuda:0", Some("sm_89"), 128, Some(2520.0))
        };
        let (peak, most) =
            (peak_gflops(&geforce, Dtype::F16).unwrap(), most_gflops(&geforce, Dtype::F16));
        assert!(
            (peak - 165_150.0).abs() < 100.0 && (most - 2.0 * peak).abs() < 1e-6,
            "{peak}, {most}"
        );
        let note = best_peak_note(&geforce, Dtype::F16, 150e3).unwrap();
        assert!(note.contains("half"), "{note}");
        assert!(best_peak_note(&geforce, Dtype::F16, 200e3).unwrap().contains("121 % of the peak"));
        assert_eq!(best_peak_note(&geforce, Dtype::I8, 500e3), None);
        let unknown = gpu("rocm:0", Some("gfx1999"), 64, Some(2400.0));
        let note = best_peak_note(&unknown, Dtype::F16, 1e3).unwrap();
        assert!(
            note.contains("no peaks for gfx1999"),
            "the note must say that the card is not in the table: {note}"
        );
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
        let fake_gpu = DeviceInfo {
            device_type: DeviceType::Simulated,
            ..gpu("rocm:0", Some("gfx90a"), 104, None)
        };
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
