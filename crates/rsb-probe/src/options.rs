//! Options of the probe, and their validation.

use std::path::{Path, PathBuf};

/// Options of the probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Directory that replaces `/sys`. Facts about the rest of the host are then left out.
    pub sysfs_root: Option<PathBuf>,
}

impl ProbeOptions {
    /// Returns the default options: this machine, with the directory in `RSB_SYSFS_ROOT` instead of
    /// `/sys` if that is set.
    pub fn here() -> Self {
        let root = std::env::var_os("RSB_SYSFS_ROOT").filter(|root| !root.is_empty());
        Self { sysfs_root: root.map(PathBuf::from) }
    }

    /// Returns the directory of the PCI device at `address`, such as `0000:03:00.0`; it need not
    /// exist.
    pub fn pci_device(&self, address: &str) -> PathBuf {
        let root = self.sysfs_root.as_deref().unwrap_or(Path::new("/sys"));
        root.join("bus/pci/devices").join(address)
    }
}

/// Error about invalid options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The directory for `/sys` is not such a tree.
    #[error(
        "{} contains neither class/drm nor class/kfd nor bus/pci; name the directory to read \
         instead of /sys, not one below it",
        .0.display()
    )]
    NotSysfs(PathBuf),
}

impl ProbeOptions {
    /// Checks that the directory for `/sys`, if any, looks like one.
    ///
    /// # Errors
    /// If it does not exist or contains nothing that would be read.
    pub fn check(&self) -> Result<(), ProbeError> {
        match &self.sysfs_root {
            Some(root)
                if !["class/drm", "class/kfd", "bus/pci"]
                    .iter()
                    .any(|dir| root.join(dir).is_dir()) =>
            {
                Err(ProbeError::NotSysfs(root.clone()))
            }
            _ => Ok(()),
        }
    }
}
