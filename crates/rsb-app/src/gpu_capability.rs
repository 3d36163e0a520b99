//! Capabilities of the GPUs on this machine, read from files only, so that no installed software is
//! needed. Nothing is measured or stored.

use rsb_model::GpuSample;
use rsb_model::architecture::{self, Architecture, RatedGpu};
use rsb_model::gpu::Gpu;
use rsb_model::record::EnvironmentSummary;
use rsb_model::{
    BenchmarkResult, BenchmarkType, CaseId, DeviceType, Dtype, Environment, Fields, Outcome,
    Reason, Run, Timestamp,
};
use rsb_probe::{ProbeOptions, telemetry};
use rsb_store::new_run_id;

const NAME: &str = "gpu-capability";

/// Returns the GPUs as a run of one case each.
pub fn describe(options: &ProbeOptions, now: Timestamp) -> Run {
    let environment = rsb_probe::environment(options);
    let gpus = environment.gpus.clone();
    let mut run = Run::begin(new_run_id(now, None), now, NAME, "quick", environment);
    let addresses: Vec<Option<&str>> = gpus.iter().map(|gpu| gpu.pci_address.as_deref()).collect();
    let sensors = telemetry::gpus_at(options, &addresses);
    run.benchmarks = gpus
        .iter()
        .zip(sensors)
        .map(|(gpu, sensors)| {
            result_of(
                &run.environment,
                gpu,
                sensors.map(|gpu| telemetry::sample(&gpu)).as_ref(),
                now,
            )
        })
        .collect();
    if gpus.is_empty() {
        run.benchmarks.push(no_gpu(&run.environment, now));
    }
    run.finished = Some(now);
    run
}

/// Returns a case without values.
fn blank(environment: &Environment, index: u32, now: Timestamp) -> BenchmarkResult {
    let kind = BenchmarkType::PreInstallation;
    BenchmarkResult {
        benchmark_type: kind,
        category: Some(NAME.to_owned()),
        device_type: Some(DeviceType::Gpu),
        environment: EnvironmentSummary::of(environment),
        ..BenchmarkResult::new(
            CaseId::from_segments(&[kind.as_str(), NAME, &format!("gpu:{index}")]),
            now,
            Outcome::Skipped,
        )
    }
}

fn no_gpu(environment: &Environment, now: Timestamp) -> BenchmarkResult {
    let reason = Reason::new(
        "no GPU was found",
        "neither the DRM nor AMD's compute driver nor the PCI bus lists an AMD, NVIDIA or \
         Intel GPU",
        "run this on a machine with a GPU; `rusty-stack-bench doctor` reports why a GPU is not \
         detected",
    );
    BenchmarkResult { reason: Some(reason), ..blank(environment, 0, now) }
}

/// Returns the capabilities of one GPU: its properties, then an object for each peak.
fn result_of(
    environment: &Environment,
    gpu: &Gpu,
    sample: Option<&GpuSample>,
    now: Timestamp,
) -> BenchmarkResult {
    let mut case = blank(environment, gpu.index, now);
    case.outcome = Outcome::Measured;
    case.environment.gpu_model = Some(gpu.label().to_owned());
    case.environment.gpu_memory_gb = gpu.vram_gb;
    case.results.push(facts(gpu, sample));
    match architecture::peaks(gpu) {
        Ok(peaks) => case.results.extend(peaks.into_iter().map(|peak| {
            Fields::new()
                .with("operation", peak.engine.as_str())
                .with("dtype", peak.dtype.as_str())
                .with("peak_tflops", peak.tflops)
        })),
        Err(reason) => {
            case.metadata.insert("peaks".to_owned(), reason.to_string().into());
        }
    }
    case
}

/// Returns the properties of the GPU; unknown ones are null.
fn facts(gpu: &Gpu, sample: Option<&GpuSample>) -> Fields {
    let architecture = gpu.gfx_target.as_deref().and_then(|target| Architecture::find(target).ok());
    let matrix = architecture
        .map(|known| known.matrix.map_or_else(|| "none".to_owned(), |unit| unit.to_string()));
    let types = architecture.map(|known| {
        let mut types = Vec::new();
        for dtype in Dtype::ALL {
            if known.rates.iter().any(|rate| rate.dtype == dtype) {
                types.push(dtype.as_str());
            }
        }
        types.join(", ")
    });
    architecture::matrix_fields(&RatedGpu::of(gpu))
        .with("supported_dtypes", types)
        .with("gfx_target", gpu.gfx_target.clone())
        .with("compute_units", gpu.compute_units)
        .with("gpu_max_clock_mhz", gpu.max_mhz)
        .with("matrix_unit", matrix)
        .with("gpu_memory_total_mb", gpu.vram_gb.map(|gb| gb * 1e3))
        .with("peak_bandwidth_gb_s", gpu.memory_bandwidth_gb_s)
        .with("gpu_memory_used_mb", sample.and_then(|sample| sample.vram_used_mb))
        .with("gpu_utilization_percent", sample.and_then(|sample| sample.utilization_percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mi210() -> Gpu {
        Gpu {
            index: 3,
            name: Some("AMD Instinct MI210".into()),
            gfx_target: Some("gfx90a".into()),
            compute_units: Some(104),
            max_mhz: Some(1700.0),
            ..Gpu::default()
        }
    }

    #[test]
    fn a_gpu_is_a_case_with_its_facts_and_peaks() {
        let sample = GpuSample { utilization_percent: Some(97.0), ..GpuSample::default() };
        let case =
            result_of(&Environment::default(), &mi210(), Some(&sample), Timestamp::UNIX_EPOCH);
        assert_eq!(case.benchmark_id.as_str(), "pre_installation/gpu-capability/gpu:3");
        let facts = case.fields().unwrap();
        assert_eq!(
            (facts.number("compute_units"), facts.text("matrix_unit")),
            (Some(104.0), Some("MFMA 2"))
        );
        assert_eq!(facts.number("gpu_utilization_percent"), Some(97.0));
        assert_eq!(facts.text("supported_dtypes"), Some("f64, f32, f16, bf16, i8"));
        assert!((facts.number("peak_tflops_fp16").unwrap() / 181.0 - 1.0).abs() < 5e-3);
        assert!(
            facts.get("gpu_memory_total_mb").is_some_and(serde_json::Value::is_null),
            "an unknown value is null"
        );
        let half = case.results.iter().find(|peak| peak.text("dtype") == Some("f16")).unwrap();
        assert!((half.number("peak_tflops").unwrap() / 181.0 - 1.0).abs() < 5e-3);
        assert_eq!(case.metadata.get("peaks"), None);
    }

    #[test]
    fn a_gpu_without_peaks_says_why() {
        let unknown = Gpu { compute_units: None, ..mi210() };
        let case = result_of(&Environment::default(), &unknown, None, Timestamp::UNIX_EPOCH);
        assert_eq!((case.outcome, case.results.len()), (Outcome::Measured, 1));
        assert!(
            case.metadata["peaks"].as_str().is_some_and(|reason| reason.contains("compute units"))
        );
    }

    #[test]
    fn no_gpu_is_a_skip_with_its_cure() {
        let case = no_gpu(&Environment::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(case.outcome, Outcome::Skipped);
        assert!(case.reason.is_some_and(|reason| reason.cure.contains("doctor")));
    }
}
