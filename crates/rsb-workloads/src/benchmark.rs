//! The benchmark trait, and cases that are ready to be timed.

use rsb_device::{Device, DeviceError, DeviceInfo, Operation, Registry};
use rsb_model::{BackendId, DeviceType, Fields, ParamError, Params, Reason};

use crate::axis::AxisInfo;

/// Size of the selection of cases to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breadth {
    /// The few most informative cases, for every push.
    Quick,
    /// A representative selection.
    Standard,
    /// All cases.
    Full,
}

/// Values for some axes. Every combination of them is a case; other axes have their default.
pub type Grid = Vec<(&'static str, Vec<String>)>;

/// Duration of one iteration of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterations {
    /// Milliseconds at most.
    Short,
    /// Up to seconds, which requires fewer samples and processes.
    Long,
    /// Milliseconds at most, but results depend on the total duration, since clocks and power
    /// settle within seconds.
    Sustained,
}

/// Devices that a benchmark runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// CPUs and GPUs.
    Any,
    /// GPUs only, through any backend.
    Gpus,
    /// The native CPU backend only, not the CPU as an OpenCL or Vulkan device.
    Cpu,
    /// The host, with the tools of any of these backends. No GPU is needed.
    Host(&'static [BackendId]),
    /// GPUs, and the host with the tools of any of these backends, for GPUs that are not present.
    GpusAndHost(&'static [BackendId]),
    /// GPUs, and the host for GPUs without a runtime whose sensors the driver exposes.
    GpusAndSensors,
}

impl RunsOn {
    /// Returns whether benchmarks with this setting run on `device`.
    pub fn includes(self, device: &DeviceInfo) -> bool {
        let is_cpu = device.device.is_cpu();
        match self {
            Self::Any | Self::GpusAndHost(_) | Self::GpusAndSensors => true,
            Self::Gpus => !is_cpu,
            Self::Cpu | Self::Host(_) => is_cpu,
        }
    }

    /// Returns the backends whose tools are used on the host.
    pub const fn tools(self) -> &'static [BackendId] {
        match self {
            Self::Any | Self::Gpus | Self::Cpu | Self::GpusAndSensors => &[],
            Self::Host(tools) | Self::GpusAndHost(tools) => tools,
        }
    }

    /// Returns a short name, for tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "GPUs, CPU",
            Self::Gpus => "GPUs",
            Self::Cpu => "CPU",
            Self::Host(_) => "host",
            Self::GpusAndHost(_) | Self::GpusAndSensors => "GPUs, host",
        }
    }
}

/// Aspect of a GPU that a benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchmarkGroup {
    /// Memory and transfers.
    Memory,
    /// Arithmetic, and operations of models.
    Compute,
    /// Several GPUs together.
    Scaling,
}

/// Static properties of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct BenchmarkInfo {
    /// Name, also of its subcommand: `memory-bandwidth`.
    pub name: &'static str,
    /// One-line description for `--help`.
    pub about: &'static str,
    /// Parameters, in their order in an ID.
    pub axes: &'static [AxisInfo],
    /// Group by which a configuration can exclude it on GPUs; `None` if it belongs to no group.
    pub group: Option<BenchmarkGroup>,
    /// Whether array sizes depend on the caches and are reduced if little memory is free.
    pub is_sized_by_caches: bool,
    /// Devices that the benchmark runs on.
    pub runs_on: RunsOn,
    /// Minimum number of GPUs of one backend that its cases use, unless their axes specify
    /// otherwise.
    pub fewest_gpus: usize,
    /// Whether the benchmark requires hardware counters of a cache.
    pub needs_counters: bool,
    /// Duration of one iteration.
    pub iterations: Iterations,
}

impl BenchmarkInfo {
    /// Default properties: no name, no axes, and any device.
    pub const DEFAULT: Self = Self {
        name: "",
        about: "",
        axes: &[],
        group: None,
        is_sized_by_caches: false,
        runs_on: RunsOn::Any,
        fewest_gpus: 1,
        needs_counters: false,
        iterations: Iterations::Short,
    };
}

/// Result of preparing a case.
pub type PrepareResult<'d> = Result<Box<dyn Prepared + 'd>, Failure>;

/// A benchmark.
pub trait Benchmark: Sync {
    /// Returns the static properties.
    fn info(&self) -> BenchmarkInfo;

    /// Returns the name, which is also the name of the subcommand.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Returns the parameters, in their order in an ID.
    fn axes(&self) -> &'static [AxisInfo] {
        self.info().axes
    }

    /// Returns the recommended cases on `device`.
    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid>;

    /// Returns the operation of one case. Benchmarks with several operations or none implement
    /// [`Benchmark::footprint_bytes`] instead.
    ///
    /// # Errors
    /// If this combination of values is invalid, with the reason and a fix.
    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let _ = params;
        Err(Reason::new(
            format!("operation of {}", self.name()),
            "it does not consist of a single operation",
            "report this as a bug with the case id",
        ))
    }

    /// Returns the bytes that one case needs on its device.
    ///
    /// # Errors
    /// If this combination of values is invalid, with the reason and a fix.
    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        self.operation(params).map(|operation| operation.footprint_bytes())
    }

    /// Returns an environment variable and its value for the process of a case, for settings that a
    /// library reads when it is loaded.
    fn environment(&self, params: &Params) -> Option<(&'static str, &'static str)> {
        let _ = params;
        None
    }

    /// Returns the names of the factors ([`rsb_model::factor`]) that affect a case, in addition to
    /// those of its device.
    fn factors(&self, params: &Params) -> &'static [&'static str] {
        let _ = params;
        &[]
    }

    /// Allocates the buffers, fills them from a fixed seed, runs the case once and verifies the
    /// result. Only verified cases are timed.
    ///
    /// # Errors
    /// `Skipped` if this device does not support the case, `Failed` if it should have worked.
    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d>;

    /// Prepares a case with access to the backends of this build, for cases that also need a
    /// compiler, or the CPU in addition to a GPU. See [`Benchmark::prepare`].
    ///
    /// # Errors
    /// As [`Benchmark::prepare`].
    fn prepare_with<'d>(
        &self,
        params: &Params,
        device: &'d dyn Device,
        backends: &Registry,
    ) -> PrepareResult<'d> {
        let _ = backends;
        self.prepare(params, device)
    }
}

/// A case that is ready to be timed.
pub trait Prepared {
    /// Runs exactly `iters` iterations and returns their total time in nanoseconds by the device's
    /// clock.
    ///
    /// # Errors
    /// If a launch fails or the clock returns an impossible time.
    fn sample(&mut self, iters: u64) -> Result<f64, Failure>;

    /// Returns the fields of the case for an iteration time of `time_ns`.
    ///
    /// # Errors
    /// If a value is impossible (above the hardware's peak) or an additional measurement fails.
    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure>;

    /// Returns the type of the measured component if it is not the device, such as a compiler.
    fn device_type(&self) -> Option<DeviceType> {
        None
    }
}

/// Reason why a case has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The case cannot run here; this is not an error.
    #[error("skipped: {0}")]
    Skipped(Reason),
    /// The case failed, or returned an impossible result.
    #[error("failed: {0}")]
    Failed(Reason),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Unsupported(reason) => Self::Skipped(reason),
            DeviceError::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl Failure {
    /// Returns the reason.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::Skipped(reason) | Self::Failed(reason) => reason,
        }
    }
}

/// Returns the reason why a parameter is invalid.
pub(crate) fn unusable(error: &ParamError) -> Reason {
    Reason::new(
        "parameters of the case",
        error.to_string(),
        "run `list -v` to see the axes of the benchmark",
    )
}
