//! GPU sensor readings over the time of a run.

use rsb_model::telemetry::course_of;
use rsb_model::{BenchmarkResult, Run};

use super::axis;
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, device_of, measured_results};
use crate::number::format_quantity;

/// A quantity that sensors report: its column, and the name and unit that a chart shows.
struct Quantity {
    column: &'static str,
    name: &'static str,
    unit: &'static str,
}

const QUANTITIES: [Quantity; 6] = [
    Quantity { column: "gpu_power_w", name: "power", unit: "W" },
    Quantity { column: "gpu_clock_mhz", name: "clock", unit: "MHz" },
    Quantity { column: "gpu_temperature_c", name: "temperature", unit: "°C" },
    Quantity { column: "compute_utilization_percent", name: "load", unit: "%" },
    Quantity { column: "gpu_memory_used_mb", name: "memory in use", unit: "MB" },
    Quantity { column: "gpu_memory_clock_mhz", name: "memory clock", unit: "MHz" },
];

/// One sensor reading, with the reasons for throttling at that time.
struct Reading {
    second: f64,
    value: f64,
    held_back: String,
}

/// Returns a chart for each quantity that sensors report, with one line per GPU. Lines are
/// interrupted between cases.
pub fn sensors(run: &Run) -> Vec<Chart> {
    QUANTITIES.iter().filter_map(|quantity| chart(run, quantity)).collect()
}

fn readings(run: &Run, result: &BenchmarkResult, column: &str) -> Vec<Reading> {
    let course = course_of(result).into_iter().filter_map(|(at, snapshot)| {
        let held_back = snapshot
            .get("throttle_reasons")
            .and_then(|reasons| reasons.as_str())
            .unwrap_or_default();
        Some(Reading {
            second: at.duration_since(run.started).as_secs_f64().max(0.0),
            value: snapshot
                .get(column)?
                .as_f64()
                .filter(|value| value.is_finite() && *value >= 0.0)?,
            held_back: held_back.to_owned(),
        })
    });
    course.collect()
}

fn chart(run: &Run, quantity: &Quantity) -> Option<Chart> {
    let Quantity { column, name, unit } = *quantity;
    let names = Shortener::of_run(run);
    let mut devices: Vec<String> = Vec::new();
    let (mut datasets, mut held_back, mut peak) = (Vec::new(), Vec::new(), None);
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for result in measured_results(run) {
        let course = readings(run, result, column);
        if course.len() < 2 {
            continue;
        }
        let id = &result.benchmark_id;
        let device =
            device_of(id).map_or_else(|| names.case(id).to_owned(), |device| device.to_string());
        let known = devices.iter().position(|known| *known == device);
        let paint = Paint::Series(known.unwrap_or(devices.len()));
        for reading in &course {
            (first, last) = (first.min(reading.second), last.max(reading.second));
            if peak.as_ref().is_none_or(|(_, highest): &(String, f64)| reading.value > *highest) {
                peak = Some((device.clone(), reading.value));
            }
        }
        let limits = course.iter().filter(|reading| !reading.held_back.is_empty());
        // The reason for throttling is printed once per case.
        held_back.extend(limits.enumerate().map(|(index, reading)| {
            let point = Point::at(reading.second, reading.value);
            if index == 0 { point.saying(&reading.held_back) } else { point }
        }));
        let points =
            course.iter().map(|reading| Point::at(reading.second, reading.value)).collect();
        let path = Dataset::new(DatasetKind::Path, paint, points);
        // Only the first line of each GPU has a legend entry.
        datasets.push(if known.is_none() { path.with_name(device.as_str()) } else { path });
        if known.is_none() {
            devices.push(device);
        }
    }
    let (device, highest) = peak?;
    if !held_back.is_empty() {
        let marks = Dataset::new(DatasetKind::Marks, Paint::Warning, held_back);
        datasets.push(marks.with_name("throttled"));
    }
    let most = format_quantity(highest, unit);
    Some(Chart {
        name: format!("sensors-{}", super::slug(column)),
        title: format!("GPU {name} up to {most} ({device})"),
        subtitle: "over the time of the run, while cases were measured".to_owned(),
        place: ChartPlace::Other,
        x_axis: axis::exact("seconds since the run began", first, last, 8),
        y_axis: axis::linear(unit, 0.0, highest * 1.08, 6),
        datasets,
        legend_position: Legend::Below,
    })
}

#[cfg(test)]
mod tests {
    use rsb_model::{GpuSample, GpuTelemetry};
    use serde_json::json;

    use super::*;
    use crate::sample;

    /// Returns two cases on one GPU, a second apart: the first with telemetry recorded next to it,
    /// the second with snapshots that the benchmark itself took.
    fn run_with_telemetry() -> Run {
        let mut run = sample::run();
        run.benchmarks.retain(|result| !result.results.is_empty());
        run.benchmarks.truncate(2);
        let begin = run.started.as_millisecond();
        for (result, of) in run.benchmarks.iter_mut().zip(["gemm", "smi-metrics"]) {
            result.benchmark_id = format!("gpu_performance/{of}/rocm:0/f32").parse().unwrap();
        }
        run.benchmarks[0]
            .metadata
            .insert("telemetry".into(), json!([telemetry_from(begin + 1000), null]));
        let fields = std::mem::take(&mut run.benchmarks[1].results[0]);
        let telemetry = telemetry_from(begin + 2000);
        run.benchmarks[1].results[0] = fields.with("snapshots", json!(telemetry.snapshots()));
        run
    }

    fn telemetry_from(begin_ms: i64) -> GpuTelemetry {
        let samples: Vec<GpuSample> = (0..4)
            .map(|index| GpuSample {
                timestamp_ms: Some(begin_ms + 100 * index),
                power_w: Some(100.0 + 50.0 * index as f64),
                throttle_reasons: Some(if index > 1 {
                    vec!["power".to_owned()]
                } else {
                    Vec::new()
                }),
                ..GpuSample::default()
            })
            .collect();
        GpuTelemetry::of(&samples)
    }

    #[test]
    fn the_course_of_a_gpu_goes_over_its_cases_and_shows_where_it_was_held_back() {
        let charts = sensors(&run_with_telemetry());
        assert_eq!(
            charts.iter().map(|chart| chart.name.as_str()).collect::<Vec<_>>(),
            ["sensors-gpu-power-w"]
        );
        let chart = &charts[0];
        let shapes: Vec<(&str, usize)> = chart
            .datasets
            .iter()
            .map(|dataset| (dataset.name.as_str(), dataset.points.len()))
            .collect();
        assert_eq!(shapes, [("rocm:0", 4), ("", 4), ("throttled", 4)]);
        assert_eq!(chart.datasets[0].points[1], Point::at(1.1, 150.0));
        assert_eq!(chart.datasets[2].points[0], Point::at(1.2, 200.0).saying("power"));
        assert_eq!(chart.title, "GPU power up to 250 W (rocm:0)");
        assert!(crate::svg(chart).is_some());
        assert!(sensors(&sample::run()).is_empty(), "a run without sensor data has no chart");
    }
}
