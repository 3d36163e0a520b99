//! The machine that made a result: hardware, software, source and momentary state. Unknown is
//! `None`, never zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::gpu::{
    Ecc, EccCount, Gpu, GpuCache, GpuCacheKind, GpuKind, GpuLink, GpuMemory, Pcie, PcieLink,
    SensorName, UnreadGpu,
};
pub use crate::rocm::{Compiler, RocmInstallation, RocmSource};

/// Everything recorded beside a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Operating system and its version.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The CPU.
    pub cpu: Option<Cpu>,
    /// Memory of the machine (or of the control group, where that is less), in GB.
    pub memory_gb: Option<f64>,
    /// Graphics GPUs, in the order of the bus.
    pub gpus: Vec<Gpu>,
    /// GPUs that could not be read, or not to their end. What of them was read stands in `gpus`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_gpus: Vec<UnreadGpu>,
    /// Version of ROCm: of the installation that programs here would use.
    pub rocm: Option<String>,
    /// Every installation of ROCm, the one that counts first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rocm_installations: Vec<RocmInstallation>,
    /// Version of the CUDA toolkit that programs here would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Versions of ML frameworks by package name.
    pub frameworks: BTreeMap<String, String>,
    /// The source tree that was measured, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// How the machine was at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<MachineState>,
}

impl Environment {
    /// The commit whose source was measured, by its whole hash; `None` where the tree was changed,
    /// or is none.
    pub fn revision(&self) -> Option<&str> {
        let git = self.git.as_ref().filter(|git| !git.dirty)?;
        let is_whole = matches!(git.commit.len(), 40 | 64)
            && git.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then_some(git.commit.as_str())
    }
}

/// A CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// Name by the vendor. Clouds shorten it: see `family`.
    pub model: Option<String>,
    /// The family that the CPU itself tells, where it tells one; so for the two that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<u32>,
    /// The model within the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_number: Option<u32>,
    /// The revision of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stepping: Option<u32>,
    /// Instruction set: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Threads that this process may run on: affinity and control group counted in.
    pub usable_cores: u32,
    /// Threads of the machine.
    pub logical_cores: Option<u32>,
    /// Cores of the machine.
    pub physical_cores: Option<u32>,
    /// Highest clock in MHz, where the kernel tells.
    pub max_mhz: Option<f64>,
    /// Data and unified caches as one thread sees them, smallest level first.
    pub caches: Vec<Cache>,
    /// Vector extensions that matter here: `avx2`, `avx512f`, `amx-bf16`, `neon` …
    pub features: Vec<String>,
    /// The hypervisor, when there is one.
    pub hypervisor: Option<String>,
}

/// A cache as one thread sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is nearest.
    pub level: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// Threads that share it.
    pub shared_by: Option<u32>,
}

/// A source tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Git {
    /// Full hash of the commit.
    pub commit: String,
    /// Branch, unless detached.
    pub branch: Option<String>,
    /// Whether the tree differs from the commit.
    pub dirty: bool,
    /// SHA-256 of the changes to tracked files that are not committed, those below `baselines` and
    /// `benchmark_results` left out; `unknown` if git did not tell. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
}

/// How the machine was at one moment. It explains a figure; it does not decide comparability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineState {
    /// Runnable tasks over the last minute.
    pub load_average: Option<f64>,
    /// Frequency governor of the first usable thread.
    pub governor: Option<String>,
    /// Clock of the first usable thread in MHz.
    pub mhz: Option<f64>,
    /// Share of CPU time taken by the hypervisor since boot, or over the interval measured, in
    /// percent.
    pub steal_percent: Option<f64>,
    /// Times that a thread was throttled by heat.
    pub throttle_events: Option<u64>,
    /// Highest temperature sensor in °C.
    pub temperature_c: Option<f64>,
    /// What is likely to disturb measurements, a sentence each.
    pub warnings: Vec<String>,
}
