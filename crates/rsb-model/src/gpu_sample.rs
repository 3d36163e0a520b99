//! How a GPU was at one moment, and the columns of a course of such moments. A sensor that is
//! missing or lies is `None`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Temperatures of a GPU in °C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Temperatures {
    /// At the edge of the chip, or of a part of the CPU.
    pub edge: Option<f64>,
    /// At the hottest place of the chip.
    pub junction: Option<f64>,
    /// Of the memory.
    pub memory: Option<f64>,
}

impl Temperatures {
    /// The highest that is known.
    pub fn hottest(self) -> Option<f64> {
        [self.edge, self.junction, self.memory].into_iter().flatten().reduce(f64::max)
    }
}

/// A GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuSample {
    /// When it was taken, in ms since the epoch, where it is one of a course.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_ms: Option<i64>,
    /// Temperatures.
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
    /// Speed of the fan, in turns a minute.
    pub fan_rpm: Option<f64>,
    /// Memory in use by all, in MB.
    pub vram_used_mb: Option<f64>,
    /// Memory of the GPU, in MB.
    pub vram_total_mb: Option<f64>,
    /// What holds the GPU back right now; empty when nothing does, none when the GPU does not tell.
    pub throttle_reasons: Option<Vec<String>>,
    /// Counters that grow while a reason holds the GPU back. Two samples of them tell what happened
    /// between.
    pub throttle_counters: BTreeMap<String, u64>,
    /// Why figures that could be there are not.
    pub absent: Vec<String>,
}

/// A column of a course, what it is, and where a snapshot has it.
pub(crate) type Column = (&'static str, &'static str, fn(&GpuSample) -> Option<f64>);

/// The columns of a course that are figures.
pub(crate) const COLUMNS: [Column; 11] = [
    (LOAD, "share of time that the GPU was busy, in %", |sample| sample.utilization_percent),
    ("gpu_clock_mhz", "clock of the GPU's compute units, in MHz", |sample| sample.sclk_mhz),
    ("gpu_fan_rpm", "turns of the fan in a minute", |sample| sample.fan_rpm),
    ("gpu_memory_clock_mhz", "clock of the GPU's memory, in MHz", |sample| sample.mclk_mhz),
    ("gpu_memory_used_mb", "memory of the GPU in use by all, in MB", |sample| sample.vram_used_mb),
    ("gpu_power_w", "power drawn by the GPU, in W", |sample| sample.power_w),
    ("gpu_temperature_c", "the hottest of its temperatures, in °C", |sample| {
        sample.temperature_c.hottest()
    }),
    ("gpu_temperature_edge_c", "temperature at the chip's edge, in °C", |sample| {
        sample.temperature_c.edge
    }),
    (
        "gpu_temperature_junction_c",
        "temperature at the hottest place of the chip, in °C",
        |sample| sample.temperature_c.junction,
    ),
    ("gpu_temperature_memory_c", "temperature of the memory, in °C", |sample| {
        sample.temperature_c.memory
    }),
    ("gpu_voltage_mv", "voltage of the compute units, in mV", |sample| sample.voltage_mv),
];

/// The column that every snapshot has, null where no sensor tells it.
pub(crate) const LOAD: &str = "compute_utilization_percent";

/// What a list of [`GpuTelemetry::snapshots`](crate::GpuTelemetry::snapshots) looks like, as JSON Schema says it.
pub(crate) fn snapshots_schema() -> serde_json::Map<String, Json> {
    let figure =
        |about: &str| serde_json::json!({ "description": about, "type": ["number", "null"] });
    let text =
        |about: &str| serde_json::json!({ "description": about, "type": ["string", "null"] });
    let mut properties: serde_json::Map<String, Json> =
        COLUMNS.iter().map(|(name, about, _)| ((*name).to_owned(), figure(about))).collect();
    properties
        .insert("timestamp".to_owned(), text("when the first of its samples was taken, in UTC"));
    properties.insert("absent".to_owned(), text("why a figure is null"));
    properties.insert(
        "throttle_reasons".to_owned(),
        text("what held the GPU back since the snapshot before"),
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
