//! What a benchmark is, and a case of it that is ready to be timed.

use rsb_device::{Device, DeviceError, DeviceInfo, Operation, Registry};
use rsb_model::{BackendId, DeviceType, Fields, ParamError, Params, Reason};

use crate::axis::AxisInfo;

/// How many cases are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breadth {
    /// A few that say most, for every push.
    Quick,
    /// The useful cross-section.
    Standard,
    /// Everything.
    Full,
}

/// Values for some axes; every combination of them is a case, and the axes left out are at their
/// default.
pub type Grid = Vec<(&'static str, Vec<String>)>;

/// How long one iteration of a benchmark takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterations {
    /// Milliseconds at most.
    Short,
    /// Up to seconds: fewer samples and processes must do.
    Long,
    /// Milliseconds at most, and what they say depends on how long they are kept up: clocks and
    /// power settle in seconds.
    Sustained,
}

/// What a benchmark runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// CPUs and GPUs.
    Any,
    /// GPUs alone, whatever backend they are reached through.
    Gpus,
    /// The host, with the tools of any of these backends: no device of theirs is needed.
    Host(&'static [BackendId]),
    /// GPUs; and the host, with the tools of any of these backends, for GPUs that are not here.
    GpusAndHost(&'static [BackendId]),
    /// GPUs; and the host, for those whose sensors the driver shows though no runtime reaches them.
    GpusAndSensors,
}

impl RunsOn {
    /// Whether `device` is one of these.
    pub fn includes(self, device: &DeviceInfo) -> bool {
        let is_cpu = device.device.is_cpu();
        match self {
            Self::Any | Self::GpusAndHost(_) | Self::GpusAndSensors => true,
            Self::Gpus => !is_cpu,
            Self::Host(_) => is_cpu,
        }
    }

    /// The backends whose tools it uses on the host.
    pub const fn tools(self) -> &'static [BackendId] {
        match self {
            Self::Any | Self::Gpus | Self::GpusAndSensors => &[],
            Self::Host(tools) | Self::GpusAndHost(tools) => tools,
        }
    }

    /// In a word or two, for tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "GPUs, CPU",
            Self::Gpus => "GPUs",
            Self::Host(_) => "host",
            Self::GpusAndHost(_) | Self::GpusAndSensors => "GPUs, host",
        }
    }
}

/// What of a GPU a benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchmarkGroup {
    /// Memory and transfers.
    Memory,
    /// Arithmetic and operations of models.
    Compute,
    /// Several GPUs together.
    Scaling,
}

/// What is fixed of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct BenchmarkInfo {
    /// Also its subcommand: `memory-bandwidth`.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// Its parameters, in the order in which they show in an id.
    pub axes: &'static [AxisInfo],
    /// Group by which a configuration leaves it out on GPUs; `None` if it belongs to no group.
    pub group: Option<BenchmarkGroup>,
    /// Whether its arrays are as large as the caches require, and smaller if little memory is free.
    pub is_sized_by_caches: bool,
    /// What it runs on.
    pub runs_on: RunsOn,
    /// How many GPUs of one backend its cases take at least, unless their axes say otherwise.
    pub fewest_gpus: usize,
    /// Whether it needs the hardware counters of a cache.
    pub needs_counters: bool,
    /// How long one iteration takes.
    pub iterations: Iterations,
}

impl BenchmarkInfo {
    /// A benchmark without a name that has no axes and runs anywhere.
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

/// The result of preparing a case.
pub type PrepareResult<'d> = Result<Box<dyn Prepared + 'd>, Failure>;

/// Something to measure.
pub trait Benchmark: Sync {
    /// What is fixed of it.
    fn info(&self) -> BenchmarkInfo;

    /// Its name, which is also its subcommand.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Its parameters, in the order in which they show in an id.
    fn axes(&self) -> &'static [AxisInfo] {
        self.info().axes
    }

    /// The cases worth having on `device`.
    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid>;

    /// The operation of one case. What is made of several, or of none, tells
    /// [`Benchmark::footprint_bytes`] instead.
    ///
    /// # Errors
    /// When this combination of values does not go together: what, why, cure.
    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let _ = params;
        Err(Reason::new(
            format!("operation of {}", self.name()),
            "it is not made of a single one",
            "this is a defect of this program: please report it with the case's id",
        ))
    }

    /// Bytes that one case takes on its device.
    ///
    /// # Errors
    /// When this combination of values does not go together: what, why, cure.
    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        self.operation(params).map(|operation| operation.footprint_bytes())
    }

    /// A variable that the process of a case must have in its environment, and its value: what a
    /// library reads when it is loaded.
    fn environment(&self, params: &Params) -> Option<(&'static str, &'static str)> {
        let _ = params;
        None
    }

    /// Names of the factors ([`rsb_model::factor`]) that a case depends on, in addition to those of
    /// its device.
    fn factors(&self, params: &Params) -> &'static [&'static str] {
        let _ = params;
        &[]
    }

    /// Allocates, fills from a fixed seed, runs once and verifies: what is not verified is never
    /// timed.
    ///
    /// # Errors
    /// `Skipped` when this device cannot do it, `Failed` when it should have.
    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d>;

    /// As [`Benchmark::prepare`], with the backends of this build beside the device: for what needs
    /// a compiler of one, or the CPU beside a GPU.
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
    /// Runs exactly `iters` iterations and gives their nanoseconds together, by the device's clock.
    ///
    /// # Errors
    /// When a launch fails or the clock gives a time that cannot be.
    fn sample(&mut self, iters: u64) -> Result<f64, Failure>;

    /// The fields of the case when one iteration takes `time_ns`.
    ///
    /// # Errors
    /// When the figures are impossible (above the hardware's peak) or a measurement beside the case
    /// fails.
    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure>;

    /// What did the work, where it is not the device: a compiler, say.
    fn device_type(&self) -> Option<DeviceType> {
        None
    }
}

/// Why a case has no figures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It cannot run here; nothing is wrong with it.
    #[error("skipped: {0}")]
    Skipped(Reason),
    /// It ran and broke, or gave what cannot be.
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
    /// The reason in either case.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::Skipped(reason) | Self::Failed(reason) => reason,
        }
    }
}

/// A parameter that does not make a case.
pub(crate) fn unusable(error: &ParamError) -> Reason {
    Reason::new(
        "parameters of the case",
        error.to_string(),
        "see the axes of the benchmark in `list`",
    )
}
