//! Performance of an installation: a few cases that take less than a minute, and the document with
//! their results. No I/O.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::environment::{Cpu, Gpu, GpuCacheKind, RocmInstallation};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{InstallationInfo, PerformanceBaseline};
use rsb_model::shape::parse_bytes;
use rsb_model::{
    BenchmarkResult, Case, CaseDevice, DeviceType, Fingerprint, Outcome, Run, Suite, factor,
};

use crate::plan::{CustomEntry, Plan, Selection};

/// Name of the suite of these runs, and of the baseline.
pub const NAME: &str = "installation";

/// Name of an axis, and its values.
type AxisPoints = (&'static str, &'static [&'static str]);

/// Benchmarks and axes: bandwidth, peaks and one matrix product. [`narrow`] removes the cases that
/// a device does not need.
const CASES: &[(&str, &[AxisPoints])] = &[
    ("memory-bandwidth", &[("operation", &["copy", "triad"])]),
    ("compute-peak", &[("dtype", &["f32", "f16"])]),
    ("tensor-core", &[("dtype", &["f16"]), ("engine", &["matrix"])]),
    ("gemm", &[("dtype", &["f32"]), ("shape", &[PRODUCT_OF_CPU, PRODUCT_OF_GPU])]),
];

const PRODUCT_OF_CPU: &str = "1024x1024x1024";
const PRODUCT_OF_GPU: &str = "4096x4096x4096";

/// Replaces the benchmarks of `selection` with those of an installation run.
#[must_use]
pub fn selection(selection: Selection) -> Selection {
    let mut custom = Vec::new();
    for (benchmark, points) in CASES {
        let mut axes = Vec::new();
        for (name, values) in *points {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            axes.push(((*name).to_owned(), values));
        }
        custom.push(CustomEntry { benchmark: (*benchmark).to_owned(), axes });
    }
    Selection { names: Vec::new(), suite: Suite::Custom, custom, ..selection }
}

/// Removes cases that are not needed. Keeps the largest buffers, which exceed all caches, and the
/// matrix product that keeps the device busy. If non-temporal stores are available, keeps the
/// temporal copy, which every device has, and the non-temporal triad, which is the fastest.
pub fn narrow(plan: &mut Plan) {
    let mut largest: BTreeMap<String, u64> = BTreeMap::new();
    for case in &plan.cases {
        let known = largest.entry(case.device.to_string()).or_default();
        *known = (*known).max(buffer_bytes(case).unwrap_or(0));
    }
    let kinds = plan
        .devices
        .iter()
        .map(|device| (device.device.to_string(), device.device_type))
        .collect::<BTreeMap<_, _>>();
    let has_choice = plan
        .cases
        .iter()
        .filter(|case| has_stores_around_caches(case))
        .map(|case| case.device.to_string())
        .sorted_unstable()
        .dedup()
        .collect_vec();
    plan.cases.retain(|case| {
        let device = case.device.to_string();
        let is_spare = match case.params.text("operation") {
            Some("copy") => has_stores_around_caches(case),
            Some("triad") => !has_stores_around_caches(case) && has_choice.contains(&device),
            _ => false,
        };
        if is_spare {
            return false;
        }
        let product = if kinds.get(&device) == Some(&DeviceType::Gpu) {
            PRODUCT_OF_GPU
        } else {
            PRODUCT_OF_CPU
        };
        buffer_bytes(case).is_none_or(|size| largest.get(&device) == Some(&size))
            && case.params.text("shape").is_none_or(|shape| shape == product)
    });
}

fn buffer_bytes(case: &Case) -> Option<u64> {
    case.params.get_with("size", parse_bytes).ok()
}

fn has_stores_around_caches(case: &Case) -> bool {
    case.params.text("stores") == Some("non-temporal")
}

/// Returns the names of the software factors that differ between `before` and `now`. The driver
/// libraries of devices count only if both sides use such devices.
pub fn changed_software(before: &Fingerprint, now: &Fingerprint) -> Vec<String> {
    let names =
        before.factors.keys().chain(now.factors.keys()).sorted_unstable().dedup().collect_vec();
    names
        .into_iter()
        .filter(|name| {
            let [before, now] = [before, now].map(|side| side.factors.get(*name));
            let is_library = factor::DRIVER_LIBRARIES.contains(&name.as_str());
            before != now && !(is_library && (before.is_none() || now.is_none()))
        })
        .cloned()
        .collect()
}

/// Builds the document from the results and the environment of `run`.
pub fn document(run: &Run) -> PerformanceBaseline {
    let device = measured_cases(run)
        .find(|case| is_on_gpu(case))
        .or_else(|| measured_cases(run).next())
        .map(|case| case.benchmark_id.device());
    let gpu = device.and_then(|device| gpu_of(run, device));
    let is_cpu = device.is_some() && !measured_cases(run).any(is_on_gpu);
    let cpu = run.environment.cpu.as_ref().filter(|_| is_cpu);
    let mut document = PerformanceBaseline {
        format_version: FORMAT_VERSION,
        run_id: run.run_id.clone(),
        timestamp: run.started,
        device: device.as_ref().map(ToString::to_string),
        device_info: run.environment.rocm_installations.first().map(info).unwrap_or_default(),
        peak_memory_bandwidth_gb_s: best_value(run, device, "bandwidth_gb_s", None),
        peak_compute_tflops_fp32: best_value(run, device, "tflops", Some("f32")),
        peak_compute_tflops_fp16: best_value(run, device, "tflops", Some("f16")),
        cache_size_l1: cache_bytes(gpu, cpu, 1),
        cache_size_l2: cache_bytes(gpu, cpu, 2),
        cache_size_hbm: gpu.and_then(|gpu| gpu.vram_gb).map(|gb| (gb * 1e9) as u64),
        clock_rate_mhz: gpu.map_or_else(|| cpu?.max_mhz, |gpu| gpu.max_mhz),
        num_compute_units: gpu
            .map_or_else(|| cpu.map(|cpu| cpu.usable_cores), |gpu| gpu.compute_units),
        unknown: BTreeMap::new(),
        comparison: None,
        software_changes: Vec::new(),
        baseline_file: None,
        baseline_run_id: None,
    };
    document.unknown = unknown(&document, run, is_cpu);
    document
}

fn measured_cases(run: &Run) -> impl Iterator<Item = &BenchmarkResult> {
    run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured)
}

fn is_on_gpu(case: &BenchmarkResult) -> bool {
    case.device_type == Some(DeviceType::Gpu)
}

/// Returns the highest value of `metric` among the measured cases on `device`, limited to `dtype`
/// if given.
fn best_value(
    run: &Run,
    device: Option<CaseDevice>,
    metric: &str,
    dtype: Option<&str>,
) -> Option<f64> {
    let own = measured_cases(run).filter(|case| Some(case.benchmark_id.device()) == device);
    let fields = own.filter_map(BenchmarkResult::fields);
    let fields = fields.filter(|fields| dtype.is_none() || fields.text("dtype") == dtype);
    fields.filter_map(|fields| fields.number(metric)).reduce(f64::max)
}

/// Returns the size in bytes of a cache of level `level`: that of the GPU, if there is one.
fn cache_bytes(gpu: Option<&Gpu>, cpu: Option<&Cpu>, level: u32) -> Option<u64> {
    if let Some(gpu) = gpu {
        return data_cache(gpu, level);
    }
    cpu?.caches.iter().find(|cache| cache.level == level).map(|cache| cache.size_bytes)
}

/// Returns the GPU of `device`, found by its PCI address.
fn gpu_of(run: &Run, device: CaseDevice) -> Option<&Gpu> {
    let known = run.devices.iter().find(|known| CaseDevice::Device(known.device) == device)?;
    let address = known.pci_address.as_deref()?;
    run.environment.gpus.iter().find(|gpu| gpu.pci_address.as_deref() == Some(address))
}

/// Returns the size in bytes of one data cache of level `level`.
fn data_cache(gpu: &Gpu, level: u32) -> Option<u64> {
    gpu.caches
        .iter()
        .find(|cache| cache.level == level && cache.kind == GpuCacheKind::Data)
        .map(|cache| cache.size_bytes)
}

/// Converts a ROCm installation to its form in the document.
fn info(rocm: &RocmInstallation) -> InstallationInfo {
    let components = &rocm.components;
    InstallationInfo {
        version: rocm.version.clone(),
        installed_path: Some(rocm.path.clone()),
        build_date: rocm.build_date.clone(),
        commit_hash: rocm.commit.clone(),
        platforms: rocm.platform.clone().map(|platform| vec![platform]),
        components: Some(components.clone()),
        supported_gpus: Some(rocm.gpu_targets.clone()).filter(|targets| !targets.is_empty()),
        compiler_version: rocm.compilers.iter().find_map(|compiler| compiler.version.clone()),
        hsa_version: components.get("hsa").cloned(),
        rocm_smi_version: components.get("rocm-smi").or_else(|| components.get("amd-smi")).cloned(),
    }
}

/// Returns the reason for each field that is null.
fn unknown(document: &PerformanceBaseline, run: &Run, is_cpu: bool) -> BTreeMap<String, String> {
    let info = &document.device_info;
    let memory = if is_cpu {
        "a CPU has no memory of its own; `probe` shows the machine's memory".to_owned()
    } else {
        why_not_reported(document, is_cpu, "the memory")
    };
    [
        (
            "device_info.version",
            info.version.is_none(),
            why_not_in_rocm(info, "the file .info/version or a versioned library"),
        ),
        ("device_info.installed_path", info.installed_path.is_none(), why_not_in_rocm(info, "")),
        (
            "device_info.build_date",
            info.build_date.is_none(),
            why_not_in_rocm(info, "a file with the build date"),
        ),
        (
            "device_info.commit_hash",
            info.commit_hash.is_none(),
            why_not_in_rocm(info, "a file with the build commit"),
        ),
        (
            "device_info.platforms",
            info.platforms.is_none(),
            why_not_in_rocm(info, "the file .hipInfo"),
        ),
        ("device_info.components", info.components.is_none(), why_not_in_rocm(info, "")),
        (
            "device_info.supported_gpus",
            info.supported_gpus.is_none(),
            why_not_in_rocm(info, "a rocBLAS with kernels"),
        ),
        (
            "device_info.compiler_version",
            info.compiler_version.is_none(),
            why_not_in_rocm(info, "a compiler that reports its version"),
        ),
        (
            "device_info.hsa_version",
            info.hsa_version.is_none(),
            why_not_in_rocm(info, "libhsa-runtime64"),
        ),
        (
            "device_info.rocm_smi_version",
            info.rocm_smi_version.is_none(),
            why_not_in_rocm(info, "librocm_smi64 or libamd_smi"),
        ),
        (
            "peak_memory_bandwidth_gb_s",
            document.peak_memory_bandwidth_gb_s.is_none(),
            why_not_measured(run, "a bandwidth", "/memory-bandwidth/"),
        ),
        (
            "peak_compute_tflops_fp32",
            document.peak_compute_tflops_fp32.is_none(),
            why_not_measured(run, "a rate in f32", "/f32"),
        ),
        (
            "peak_compute_tflops_fp16",
            document.peak_compute_tflops_fp16.is_none(),
            why_not_measured(run, "a rate in f16", "/f16"),
        ),
        (
            "cache_size_l1",
            document.cache_size_l1.is_none(),
            why_not_reported(document, is_cpu, "the L1 cache"),
        ),
        (
            "cache_size_l2",
            document.cache_size_l2.is_none(),
            why_not_reported(document, is_cpu, "the L2 cache"),
        ),
        ("cache_size_hbm", document.cache_size_hbm.is_none(), memory),
        (
            "clock_rate_mhz",
            document.clock_rate_mhz.is_none(),
            why_not_reported(document, is_cpu, "the highest clock"),
        ),
        (
            "num_compute_units",
            document.num_compute_units.is_none(),
            why_not_reported(document, is_cpu, "the compute units"),
        ),
    ]
    .into_iter()
    .filter_map(|(name, is_unknown, why)| is_unknown.then(|| (name.to_owned(), why)))
    .collect()
}

fn why_not_in_rocm(info: &InstallationInfo, file: &str) -> String {
    match info.installed_path {
        None => "no ROCm installation was found".to_owned(),
        Some(_) => format!("the ROCm installation does not contain {file}"),
    }
}

/// Returns the reason of a case whose id contains `part`, or states that no case measured `metric`.
fn why_not_measured(run: &Run, metric: &str, part: &str) -> String {
    let skipped = run
        .benchmarks
        .iter()
        .find(|case| case.reason.is_some() && case.benchmark_id.as_str().contains(part));
    let why = skipped.and_then(|case| case.reason.as_ref()).map(ToString::to_string);
    why.unwrap_or_else(|| format!("no case measured {metric}"))
}

fn why_not_reported(document: &PerformanceBaseline, is_cpu: bool, what: &str) -> String {
    match (is_cpu, &document.device) {
        (_, None) => "nothing was measured".to_owned(),
        (true, _) => format!("the kernel does not report {what} of this CPU"),
        (false, _) => format!("the driver's files do not report {what} of this GPU"),
    }
}

#[cfg(test)]
mod tests;
