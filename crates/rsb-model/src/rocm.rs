//! Installations of ROCm as their files describe them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One installation of ROCm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RocmInstallation {
    /// Its version: `6.4.3`.
    pub version: Option<String>,
    /// Its directory.
    pub path: String,
    /// How it came here.
    pub source: RocmSource,
    /// The build within the version: `127`.
    pub build: Option<String>,
    /// The day that it was built on, where a file tells: `2026-08-13`.
    pub build_date: Option<String>,
    /// The commit that it was built from, where a file tells.
    pub commit: Option<String>,
    /// The platform of HIP: `amd` or `nvidia`.
    pub platform: Option<String>,
    /// Version of each component that is there, by its short name: hip, hsa, rocblas …
    pub components: BTreeMap<String, String>,
    /// Compilers that are there.
    pub compilers: Vec<Compiler>,
    /// GPUs that its rocBLAS has kernels for: `gfx90a` …
    pub gpu_targets: Vec<String>,
}

/// How an installation came here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RocmSource {
    /// A directory of its own, such as `/opt/rocm-6.4.3`. Documents call it `folder`.
    #[default]
    #[serde(rename = "folder", alias = "directory")]
    Directory,
    /// The distribution's own packages, beside its other libraries.
    Distribution,
    /// Packages of Python.
    Wheel,
}

impl RocmSource {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "folder",
            Self::Distribution => "distribution",
            Self::Wheel => "wheel",
        }
    }
}

/// A compiler of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compiler {
    /// `hipcc`, `amdclang` …
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Its version, where a file tells.
    pub version: Option<String>,
}
