//! Facts to judge: the GPUs, and the host's support for them.

use std::collections::BTreeMap;

use rsb_model::gpu::{Gpu, UnreadGpu};
use rsb_model::rocm::RocmInstallation;

use crate::gpu::intel::IntelSensors;

/// Input of the rules.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoctorInput {
    /// GPUs of the machine.
    pub gpus: Vec<Gpu>,
    /// GPUs that could not be read completely.
    pub unread_gpus: Vec<UnreadGpu>,
    /// Whether AMD's compute driver (KFD) lists nodes.
    pub has_kfd: bool,
    /// Whether the DRM or PCI tree exists.
    pub has_drm: bool,
    /// Facts about the rest of the host; `None` if only a tree for `/sys` was given.
    pub host: Option<HostFacts>,
    /// Sensors of the GPUs that i915 and xe drive.
    pub intel_sensors: Vec<IntelSensors>,
}

/// Facts of the host other than its GPUs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostFacts {
    /// Name of the current user, or the user ID if it has no name.
    pub user: String,
    /// Device files: `/dev/kfd` first (even if missing), then those of the DRM.
    pub devices: Vec<DeviceFile>,
    /// Libraries that HIP programs need, including missing ones; each appears once.
    pub libraries: Vec<Library>,
    /// Installations of ROCm; the effective one is first.
    pub installations: Vec<RocmInstallation>,
    /// Directories that look like an installation but are not one.
    pub remnants: Vec<Remnant>,
    /// Entries of the linker's cache for ROCm libraries whose files no longer exist.
    pub stale: Vec<Stale>,
    /// Environment variables that affect how programs see the GPUs.
    pub variables: BTreeMap<String, String>,
}

/// A device file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFile {
    /// Path, such as `/dev/kfd`.
    pub path: String,
    /// Whether the user may read and write it.
    pub access: Access,
    /// Group that owns the file: its name, or its number if it has no name.
    pub group: Option<String>,
    /// Whether the user is a member of that group. A member without access must log in again,
    /// because group changes apply at login.
    pub is_listed: bool,
}

/// Access of the current user to a device file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading and writing.
    Granted,
    /// The file exists, but the user lacks permission.
    Denied,
    /// The file does not exist.
    Missing,
}

/// A library that HIP programs need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Library {
    /// Name, such as `libamdhip64`.
    pub name: String,
    /// Path of the file that a program would load; `None` if the library is not installed.
    pub path: Option<String>,
    /// Major version in the file name: 6 for `libamdhip64.so.6`.
    pub major: Option<u32>,
    /// For rocBLAS: targets of the GPUs for which it has kernels.
    pub targets: Vec<String>,
}

/// A directory that looks like an installation but is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remnant {
    /// Path of the directory.
    pub path: String,
    /// Why it is not an installation.
    pub why: String,
}

/// An entry of the linker's cache whose file no longer exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Name that programs load.
    pub name: String,
    /// Path of the missing file.
    pub path: String,
}

impl HostFacts {
    /// Returns the library `name`, if it was found.
    pub(super) fn library(&self, name: &str) -> Option<&Library> {
        self.libraries.iter().find(|library| library.name == name && library.path.is_some())
    }

    /// Returns the value of a variable, if it is set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}
