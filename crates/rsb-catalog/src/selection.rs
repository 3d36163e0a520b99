//! Inputs of a plan: the user's selection, and the machine.

use rsb_device::DeviceInfo;
use rsb_model::plan_selection::{PlanSelection, SelectedEntry, sorted_axes};
use rsb_model::{BackendId, Profile, Reason, Suite};

use crate::models::ModelRow;

/// Name that represents all benchmarks of a missing backend.
pub const ALL: &str = "all";

/// Devices and software of this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Usable devices.
    pub devices: Vec<DeviceInfo>,
    /// Unusable backends and the reasons.
    pub missing: Vec<(BackendId, Reason)>,
    /// Unusable backends whose library is installed but broken.
    pub broken: Vec<BackendId>,
    /// PCI addresses of GPUs whose sensors the driver exposes, including GPUs that no runtime can
    /// use.
    pub sensors: Vec<String>,
    /// Checks whether a component is usable; the error is the reason why it is not. Called only for
    /// selected components, because it is slow.
    pub readiness: fn(&str) -> Result<(), Reason>,
}

/// Benchmarks, devices and settings selected by the user.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Names of benchmarks. If empty, those of the suite.
    pub names: Vec<String>,
    /// Suite.
    pub suite: Suite,
    /// Entries of the suite `custom`.
    pub custom: Vec<CustomEntry>,
    /// Selected backends. If empty, chosen automatically.
    pub backends: Vec<BackendId>,
    /// Indices of devices. If empty, all devices.
    pub devices: Vec<u32>,
    /// Models that are not in the catalog.
    pub models: Vec<ModelRow>,
    /// Values that replace the default values of an axis.
    pub axes: Vec<(String, Vec<String>)>,
    /// Profile.
    pub profile: Profile,
}

impl Selection {
    /// Returns the selection of the whole `suite` on every backend.
    pub fn new(suite: Suite, profile: Profile) -> Self {
        Self {
            names: Vec::new(),
            suite,
            custom: Vec::new(),
            backends: Vec::new(),
            devices: Vec::new(),
            models: Vec::new(),
            axes: Vec::new(),
            profile,
        }
    }

    /// Returns the first selected backend. A plan is made for one backend at a time.
    pub fn backend(&self) -> Option<BackendId> {
        self.backends.first().copied()
    }

    /// Returns whether GPUs are measured through every backend that reaches them.
    pub(crate) fn compares_backends(&self) -> bool {
        self.names.is_empty() && self.suite.compares_backends()
    }

    /// Returns the selection within the suite, in the form stored in a run.
    pub fn record(&self) -> PlanSelection {
        let mut record = PlanSelection {
            backends: self.backends.clone(),
            devices: self.devices.clone(),
            axes: sorted_axes(&self.axes),
            models: self.models.iter().map(|row| row.name.clone()).collect(),
            entries: Vec::new(),
        };
        if self.names.is_empty() && self.suite == Suite::Custom {
            record.entries = self.custom.iter().map(CustomEntry::record).collect();
        }
        record.backends.sort_unstable();
        record.devices.sort_unstable();
        record.models.sort_unstable();
        record.entries.sort_unstable();
        record
    }
}

/// Entry of the suite `custom`.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomEntry {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Values that replace the default values of an axis.
    pub axes: Vec<(String, Vec<String>)>,
}

impl CustomEntry {
    fn record(&self) -> SelectedEntry {
        SelectedEntry { benchmark: self.benchmark.clone(), axes: sorted_axes(&self.axes) }
    }
}
