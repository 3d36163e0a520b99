//! What the checks judge: records of cases, and what other programs said.

use rsb_device::DeviceInfo;
use rsb_model::{BackendId, BenchmarkResult, DeviceRef, Finding, Reason, Unit};
use serde::{Deserialize, Serialize};

/// Everything that one check looks at. A check fills the parts that it needs.
#[derive(Debug, Clone, Default)]
pub struct CheckEvidence {
    /// The devices that are checked.
    pub devices: Vec<DeviceInfo>,
    /// The cases of the check.
    pub results: Vec<BenchmarkResult>,
    /// The same cases, measured earlier.
    pub before: Vec<BenchmarkResult>,
    /// What the vendors' tools list.
    pub inventories: Vec<Inventory>,
    /// Backends whose library is here and broken.
    pub broken: Vec<(BackendId, Reason)>,
    /// What `doctor` finds.
    pub findings: Vec<Finding>,
    /// The modules that were compiled.
    pub modules: Vec<CompiledModule>,
    /// How the pointer chase reads memory.
    pub chases: Vec<PointerChaseLoads>,
    /// The mutants that verification was tried on.
    pub mutants: Vec<DeviceMutants>,
    /// The same work by other programs.
    pub rivals: Vec<VendorToolResult>,
    /// Kernel times by a profiler.
    pub kernel_times: Vec<KernelTime>,
    /// Why nothing was looked at.
    pub reason: Option<Reason>,
}

impl CheckEvidence {
    /// The device called `device`.
    pub(super) fn device(&self, device: DeviceRef) -> Option<&DeviceInfo> {
        self.devices.iter().find(|known| known.device == device)
    }
}

/// A GPU as a vendor's tool lists it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedGpu {
    /// Marketing name.
    pub name: String,
    /// Architecture: `gfx942`, `sm_90`.
    pub arch: Option<String>,
    /// Compute units.
    pub units: Option<u32>,
    /// Highest clock in MHz.
    pub max_clock_mhz: Option<f64>,
    /// Address on the bus, as sysfs writes it.
    pub pci_address: Option<String>,
}

/// What a vendor's tool lists, and what this program found through the same runtime.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// Name of the tool.
    pub tool: &'static str,
    /// The runtime of the same vendor.
    pub backend: BackendId,
    /// What it lists, or why it gave no list.
    pub listed: Result<Vec<ListedGpu>, Reason>,
    /// The devices of the backend here.
    pub here: Vec<DeviceInfo>,
    /// Variables that hide GPUs and are set.
    pub hidden_by: Vec<&'static str>,
}

/// One module of kernels for one device.
#[derive(Debug, Clone)]
pub struct CompiledModule {
    /// The device.
    pub device: DeviceRef,
    /// Its source file, without the ending.
    pub source: &'static str,
    /// Why it was not compiled.
    pub error: Option<Reason>,
}

/// How the pointer chase reads memory, by its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadPath {
    /// Through the vector caches.
    Vector,
    /// Through the scalar cache alone.
    Scalar,
    /// It could not be found out.
    Unknown(Reason),
}

/// How the pointer chase on one device reads memory.
#[derive(Debug, Clone)]
pub struct PointerChaseLoads {
    /// The device.
    pub device: DeviceRef,
    /// How.
    pub loads: LoadPath,
}

/// The mutants of one operation: how many were tried, and which of them verification accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationMutants {
    /// The operation and its data type.
    pub operation: String,
    /// How many were tried.
    pub tried: usize,
    /// Those that passed, which none may.
    pub survived: Vec<String>,
    /// Why none was tried.
    pub skipped: Option<Reason>,
    /// What broke before any mutant was tried.
    pub failed: Option<Reason>,
}

/// The mutants on one device, or why there is no answer.
#[derive(Debug, Clone)]
pub struct DeviceMutants {
    /// The device.
    pub device: DeviceRef,
    /// By operation.
    pub outcome: Result<Vec<OperationMutants>, Reason>,
}

/// The same work by another program.
#[derive(Debug, Clone)]
pub struct VendorToolResult {
    /// The device.
    pub device: DeviceRef,
    /// The program.
    pub tool: String,
    /// What to compare it with.
    pub own: OwnCase,
    /// Its rate, in the unit of the field, or why there is none.
    pub rate: Result<f64, Reason>,
    /// How many percent our rate may be below it.
    pub below_percent: f64,
    /// How many percent our rate may be above it, if that matters.
    pub above_percent: Option<f64>,
}

/// Which of our cases another program's rate is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCase {
    /// The benchmark.
    pub benchmark: &'static str,
    /// Values of axes that the case must have.
    pub params: &'static [(&'static str, &'static str)],
    /// The field with the rate.
    pub field: &'static str,
    /// Its unit.
    pub unit: Unit,
}

/// What a profiler says that one kernel of a case takes.
#[derive(Debug, Clone)]
pub struct KernelTime {
    /// The device.
    pub device: DeviceRef,
    /// `hot` or `cold`.
    pub cache: String,
    /// The profiler.
    pub tool: &'static str,
    /// Microseconds, or why they are not known.
    pub time_us: Result<f64, Reason>,
}
