//! How a worker process is started: a program, its arguments, what its environment has beside ours.

use std::path::{Path, PathBuf};

use rsb_model::protocol::{SLOWDOWN, WORKER_ARGUMENT};
use rsb_model::{DeviceRef, RunDevice};

use rsb_catalog::custom;

/// The program called `name` beside `program`, or one directory up where `program` is a bench or a
/// test of cargo.
pub fn beside(program: &Path, name: &str) -> Option<PathBuf> {
    let dirs = program.ancestors().skip(1).take(2);
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// How workers are started.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program: this one, or another build of it.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has beside ours, or lacks.
    pub environment: Vec<(&'static str, Option<String>)>,
    /// Where it starts, if not where this process works.
    pub directory: Option<PathBuf>,
    /// The addresses on the bus of the devices that cases were planned on: a worker refuses to
    /// measure another GPU.
    pub pci_addresses: Vec<(DeviceRef, String)>,
}

impl WorkerCommand {
    /// A build of this program, as a worker.
    pub fn of(program: PathBuf) -> Self {
        // ROCm's compiler has a cache of its own since version 6, which would answer in its place
        // when it is measured.
        let mut environment = vec![("AMD_COMGR_CACHE", Some("0".to_owned()))];
        let own = custom::file().and_then(|file| file.into_os_string().into_string().ok());
        environment.extend(own.map(|file| (custom::VARIABLE, Some(file))));
        let args = vec![WORKER_ARGUMENT.to_owned()];
        Self { program, args, environment, directory: None, pci_addresses: Vec::new() }
    }

    /// This very program, as a worker.
    ///
    /// # Errors
    /// When the system does not tell which program this is.
    pub fn this_program() -> std::io::Result<Self> {
        Ok(Self::of(std::env::current_exe()?))
    }

    /// Started in `directory`.
    #[must_use]
    pub fn at(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    /// For cases that were planned on `devices`.
    #[must_use]
    pub fn planned_on(mut self, devices: &[RunDevice]) -> Self {
        let known =
            devices.iter().filter_map(|device| Some((device.device, device.pci_address.clone()?)));
        self.pci_addresses = known.collect();
        self
    }

    /// The address on the bus of `device`, if it was planned on and its backend reports one.
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

    /// Slowed on purpose as `slowdown` says, whatever our own environment says.
    #[must_use]
    pub fn with_slowdown(mut self, slowdown: Option<String>) -> Self {
        self.environment.push((SLOWDOWN, slowdown));
        self
    }
}
