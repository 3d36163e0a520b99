//! Performance of a machine with its installed software, measured before and after an installation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ComparisonResult;
use crate::fingerprint::Difference;
use crate::ids::RunId;

/// Document written by `doctor --baseline`: best values of a short run, and the ROCm installation
/// that they were measured with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PerformanceBaseline {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Id of the run, which contains all values with their samples.
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// Time at which the run began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Device of the values, such as `rocm:0`: the first GPU that was measured, or the CPU if there
    /// is none.
    pub device: Option<String>,
    /// ROCm installation that programs on this machine would use.
    pub device_info: InstallationInfo,
    /// Highest measured memory bandwidth, in GB/s.
    pub peak_memory_bandwidth_gb_s: Option<f64>,
    /// Highest measured f32 rate, in TFLOP/s.
    pub peak_compute_tflops_fp32: Option<f64>,
    /// Highest measured f16 rate, in TFLOP/s.
    pub peak_compute_tflops_fp16: Option<f64>,
    /// Size of one level 1 data cache, in bytes.
    pub cache_size_l1: Option<u64>,
    /// Size of one level 2 data cache, in bytes.
    pub cache_size_l2: Option<u64>,
    /// Size of the GPU memory (HBM or another type), in bytes.
    pub cache_size_hbm: Option<u64>,
    /// Highest clock listed by the driver or the kernel, in MHz.
    pub clock_rate_mhz: Option<f64>,
    /// Number of compute units of the GPU, or of usable threads of the CPU.
    pub num_compute_units: Option<u32>,
    /// Reasons for null values, by field name.
    pub unknown: BTreeMap<String, String>,
    /// Comparison of this run with the previously saved one. Null if none was saved.
    pub comparison: Option<ComparisonResult>,
    /// Differences in software from the previously saved run, with full versions. Empty if none was
    /// saved.
    pub software_changes: Vec<Difference>,
    /// Baseline file that the next installation is compared with.
    pub baseline_file: Option<String>,
    /// Id of the run in that file: this run, or the previously saved one if that was kept.
    pub baseline_run_id: Option<String>,
}

/// ROCm installation as described by its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InstallationInfo {
    /// Version, such as `6.4.3`.
    pub version: Option<String>,
    /// Installation directory.
    pub installed_path: Option<String>,
    /// Build date.
    pub build_date: Option<String>,
    /// Commit of the build.
    pub commit_hash: Option<String>,
    /// HIP platforms: `amd` or `nvidia`.
    pub platforms: Option<Vec<String>>,
    /// Versions of the installed components, by short name.
    pub components: Option<BTreeMap<String, String>>,
    /// GPU targets for which its rocBLAS has kernels: `gfx90a` …
    pub supported_gpus: Option<Vec<String>>,
    /// Version of the first compiler in the installation.
    pub compiler_version: Option<String>,
    /// Version of the HSA runtime.
    pub hsa_version: Option<String>,
    /// Version of ROCm SMI, or of AMD SMI if ROCm SMI is missing.
    pub rocm_smi_version: Option<String>,
}
