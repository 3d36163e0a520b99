//! Sensors of NVIDIA GPUs, which are only available through NVIDIA's library.

use std::path::Path;

use cuda_sys::nvml::{Readings, read, reasons};
use rsb_model::gpu_sample::{GpuSample, Temperatures};

use super::{SAMPLE_LIMIT, metrics};
use crate::host::read_line;
use crate::limit::Pending;
use crate::plausible;

/// PCI vendor ID of NVIDIA.
const NVIDIA: &str = "0x10de";

/// Returns whether NVIDIA's library knows a GPU at `address`; `false` if the library hangs.
pub(super) fn is_there(address: &str) -> bool {
    // Tests set their own library, for GPUs that are not in this machine.
    let is_named = std::env::var_os("RSB_NVML_LIBRARY").is_some_and(|file| !file.is_empty());
    let vendor = read_line(&Path::new("/sys/bus/pci/devices").join(address).join("vendor"));
    if !is_named && vendor.as_deref() != Some(NVIDIA) {
        return false;
    }
    let address = address.to_owned();
    let asking = Pending::start(move |report| report(read(&address).is_ok()));
    asking.latest(std::time::Instant::now() + SAMPLE_LIMIT) == Some(true)
}

/// Reads the sensors of the GPU at `address`.
pub(super) fn sample(address: &str) -> GpuSample {
    match read(address) {
        Ok(readings) => of(readings),
        Err(missing) => GpuSample { absent: vec![missing.to_string()], ..GpuSample::default() },
    }
}

fn of(readings: Readings) -> GpuSample {
    GpuSample {
        temperature_c: Temperatures {
            edge: readings.celsius.map(f64::from).and_then(metrics::celsius),
            ..Temperatures::default()
        },
        power_w: readings
            .milliwatts
            .and_then(|power| plausible::now(f64::from(power) / 1e3, plausible::watts)),
        sclk_mhz: clock_mhz(readings.units_mhz),
        mclk_mhz: clock_mhz(readings.memory_mhz),
        utilization_percent: readings.busy_percent.map(f64::from).filter(|share| *share <= 100.0),
        vram_used_mb: readings.memory_bytes.map(|(used, _)| used as f64 / 1e6),
        vram_total_mb: readings
            .memory_bytes
            .map(|(_, total)| total as f64 / 1e6)
            .filter(|total| *total > 0.0),
        throttle_reasons: readings
            .held_back
            .map(|bits| reasons(bits).into_iter().map(str::to_owned).collect()),
        ..GpuSample::default()
    }
}

fn clock_mhz(mhz: Option<u32>) -> Option<f64> {
    plausible::now(f64::from(mhz?), plausible::megahertz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_become_a_sample_and_what_cannot_be_is_absent() {
        let sample = of(Readings {
            celsius: Some(54),
            milliwatts: Some(345_600),
            units_mhz: Some(1980),
            memory_mhz: Some(u32::MAX),
            busy_percent: Some(101),
            memory_bytes: Some((2_000_000, 8_000_000)),
            held_back: Some(0x04),
        });
        assert_eq!((sample.temperature_c.edge, sample.power_w), (Some(54.0), Some(345.6)));
        assert_eq!(
            (sample.sclk_mhz, sample.mclk_mhz, sample.utilization_percent),
            (Some(1980.0), None, None)
        );
        assert_eq!((sample.vram_used_mb, sample.vram_total_mb), (Some(2.0), Some(8.0)));
        assert_eq!(sample.throttle_reasons, Some(vec!["power cap".to_owned()]));
        let idle = of(Readings { milliwatts: Some(0), units_mhz: Some(0), ..Readings::default() });
        assert_eq!(
            (idle.power_w, idle.sclk_mhz),
            (Some(0.0), Some(0.0)),
            "0 is a valid reading of an idle GPU"
        );
        assert_eq!(
            of(Readings::default()).throttle_reasons,
            None,
            "no throttle reasons if NVML reports none"
        );
    }
}
