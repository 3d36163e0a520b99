//! State of the GPU while a case is measured: temperature, power, clocks, load, memory, throttling.
//!
//! No sample is dropped. A replicate during which the GPU was throttled is listed in the record,
//! and a note gives the reason.
//!
//! `rsb_probe::telemetry` reads the sensors.

use std::time::Duration;

use rsb_model::Fields;
use rsb_model::telemetry::{GpuTelemetry, TELEMETRY, of_replicates};
use rsb_probe::ProbeOptions;
use rsb_probe::telemetry::{Sampler, gpu_at};
use serde_json::{Map, Value, json};

/// Interval between two readings, similar to the refresh interval of the drivers.
const PERIOD: Duration = Duration::from_millis(100);

/// Field with the mean power of the CPUs in watts while a replicate was sampled.
pub(super) const CPU_POWER: &str = "cpu_power_w";

const THROTTLED: &str = "throttled_replicates";

/// A sampler of one GPU's sensors.
pub(super) struct TelemetryWatch(Sampler);

impl TelemetryWatch {
    /// Starts to read the sensors of the GPU at this PCI address. Returns `None` if the GPU has no
    /// sensors here.
    pub(super) fn begin(pci_address: &str) -> Option<Self> {
        Self::begin_in(&ProbeOptions::here(), pci_address)
    }

    fn begin_in(options: &ProbeOptions, pci_address: &str) -> Option<Self> {
        Some(Self(Sampler::start(gpu_at(options, pci_address)?, PERIOD)))
    }

    /// Stops, and returns the telemetry since the start.
    pub(super) fn end(self) -> GpuTelemetry {
        self.0.stop()
    }
}

/// Adds the telemetry to the fields; existing fields are kept.
pub(super) fn add_fields(fields: &mut Fields, telemetry: &GpuTelemetry) {
    let mut all = telemetry.fields();
    all.extend(std::mem::take(fields));
    *fields = all;
}

/// Writes the telemetry of each replicate (null if unknown) and the list of throttled replicates to
/// the record.
pub(super) fn record(metadata: &mut Map<String, Value>, replicates: &[Option<GpuTelemetry>]) {
    if replicates.iter().all(Option::is_none) {
        return;
    }
    metadata.insert(TELEMETRY.into(), json!(replicates));
    let throttled: Vec<usize> = replicates
        .iter()
        .enumerate()
        .filter(|(_, known)| known.as_ref().is_some_and(|known| known.throttled == Some(true)))
        .map(|(index, _)| index)
        .collect();
    if throttled.is_empty() {
        metadata.remove(THROTTLED);
    } else {
        metadata.insert(THROTTLED.into(), json!(throttled));
    }
}

/// Returns a note about throttling for a case, if the GPU was throttled.
pub(super) fn note(telemetry: &GpuTelemetry) -> Option<String> {
    (telemetry.throttled == Some(true)).then(|| {
        format!(
            "the GPU was throttled during the measurement: {}",
            telemetry.throttle_reasons.join(", ")
        )
    })
}

/// Ratio of the last clock to the first above which the GPU was not warm when sampling began.
const RAMP: f64 = 1.1;

/// Minimum number of readings to detect a clock ramp. With fewer, a single reading between two
/// launches could decide.
const RAMP_READINGS: usize = 4;

/// Returns a sentence on the GPU's clock if the first quarter of its readings from `since_ms` on,
/// in milliseconds since the epoch, is much lower than the last.
pub(super) fn clock_ramp(telemetry: &GpuTelemetry, since_ms: i64) -> Option<String> {
    let [times, clocks] = ["timestamp_ms", "gpu_clock_mhz"].map(|name| telemetry.series.get(name));
    let readings = times?.iter().zip(clocks?);
    let sampled = readings.filter(|(time, _)| time.as_i64().is_some_and(|time| time >= since_ms));
    let clocks: Vec<f64> = sampled.filter_map(|(_, clock)| clock.as_f64()).collect();
    if clocks.len() < RAMP_READINGS {
        return None;
    }
    let quarter = clocks.len() / 4;
    let first = rsb_stats::median(clocks.get(..quarter)?)?;
    let last = rsb_stats::median(clocks.get(clocks.len() - quarter..)?)?;
    (last > RAMP * first).then(|| {
        format!(
            "the GPU's clock rose from {first:.0} to {last:.0} MHz during the measurement: it was \
             not warmed up; measure longer (--profile standard)"
        )
    })
}

/// Returns the telemetry in `metadata`, one entry for each of `replicates`.
pub(super) fn replicate_telemetry(
    metadata: &Map<String, Value>,
    replicates: usize,
) -> Vec<Option<GpuTelemetry>> {
    let mut known = of_replicates(metadata);
    known.resize(replicates, None);
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::telemetry::Spread;

    fn throttled_telemetry(reasons: &[&str]) -> GpuTelemetry {
        let throttle_reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        GpuTelemetry {
            samples: 3,
            throttled: Some(!reasons.is_empty()),
            throttle_reasons,
            ..GpuTelemetry::default()
        }
    }

    #[test]
    fn a_gpu_is_watched_by_its_address() {
        let root = tempfile::tempdir().unwrap();
        let device = root.path().join("class/drm/card0/device");
        std::fs::create_dir_all(device.join("hwmon/hwmon3")).unwrap();
        std::fs::write(device.join("uevent"), "PCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n")
            .unwrap();
        std::fs::write(device.join("hwmon/hwmon3/power1_average"), "290000000\n").unwrap();
        let options = ProbeOptions { sysfs_root: Some(root.path().to_owned()) };
        let known = TelemetryWatch::begin_in(&options, "0000:03:00.0").unwrap().end();
        assert!(known.samples >= 1);
        assert_eq!(known.power_w, Some(Spread { mean: 290.0, min: 290.0, max: 290.0 }));
        assert!(
            TelemetryWatch::begin_in(&options, "0000:99:00.0").is_none(),
            "a GPU that is not in the tree has no sensors"
        );
    }

    #[test]
    fn a_clock_that_rises_between_the_first_and_last_samples_is_said() {
        struct Row {
            clocks: &'static [f64],
            since_ms: i64,
            rise: Option<&'static str>,
        }
        for row in [
            Row {
                clocks: &[500.0, 900.0, 1700.0, 2100.0],
                since_ms: 0,
                rise: Some("from 500 to 2100 MHz"),
            },
            // The same readings, except that the first two belong to the warm-up.
            Row {
                clocks: &[500.0, 900.0, 2050.0, 2100.0, 2100.0, 2100.0],
                since_ms: 200,
                rise: None,
            },
            Row {
                clocks: &[500.0, 900.0, 1000.0, 2100.0, 2100.0, 2100.0],
                since_ms: 200,
                rise: Some("from 1000 to"),
            },
            Row { clocks: &[2100.0, 2100.0, 1800.0, 1700.0], since_ms: 0, rise: None },
            Row { clocks: &[2000.0, 2000.0, 2100.0, 2190.0], since_ms: 0, rise: None },
            // Too few readings; then a GPU without a clock sensor.
            Row { clocks: &[500.0, 2100.0, 2100.0], since_ms: 0, rise: None },
            Row { clocks: &[0.0, 0.0, 0.0, 0.0, 0.0], since_ms: 0, rise: None },
        ] {
            let said = clock_ramp(&telemetry_of(row.clocks), row.since_ms);
            assert_eq!(said.is_some(), row.rise.is_some(), "{:?}: {said:?}", row.clocks);
            assert!(
                said.is_none_or(|said| said.contains(row.rise.unwrap_or_default())),
                "{:?}",
                row.clocks
            );
        }
        assert_eq!(clock_ramp(&GpuTelemetry::default(), 0), None);
    }

    /// Returns the telemetry of a GPU with these clocks, read every 100 ms. A clock of 0 is
    /// unknown.
    fn telemetry_of(clocks: &[f64]) -> GpuTelemetry {
        let mut samples = Vec::new();
        for (at, &clock) in (0..).zip(clocks) {
            samples.push(rsb_model::GpuSample {
                timestamp_ms: Some(at * 100),
                sclk_mhz: (clock > 0.0).then_some(clock),
                ..rsb_model::GpuSample::default()
            });
        }
        GpuTelemetry::of(&samples)
    }

    #[test]
    fn what_the_case_says_itself_stays() {
        let known = GpuTelemetry {
            utilization_percent: Some(spread_of_one(97.0)),
            vram_used_mb: Some(spread_of_one(1.0)),
            ..GpuTelemetry::default()
        };
        let mut fields =
            Fields::new().with("operation", "triad").with("gpu_utilization_percent", 3.0);
        add_fields(&mut fields, &known);
        assert_eq!(fields.number("gpu_utilization_percent"), Some(3.0));
        assert_eq!(
            (fields.number("gpu_memory_used_mb"), fields.number("gpu_power_w")),
            (Some(1.0), None)
        );
        assert_eq!(fields.text("operation"), Some("triad"));
    }

    fn spread_of_one(value: f64) -> Spread {
        Spread { mean: value, min: value, max: value }
    }

    #[test]
    fn replicates_that_were_held_back_are_named_and_come_back() {
        let all = [
            None,
            Some(throttled_telemetry(&[])),
            Some(throttled_telemetry(&["power limit", "heat"])),
        ];
        let mut metadata = Map::new();
        record(&mut metadata, &all);
        assert_eq!(metadata["throttled_replicates"], json!([2]));
        assert_eq!(replicate_telemetry(&metadata, 3), all);
        assert_eq!(
            replicate_telemetry(&metadata, 4).len(),
            4,
            "a replicate without telemetry is unknown"
        );
        let note = note(all[2].as_ref().unwrap()).unwrap();
        assert!(note.ends_with("power limit, heat"), "{note}");
        assert_eq!(super::note(&throttled_telemetry(&[])), None);
        let mut nothing = Map::new();
        record(&mut nothing, &[None, None]);
        assert!(nothing.is_empty());
    }
}
