//! Evidence that the checks judge: records of cases, and output of other programs.

use rsb_device::DeviceInfo;
use rsb_model::{BackendId, BenchmarkResult, DeviceRef, Finding, Reason, Unit};
use serde::{Deserialize, Serialize};

/// Evidence for one check. A check fills in only the parts that it needs.
#[derive(Debug, Clone, Default)]
pub struct CheckEvidence {
    /// Devices to check.
    pub devices: Vec<DeviceInfo>,
    /// Cases of the check.
    pub results: Vec<BenchmarkResult>,
    /// The same cases, measured earlier.
    pub before: Vec<BenchmarkResult>,
    /// GPUs listed by the vendors' tools.
    pub inventories: Vec<Inventory>,
    /// Backends whose library is installed but broken.
    pub broken: Vec<(BackendId, Reason)>,
    /// Findings of `doctor`.
    pub findings: Vec<Finding>,
    /// Modules that were compiled.
    pub modules: Vec<CompiledModule>,
    /// How the pointer chase reads memory.
    pub chases: Vec<PointerChaseLoads>,
    /// Mutants with which verification was tested.
    pub mutants: Vec<DeviceMutants>,
    /// Results of other programs for the same work.
    pub rivals: Vec<VendorToolResult>,
    /// Kernel times measured by a profiler.
    pub kernel_times: Vec<KernelTime>,
    /// Why there is no evidence.
    pub reason: Option<Reason>,
}

impl CheckEvidence {
    /// Returns the device with this ID.
    pub(super) fn device(&self, device: DeviceRef) -> Option<&DeviceInfo> {
        self.devices.iter().find(|known| known.device == device)
    }
}

/// A GPU listed by a vendor's tool.
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
    /// PCI address, formatted as in sysfs.
    pub pci_address: Option<String>,
}

/// GPUs listed by a vendor's tool, and the devices that this program finds through the same
/// vendor's runtime.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// Name of the tool.
    pub tool: &'static str,
    /// Backend that uses the runtime of the same vendor.
    pub backend: BackendId,
    /// Listed GPUs, or why there is no list.
    pub listed: Result<Vec<ListedGpu>, Reason>,
    /// Devices of the backend that this program found.
    pub here: Vec<DeviceInfo>,
    /// Environment variables that are set and hide GPUs from this program.
    pub hidden_by: Vec<&'static str>,
}

/// Result of compiling one kernel module for one device.
#[derive(Debug, Clone)]
pub struct CompiledModule {
    /// The device.
    pub device: DeviceRef,
    /// Name of the source file without extension.
    pub source: &'static str,
    /// Why compilation failed; `None` on success.
    pub error: Option<Reason>,
}

/// How the pointer chase reads memory, according to its machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadPath {
    /// Through the vector caches.
    Vector,
    /// Through the scalar cache only.
    Scalar,
    /// Unknown, with the reason.
    Unknown(Reason),
}

/// How the pointer chase reads memory on one device.
#[derive(Debug, Clone)]
pub struct PointerChaseLoads {
    /// The device.
    pub device: DeviceRef,
    /// Path of its loads.
    pub loads: LoadPath,
}

/// Mutants of one operation: the number tried, and those that verification accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationMutants {
    /// The operation and its data type.
    pub operation: String,
    /// Number of mutants tried.
    pub tried: usize,
    /// Mutants that verification accepted; must be empty.
    pub survived: Vec<String>,
    /// Why no mutant was tried.
    pub skipped: Option<Reason>,
    /// Failure before any mutant was tried.
    pub failed: Option<Reason>,
}

/// Mutants on one device.
#[derive(Debug, Clone)]
pub struct DeviceMutants {
    /// The device.
    pub device: DeviceRef,
    /// Results by operation, or why there are none.
    pub outcome: Result<Vec<OperationMutants>, Reason>,
}

/// Result of another program for the same work.
#[derive(Debug, Clone)]
pub struct VendorToolResult {
    /// The device.
    pub device: DeviceRef,
    /// Name of the program.
    pub tool: String,
    /// Case of this program to compare with.
    pub own: OwnCase,
    /// Rate in the unit of `own`, or why there is none.
    pub rate: Result<f64, Reason>,
    /// Percentage by which this program's rate may be lower.
    pub below_percent: f64,
    /// Percentage by which this program's rate may be higher; `None` for no limit.
    pub above_percent: Option<f64>,
}

/// The case of this program with which another program's rate is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCase {
    /// Name of the benchmark.
    pub benchmark: &'static str,
    /// Parameters that the case must have.
    pub params: &'static [(&'static str, &'static str)],
    /// Field of the case that contains the rate.
    pub field: &'static str,
    /// Unit of the field.
    pub unit: Unit,
}

/// Time of one kernel of a case, measured by a profiler.
#[derive(Debug, Clone)]
pub struct KernelTime {
    /// The device.
    pub device: DeviceRef,
    /// State of the cache: `hot` or `cold`.
    pub cache: String,
    /// Name of the profiler.
    pub tool: &'static str,
    /// Time in microseconds, or why it is unknown.
    pub time_us: Result<f64, Reason>,
}
