//! The command that starts a worker process: program, arguments, and changes to the environment.

use std::path::{Path, PathBuf};

use rsb_model::protocol::{SLOWDOWN, WORKER_ARGUMENT};
use rsb_model::{DeviceRef, RunDevice};

use rsb_catalog::custom;

/// Returns the program `name` in the directory of `program`, or in the parent directory (for
/// cargo's bench and test executables, which are one level down).
pub fn beside(program: &Path, name: &str) -> Option<PathBuf> {
    let dirs = program.ancestors().skip(1).take(2);
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Command that starts workers.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Program: the running one, or another build of it.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set (`Some`) or remove (`None`), relative to this process.
    pub environment: Vec<(&'static str, Option<String>)>,
    /// Working directory, if different from that of this process.
    pub directory: Option<PathBuf>,
    /// PCI addresses of the devices that cases were planned on. A worker refuses to measure a
    /// different GPU.
    pub pci_addresses: Vec<(DeviceRef, String)>,
}

impl WorkerCommand {
    /// Returns the command that runs `program`, a build of this program, as a worker.
    pub fn of(program: PathBuf) -> Self {
        // Since version 6, ROCm's compiler has a cache. When compilation is measured, the cache
        // would answer instead of the compiler.
        let mut environment = vec![("AMD_COMGR_CACHE", Some("0".to_owned()))];
        let own = custom::file().and_then(|file| file.into_os_string().into_string().ok());
        environment.extend(own.map(|file| (custom::VARIABLE, Some(file))));
        let args = vec![WORKER_ARGUMENT.to_owned()];
        Self { program, args, environment, directory: None, pci_addresses: Vec::new() }
    }

    /// Returns the command that runs the current executable as a worker.
    ///
    /// # Errors
    /// If the operating system does not report the path of the current executable.
    pub fn this_program() -> std::io::Result<Self> {
        Ok(Self::of(std::env::current_exe()?))
    }

    /// Sets the working directory.
    #[must_use]
    pub fn at(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    /// Sets the PCI addresses of the devices that cases were planned on.
    #[must_use]
    pub fn planned_on(mut self, devices: &[RunDevice]) -> Self {
        let known =
            devices.iter().filter_map(|device| Some((device.device, device.pci_address.clone()?)));
        self.pci_addresses = known.collect();
        self
    }

    /// Returns the PCI address of `device`, if cases were planned on it and its backend reports
    /// one.
    pub fn pci_address(&self, device: DeviceRef) -> Option<&str> {
        let (_, address) = self.pci_addresses.iter().find(|(known, _)| *known == device)?;
        Some(address)
    }

    /// Uses the benchmarks of the `--custom` file at `path` instead of those known here.
    #[must_use]
    pub fn with_custom(mut self, path: &Path) -> Self {
        self.environment.retain(|(name, _)| *name != custom::VARIABLE);
        self.environment.push((custom::VARIABLE, Some(path.display().to_string())));
        self
    }

    /// Sets (or with `None`, removes) the injected slowdown, overriding the environment of this
    /// process.
    #[must_use]
    pub fn with_slowdown(mut self, slowdown: Option<String>) -> Self {
        self.environment.push((SLOWDOWN, slowdown));
        self
    }
}
