//! Which benchmarks make up each suite, and on which kind of device.

pub mod compared;

use rsb_model::{BackendId, DeviceType, Reason};
use rsb_workloads::{Breadth, RunsOn};

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
    /// The same points on every backend of each card, and of the processor.
    HardwareAcceleration,
    /// The `[[custom]]` entries of the configuration file.
    Custom,
}

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
            Self::HardwareAcceleration => "hardware-acceleration",
            Self::Custom => "custom",
        }
    }

    /// The native benchmarks in it.
    pub fn benchmarks(self) -> Vec<&'static str> {
        let holds = |runs_on: RunsOn| match self {
            Self::Component | Self::Custom | Self::HardwareAcceleration => false,
            Self::CpuPerformance => runs_on == RunsOn::Any,
            // What uses the host's tools is not of a card, and takes too long for a glance.
            Self::GpuPerformance | Self::Quick => !matches!(runs_on, RunsOn::Host(_)),
            Self::PreInstallation | Self::Full => true,
        };
        if self == Self::HardwareAcceleration {
            return compared::benchmarks();
        }
        let all = rsb_workloads::all().iter();
        all.filter(|benchmark| holds(benchmark.runs_on())).map(|benchmark| benchmark.name()).collect()
    }

    /// Whether it runs what uses the host's tools for cards that need not be here.
    pub const fn uses_host_tools(self) -> bool {
        matches!(self, Self::PreInstallation | Self::Full)
    }

    /// The components in it.
    pub fn components(self) -> Vec<&'static str> {
        match self {
            Self::Component | Self::Full => crate::frameworks::all().iter().map(|component| component.name).collect(),
            _ => Vec::new(),
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

    /// Whether a card is measured through every backend that reaches it, and not through one alone.
    pub fn compares_backends(self) -> bool {
        self == Self::HardwareAcceleration
    }

    /// The profile when none is asked for.
    pub const fn profile(self) -> Profile {
        match self {
            // Every point thoroughly would take a day.
            Self::Quick | Self::PreInstallation | Self::Component | Self::Full | Self::HardwareAcceleration => {
                Profile::Quick
            }
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

/// The backends that this build may lack, each with the reason that stands wherever it is asked for.
pub fn absent_backends() -> Vec<(BackendId, Reason)> {
    // The CPU is in every build.
    let absent = BackendId::ALL.into_iter().filter(|backend| *backend != BackendId::Cpu);
    absent.map(|backend| (backend, absent_backend(backend))).collect()
}

fn absent_backend(backend: BackendId) -> Reason {
    let cure = format!("build it with `--features {backend}`");
    Reason::new(format!("backend {backend}"), "this build was made without it", cure)
}

/// Run times of machine learning that no version measures on yet: their name, and how to measure that hardware today.
pub const RUN_TIMES_TO_COME: &[(&str, &str)] = &[
    ("mps", "measure a Mac's processor with --backend cpu; Metal comes with a later version"),
    ("openvino", "measure Intel's hardware with --backend oneapi, vulkan or cpu; OpenVINO comes with a later version"),
    ("qnn", "measure a Snapdragon's GPU with --backend vulkan or opencl; its NPU comes with a later version"),
];

/// Why nothing runs on one of [`RUN_TIMES_TO_COME`].
pub fn to_come(name: &str, cure: &str) -> Reason {
    Reason::new(format!("backend {name}"), "it is not yet available", cure)
}
