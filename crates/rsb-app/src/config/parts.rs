//! `[components.NAME]` and `[gpu]`: selection, time limits and targets.

use std::collections::BTreeMap;
use std::time::Duration;

use rsb_catalog::frameworks;
use rsb_catalog::{plan, selection};
use rsb_engine::measure::ComponentSettings;
use rsb_model::{BenchmarkType, Better, Case, CaseId, Field, Params, Reason};
use rsb_stats::policy_file::TargetFile;
use rsb_workloads::BenchmarkGroup;
use serde::{Deserialize, Serialize};

/// Refuses axes that the benchmark of a `[[custom]]` entry does not have, and invalid values of its
/// axes.
pub(super) fn check_entry(section: &super::CustomSection) -> Result<(), String> {
    let name = &section.benchmark;
    let axes: Vec<(String, Vec<String>)> =
        section.axes.iter().map(|(axis, values)| (axis.clone(), values.texts())).collect();
    let checked = match (frameworks::find(name), rsb_workloads::find(name)) {
        (Some(component), _) => frameworks::workloads_with(component, &axes).and_then(|_| {
            frameworks::check_values(component, &axes).map_err(|error| error.to_string())
        }),
        (None, Some(benchmark)) => {
            rsb_workloads::check_axes(benchmark, &axes).map_err(|error| error.to_string())
        }
        (None, None) => Ok(()),
    };
    checked.map_err(|why| format!("`custom` with benchmark `{name}`: {why}"))
}

/// `[components.NAME]`: one framework.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct ComponentSection {
    pub enabled: bool,
    pub timeout_seconds: Option<u64>,
    pub num_runs: Option<usize>,
    pub warmup_runs: Option<u64>,
    pub metrics: Vec<ComponentMetric>,
    /// Targets by metric: minimum if higher is better, else maximum.
    pub thresholds: BTreeMap<String, f64>,
}

impl Default for ComponentSection {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout_seconds: None,
            num_runs: None,
            warmup_runs: None,
            metrics: ComponentMetric::ALL.to_vec(),
            thresholds: BTreeMap::new(),
        }
    }
}

/// Metric of a component that `components` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ComponentMetric {
    Throughput,
    Latency,
    Memory,
}

impl ComponentMetric {
    /// All metrics.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::Latency, Self::Memory];
}

/// `[gpu]`: selection of benchmarks on GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, clippy::struct_excessive_bools)]
pub struct GpuSection {
    pub enabled: bool,
    pub timeout_seconds: Option<u64>,
    pub test_memory: bool,
    pub test_compute: bool,
    pub test_scaling: bool,
    /// Indices of the GPUs; empty means all.
    pub gpu_indices: Vec<u32>,
}

impl Default for GpuSection {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout_seconds: None,
            test_memory: true,
            test_compute: true,
            test_scaling: true,
            gpu_indices: Vec::new(),
        }
    }
}

impl ComponentSection {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        if frameworks::find(name).is_none() {
            let near = plan::nearest(name)
                .map(|near| format!(", did you mean `{near}`?"))
                .unwrap_or_default();
            return Err(format!(
                "`components.{name}`: unknown component `{name}`{near}; `rusty-stack-bench \
                 components` lists all"
            ));
        }
        if self.timeout_seconds == Some(0) {
            return Err(format!("`components.{name}.timeout_seconds` must be at least 1"));
        }
        if self.num_runs.is_some_and(|runs| !(10..=1_000_000).contains(&runs)) {
            return Err(format!(
                "`components.{name}.num_runs` must be at least 10 and at most 1000000"
            ));
        }
        for (metric, limit) in &self.thresholds {
            let has_direction =
                Field::resolve(metric).is_some_and(|field| field.better().is_some());
            if !limit.is_finite() || !has_direction {
                return Err(format!(
                    "`components.{name}.thresholds.{metric} = {limit}` is not a target: use a \
                     metric of docs/glossary.md, such as tflops, and a finite number"
                ));
            }
        }
        Ok(())
    }

    /// Returns the settings for measuring the component's cases.
    pub fn settings(&self) -> ComponentSettings {
        let limit = self.timeout_seconds.map(Duration::from_secs);
        ComponentSettings { limit, runs: self.num_runs, warmup: self.warmup_runs }
    }

    /// Returns the targets of the component `name`.
    pub fn targets<'c>(&'c self, name: &'c str) -> impl Iterator<Item = TargetFile> + 'c {
        self.thresholds.iter().map(move |(metric, &limit)| {
            let is_rate = Field::resolve(metric).and_then(Field::better) == Some(Better::Higher);
            TargetFile {
                id: format!("{}/{name}/*", BenchmarkType::ComponentSpecific),
                metric: metric.clone(),
                above: is_rate.then_some(limit),
                below: (!is_rate).then_some(limit),
                fail: false,
                reference: None,
            }
        })
    }
}

impl GpuSection {
    /// Returns the skipped entry that replaces `case` if the case runs on a GPU and this section
    /// excludes it.
    pub(super) fn left_out(&self, case: &Case) -> Option<(Case, Reason)> {
        let device = case.device.device().filter(|device| !device.is_cpu())?;
        if !self.enabled {
            return Some(instead(
                case,
                selection::ALL,
                &device.backend.to_string(),
                "[gpu] has `enabled = false`",
            ));
        }
        if !self.gpu_indices.is_empty() && !self.gpu_indices.contains(&device.index) {
            return Some(instead(
                case,
                selection::ALL,
                &device.to_string(),
                "`gpu_indices` of [gpu] excludes it",
            ));
        }
        let group = rsb_workloads::find(&case.benchmark)?.info().group?;
        let (is_on, key) = match group {
            BenchmarkGroup::Memory => (self.test_memory, "test_memory"),
            BenchmarkGroup::Compute => (self.test_compute, "test_compute"),
            BenchmarkGroup::Scaling => (self.test_scaling, "test_scaling"),
        };
        if is_on {
            return None;
        }
        Some(instead(
            case,
            &case.benchmark,
            &device.to_string(),
            &format!("[gpu] has `{key} = false`"),
        ))
    }
}

/// Returns the skipped entry for cases that the configuration excludes; `why` is the reason.
pub(super) fn instead(case: &Case, benchmark: &str, device: &str, why: &str) -> (Case, Reason) {
    let segments = [case.benchmark_type.as_str(), benchmark, device];
    let segments: Vec<&str> = segments.into_iter().filter(|segment| !segment.is_empty()).collect();
    let entry = Case {
        id: CaseId::from_segments(&segments),
        benchmark: benchmark.to_owned(),
        params: Params::new(),
        ..case.clone()
    };
    (
        entry,
        Reason::new(
            format!("{benchmark} {device}").trim(),
            why,
            "change the configuration to measure it",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::BackendId;

    fn case(id: &str) -> Case {
        let id: CaseId = id.parse().unwrap();
        let parts = id.parts().unwrap();
        Case {
            benchmark: parts.benchmark.to_owned(),
            benchmark_type: parts.benchmark_type,
            device: parts.device,
            params: Params::new(),
            id: id.clone(),
        }
    }

    #[test]
    fn what_is_left_out_on_gpus_is_named_once_and_the_cpu_stays() {
        let off = GpuSection { enabled: false, ..GpuSection::default() };
        let one = GpuSection { gpu_indices: vec![1], ..GpuSection::default() };
        let no_memory = GpuSection { test_memory: false, ..GpuSection::default() };
        let no_compute = GpuSection { test_compute: false, ..GpuSection::default() };
        let no_scaling = GpuSection { test_scaling: false, ..GpuSection::default() };
        let copy = "gpu_performance/memory-bandwidth/rocm:0/copy";
        for (section, of, expected) in [
            (&GpuSection::default(), copy, None),
            (&off, copy, Some("gpu_performance/all/rocm")),
            (&off, "cpu_performance/gemm/cpu:0/f32", None),
            (&one, copy, Some("gpu_performance/all/rocm:0")),
            (&one, "gpu_performance/gemm/rocm:1/f32", None),
            (&no_memory, copy, Some("gpu_performance/memory-bandwidth/rocm:0")),
            (&no_memory, "gpu_performance/gemm/rocm:0/f32", None),
            (&no_compute, "gpu_performance/gemm/rocm:0/f32", Some("gpu_performance/gemm/rocm:0")),
            (&no_compute, copy, None),
            (
                &no_scaling,
                "gpu_performance/multi-gpu/rocm:0",
                Some("gpu_performance/multi-gpu/rocm:0"),
            ),
            (&no_scaling, "gpu_performance/launch-latency/rocm:0", None),
        ] {
            let id = section.left_out(&case(of)).map(|(entry, _)| entry.id.to_string());
            assert_eq!(id.as_deref(), expected, "{of}");
        }
        assert_eq!(case(copy).device.backend(), Some(BackendId::Rocm));
    }
}
