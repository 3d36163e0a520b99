//! Benchmarks and components of each suite.

pub mod compared;

use rsb_model::{BackendId, Profile, Reason, Suite};
use rsb_workloads::{Breadth, RunsOn};

/// Returns the names of the native benchmarks in `suite`.
pub fn benchmarks(suite: Suite) -> Vec<&'static str> {
    if suite == Suite::HardwareAcceleration {
        return compared::benchmarks();
    }
    let all = rsb_workloads::all().iter();
    all.filter(|benchmark| is_in_suite(benchmark.info().runs_on, suite))
        .map(|benchmark| benchmark.name())
        .collect()
}

fn is_in_suite(runs_on: RunsOn, suite: Suite) -> bool {
    match suite {
        Suite::Component | Suite::Custom | Suite::HardwareAcceleration => false,
        Suite::CpuPerformance => matches!(runs_on, RunsOn::Any | RunsOn::Cpu),
        Suite::GpuPerformance => !matches!(runs_on, RunsOn::Cpu | RunsOn::Host(_)),
        // Benchmarks of host tools take too long for a quick run.
        Suite::Quick => !matches!(runs_on, RunsOn::Host(_)),
        Suite::PreInstallation | Suite::Full => true,
    }
}

/// Returns the names of the framework components in `suite`, and `models`.
pub fn components(suite: Suite) -> Vec<&'static str> {
    match suite {
        Suite::Component | Suite::Full => {
            crate::frameworks::all_and_models().map(|component| component.name).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns how many points of each benchmark `suite` includes under `profile`.
pub const fn breadth(suite: Suite, profile: Profile) -> Breadth {
    match suite {
        Suite::Quick => Breadth::Quick,
        Suite::Full => Breadth::Full,
        _ => breadth_of(profile),
    }
}

/// Returns how many points `profile` includes of a benchmark selected by name.
pub const fn breadth_of(profile: Profile) -> Breadth {
    match profile {
        Profile::Quick => Breadth::Quick,
        Profile::Standard => Breadth::Standard,
        Profile::Thorough => Breadth::Full,
    }
}

/// Returns the backends that a build can lack, each with the reason to show if it is missing.
pub fn absent_backends() -> Vec<(BackendId, Reason)> {
    // The CPU is part of every build.
    let absent = BackendId::ALL.into_iter().filter(|backend| *backend != BackendId::Cpu);
    absent.map(|backend| (backend, absent_backend(backend))).collect()
}

fn absent_backend(backend: BackendId) -> Reason {
    let cure = format!("build it with `--features {backend}`");
    Reason::new(format!("backend {backend}"), "this build does not include this backend", cure)
}

/// ML runtimes that run models but none of the native benchmarks: the name, and a hint on how to
/// measure their hardware.
pub const RUNTIMES_OF_MODELS: &[(&str, &str)] = &[
    (
        "mps",
        "models run on a Mac's GPU by PyTorch: `models --backend mps`; measure its CPU with \
         --backend cpu",
    ),
    (
        "openvino",
        "models run in OpenVINO itself: `models --backend openvino`; measure Intel's hardware with \
         --backend oneapi, vulkan or cpu",
    ),
    (
        "qnn",
        "models run on an emulated Snapdragon: `models --backend qnn`; measure the GPU of a real \
         one with --backend vulkan or opencl",
    ),
];

/// Returns the reason why the backend `name`, one of [`RUNTIMES_OF_MODELS`], has no native
/// benchmarks.
pub fn models_alone(name: &str, cure: &str) -> Reason {
    Reason::new(format!("backend {name}"), "it only runs models", cure)
}
