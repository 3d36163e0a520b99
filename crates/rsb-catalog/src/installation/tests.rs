use rsb_model::environment::Cpu;
use rsb_model::record::EnvironmentSummary;
use rsb_model::{
    BackendId, BenchmarkType, CaseId, DeviceRef, Environment, Fields, Reason, RunDevice, RunId,
    Timestamp,
};

use rsb_model::gpu::{GpuCache, GpuCacheKind};

use super::*;

fn case(id: &str, device_type: DeviceType, fields: Option<Fields>) -> BenchmarkResult {
    let id = CaseId::from_segments(&id.split('/').collect::<Vec<_>>());
    let outcome = if fields.is_some() { Outcome::Measured } else { Outcome::Skipped };
    BenchmarkResult {
        benchmark_type: BenchmarkType::GpuPerformance,
        reason: fields
            .is_none()
            .then(|| Reason::new("f16", "no instructions for it", "another GPU")),
        device_type: Some(device_type),
        environment: EnvironmentSummary::of(&Environment::default()),
        results: fields.into_iter().collect(),
        ..BenchmarkResult::new(id, Timestamp::UNIX_EPOCH, outcome)
    }
}

fn run(environment: Environment, benchmarks: Vec<BenchmarkResult>) -> Run {
    let now = Timestamp::UNIX_EPOCH;
    let mut run = Run::begin(RunId("r".to_owned()), now, NAME, "quick", environment);
    run.benchmarks = benchmarks;
    run
}

fn rate(dtype: &str, tflops: f64) -> Fields {
    Fields::new().with("dtype", dtype).with("tflops", tflops)
}

#[test]
fn the_first_gpu_is_described_by_its_best_figures() {
    let gpu = Gpu {
        pci_address: Some("0000:03:00.0".into()),
        compute_units: Some(104),
        vram_gb: Some(64.0),
        caches: vec![GpuCache {
            level: 2,
            kind: GpuCacheKind::Data,
            size_bytes: 8 << 20,
            count: 1,
        }],
        ..Gpu::default()
    };
    let rocm = RocmInstallation {
        version: Some("6.4.3".into()),
        path: "/opt/rocm-6.4.3".into(),
        components: [("amd-smi".to_owned(), "25.5".to_owned())].into(),
        ..RocmInstallation::default()
    };
    let environment =
        Environment { gpus: vec![gpu], rocm_installations: vec![rocm], ..Environment::default() };
    let bandwidth = Some(Fields::new().with("dtype", "f32").with("bandwidth_gb_s", 1300.0));
    let gpu = DeviceType::Gpu;
    let mut run = run(
        environment,
        vec![
            case(
                "cpu_performance/compute-peak/cpu:0/f32",
                DeviceType::Cpu,
                Some(rate("f32", 99.0)),
            ),
            case("gpu_performance/memory-bandwidth/rocm:0/copy", gpu, bandwidth),
            case("gpu_performance/gemm/rocm:0/f32", gpu, Some(rate("f32", 20.0))),
            case("gpu_performance/compute-peak/rocm:0/f32", gpu, Some(rate("f32", 22.0))),
            case("gpu_performance/tensor-core/rocm:0/f16/matrix", gpu, None),
        ],
    );
    let device = DeviceRef { backend: BackendId::Rocm, index: 0 };
    let (name, pci_address) = ("MI210".to_owned(), Some("0000:03:00.0".to_owned()));
    run.devices = vec![RunDevice { device, name, device_type: gpu, pci_address, driver: None }];
    let found = document(&run);
    assert_eq!(found.device.as_deref(), Some("rocm:0"));
    assert_eq!(
        (found.peak_memory_bandwidth_gb_s, found.peak_compute_tflops_fp32),
        (Some(1300.0), Some(22.0))
    );
    assert_eq!((found.cache_size_l2, found.cache_size_hbm), (Some(8 << 20), Some(64_000_000_000)));
    assert_eq!(found.device_info.rocm_smi_version.as_deref(), Some("25.5"));
    let why = |name: &str| found.unknown.get(name).map_or("", String::as_str);
    assert!(
        why("peak_compute_tflops_fp16").contains("no instructions for it"),
        "{:?}",
        found.unknown
    );
    assert!(
        why("clock_rate_mhz").contains("driver")
            && why("device_info.hsa_version").contains("libhsa")
    );
    assert!(!found.unknown.contains_key("cache_size_hbm"));
}

#[test]
fn a_cpu_without_rocm_says_why_fields_are_null() {
    let cpu = Cpu { usable_cores: 2, max_mhz: Some(3000.0), ..Cpu::default() };
    let environment = Environment { cpu: Some(cpu), ..Environment::default() };
    let found = document(&run(
        environment,
        vec![case("cpu/compute-peak/cpu:0/f32", DeviceType::Cpu, Some(rate("f32", 0.1)))],
    ));
    assert_eq!((found.num_compute_units, found.clock_rate_mhz), (Some(2), Some(3000.0)));
    assert_eq!(found.unknown["device_info.version"], "no ROCm installation was found");
    assert!(
        found.unknown["cache_size_hbm"].contains("CPU")
            && found.unknown["peak_memory_bandwidth_gb_s"].contains("no case")
    );
    let nothing = document(&run(Environment::default(), Vec::new()));
    assert_eq!(nothing.unknown["cache_size_l1"], "nothing was measured");
}

#[test]
fn only_software_that_changed_is_compared_across() {
    let with = |rocm: Option<&str>| Environment {
        rocm: rocm.map(str::to_owned),
        ..Environment::default()
    };
    let of = |rocm| Fingerprint::of(&with(rocm));
    assert_eq!(changed_software(&of(None), &of(Some("7.2.4"))), ["rocm"]);
    assert!(
        changed_software(&of(Some("7.2.4")), &of(Some("7.2.9"))).is_empty(),
        "a new patch level must not count as a change"
    );
}
