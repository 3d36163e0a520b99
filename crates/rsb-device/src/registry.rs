//! The backends of a build, and access to them by name.
//!
//! This crate contains no backends: the program creates a [`Registry`] and passes it to the code
//! that measures.

use rsb_model::{BackendId, DeviceRef, Reason};

use crate::compiler::{KernelCompiler, no_compiler};
use crate::device::{Backend, Device};

/// The backends of a build. If empty, opening a device returns an error.
#[derive(Default)]
pub struct Registry {
    backends: Vec<Box<dyn Backend>>,
}

impl Registry {
    /// Creates a registry of these backends.
    pub fn new(backends: Vec<Box<dyn Backend>>) -> Self {
        Self { backends }
    }

    /// Returns every backend, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Backend> {
        self.backends.iter().map(|backend| &**backend)
    }

    /// Returns the backend `id`, if this build has it.
    pub fn find(&self, id: BackendId) -> Option<&dyn Backend> {
        self.iter().find(|backend| backend.id() == id)
    }

    /// Opens a device by its name, such as `cpu:0`.
    ///
    /// # Errors
    /// If the name does not have that form, this build lacks the backend, or the device cannot be
    /// opened.
    pub fn open(&self, device: &str) -> Result<Box<dyn Device>, Reason> {
        let wanted: DeviceRef = device.parse().map_err(|error: rsb_model::ids::ParseIdError| {
            Reason::new(
                format!("device `{device}`"),
                error.to_string(),
                "use a backend and an index, such as cpu:0",
            )
        })?;
        match self.find(wanted.backend) {
            Some(backend) => backend.open(wanted.index),
            None => Err(self.missing(wanted.backend)),
        }
    }

    /// Loads the runtime compiler of a backend.
    ///
    /// # Errors
    /// If this build or this machine has none.
    pub fn compiler(&self, id: BackendId) -> Result<Box<dyn KernelCompiler>, Reason> {
        self.find(id).map_or_else(|| Err(no_compiler(id)), Backend::compiler)
    }

    fn missing(&self, backend: BackendId) -> Reason {
        let known: Vec<&str> = self.iter().map(|backend| backend.id().as_str()).collect();
        Reason::new(
            format!("backend {backend}"),
            format!("this build does not include this backend; it includes {}", known.join(", ")),
            "choose an included backend, or build with the feature of the missing one",
        )
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(Backend::id)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceInfo;
    use crate::scripted::{Script, ScriptedDevice};

    /// A backend with one scripted device.
    struct Scripted;

    impl Backend for Scripted {
        fn id(&self) -> BackendId {
            BackendId::Cpu
        }

        fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
            Ok(vec![Script::default().info])
        }

        fn open(&self, index: u32) -> Result<Box<dyn Device>, Reason> {
            match index {
                0 => Ok(Box::new(ScriptedDevice::new(Script::default()))),
                _ => Err(Reason::new(format!("device cpu:{index}"), "there is one", "name cpu:0")),
            }
        }
    }

    #[test]
    fn devices_are_opened_by_name() {
        let registry = Registry::new(vec![Box::new(Scripted)]);
        assert_eq!(registry.open("cpu:0").unwrap().info().name, Script::default().info.name);
        for (name, word) in [
            ("cpu", "use a backend and an index, such as cpu:0"),
            ("cpu:1", "there is one"),
            ("toaster:0", "cpu:0"),
            ("cuda:0", "it includes cpu"),
        ] {
            let reason = registry.open(name).err().unwrap();
            assert!(reason.to_string().contains(word), "{reason}");
        }
    }

    #[test]
    fn a_backend_without_a_compiler_says_so() {
        for registry in [Registry::default(), Registry::new(vec![Box::new(Scripted)])] {
            let reason = registry.compiler(BackendId::Cpu).err().unwrap();
            assert!(reason.what.contains("cpu") && reason.cure.contains("--features"));
        }
    }
}
