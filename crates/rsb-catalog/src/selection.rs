//! What is asked for, and what is here to do it on: the two inputs of a plan.

use rsb_device::DeviceInfo;
use rsb_model::{BackendId, Profile, Reason, Suite};

use crate::models::ModelRow;

/// Stands for every benchmark, where a whole backend is missing.
pub const ALL: &str = "all";

/// What is here to run on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Devices that can be used.
    pub devices: Vec<DeviceInfo>,
    /// Backends that cannot, and why.
    pub missing: Vec<(BackendId, Reason)>,
    /// Those of them whose library is here and broken.
    pub broken: Vec<BackendId>,
    /// Addresses on the bus of GPUs whose sensors the driver shows, whether a runtime reaches them
    /// or not.
    pub sensors: Vec<String>,
    /// What a component lacks, asked for those alone that are wanted: it takes a while.
    pub readiness: fn(&str) -> Result<(), Reason>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Benchmarks by name; none means those of the suite.
    pub names: Vec<String>,
    /// The suite.
    pub suite: Suite,
    /// Entries of the suite `custom`.
    pub custom: Vec<CustomEntry>,
    /// One backend, or `None` for every one.
    pub backend: Option<BackendId>,
    /// Device indices; none means all.
    pub devices: Vec<u32>,
    /// Models that are not in the catalogue.
    pub models: Vec<ModelRow>,
    /// Values that replace those of an axis.
    pub axes: Vec<(String, Vec<String>)>,
    /// How thoroughly.
    pub profile: Profile,
}

impl Selection {
    /// Whether a GPU is measured through every backend that reaches it.
    pub(crate) fn compares_backends(&self) -> bool {
        self.names.is_empty() && self.suite.compares_backends()
    }
}

/// One entry of the suite `custom`.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomEntry {
    /// Its name.
    pub benchmark: String,
    /// Values that replace those of an axis.
    pub axes: Vec<(String, Vec<String>)>,
}
