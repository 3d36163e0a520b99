//! Vulkan's loader and an instance of it. Nothing is linked; a missing loader is a reason.

use std::rc::Rc;

use ash::vk;
use rsb_model::Reason;

use super::failure::WithCall as _;

/// The variable that names the loader explicitly, for tests and odd installations.
const VARIABLE: &str = "RSB_VULKAN_LIBRARY";

/// How to get a loader and a driver.
pub(super) const CURE: &str = "install the loader and a driver: libvulkan1 and mesa-vulkan-drivers \
                               on Debian and Ubuntu, \
                               vulkan-loader and mesa-vulkan-drivers on Fedora, or the GPU's own \
                               driver";

/// The version of Vulkan that is used.
const VERSION: u32 = vk::API_VERSION_1_1;

/// An instance.
pub(super) struct Instance {
    pub(super) raw: ash::Instance,
    /// Keeps the library loaded.
    pub(super) entry: ash::Entry,
}

impl Instance {
    /// Loads the loader and makes an instance.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let entry = load()?;
        // SAFETY: the loader is loaded; the function takes no arguments of ours.
        let version = unsafe { entry.try_enumerate_instance_version() };
        if version.ok().flatten().is_none_or(|version| version < VERSION) {
            return Err(Reason::new("Vulkan", "its loader is of version 1.0; 1.1 is needed", CURE));
        }
        let application = vk::ApplicationInfo::default()
            .application_name(c"rusty-stack-bench")
            .api_version(VERSION);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structures are live for the call; no function of ours is handed over.
        match unsafe { entry.create_instance(&create, None) }.with_call("vkCreateInstance") {
            Ok(raw) => Ok(Rc::new(Self { raw, entry })),
            Err(failure) if failure.result() == vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
                Err(no_driver())
            }
            Err(failure) => Err(failure.into()),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: every device of the instance holds it, so that none is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

fn load() -> Result<ash::Entry, Reason> {
    let explicit = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let loaded = match &explicit {
        // SAFETY: loading runs the initializers of a library that the user named explicitly.
        Some(file) => unsafe { ash::Entry::load_from(file) },
        // SAFETY: as above, of a library that the user installed under its well-known name.
        None => unsafe { ash::Entry::load() },
    };
    loaded.map_err(|error| {
        let why = match explicit {
            Some(file) => format!("{VARIABLE} names {}, which cannot be loaded", file.display()),
            None => format!("its loader cannot be loaded: {error}"),
        };
        Reason::new("Vulkan", why, CURE)
    })
}

/// The loader is there, a driver is not.
pub(super) fn no_driver() -> Reason {
    Reason::new(
        "Vulkan drivers",
        "the loader finds none (no usable file in /usr/share/vulkan/icd.d)",
        CURE,
    )
}
