//! Tests of each check with a table of records, and of parsers with sample output of other
//! programs.

mod checks;
mod programs;

use rsb_device::DeviceInfo;
use rsb_model::environment::Cache;
use rsb_model::record::{CheckResult, CheckStatus, CheckValue};
use rsb_model::{
    BenchmarkResult, BenchmarkType, CaseId, DeviceType, Fields, Outcome, Reason, Samples, Timestamp,
};

use super::evidence::CheckEvidence;
use super::{CHECKS, conclude};

/// Returns a device of the table: `rocm:0` is an MI300X, `cuda:0` an H100.
fn device(name: &str) -> DeviceInfo {
    let (label, arch, units) = match name {
        "rocm:0" => ("AMD Instinct MI300X", Some("gfx942:sramecc+:xnack-"), 304),
        "cuda:0" => ("NVIDIA H100 80GB HBM3", Some("sm_90"), 132),
        _ => ("some CPU", None, 8),
    };
    DeviceInfo {
        pci_address: arch.map(|_| "0000:31:00.0".to_owned()),
        arch: arch.map(str::to_owned),
        units,
        max_clock_mhz: arch.map(|_| 2100.0),
        usable_memory_bytes: 64 << 30,
        caches: vec![
            Cache { level: 1, size_bytes: 32 << 10, shared_by: None },
            Cache { level: 2, size_bytes: 4 << 20, shared_by: None },
        ],
        ..DeviceInfo::new(
            name.parse().unwrap(),
            label,
            if arch.is_some() { DeviceType::Gpu } else { DeviceType::Cpu },
        )
    }
}

/// Returns a measured case of `benchmark` on `device` with these parameters.
fn result(
    device: &str,
    benchmark: &str,
    params: &[(&str, &str)],
    fields: Fields,
) -> BenchmarkResult {
    let values = params.iter().map(|(_, value)| *value);
    let segments: Vec<&str> =
        ["gpu_performance", benchmark, device].into_iter().chain(values).collect();
    let parameters: serde_json::Map<String, serde_json::Value> =
        params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let mut metadata = serde_json::Map::new();
    metadata.insert("parameters".to_owned(), parameters.into());
    BenchmarkResult {
        benchmark_type: BenchmarkType::GpuPerformance,
        category: Some(benchmark.to_owned()),
        device_type: Some(DeviceType::Gpu),
        results: vec![fields],
        metadata,
        ..BenchmarkResult::new(
            CaseId::from_segments(&segments),
            Timestamp::UNIX_EPOCH,
            Outcome::Measured,
        )
    }
}

fn failed(result: BenchmarkResult) -> BenchmarkResult {
    let reason = Some(Reason::new("wrong result", "0.5 off", "report it"));
    BenchmarkResult { outcome: Outcome::Failed, reason, results: Vec::new(), ..result }
}

fn skipped(result: BenchmarkResult) -> BenchmarkResult {
    let reason = Some(Reason::new("f64", "no instruction", "choose another type"));
    BenchmarkResult { outcome: Outcome::Skipped, reason, results: Vec::new(), ..result }
}

fn sampled(result: BenchmarkResult, times_ns: &[f64]) -> BenchmarkResult {
    let samples =
        |time: &f64| Samples { replicate: 0, iters: vec![1; 3], times_ns: vec![*time; 3] };
    BenchmarkResult { samples: times_ns.iter().map(samples).collect(), ..result }
}

/// Returns the conclusion of check `number` from `evidence`.
fn concluded(number: u8, evidence: &CheckEvidence) -> CheckResult {
    let check = CHECKS.iter().find(|check| check.number == number).unwrap();
    conclude(check, evidence, 1.0)
}

/// Returns the value named `what`.
fn value<'c>(check: &'c CheckResult, what: &str) -> &'c CheckValue {
    check
        .values
        .iter()
        .find(|value| value.what == what)
        .unwrap_or_else(|| panic!("{what} is not in {check:#?}"))
}

fn status(check: &CheckResult, what: &str) -> CheckStatus {
    value(check, what).status
}
