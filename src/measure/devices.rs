//! The devices of a backend: asked in a child where a vendor's library has to be loaded, which may crash or hang.

use rsb_device::{Backend, DeviceInfo, child};
use rsb_model::{BackendId, Reason};

/// What `backend` has here. The processor is always there and needs no library.
///
/// # Errors
/// When it has nothing: what, why, cure.
pub fn devices_of(backend: &dyn Backend) -> Result<Vec<DeviceInfo>, Reason> {
    if backend.id() == BackendId::Cpu {
        return backend.devices();
    }
    let program = std::env::current_exe().map_err(|error| {
        Reason::new(
            format!("devices of {}", backend.id()),
            format!("the system does not tell which program this is: {error}"),
            "mount /proc",
        )
    })?;
    child::devices(&program, backend.id(), child::LIMIT)
}
