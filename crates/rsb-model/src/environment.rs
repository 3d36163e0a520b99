//! Machine that produced a result: hardware, software, source tree and momentary state. Unknown
//! values are `None`, never zero.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::gpu::{
    Ecc, EccCount, Gpu, GpuCache, GpuCacheKind, GpuKind, GpuLink, GpuMemory, Pcie, PcieLink,
    SensorName, UnreadGpu,
};
pub use crate::rocm::{Compiler, RocmInstallation, RocmSource};

/// Longest list of GPUs that is read. Without a limit, a file of empty entries, of three bytes
/// each, would need several hundred times its size in memory.
const MOST_GPUS: usize = 4_096;

fn gpus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Gpu>, D::Error> {
    struct GpuList;

    impl<'de> Visitor<'de> for GpuList {
        type Value = Vec<Gpu>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a list of at most {MOST_GPUS} GPUs")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Gpu>, A::Error> {
            let mut gpus = Vec::new();
            while let Some(gpu) = list.next_element()? {
                if gpus.len() == MOST_GPUS {
                    return Err(A::Error::invalid_length(MOST_GPUS + 1, &self));
                }
                gpus.push(gpu);
            }
            Ok(gpus)
        }
    }

    deserializer.deserialize_seq(GpuList)
}

/// Machine on which a run was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Operating system and its version.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The CPU.
    pub cpu: Option<Cpu>,
    /// Memory in GB: of the machine, or the limit of the control group if that is lower.
    pub memory_gb: Option<f64>,
    /// GPUs, in PCI bus order.
    #[serde(deserialize_with = "gpus")]
    pub gpus: Vec<Gpu>,
    /// GPUs that could not be read, or only in part. `gpus` contains the part that was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_gpus: Vec<UnreadGpu>,
    /// Drivers of the planned Vulkan and OpenCL devices, by device: `vulkan:0` is `radv 25.0.3`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drivers: BTreeMap<String, String>,
    /// Version of the ROCm installation that programs on this machine would use.
    pub rocm: Option<String>,
    /// All ROCm installations, the one that programs would use first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rocm_installations: Vec<RocmInstallation>,
    /// Version of the CUDA toolkit that programs on this machine would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Versions of installed ML frameworks by package name.
    pub frameworks: BTreeMap<String, String>,
    /// Source tree that was measured. Absent if the benchmark did not run in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// State of the machine at the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<MachineState>,
}

impl Environment {
    /// Returns the full hash of the measured commit; `None` if the tree had uncommitted changes or
    /// there was no source tree.
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
    /// Vendor name. Cloud providers shorten it; see `family`.
    pub model: Option<String>,
    /// Family number reported by the CPU, if any. `model_number` and `stepping` come from the same
    /// source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<u32>,
    /// Model number within the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_number: Option<u32>,
    /// Revision of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stepping: Option<u32>,
    /// Instruction set: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Hardware threads that this process may use, limited by CPU affinity and control group.
    pub usable_cores: u32,
    /// Hardware threads of the machine.
    pub logical_cores: Option<u32>,
    /// Physical cores of the machine.
    pub physical_cores: Option<u32>,
    /// Highest clock in MHz, if the kernel reports it.
    pub max_mhz: Option<f64>,
    /// Data and unified caches as seen by one thread, smallest level first.
    pub caches: Vec<Cache>,
    /// Vector extensions that the benchmarks use: `avx2`, `avx512f`, `amx-bf16`, `neon` …
    pub features: Vec<String>,
    /// Name of the hypervisor. Null on bare metal.
    pub hypervisor: Option<String>,
}

/// Cache as seen by one thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level; 1 is closest to the core.
    pub level: u32,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Number of hardware threads that share the cache.
    pub shared_by: Option<u32>,
}

/// Git working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Git {
    /// Full hash of the commit.
    pub commit: String,
    /// Branch name. Null if HEAD is detached.
    pub branch: Option<String>,
    /// Whether the tree has uncommitted changes.
    pub dirty: bool,
    /// SHA-256 of the uncommitted changes to tracked files, except those below `baselines` and
    /// `benchmark_results`. `unknown` if git could not report them. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
}

/// State of a machine at one moment. It helps to explain a value, but does not decide whether
/// results are comparable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineState {
    /// Average number of runnable tasks over the last minute.
    pub load_average: Option<f64>,
    /// Frequency governor of the first usable thread.
    pub governor: Option<String>,
    /// Clock of the first usable thread, in MHz.
    pub mhz: Option<f64>,
    /// Share of CPU time taken by the hypervisor, in percent, since boot or over the measured
    /// interval.
    pub steal_percent: Option<f64>,
    /// Number of times that a thread was throttled because of heat.
    pub throttle_events: Option<u64>,
    /// Reading of the hottest temperature sensor, in °C.
    pub temperature_c: Option<f64>,
    /// Conditions that are likely to disturb measurements, one sentence each.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_gpus_than_a_machine_has_are_refused() {
        let of = |count: usize| format!("{{\"gpus\": [{}]}}", vec!["{}"; count].join(","));
        let most: Environment = serde_json::from_str(&of(MOST_GPUS)).unwrap();
        assert_eq!(most.gpus.len(), MOST_GPUS);
        let error = serde_json::from_str::<Environment>(&of(MOST_GPUS + 1)).unwrap_err();
        assert!(error.to_string().contains("a list of at most 4096 GPUs"), "{error}");
    }
}
