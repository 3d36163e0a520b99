//! Sensor readings of a GPU over a period. A missing or implausible reading is `None`.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::field::Fields;
use crate::gpu_sample::{COLUMNS, GpuSample, LOAD};
use crate::record::BenchmarkResult;

/// Mean and range of a value over a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Mean of the samples.
    pub mean: f64,
    /// Lowest sample.
    pub min: f64,
    /// Highest sample.
    pub max: f64,
}

impl Spread {
    /// Returns the spread of all finite values; `None` if there are none.
    pub fn of(figures: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let (mut count, mut sum) = (0_u32, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for figure in figures.into_iter().flatten().filter(|figure| figure.is_finite()) {
            count += 1;
            sum += figure;
            min = min.min(figure);
            max = max.max(figure);
        }
        (count > 0).then(|| Self { mean: sum / f64::from(count), min, max })
    }
}

/// Sensor readings of a GPU over a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuTelemetry {
    /// Number of samples.
    pub samples: u32,
    /// Highest of the GPU's temperatures, in °C.
    pub temperature_c: Option<Spread>,
    /// Power drawn, in W.
    pub power_w: Option<Spread>,
    /// Clock of the compute units, in MHz.
    pub sclk_mhz: Option<Spread>,
    /// Clock of the memory, in MHz.
    pub mclk_mhz: Option<Spread>,
    /// Share of time that the GPU was busy, in percent.
    pub utilization_percent: Option<Spread>,
    /// Memory in use by all processes, in MB.
    pub vram_used_mb: Option<Spread>,
    /// Total memory of the GPU, in MB.
    pub vram_total_mb: Option<f64>,
    /// Whether the GPU was throttled at any time. Null if the GPU does not report this.
    pub throttled: Option<bool>,
    /// Reasons for throttling.
    pub throttle_reasons: Vec<String>,
    /// Notes for readers, for example about sensors that did not respond in time.
    pub notes: Vec<String>,
    /// Time series by column, one value per snapshot: `timestamp_ms`,
    /// `compute_utilization_percent`, `gpu_power_w` … A snapshot is the mean of several consecutive
    /// samples. Columns without any value are omitted, except the utilization; the column `absent`
    /// contains the reason for its null values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<Json>>,
}

/// Largest number of snapshots in a time series: at one per second, they span one minute.
const SNAPSHOTS: usize = 61;

/// Reason for a missing utilization in a snapshot, added to those of the sensors.
const NO_LOAD: &str = "compute_utilization_percent: no sensor reports the load of this GPU";

/// Returns the reasons for values that are missing from the samples of a snapshot.
fn absent(share: &[GpuSample]) -> Option<String> {
    let mut reasons: Vec<&str> =
        share.iter().flat_map(|sample| &sample.absent).map(String::as_str).collect();
    if share.iter().all(|sample| sample.utilization_percent.is_none()) {
        reasons.push(NO_LOAD);
    }
    (!reasons.is_empty())
        .then(|| reasons.into_iter().sorted_unstable().dedup().collect_vec().join("; "))
}

/// Returns the time series of `samples`; empty if there are fewer than two samples or one lacks a
/// timestamp.
fn course(samples: &[GpuSample]) -> BTreeMap<String, Vec<Json>> {
    let mut series = BTreeMap::new();
    if samples.len() < 2 || samples.iter().any(|sample| sample.timestamp_ms.is_none()) {
        return series;
    }
    let shares: Vec<&[GpuSample]> = samples.chunks(samples.len().div_ceil(SNAPSHOTS)).collect();
    let moments: Vec<Json> = shares
        .iter()
        .map(|share| share.first().and_then(|first| first.timestamp_ms).into())
        .collect();
    add_column(&mut series, "timestamp_ms", moments);
    for (name, _, figure) in COLUMNS {
        let mut column: Vec<Json> = Vec::with_capacity(shares.len());
        for share in &shares {
            let mean = spread(share, figure).map(|spread| spread.mean);
            // A tenth is finer than the resolution of any of these sensors.
            column.push(mean.map(|mean| (mean * 10.0).round() / 10.0).into());
        }
        add_column(&mut series, name, column);
    }
    let absent: Vec<Json> = shares.iter().map(|share| absent(share).into()).collect();
    add_column(&mut series, "absent", absent);
    let mut begins = 0;
    let held_back = shares.iter().map(|share| {
        let (from, to) = (usize::saturating_sub(begins, 1), begins + share.len());
        begins = to;
        // The change of a counter covers the time since the previous sample.
        let (throttled, reasons) = throttling(samples.get(from..to).unwrap_or_default());
        throttled.map(|_| reasons.join(", ")).into()
    });
    add_column(&mut series, "throttle_reasons", held_back.collect());
    series
}

/// Adds a column. Columns without any value are omitted, except the utilization.
fn add_column(series: &mut BTreeMap<String, Vec<Json>>, name: &str, column: Vec<Json>) {
    if name == LOAD || column.iter().any(|value| !value.is_null()) {
        series.insert(name.to_owned(), column);
    }
}

/// Returns the spread of one value over `samples`.
fn spread(samples: &[GpuSample], figure: fn(&GpuSample) -> Option<f64>) -> Option<Spread> {
    Spread::of(samples.iter().map(figure))
}

impl GpuTelemetry {
    /// Summarizes `samples`, which must be in chronological order.
    pub fn of(samples: &[GpuSample]) -> Self {
        let (throttled, throttle_reasons) = throttling(samples);
        Self {
            samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            temperature_c: spread(samples, |sample| sample.temperature_c.hottest()),
            power_w: spread(samples, |sample| sample.power_w),
            sclk_mhz: spread(samples, |sample| sample.sclk_mhz),
            mclk_mhz: spread(samples, |sample| sample.mclk_mhz),
            utilization_percent: spread(samples, |sample| sample.utilization_percent),
            vram_used_mb: spread(samples, |sample| sample.vram_used_mb),
            vram_total_mb: samples.iter().rev().find_map(|sample| sample.vram_total_mb),
            throttled,
            throttle_reasons,
            notes: Vec::new(),
            series: course(samples),
        }
    }

    /// Returns the time series as a list of snapshots, each with its `timestamp`, its utilization
    /// and all other known values.
    pub fn snapshots(&self) -> Vec<Json> {
        let Some(moments) = self.series.get("timestamp_ms") else { return Vec::new() };
        let mut snapshots = Vec::with_capacity(moments.len());
        for (index, ms) in moments.iter().enumerate() {
            let moment = ms.as_i64().and_then(|ms| Timestamp::from_millisecond(ms).ok());
            let mut fields = serde_json::Map::new();
            fields.insert("timestamp".to_owned(), moment.map(|moment| moment.to_string()).into());
            // Older records lack this column if no sensor reported the utilization.
            if !self.series.contains_key(LOAD) {
                fields.insert(LOAD.to_owned(), Json::Null);
                fields.insert("absent".to_owned(), NO_LOAD.into());
            }
            for (name, column) in &self.series {
                if name != "timestamp_ms"
                    && let Some(value) = column.get(index)
                {
                    fields.insert(name.clone(), value.clone());
                }
            }
            snapshots.push(Json::Object(fields));
        }
        snapshots
    }

    /// Converts the period to fields of a result: maximum of temperature and memory, mean of the
    /// other values.
    pub fn fields(&self) -> Fields {
        let known = [
            ("gpu_temperature_c", self.temperature_c.map(|spread| spread.max)),
            ("gpu_power_w", self.power_w.map(|spread| spread.mean)),
            ("gpu_memory_used_mb", self.vram_used_mb.map(|spread| spread.max)),
            ("gpu_memory_total_mb", self.vram_total_mb),
            ("gpu_utilization_percent", self.utilization_percent.map(|spread| spread.mean)),
        ];
        let mut fields = Fields::new();
        for (name, value) in known {
            if let Some(value) = value {
                fields.set(name, value);
            }
        }
        fields
    }
}

/// Returns whether the GPU was throttled, and the reasons. Evaluates the throttling state of each
/// sample and the counters that grew between samples.
fn throttling(samples: &[GpuSample]) -> (Option<bool>, Vec<String>) {
    let states = samples.iter().filter_map(|sample| sample.throttle_reasons.as_ref());
    let mut is_known = states.clone().next().is_some();
    let mut reasons: Vec<&String> = states.flatten().collect();
    for pair in samples.windows(2) {
        let [before, after] = pair else { continue };
        for (reason, count) in &after.throttle_counters {
            let Some(earlier) = before.throttle_counters.get(reason) else { continue };
            is_known = true;
            if count > earlier {
                reasons.push(reason);
            }
        }
    }
    (
        is_known.then_some(!reasons.is_empty()),
        reasons.into_iter().sorted_unstable().dedup().collect_vec().into_iter().cloned().collect(),
    )
}

/// Metadata key of the telemetry of a case, a list with one entry per replicate.
pub const TELEMETRY: &str = "telemetry";

/// Returns the telemetry of each replicate from the metadata of a case; empty if there is none.
#[inline(never)] // The code that reads the document is large.
pub fn of_replicates(metadata: &serde_json::Map<String, Json>) -> Vec<Option<GpuTelemetry>> {
    metadata
        .get(TELEMETRY)
        .and_then(|kept| serde::Deserialize::deserialize(kept).ok())
        .unwrap_or_default()
}

/// Returns all snapshots of the GPU that `result` was measured on, with their times. Those taken
/// during the replicates come first, then those that the case itself recorded.
pub fn course_of(result: &BenchmarkResult) -> Vec<(Timestamp, Json)> {
    let mut all = Vec::new();
    for telemetry in of_replicates(&result.metadata).iter().flatten() {
        all.append(&mut telemetry.snapshots());
    }
    if let Some(own) = result.fields().and_then(|fields| fields.get("snapshots")?.as_array()) {
        all.extend_from_slice(own);
    }
    let dated =
        |snapshot: Json| Some((snapshot.get("timestamp")?.as_str()?.parse().ok()?, snapshot));
    all.into_iter().filter_map(dated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_sample::Temperatures;

    fn sample(power: f64, reasons: Option<&[&str]>, counter: Option<u64>) -> GpuSample {
        GpuSample {
            power_w: Some(power),
            throttle_reasons: reasons
                .map(|reasons| reasons.iter().map(|&reason| reason.to_owned()).collect()),
            throttle_counters: counter
                .map(|count| ("power".to_owned(), count))
                .into_iter()
                .collect(),
            ..GpuSample::default()
        }
    }

    #[test]
    fn a_period_has_mean_and_extremes_and_unknown_stays_unknown() {
        let period = GpuTelemetry::of(&[sample(100.0, None, None), sample(300.0, None, None)]);
        assert_eq!(period.power_w, Some(Spread { mean: 200.0, min: 100.0, max: 300.0 }));
        assert_eq!((period.samples, period.sclk_mhz, period.throttled), (2, None, None));
        assert_eq!(GpuTelemetry::of(&[]), GpuTelemetry::default());
        assert_eq!(Spread::of([Some(f64::NAN), None]), None);
    }

    #[test]
    fn throttling_is_told_by_states_and_by_counters_that_grow() {
        for (samples, throttled, reasons) in [
            (vec![sample(1.0, Some(&[]), None); 2], Some(false), vec![]),
            (
                vec![sample(1.0, Some(&[]), None), sample(1.0, Some(&["heat"]), None)],
                Some(true),
                vec!["heat"],
            ),
            (vec![sample(1.0, None, Some(5)); 2], Some(false), vec![]),
            (
                vec![sample(1.0, None, Some(5)), sample(1.0, None, Some(6))],
                Some(true),
                vec!["power"],
            ),
            // A single reading of a counter has no meaning; a counter that decreased was reset.
            (vec![sample(1.0, None, Some(5))], None, vec![]),
            (vec![sample(1.0, None, Some(5)), sample(1.0, None, Some(2))], Some(false), vec![]),
        ] {
            let period = GpuTelemetry::of(&samples);
            assert_eq!(
                (period.throttled, period.throttle_reasons),
                (throttled, reasons.iter().map(ToString::to_string).collect())
            );
        }
    }

    #[test]
    fn a_course_is_as_short_as_a_minute_and_names_what_happened_when() {
        let mut samples = Vec::new();
        for second in 0..120_i32 {
            samples.push(GpuSample {
                timestamp_ms: Some(i64::from(second) * 1000),
                utilization_percent: Some(f64::from(second)),
                ..sample(100.0, None, Some(if second < 70 { 5 } else { 6 }))
            });
        }
        let snapshots = GpuTelemetry::of(&samples).snapshots();
        assert_eq!(snapshots.len(), 60);
        assert_eq!(snapshots[1]["timestamp"], "1970-01-01T00:00:02Z");
        assert_eq!(
            (&snapshots[1]["compute_utilization_percent"], &snapshots[1]["gpu_power_w"]),
            (&2.5.into(), &100.0.into())
        );
        let held_back: Vec<usize> =
            (0..60).filter(|&index| snapshots[index]["throttle_reasons"] == "power").collect();
        assert_eq!(held_back, [35], "the counter grew at 70 s");
        assert!(snapshots[1].get("gpu_clock_mhz").is_none(), "no sample has a clock");
        assert!(GpuTelemetry::of(&samples[..1]).series.is_empty());
    }

    #[test]
    fn every_snapshot_has_a_load_or_the_reason_and_temperatures_stand_apart() {
        let temperature_c =
            Temperatures { edge: Some(50.0), junction: Some(60.0), memory: Some(70.0) };
        let mut samples = [0, 1000].map(|ms| GpuSample {
            timestamp_ms: Some(ms),
            temperature_c,
            ..sample(0.0, None, None)
        });
        samples[0].absent.push("throttle reasons: gpu_metrics has version 9.9".to_owned());
        let mut course = GpuTelemetry::of(&samples);
        for snapshot in course.snapshots() {
            assert_eq!(
                (&snapshot[LOAD], &snapshot["gpu_power_w"]),
                (&Json::Null, &0.0.into()),
                "0 W must be kept, not treated as missing"
            );
            assert!(
                snapshot["timestamp"].is_string()
                    && snapshot["absent"].as_str().unwrap().contains(NO_LOAD)
            );
            let apart = ["edge", "junction", "memory"]
                .map(|place| snapshot[format!("gpu_temperature_{place}_c")].as_f64());
            assert_eq!(apart, [Some(50.0), Some(60.0), Some(70.0)]);
        }
        assert!(course.snapshots()[0]["absent"].as_str().unwrap().contains("version 9.9"));
        course.series.remove(LOAD);
        course.series.remove("absent");
        assert_eq!(
            course.snapshots()[0].get(LOAD),
            Some(&Json::Null),
            "an older record without the series"
        );
        samples[1].utilization_percent = Some(0.0);
        assert_eq!(GpuTelemetry::of(&samples).snapshots()[1]["absent"], Json::Null);
    }

    #[test]
    fn a_period_becomes_fields_of_a_result() {
        let mut one = sample(250.0, None, None);
        one.temperature_c.junction = Some(81.0);
        one.temperature_c.edge = Some(70.0);
        let fields = GpuTelemetry::of(&[one]).fields();
        assert_eq!(
            (fields.number("gpu_power_w"), fields.number("gpu_temperature_c")),
            (Some(250.0), Some(81.0))
        );
        assert_eq!(fields.get("gpu_utilization_percent"), None);
    }
}
