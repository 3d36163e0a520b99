//! Sample data of GPUs that are used through several backends.

use rsb_model::{BenchmarkResult, DeviceType, Fields, Outcome, Reason, Run, RunDevice};

use crate::sample::{measured_case, run, unmeasured_case};

/// Returns a device of a run, at `pci_address` if it has one.
pub(crate) fn device(
    device: &str,
    name: &str,
    device_type: DeviceType,
    pci_address: Option<&str>,
) -> RunDevice {
    RunDevice {
        device: device.parse().unwrap(),
        name: name.into(),
        device_type,
        pci_address: pci_address.map(str::to_owned),
        driver: None,
    }
}

/// Returns a measured case on a device. `case` is the benchmark and the rest of the id.
pub(crate) fn figure_on(
    device: &str,
    case: &str,
    field: &'static str,
    value: f64,
) -> BenchmarkResult {
    let kind = if device == "cpu:0" { "cpu_performance" } else { "gpu_performance" };
    let (benchmark, rest) = case.split_once('/').unwrap();
    let threads = if device == "cpu:0" { "/threads=16" } else { "" };
    let id = format!("{kind}/{benchmark}/{device}/{rest}{threads}");
    measured_case(&id, 1e6, &Fields::new().with(field, value))
}

fn skipped_on(device: &str, case: &str, why: &str) -> BenchmarkResult {
    let (benchmark, rest) = case.split_once('/').unwrap();
    let reason = Reason::new("products of f16", why, "choose another type");
    unmeasured_case(
        &format!("gpu_performance/{benchmark}/{device}/{rest}"),
        Outcome::Skipped,
        reason,
    )
}

pub(crate) fn run_of(devices: Vec<RunDevice>, benchmarks: Vec<BenchmarkResult>) -> Run {
    let run = run();
    Run { devices, benchmarks, suite: "hardware-acceleration".into(), notes: Vec::new(), ..run }
}

const BUS: Option<&str> = Some("0000:03:00.0");
const LARGE: &str = "gemm/f32/4096x4096x4096";
const HALF: &str = "gemm/f16/4096x4096x4096";
const LAUNCH: &str = "launch-latency/single";
const TRIAD: &str = "memory-bandwidth/triad/f32/64MiB";

/// Returns a run on an AMD GPU through three runtimes, one of which does not report its address,
/// and on the CPU.
pub(crate) fn gpu_run() -> Run {
    let gpu = DeviceType::Gpu;
    let devices = vec![
        device("vulkan:0", "AMD Radeon RX 7900 XTX (RADV NAVI31) [radv]", gpu, BUS),
        device("rocm:0", "AMD Radeon RX 7900 XTX", gpu, BUS),
        device("opencl:0", "gfx1100 (rusticl)", gpu, None),
        device("cpu:0", "AMD Ryzen 9 7950X", DeviceType::Cpu, None),
    ];
    let results = vec![
        figure_on("cpu:0", LARGE, "gflops", 1400.0),
        figure_on("rocm:0", LARGE, "gflops", 24_000.0),
        figure_on("vulkan:0", LARGE, "gflops", 6000.0),
        figure_on("opencl:0", LARGE, "gflops", 30_000.0),
        figure_on("rocm:0", HALF, "gflops", 98_000.0),
        skipped_on("vulkan:0", HALF, "this driver lacks the feature shaderFloat16"),
        skipped_on("opencl:0", HALF, "this driver lacks the feature shaderFloat16"),
        figure_on("rocm:0", LAUNCH, "latency_us", 4.0),
        figure_on("vulkan:0", LAUNCH, "latency_us", 16.0),
        figure_on("vulkan:0", TRIAD, "bandwidth_gb_s", 800.0),
        figure_on("opencl:0", TRIAD, "bandwidth_gb_s", 400.0),
    ];
    run_of(devices, results)
}
