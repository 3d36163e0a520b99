//! The devices and the compiler of a backend: asked in a child where a vendor's library has to be
//! loaded, which may crash or hang.

use rsb_cpu::CpuDevice;
use rsb_device::{Absence, Backend, Device as _, DeviceInfo, child};
use rsb_model::{BackendId, Reason};

/// What `backend` has here. The CPU is always there and needs no library.
///
/// # Errors
/// When it has nothing, or its library is broken: what, why, cure.
pub fn devices_of(backend: &dyn Backend) -> Result<Vec<DeviceInfo>, Absence> {
    if backend.id() == BackendId::Cpu {
        return Ok(backend.devices()?);
    }
    child::devices(&program(&format!("devices of {}", backend.id()))?, backend.id(), child::LIMIT)
}

/// Whether the compiler of `backend` is here. It is loaded in a child.
///
/// # Errors
/// When it is not: what, why, cure.
pub fn has_compiler(backend: BackendId) -> Result<(), Reason> {
    child::compiler(&program(&format!("compiler of {backend}"))?, backend, child::LIMIT)
}

/// Whether the counters of the CPU's caches may be read here.
///
/// # Errors
/// Why not: what, why, cure.
pub fn has_counters() -> Result<(), Reason> {
    CpuDevice::new().counters().map(drop)
}

fn program(what: &str) -> Result<std::path::PathBuf, Reason> {
    std::env::current_exe().map_err(|error| {
        let why = format!("the system does not tell which program this is: {error}");
        Reason::new(what, why, "mount /proc")
    })
}
