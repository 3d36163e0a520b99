//! Devices and compiler of a backend, queried in a child process if that loads a vendor's library,
//! which may crash or hang.

use rsb_cpu::CpuDevice;
use rsb_device::{Absence, Backend, Device as _, DeviceInfo, child};
use rsb_model::{BackendId, Reason};

/// Returns the devices of `backend`. The CPU is always available and needs no library.
///
/// # Errors
/// If there is no device, or the library is broken: what, why, and how to fix it.
pub fn devices_of(backend: &dyn Backend) -> Result<Vec<DeviceInfo>, Absence> {
    if backend.id() == BackendId::Cpu {
        return Ok(backend.devices()?);
    }
    child::devices(&program(&format!("devices of {}", backend.id()))?, backend.id(), child::LIMIT)
}

/// Checks in a child process that the compiler of `backend` is available.
///
/// # Errors
/// If it is not: what, why, and how to fix it.
pub fn has_compiler(backend: BackendId) -> Result<(), Reason> {
    child::compiler(&program(&format!("compiler of {backend}"))?, backend, child::LIMIT)
}

/// Checks that the CPU's cache counters can be read.
///
/// # Errors
/// If they cannot: what, why, and how to fix it.
pub fn has_counters() -> Result<(), Reason> {
    CpuDevice::new().counters().map(drop)
}

fn program(what: &str) -> Result<std::path::PathBuf, Reason> {
    std::env::current_exe().map_err(|error| {
        let why = format!("cannot find the path of this program: {error}");
        Reason::new(what, why, "mount /proc")
    })
}
