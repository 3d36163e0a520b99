//! Which benchmarks make up each suite, and on which kind of device.

use rsb_model::{BackendId, DeviceType, Reason};
use rsb_workloads::Breadth;

use crate::measure::Profile;

/// A named selection of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// What tells about the hardware before any ML stack is installed.
    PreInstallation,
    /// ML frameworks and other installed components.
    Component,
    /// Native kernels on graphics cards.
    GpuPerformance,
    /// Native kernels on the processor.
    CpuPerformance,
    /// A few points of every native benchmark on whatever is here.
    Quick,
    /// Every point of every benchmark on whatever is here.
    Full,
    /// The `[[custom]]` entries of the configuration file.
    Custom,
}

/// What tells about the hardware itself: rates of memory and arithmetic, latency, allocation.
const HARDWARE: &[&str] =
    &["control", "compute-peak", "memory-bandwidth", "memory-latency", "memory-allocation", "cache-hit-rate", "gemm"];

/// Framework components that no version measures yet; each is skipped with this said.
pub const COMPONENTS: &[&str] =
    &["pytorch", "triton", "flash-attention", "deepspeed", "vllm", "onnxruntime", "migraphx"];

impl Suite {
    /// The name on the command line and in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreInstallation => "pre-installation",
            Self::Component => "component",
            Self::GpuPerformance => "gpu-performance",
            Self::CpuPerformance => "cpu-performance",
            Self::Quick => "quick",
            Self::Full => "full",
            Self::Custom => "custom",
        }
    }

    /// The native benchmarks in it.
    pub fn benchmarks(self) -> Vec<&'static str> {
        let all = || rsb_workloads::all().iter().map(|benchmark| benchmark.name());
        match self {
            Self::PreInstallation => all().filter(|name| HARDWARE.contains(name)).collect(),
            Self::Component | Self::Custom => Vec::new(),
            Self::GpuPerformance | Self::CpuPerformance | Self::Quick | Self::Full => all().collect(),
        }
    }

    /// The components in it.
    pub const fn components(self) -> &'static [&'static str] {
        match self {
            Self::Component | Self::Full => COMPONENTS,
            _ => &[],
        }
    }

    /// Whether it runs on devices of this kind, reached through this backend.
    pub fn wants(self, backend: BackendId, device_type: DeviceType) -> bool {
        match self {
            Self::GpuPerformance => backend != BackendId::Cpu,
            Self::CpuPerformance => device_type == DeviceType::Cpu,
            _ => true,
        }
    }

    /// The profile when none is asked for.
    pub const fn profile(self) -> Profile {
        match self {
            // Every point thoroughly would take a day.
            Self::Quick | Self::PreInstallation | Self::Full => Profile::Quick,
            _ => Profile::Standard,
        }
    }

    /// How many points of each benchmark.
    pub const fn breadth(self, profile: Profile) -> Breadth {
        match self {
            Self::Quick => Breadth::Quick,
            Self::Full => Breadth::Full,
            _ => profile.breadth(),
        }
    }
}

/// The backends that no version has yet, each with the reason that stands wherever it is asked for.
pub fn absent_backends() -> Vec<(BackendId, Reason)> {
    let absent = [BackendId::Rocm, BackendId::Cuda, BackendId::Vulkan, BackendId::Opencl, BackendId::Oneapi];
    let reason = Reason::new(
        "GPU backends",
        "this version measures processors and, through ROCm, cards of AMD",
        "measure with --backend cpu or rocm; other GPUs come with a later version",
    );
    absent.into_iter().map(|backend| (backend, reason.clone())).collect()
}
