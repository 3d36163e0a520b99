//! Vulkan loader and instance. The loader is opened at run time; if it is missing, an error with a
//! reason is returned.

use std::rc::Rc;

use ash::vk;
use rsb_model::Reason;

use super::failure::WithCall as _;

/// Environment variable with the path of the loader, for tests and unusual installations.
const VARIABLE: &str = "RSB_VULKAN_LIBRARY";

/// Instructions for installing a loader and a driver.
pub(super) const CURE: &str = "install the loader and a driver: libvulkan1 and mesa-vulkan-drivers \
                               on Debian and Ubuntu, \
                               vulkan-loader and mesa-vulkan-drivers on Fedora, or the GPU's own \
                               driver";

/// Vulkan version in use.
const VERSION: u32 = vk::API_VERSION_1_1;

/// A Vulkan instance.
pub(super) struct Instance {
    pub(super) raw: ash::Instance,
    /// Keeps the library loaded while the instance exists.
    pub(super) entry: ash::Entry,
}

impl Instance {
    /// Loads the loader and creates an instance.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let entry = load()?;
        // SAFETY: `entry` keeps the loader loaded.
        let version = unsafe { entry.try_enumerate_instance_version() };
        if version.ok().flatten().is_none_or(|version| version < VERSION) {
            return Err(Reason::new(
                "Vulkan",
                "its loader has version 1.0, but 1.1 is required",
                CURE,
            ));
        }
        let application = vk::ApplicationInfo::default()
            .application_name(c"rusty-stack-bench")
            .api_version(VERSION);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structures are live for the call; no callback is passed.
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
        // SAFETY: every device owns a reference to the instance, so no device is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

fn load() -> Result<ash::Entry, Reason> {
    let explicit = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let loaded = match &explicit {
        // SAFETY: loading runs the initializers of a library that the user named explicitly.
        Some(file) => unsafe { ash::Entry::load_from(file) },
        // SAFETY: loading runs the initializers of a library that the user installed under its
        // well-known name.
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

/// Returns the error for a loader that finds no driver.
pub(super) fn no_driver() -> Reason {
    Reason::new(
        "Vulkan drivers",
        "the loader finds no driver (no usable file in /usr/share/vulkan/icd.d)",
        CURE,
    )
}
