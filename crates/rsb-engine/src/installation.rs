//! What an installation reaches: a few cases that take less than a minute, and the document made of
//! them. Pure.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::environment::{Gpu, GpuCache, GpuCacheKind, RocmInstallation};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{InstallationInfo, PerformanceBaseline};
use rsb_model::shape::parse_bytes;
use rsb_model::{BenchmarkResult, Case, CaseDevice, DeviceType, Fingerprint, Outcome, Run, Suite};

use crate::plan::{CustomEntry, Plan, Selection};

/// The suite that such runs are of, and the name of the baseline.
pub const NAME: &str = "installation";

/// An axis and its points.
type AxisPoints = (&'static str, &'static [&'static str]);

/// Benchmark and axes: bandwidth, peaks, one product. [`narrow`] leaves of them what a device
/// needs.
const CASES: &[(&str, &[AxisPoints])] = &[
    ("memory-bandwidth", &[("operation", &["copy", "triad"])]),
    ("compute-peak", &[("dtype", &["f32", "f16"])]),
    ("tensor-core", &[("dtype", &["f16"]), ("engine", &["matrix"])]),
    ("gemm", &[("dtype", &["f32"]), ("shape", &[PRODUCT_OF_CPU, PRODUCT_OF_GPU])]),
];

const PRODUCT_OF_CPU: &str = "1024x1024x1024";
const PRODUCT_OF_GPU: &str = "4096x4096x4096";

/// `selection` with these cases in place of its own.
#[must_use]
pub fn selection(selection: Selection) -> Selection {
    let axis = |(name, values): &AxisPoints| {
        ((*name).to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
    };
    let entry = |(benchmark, axes): &(&str, &[AxisPoints])| CustomEntry {
        benchmark: (*benchmark).to_owned(),
        axes: axes.iter().map(axis).collect(),
    };
    let custom = CASES.iter().map(entry).collect();
    Selection { names: Vec::new(), suite: Suite::Custom, custom, ..selection }
}

/// Leaves the buffers that no cache holds, of the products the one that keeps the device busy, and
/// of arrays that can be stored around the caches two of four cases: the copy that every device
/// has, and the fastest triad.
pub fn narrow(plan: &mut Plan) {
    let size = |case: &Case| case.params.get_with("size", parse_bytes).ok();
    let mut largest: BTreeMap<String, u64> = BTreeMap::new();
    for case in &plan.cases {
        let known = largest.entry(case.device.to_string()).or_default();
        *known = (*known).max(size(case).unwrap_or(0));
    }
    let kinds = plan
        .devices
        .iter()
        .map(|device| (device.device.to_string(), device.device_type))
        .collect::<BTreeMap<_, _>>();
    let is_around = |case: &Case| case.params.text("stores") == Some("non-temporal");
    let has_choice = plan
        .cases
        .iter()
        .filter(|case| is_around(case))
        .map(|case| case.device.to_string())
        .sorted_unstable()
        .dedup()
        .collect_vec();
    plan.cases.retain(|case| {
        let device = case.device.to_string();
        let is_spare = match case.params.text("operation") {
            Some("copy") => is_around(case),
            Some("triad") => !is_around(case) && has_choice.contains(&device),
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
        size(case).is_none_or(|size| largest.get(&device) == Some(&size))
            && case.params.text("shape").is_none_or(|shape| shape == product)
    });
}

/// Factors of the software that differ between `before` and `now`.
pub fn changed_software(before: &Fingerprint, now: &Fingerprint) -> Vec<String> {
    let names =
        before.factors.keys().chain(now.factors.keys()).sorted_unstable().dedup().collect_vec();
    let is_changed = |name: &&String| before.factors.get(*name) != now.factors.get(*name);
    names.into_iter().filter(is_changed).cloned().collect()
}

/// What `run` says of the machine and its installation.
pub fn document(run: &Run) -> PerformanceBaseline {
    let measured = || run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured);
    let is_gpu = |case: &&BenchmarkResult| case.device_type == Some(DeviceType::Gpu);
    let device = measured()
        .find(is_gpu)
        .or_else(|| measured().next())
        .map(|case| case.benchmark_id.device());
    let gpu = device.and_then(|device| gpu_of(run, device));
    let is_cpu = device.is_some() && !measured().any(|case| is_gpu(&case));
    let cpu = run.environment.cpu.as_ref().filter(|_| is_cpu);
    let best = |metric: &str, dtype: Option<&str>| {
        let own = measured().filter(|case| Some(case.benchmark_id.device()) == device);
        let fields = own.filter_map(BenchmarkResult::fields);
        let fields = fields.filter(|fields| dtype.is_none() || fields.text("dtype") == dtype);
        fields.filter_map(|fields| fields.number(metric)).reduce(f64::max)
    };
    let cache = |level: u32| match gpu {
        Some(gpu) => data_cache(gpu, level),
        None => cpu?.caches.iter().find(|cache| cache.level == level).map(|cache| cache.size_bytes),
    };
    let mut document = PerformanceBaseline {
        format_version: FORMAT_VERSION,
        run_id: run.run_id.clone(),
        timestamp: run.started,
        device: device.as_ref().map(ToString::to_string),
        device_info: run.environment.rocm_installations.first().map(info).unwrap_or_default(),
        peak_memory_bandwidth_gb_s: best("bandwidth_gb_s", None),
        peak_compute_tflops_fp32: best("tflops", Some("f32")),
        peak_compute_tflops_fp16: best("tflops", Some("f16")),
        cache_size_l1: cache(1),
        cache_size_l2: cache(2),
        cache_size_hbm: gpu.and_then(|gpu| gpu.vram_gb).map(|gb| (gb * 1e9) as u64),
        clock_rate_mhz: gpu.map_or_else(|| cpu?.max_mhz, |gpu| gpu.max_mhz),
        num_compute_units: gpu
            .map_or_else(|| cpu.map(|cpu| cpu.usable_cores), |gpu| gpu.compute_units),
        unknown: BTreeMap::new(),
        comparison: None,
        baseline_file: None,
    };
    document.unknown = unknown(&document, run, is_cpu);
    document
}

/// The GPU behind `device`, by its address on the bus.
fn gpu_of(run: &Run, device: CaseDevice) -> Option<&Gpu> {
    let known = run.devices.iter().find(|known| CaseDevice::Device(known.device) == device)?;
    let address = known.pci_address.as_deref()?;
    run.environment.gpus.iter().find(|gpu| gpu.pci_address.as_deref() == Some(address))
}

/// Bytes of one data cache of `level`.
fn data_cache(gpu: &Gpu, level: u32) -> Option<u64> {
    let is_it = |cache: &&GpuCache| cache.level == level && cache.kind == GpuCacheKind::Data;
    gpu.caches.iter().find(is_it).map(|cache| cache.size_bytes)
}

/// What the files of an installation tell.
fn info(rocm: &RocmInstallation) -> InstallationInfo {
    let component = |name: &str| rocm.components.get(name).cloned();
    InstallationInfo {
        version: rocm.version.clone(),
        installed_path: Some(rocm.path.clone()),
        build_date: rocm.build_date.clone(),
        commit_hash: rocm.commit.clone(),
        platforms: rocm.platform.clone().map(|platform| vec![platform]),
        components: Some(rocm.components.clone()),
        supported_gpus: Some(rocm.gpu_targets.clone()).filter(|targets| !targets.is_empty()),
        compiler_version: rocm.compilers.iter().find_map(|compiler| compiler.version.clone()),
        hsa_version: component("hsa"),
        rocm_smi_version: component("rocm-smi").or_else(|| component("amd-smi")),
    }
}

/// The reason of each field that is null.
fn unknown(document: &PerformanceBaseline, run: &Run, is_cpu: bool) -> BTreeMap<String, String> {
    let info = &document.device_info;
    let of_rocm = |file: &str| match info.installed_path {
        None => "no installation of ROCm was found".to_owned(),
        Some(_) => format!("{file} is not in it"),
    };
    let of_case = |metric: &str, part: &str| {
        let told = run
            .benchmarks
            .iter()
            .find(|case| case.reason.is_some() && case.benchmark_id.as_str().contains(part));
        let why = told.and_then(|case| case.reason.as_ref()).map(ToString::to_string);
        why.unwrap_or_else(|| format!("no case gave {metric}"))
    };
    let of_device = |what: &str| match (is_cpu, &document.device) {
        (_, None) => "nothing was measured".to_owned(),
        (true, _) => format!("the kernel does not tell {what} of this CPU"),
        (false, _) => format!("the driver's files do not tell {what} of this GPU"),
    };
    let memory = if is_cpu {
        "a CPU has none of its own; `probe` shows the machine's".to_owned()
    } else {
        of_device("the memory")
    };
    [
        (
            "device_info.version",
            info.version.is_none(),
            of_rocm("the file .info/version or a versioned library"),
        ),
        ("device_info.installed_path", info.installed_path.is_none(), of_rocm("")),
        (
            "device_info.build_date",
            info.build_date.is_none(),
            of_rocm("a file with the date of the build"),
        ),
        (
            "device_info.commit_hash",
            info.commit_hash.is_none(),
            of_rocm("a file with the commit of the build"),
        ),
        ("device_info.platforms", info.platforms.is_none(), of_rocm("the file .hipInfo")),
        ("device_info.components", info.components.is_none(), of_rocm("")),
        (
            "device_info.supported_gpus",
            info.supported_gpus.is_none(),
            of_rocm("a rocBLAS with kernels"),
        ),
        (
            "device_info.compiler_version",
            info.compiler_version.is_none(),
            of_rocm("a compiler that tells its version"),
        ),
        ("device_info.hsa_version", info.hsa_version.is_none(), of_rocm("libhsa-runtime64")),
        (
            "device_info.rocm_smi_version",
            info.rocm_smi_version.is_none(),
            of_rocm("librocm_smi64 or libamd_smi"),
        ),
        (
            "peak_memory_bandwidth_gb_s",
            document.peak_memory_bandwidth_gb_s.is_none(),
            of_case("a bandwidth", "/memory-bandwidth/"),
        ),
        (
            "peak_compute_tflops_fp32",
            document.peak_compute_tflops_fp32.is_none(),
            of_case("a rate in f32", "/f32"),
        ),
        (
            "peak_compute_tflops_fp16",
            document.peak_compute_tflops_fp16.is_none(),
            of_case("a rate in f16", "/f16"),
        ),
        ("cache_size_l1", document.cache_size_l1.is_none(), of_device("the first cache")),
        ("cache_size_l2", document.cache_size_l2.is_none(), of_device("the second cache")),
        ("cache_size_hbm", document.cache_size_hbm.is_none(), memory),
        ("clock_rate_mhz", document.clock_rate_mhz.is_none(), of_device("the highest clock")),
        ("num_compute_units", document.num_compute_units.is_none(), of_device("the compute units")),
    ]
    .into_iter()
    .filter_map(|(name, is_unknown, why)| is_unknown.then(|| (name.to_owned(), why)))
    .collect()
}

#[cfg(test)]
mod tests;
