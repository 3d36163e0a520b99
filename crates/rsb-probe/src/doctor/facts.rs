//! What is judged: the GPUs, and what the host has for them.

use std::collections::BTreeMap;

use rsb_model::gpu::{Gpu, UnreadGpu};
use rsb_model::rocm::RocmInstallation;

use crate::gpu::intel::IntelSensors;

/// Everything that the rules look at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoctorInput {
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// GPUs that could not be read, or not to their end.
    pub unread_gpus: Vec<UnreadGpu>,
    /// Whether AMD's compute driver lists nodes.
    pub has_kfd: bool,
    /// Whether the DRM or the PCI bus was there to be read.
    pub has_drm: bool,
    /// The rest of the host; none when only a tree was given.
    pub host: Option<HostFacts>,
    /// What the drivers i915 and xe tell of their GPUs.
    pub intel_sensors: Vec<IntelSensors>,
}

/// What the host has beside its GPUs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostFacts {
    /// Name of the user, or the number where there is no name.
    pub user: String,
    /// Device files: `/dev/kfd` first, which is there even when it is missing, then those of the
    /// DRM.
    pub devices: Vec<DeviceFile>,
    /// The libraries that HIP programs need, each once, also those that are missing.
    pub libraries: Vec<Library>,
    /// Installations of ROCm, the one that counts first.
    pub installations: Vec<RocmInstallation>,
    /// What looks like an installation and is none.
    pub remnants: Vec<Remnant>,
    /// Entries of the linker's cache for libraries of ROCm whose file is gone.
    pub stale: Vec<Stale>,
    /// Variables that decide what programs see.
    pub variables: BTreeMap<String, String>,
}

/// A device file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFile {
    /// Where it is: `/dev/kfd`.
    pub path: String,
    /// Whether the user may read and write it.
    pub access: Access,
    /// The group that owns it, by name, or by number where there is no name.
    pub group: Option<String>,
    /// Whether the user is listed in that group, and has only not logged in since.
    pub is_listed: bool,
}

/// Whether a device file can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading and writing.
    Granted,
    /// It is there, for others.
    Denied,
    /// It is not there.
    Missing,
}

/// A library that is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Library {
    /// `libamdhip64`.
    pub name: String,
    /// The file that a program would load.
    pub path: Option<String>,
    /// Major version in its name: 6 of `libamdhip64.so.6`.
    pub major: Option<u32>,
    /// For rocBLAS: the GPUs that it has kernels for.
    pub targets: Vec<String>,
}

/// A directory that looks like an installation and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remnant {
    /// The directory.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

/// An entry of the linker's cache whose file is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The name that programs ask for.
    pub name: String,
    /// Where the file was.
    pub path: String,
}

impl HostFacts {
    /// The library called `name`, where it was found.
    pub(super) fn library(&self, name: &str) -> Option<&Library> {
        self.libraries.iter().find(|library| library.name == name && library.path.is_some())
    }

    /// A variable that is set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}
