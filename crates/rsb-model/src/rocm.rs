//! ROCm installations as described by their files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One ROCm installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RocmInstallation {
    /// Version, such as `6.4.3`.
    pub version: Option<String>,
    /// Installation directory.
    pub path: String,
    /// How ROCm was installed.
    pub source: RocmSource,
    /// Build number within the version, such as `127`.
    pub build: Option<String>,
    /// Build date, such as `2026-08-13`. Null if no file reports it.
    pub build_date: Option<String>,
    /// Commit of the build. Null if no file reports it.
    pub commit: Option<String>,
    /// HIP platform: `amd` or `nvidia`.
    pub platform: Option<String>,
    /// Versions of the installed components by short name: hip, hsa, rocblas …
    pub components: BTreeMap<String, String>,
    /// Installed compilers.
    pub compilers: Vec<Compiler>,
    /// GPU targets for which its rocBLAS has kernels: `gfx90a` …
    pub gpu_targets: Vec<String>,
}

named_enum! {
    serde
    /// How ROCm was installed.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RocmSource {
        /// Separate directory, such as `/opt/rocm-6.4.3`. Documents use the word `folder`.
        #[default]
        #[serde(alias = "directory")]
        Directory = "folder",
        /// Packages of the Linux distribution, next to its other libraries.
        Distribution = "distribution",
        /// Python packages.
        Wheel = "wheel",
    }
}

/// Compiler of a ROCm installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compiler {
    /// Name: `hipcc`, `amdclang` …
    pub name: String,
    /// Path of the executable.
    pub path: String,
    /// Version. Null if no file reports it.
    pub version: Option<String>,
}
