//! What to probe, and whether it can be.

use std::path::{Path, PathBuf};

/// What to probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    /// A directory that stands for `/sys`. The rest of the host is then left out.
    pub sysfs_root: Option<PathBuf>,
}

impl ProbeOptions {
    /// Of this machine, or of the directory that `RSB_SYSFS_ROOT` names in the place of `/sys`.
    pub fn here() -> Self {
        let root = std::env::var_os("RSB_SYSFS_ROOT").filter(|root| !root.is_empty());
        Self { sysfs_root: root.map(PathBuf::from) }
    }

    /// The directory of the PCI device at `address`, such as `0000:03:00.0`; it need not exist.
    pub fn pci_device(&self, address: &str) -> PathBuf {
        let root = self.sysfs_root.as_deref().unwrap_or(Path::new("/sys"));
        root.join("bus/pci/devices").join(address)
    }
}

/// Why a probe makes no sense as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The directory given for `/sys` is no such tree.
    #[error(
        "{} holds neither class/drm nor class/kfd nor bus/pci; give the directory that stands for \
         /sys, not one below it",
        .0.display()
    )]
    NotSysfs(PathBuf),
}

impl ProbeOptions {
    /// Makes sure that the directory given for `/sys`, if any, looks like one.
    ///
    /// # Errors
    /// When it does not exist or holds nothing that would be read.
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
