//! Which benchmarks make up each suite, and on which kind of device.

pub mod compared;

use rsb_model::{BackendId, Profile, Reason, Suite};
use rsb_workloads::{Breadth, RunsOn};

/// The native benchmarks in `suite`.
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
        Suite::CpuPerformance => runs_on == RunsOn::Any,
        // What uses the host's tools is not of a GPU, and takes too long for a glance.
        Suite::GpuPerformance | Suite::Quick => !matches!(runs_on, RunsOn::Host(_)),
        Suite::PreInstallation | Suite::Full => true,
    }
}

/// The framework components in `suite`.
pub fn components(suite: Suite) -> Vec<&'static str> {
    match suite {
        Suite::Component | Suite::Full => {
            crate::frameworks::all().iter().map(|component| component.name).collect()
        }
        _ => Vec::new(),
    }
}

/// How many points of each benchmark `suite` takes under `profile`.
pub const fn breadth(suite: Suite, profile: Profile) -> Breadth {
    match suite {
        Suite::Quick => Breadth::Quick,
        Suite::Full => Breadth::Full,
        _ => breadth_of(profile),
    }
}

/// How many points of a benchmark that is asked for by its name.
pub const fn breadth_of(profile: Profile) -> Breadth {
    match profile {
        Profile::Quick => Breadth::Quick,
        Profile::Standard => Breadth::Standard,
        Profile::Thorough => Breadth::Full,
    }
}

/// The backends that this build may lack, each with the reason that stands wherever it is asked
/// for.
pub fn absent_backends() -> Vec<(BackendId, Reason)> {
    // The CPU is in every build.
    let absent = BackendId::ALL.into_iter().filter(|backend| *backend != BackendId::Cpu);
    absent.map(|backend| (backend, absent_backend(backend))).collect()
}

fn absent_backend(backend: BackendId) -> Reason {
    let cure = format!("build it with `--features {backend}`");
    Reason::new(format!("backend {backend}"), "this build was made without it", cure)
}

/// Runtimes of machine learning that run models and no benchmark of our own: their name, and how to
/// measure that hardware.
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

/// Why nothing else runs on one of [`RUNTIMES_OF_MODELS`].
pub fn models_alone(name: &str, cure: &str) -> Reason {
    Reason::new(format!("backend {name}"), "it only runs models", cure)
}
