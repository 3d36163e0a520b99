//! Sensors of Intel GPUs during a measurement. Their drivers count energy instead of reporting
//! power, so power is derived from two readings that are at least [`WINDOW`] apart.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rsb_model::GpuSample;

use super::metrics;
use crate::gpu::intel;
use crate::host::read_number;
use crate::plausible;

/// Minimum time between two readings. The hardware updates the counter about every millisecond,
/// which is an error of a few percent over this time.
const WINDOW: Duration = Duration::from_millis(50);

/// Upper limit of an Intel GPU's power; the highest in their data sheets is 600 W.
const MOST_WATTS: f64 = 1000.0;

/// Last reading of the energy counter.
#[derive(Debug, Clone, Default)]
pub(super) struct Energy(Arc<Mutex<Option<Reading>>>);

/// A reading of the counter, and the mean power before it.
#[derive(Debug, Clone, Copy)]
struct Reading {
    microjoules: u64,
    taken: Instant,
    power: Power,
}

impl Reading {
    /// Reads the counter in `file`.
    fn take(file: &Path) -> Option<Self> {
        let microjoules = read_number(file)?;
        Some(Self { microjoules, taken: Instant::now(), power: Power::Unknown })
    }
}

/// Mean power before a reading.
#[derive(Debug, Clone, Copy)]
enum Power {
    /// First reading.
    Unknown,
    /// Power in W; `None` if the two readings are inconsistent.
    Known(Option<f64>),
}

/// Always equal, so that only the path decides whether two GPUs are equal.
impl PartialEq for Energy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Energy {}

impl Energy {
    /// Returns the mean power since the previous reading. The first call takes two readings,
    /// [`WINDOW`] apart.
    fn watts(&self, file: &Path) -> Option<f64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match *last {
            Some(before) => before,
            None => Reading::take(file)?,
        };
        match before.power {
            Power::Known(watts) if before.taken.elapsed() < WINDOW => return watts,
            Power::Known(_) => {}
            Power::Unknown => std::thread::sleep(WINDOW.saturating_sub(before.taken.elapsed())),
        }
        let now = Reading::take(file)?;
        let watts = power(before.microjoules, now.microjoules, now.taken - before.taken);
        *last = Some(Reading { power: Power::Known(watts), ..now });
        watts
    }
}

/// Returns the mean power in W; `None` if the counter decreased or grew implausibly fast.
fn power(before: u64, now: u64, time: Duration) -> Option<f64> {
    let joules = now.checked_sub(before)? as f64 / 1e6;
    let watts = joules / time.as_secs_f64();
    metrics::watts(watts).filter(|watts| *watts <= MOST_WATTS)
}

/// Adds the readings from the driver's own files of the GPU in `dir`.
pub(super) fn clocks(dir: &Path, sample: &mut GpuSample) {
    sample.sclk_mhz = sample.sclk_mhz.or_else(|| intel::clocks(dir).now);
    sample.throttle_reasons =
        sample.throttle_reasons.take().or_else(|| intel::throttle_reasons(dir));
    if sample.vram_total_mb.is_none() {
        let bytes = read_number(&dir.join("tile0/physical_vram_size_bytes"))
            .and_then(plausible::memory_bytes);
        sample.vram_total_mb = bytes.map(|bytes| bytes as f64 / 1e6);
    }
}

/// Adds the power from hwmon's energy counter, or the reason why it is absent.
pub(super) fn power_of(monitor: &Path, energy: &Energy, sample: &mut GpuSample) {
    let Some(file) = intel::energy_file(monitor).filter(|_| sample.power_w.is_none()) else {
        return;
    };
    sample.power_w = energy.watts(&file);
    if let Some(refused) = intel::read_problem(&file) {
        sample.absent.push(format!("power: {refused}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn power_is_a_difference_and_a_counter_that_lies_tells_nothing() {
        let second = Duration::from_secs(1);
        assert_eq!(power(1_000_000, 151_000_000, second), Some(150.0));
        for (before, now, what) in [
            (1000, 999, "it went back"),
            (1000, 1000, "it stood still"),
            (0, 1_001_000_000, "1001 W"),
        ] {
            assert_eq!(power(before, now, second), None, "{what}");
        }
    }

    #[test]
    fn two_readings_are_taken_before_there_is_a_figure_and_it_holds_for_a_window() {
        let tree = Tree::new(&[("hwmon/energy1_input", "5000000\n")]);
        let (file, energy) = (tree.path("hwmon/energy1_input"), Energy::default());
        let began = Instant::now();
        assert_eq!(energy.watts(&file), None, "no power while the counter does not move");
        assert!(began.elapsed() >= WINDOW);
        let before = (*energy.0.lock().unwrap()).unwrap();
        let early = Reading { taken: before.taken.checked_sub(WINDOW).unwrap(), ..before };
        *energy.0.lock().unwrap() = Some(early);
        tree.write("hwmon/energy1_input", "6000000\n");
        let watts = energy.watts(&file).unwrap();
        assert!(
            watts > 0.0 && watts <= 1.0 / WINDOW.as_secs_f64(),
            "1 J in at least {WINDOW:?} must not give {watts} W"
        );
        tree.write("hwmon/energy1_input", "0\n");
        let kept = energy.watts(&file);
        assert!(
            kept == Some(watts) || energy.0.lock().unwrap().unwrap().microjoules == 0,
            "{kept:?}"
        );
    }
}
