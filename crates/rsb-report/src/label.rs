//! Names of results in tables, and the headline metric of a result.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Better, CaseId, DeviceRef, Field, Outcome, Run};

use crate::number::{format_quantity, format_time};

/// Returns the benchmark's name and the rest of the id: (`gemm`, `cpu:0/f32/1024x1024x1024`). If
/// the id has another format, the whole id is the rest and the name is empty.
pub fn split_id(id: &CaseId) -> (&str, &str) {
    let parts = id.parts().filter(|parts| !parts.case.is_empty());
    parts.map_or(("", id.as_str()), |parts| (parts.benchmark, parts.case))
}

/// Returns the benchmark of a result: its category, or the benchmark in its id.
pub fn benchmark_of(result: &BenchmarkResult) -> &str {
    result.category.as_deref().unwrap_or_else(|| split_id(&result.benchmark_id).0)
}

/// Returns the device in an id of this project's form, such as `cpu:0`.
pub fn device_of(id: &CaseId) -> Option<DeviceRef> {
    id.device().device()
}

/// Shortens ids by omitting the device if all of them share it.
#[derive(Debug, Clone, Default)]
pub struct Shortener {
    device: Option<DeviceRef>,
}

impl Shortener {
    /// Returns a shortener for `ids`. Omits the device only if all ids have the same one.
    pub fn of<'a>(ids: impl IntoIterator<Item = &'a CaseId>) -> Self {
        let mut device: Option<DeviceRef> = None;
        for id in ids {
            match (device, device_of(id)) {
                (_, None) => return Self::default(),
                (None, found) => device = found,
                (Some(known), Some(found)) if known != found => return Self::default(),
                _ => {}
            }
        }
        Self { device }
    }

    /// Returns a shortener for the cases of `run` that have results. Cases without one are ignored,
    /// because their reasons name the device.
    pub fn of_run(run: &Run) -> Self {
        Self::of(
            run.benchmarks
                .iter()
                .filter(|result| !result.results.is_empty())
                .map(|result| &result.benchmark_id),
        )
    }

    /// Returns the shared device, if any.
    pub const fn device(&self) -> Option<DeviceRef> {
        self.device
    }

    /// Returns the case without its benchmark: `f32/1024x1024x1024`.
    pub fn case<'a>(&self, id: &'a CaseId) -> &'a str {
        let point = id
            .parts()
            .filter(|parts| self.device.is_some() && parts.device.device() == self.device);
        point.map_or_else(
            || split_id(id).1,
            |parts| if parts.point.is_empty() { parts.case } else { parts.point },
        )
    }

    /// Returns benchmark and case: `gemm f32/1024x1024x1024`.
    pub fn full(&self, id: &CaseId) -> String {
        format!("{} {}", split_id(id).0, self.case(id)).trim_start().to_owned()
    }
}

/// Fields that can represent a whole result, in order of preference.
const HEADLINES: [&str; 17] = [
    "tokens_per_second",
    "requests_per_second",
    "throughput_samples_per_second",
    "gflops",
    "tflops",
    "bandwidth_gb_s",
    "throughput_gb_s",
    "latency_ns",
    "latency_us",
    "ttft_ms",
    "cache_hit_percent",
    "memory_fragmentation_percent",
    "allocation_overhead_percent",
    "occupancy_percent",
    "compile_time_ms",
    "speedup",
    "utilization_percent",
];

/// Returns the headline metric of `result` and its field.
pub fn headline(result: &BenchmarkResult) -> Option<(&'static Field, f64)> {
    let fields = result.fields()?;
    HEADLINES.iter().find_map(|name| Some((Field::find(name)?, fields.number(name)?)))
}

/// Formats the [`headline`]: `118 GFLOP/s`.
pub fn headline_text(result: &BenchmarkResult) -> String {
    headline(result).map_or_else(String::new, |(field, value)| {
        format_quantity(value, field.unit.symbol()) + share_of(field.name)
    })
}

/// Returns the word that explains what a percentage measures, such as ` overhead`; empty if none is
/// needed.
fn share_of(name: &str) -> &'static str {
    match name {
        "allocation_overhead_percent" => " overhead",
        "memory_fragmentation_percent" => " fragmented",
        "cache_hit_percent" => " hits",
        "utilization_percent" => " busy",
        "occupancy_percent" => " occupied",
        _ => "",
    }
}

/// Returns the time of one iteration in nanoseconds: the recorded estimate, or the median of the
/// samples.
pub fn time_ns(result: &BenchmarkResult) -> Option<f64> {
    if let Some(time) = result.fields().and_then(|fields| fields.number("time_ms")) {
        return Some(time * 1e6);
    }
    if let Some(time) = result.fields().and_then(|fields| fields.number("time_us")) {
        return Some(time * 1e3);
    }
    result.statistics.as_ref().map(|statistics| statistics.percentiles.p50 * 1e6)
}

/// Formats [`time_ns`].
pub fn time_text(result: &BenchmarkResult) -> String {
    time_ns(result).map_or_else(String::new, format_time)
}

/// Returns the standard deviation of the samples relative to their mean, in percent.
pub fn spread_percent(result: &BenchmarkResult) -> Option<f64> {
    let statistics = result.statistics.as_ref()?;
    let percent = 100.0 * statistics.std_dev / statistics.mean;
    percent.is_finite().then_some(percent)
}

/// Formats [`spread_percent`]: `±1.2 %`.
pub fn spread_text(result: &BenchmarkResult) -> String {
    spread_percent(result).map_or_else(String::new, |percent| match percent {
        _ if percent < 0.05 => "<0.1 %".to_owned(),
        _ if percent < 99.95 => format!("±{percent:.1} %"),
        _ => format!("±{percent:.0} %"),
    })
}

/// Formats the instructions of one iteration, if they were counted.
pub fn instructions_text(result: &BenchmarkResult) -> String {
    let count = result.fields().and_then(|fields| fields.number("instructions"));
    count.map_or_else(String::new, |count| format_quantity(count, "1"))
}

/// Formats the share of the roofline.
pub fn roofline_text(result: &BenchmarkResult) -> String {
    let percent = result.fields().and_then(|fields| fields.number("roofline_percent"));
    percent.map_or_else(String::new, |percent| format_quantity(percent, "%"))
}

/// Returns the measured results. Only these are comparable with each other.
pub(crate) fn measured_results(run: &Run) -> impl Iterator<Item = &BenchmarkResult> {
    run.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured)
}

pub(crate) fn benchmarks(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(benchmark_of).unique().collect()
}

pub(crate) fn results_of<'a>(
    run: &'a Run,
    benchmark: &'a str,
) -> impl Iterator<Item = &'a BenchmarkResult> {
    measured_results(run).filter(move |result| benchmark_of(result) == benchmark)
}

pub(crate) fn is_better(field: &Field, value: f64, known: f64) -> bool {
    if field.better() == Some(Better::Lower) { value < known } else { value > known }
}

/// Groups values by key, in the order of first occurrence.
pub(crate) fn group_by_key<K: PartialEq, V>(
    items: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> CaseId {
        text.parse().unwrap()
    }

    #[test]
    fn ids_of_this_project_are_taken_apart_and_others_kept() {
        assert_eq!(
            split_id(&id("cpu_performance/gemm/cpu:0/f32/8x8x8")),
            ("gemm", "cpu:0/f32/8x8x8")
        );
        assert_eq!(split_id(&id("parser/large/10")), ("", "parser/large/10"));
        assert_eq!(split_id(&id("cpu_performance")), ("", "cpu_performance"));
        assert_eq!(device_of(&id("cpu_performance/gemm/cpu:0/f32")), Some(DeviceRef::CPU));
        assert_eq!(device_of(&id("a/b:c/d")), None);
    }

    #[test]
    fn only_a_shared_device_is_left_out() {
        let (first, second) =
            (id("cpu_performance/gemm/cpu:0/f32"), id("gpu_performance/gemm/rocm:0/f32"));
        assert_eq!(Shortener::of([&first]).full(&first), "gemm f32");
        assert_eq!(Shortener::of([&first, &second]).full(&first), "gemm cpu:0/f32");
        assert_eq!(Shortener::of([]).full(&first), "gemm cpu:0/f32");
    }
}
