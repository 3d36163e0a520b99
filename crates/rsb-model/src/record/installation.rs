//! What a machine reaches with the software that is installed on it: measured before an
//! installation and after it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ComparisonResult;
use crate::ids::RunId;

/// What `doctor --baseline` writes: the best figures of a short run, and the installation that they
/// were measured with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PerformanceBaseline {
    /// See [`crate::format`].
    pub format_version: u32,
    /// The run that holds every figure with its samples.
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// When it began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// The device that the figures are of, such as `rocm:0`: the first GPU that was measured, else
    /// the CPU.
    pub device: Option<String>,
    /// The installation of ROCm that programs here would use.
    pub device_info: InstallationInfo,
    /// Highest bandwidth of memory that was measured, in GB/s.
    pub peak_memory_bandwidth_gb_s: Option<f64>,
    /// Highest rate in f32 that was measured, in TFLOP/s.
    pub peak_compute_tflops_fp32: Option<f64>,
    /// Highest rate in f16 that was measured, in TFLOP/s.
    pub peak_compute_tflops_fp16: Option<f64>,
    /// Bytes of one data cache of the first level.
    pub cache_size_l1: Option<u64>,
    /// Bytes of one data cache of the second level.
    pub cache_size_l2: Option<u64>,
    /// Bytes of the GPU's own memory: HBM or another kind.
    pub cache_size_hbm: Option<u64>,
    /// Highest clock that the driver or the kernel lists, in MHz.
    pub clock_rate_mhz: Option<f64>,
    /// Compute units of the GPU, or usable threads of the CPU.
    pub num_compute_units: Option<u32>,
    /// Why a field above is null, by its name.
    pub unknown: BTreeMap<String, String>,
    /// This run against the one that was saved before; null where none was.
    pub comparison: Option<ComparisonResult>,
    /// The file of the baseline that the next installation is compared with.
    pub baseline_file: Option<String>,
}

/// An installation of ROCm, as its files tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InstallationInfo {
    /// Its version: `6.4.3`.
    pub version: Option<String>,
    /// Its directory.
    pub installed_path: Option<String>,
    /// The day that it was built on.
    pub build_date: Option<String>,
    /// The commit that it was built from.
    pub commit_hash: Option<String>,
    /// Platforms of HIP: `amd` or `nvidia`.
    pub platforms: Option<Vec<String>>,
    /// Version of each component that is there, by its short name.
    pub components: Option<BTreeMap<String, String>>,
    /// GPUs that its rocBLAS has kernels for: `gfx90a` …
    pub supported_gpus: Option<Vec<String>>,
    /// Version of its first compiler.
    pub compiler_version: Option<String>,
    /// Version of the HSA runtime.
    pub hsa_version: Option<String>,
    /// Version of ROCm SMI, else of AMD SMI.
    pub rocm_smi_version: Option<String>,
}
