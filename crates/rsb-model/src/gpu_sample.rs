//! Sensor readings of a GPU at one moment, and the columns of a time series of such readings. A
//! missing or implausible reading is `None`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Temperatures of a GPU in °C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Temperatures {
    /// At the edge of the chip, or of one part of the CPU.
    pub edge: Option<f64>,
    /// At the hottest spot of the chip.
    pub junction: Option<f64>,
    /// Of the memory.
    pub memory: Option<f64>,
}

impl Temperatures {
    /// Returns the highest known temperature.
    pub fn hottest(self) -> Option<f64> {
        [self.edge, self.junction, self.memory].into_iter().flatten().reduce(f64::max)
    }
}

/// Sensor readings of a GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuSample {
    /// Time of the reading in ms since the Unix epoch. Present in a time series only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_ms: Option<i64>,
    /// Temperatures in °C.
    pub temperature_c: Temperatures,
    /// Power drawn, in W.
    pub power_w: Option<f64>,
    /// Clock of the compute units, in MHz.
    pub sclk_mhz: Option<f64>,
    /// Clock of the memory, in MHz.
    pub mclk_mhz: Option<f64>,
    /// Share of time that the GPU was busy, in percent.
    pub utilization_percent: Option<f64>,
    /// Voltage of the chip, in mV.
    pub voltage_mv: Option<f64>,
    /// Fan speed, in revolutions per minute.
    pub fan_rpm: Option<f64>,
    /// Memory in use by all processes, in MB.
    pub vram_used_mb: Option<f64>,
    /// Total memory of the GPU, in MB.
    pub vram_total_mb: Option<f64>,
    /// Reasons why the GPU is throttled at this moment. Empty if it is not throttled, null if the
    /// GPU does not report this.
    pub throttle_reasons: Option<Vec<String>>,
    /// Counters that grow while the GPU is throttled, by reason. The difference between two
    /// readings covers the time in between.
    pub throttle_counters: BTreeMap<String, u64>,
    /// Reasons for missing values.
    pub absent: Vec<String>,
}

/// Name, description and accessor of one column of a time series.
pub(crate) type Column = (&'static str, &'static str, fn(&GpuSample) -> Option<f64>);

/// Numeric columns of a time series.
pub(crate) const COLUMNS: [Column; 11] = [
    (LOAD, "share of time that the GPU was busy, in %", |sample| sample.utilization_percent),
    ("gpu_clock_mhz", "clock of the GPU's compute units, in MHz", |sample| sample.sclk_mhz),
    ("gpu_fan_rpm", "fan speed, in revolutions per minute", |sample| sample.fan_rpm),
    ("gpu_memory_clock_mhz", "clock of the GPU's memory, in MHz", |sample| sample.mclk_mhz),
    ("gpu_memory_used_mb", "memory of the GPU in use by all processes, in MB", |sample| {
        sample.vram_used_mb
    }),
    ("gpu_power_w", "power drawn by the GPU, in W", |sample| sample.power_w),
    ("gpu_temperature_c", "highest temperature of the GPU, in °C", |sample| {
        sample.temperature_c.hottest()
    }),
    ("gpu_temperature_edge_c", "temperature at the chip's edge, in °C", |sample| {
        sample.temperature_c.edge
    }),
    (
        "gpu_temperature_junction_c",
        "temperature at the hottest spot of the chip, in °C",
        |sample| sample.temperature_c.junction,
    ),
    ("gpu_temperature_memory_c", "temperature of the memory, in °C", |sample| {
        sample.temperature_c.memory
    }),
    ("gpu_voltage_mv", "voltage of the compute units, in mV", |sample| sample.voltage_mv),
];

/// Name of the utilization column. Every snapshot contains it, null if no sensor reports it.
pub(crate) const LOAD: &str = "compute_utilization_percent";

/// Returns the JSON Schema of a list of
/// [`GpuTelemetry::snapshots`](crate::GpuTelemetry::snapshots).
pub(crate) fn snapshots_schema() -> serde_json::Map<String, Json> {
    let figure =
        |about: &str| serde_json::json!({ "description": about, "type": ["number", "null"] });
    let text =
        |about: &str| serde_json::json!({ "description": about, "type": ["string", "null"] });
    let mut properties: serde_json::Map<String, Json> =
        COLUMNS.iter().map(|(name, about, _)| ((*name).to_owned(), figure(about))).collect();
    properties.insert("timestamp".to_owned(), text("time of its first sample, in UTC"));
    properties.insert("absent".to_owned(), text("why a value is null"));
    properties.insert(
        "throttle_reasons".to_owned(),
        text("reasons why the GPU was throttled since the previous snapshot"),
    );
    let snapshot = serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": ["timestamp", LOAD],
        "additionalProperties": true
    });
    let mut schema = serde_json::Map::new();
    schema.insert("type".to_owned(), serde_json::json!(["array", "null"]));
    schema.insert("items".to_owned(), snapshot);
    schema
}
