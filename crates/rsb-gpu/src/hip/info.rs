//! Properties of a GPU, from the runtime's property structure and attributes. Values that the
//! runtime does not report are unknown, not zero.

use std::ffi::{CStr, c_int};

use hip_runtime_sys::{PropertiesR0000, PropertiesR0600, attribute, text};
use rsb_model::environment::Cache;
use rsb_model::{BackendId, DeviceRef, DeviceType, Reason};

use super::arch;
use super::driver::VENDOR;
use super::runtime::Runtime;
use crate::common::{CallError, DeviceProperties, call, link};
use rsb_device::device::DeviceInfo;

/// Name and architecture, read from either layout of the property structure.
struct Names {
    name: String,
    arch: String,
}

/// Reads the properties of GPU `ordinal`.
pub(super) fn read(runtime: &Runtime, ordinal: c_int) -> Result<DeviceProperties, Reason> {
    let names = names(runtime, ordinal)?;
    let arch = arch::architecture(&names.arch).to_owned();
    let attribute = |number| value(runtime, number, ordinal);
    let positive = |number| attribute(number).filter(|&value| value > 0).map(c_int::unsigned_abs);
    runtime.make_current(ordinal)?;
    let integrated = attribute(attribute::INTEGRATED) == Some(1);
    let peak = arch::peak_bandwidth_gb_s(
        &arch,
        attribute(attribute::MEMORY_BUS_WIDTH).unwrap_or(0),
        attribute(attribute::MEMORY_CLOCK_RATE).unwrap_or(0),
    );
    let index = ordinal.unsigned_abs();
    let pci_address = pci_address(runtime, ordinal);
    let is_on_pcie = link::is_on_pcie(
        &names.name,
        attribute(attribute::INTEGRATED),
        attribute(attribute::USES_HOST_PAGE_TABLES),
    );
    let info = DeviceInfo {
        device: DeviceRef { backend: BackendId::Rocm, index },
        name: if names.name.is_empty() { arch.clone() } else { names.name },
        device_type: if runtime.is_fake_gpu() { DeviceType::Simulated } else { DeviceType::Gpu },
        power_level_mhz: pci_address
            .as_deref()
            .and_then(|address| link::highest_level_mhz(address, VENDOR)),
        pci_address,
        driver: None,
        arch: Some(names.arch),
        units: positive(attribute::MULTIPROCESSOR_COUNT).unwrap_or(1)
            * arch::compute_units_each(&arch),
        max_clock_mhz: positive(attribute::CLOCK_RATE).map(|khz| f64::from(khz) / 1e3),
        usable_memory_bytes: usable_memory(runtime)?,
        caches: caches(&arch, positive(attribute::L2_CACHE_SIZE)),
        peak_bandwidth_gb_s: peak.filter(|_| !integrated),
    };
    let max_threads_per_unit = positive(attribute::MAX_THREADS_PER_MULTIPROCESSOR).unwrap_or(2048);
    Ok(DeviceProperties { info, arch, max_threads_per_unit, is_on_pcie })
}

fn names(runtime: &Runtime, ordinal: c_int) -> Result<Names, Reason> {
    let names = if runtime.api.hipGetDevicePropertiesR0600.is_some() {
        let mut properties = PropertiesR0600::default();
        // SAFETY: since ROCm 6, the function of this name writes this layout.
        unsafe { call!(runtime, hipGetDevicePropertiesR0600(&raw mut properties, ordinal)) }?;
        Names { name: text(&properties.name), arch: text(&properties.gcnArchName) }
    } else {
        let mut properties = PropertiesR0000::default();
        // SAFETY: libraries without the newer function belong to ROCm 5, in which this function
        // writes this layout.
        unsafe { call!(runtime, hipGetDeviceProperties(&raw mut properties, ordinal)) }?;
        Names { name: text(&properties.name), arch: text(&properties.gcnArchName) }
    };
    if names.arch.starts_with("gfx") {
        return Ok(names);
    }
    Err(Reason::new(
        format!("architecture of device rocm:{ordinal}"),
        format!("the runtime reports `{}`, which is not an architecture name", names.arch),
        "install one of the ROCm versions 5.2 to 7.2",
    ))
}

fn value(runtime: &Runtime, number: c_int, ordinal: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    // SAFETY: the pointer refers to a live variable of this type.
    unsafe { call!(runtime, hipDeviceGetAttribute(&raw mut value, number, ordinal)) }
        .ok()
        .map(|()| value)
}

/// Returns the GPU's PCI address as in sysfs: `0000:03:00.0`.
fn pci_address(runtime: &Runtime, ordinal: c_int) -> Option<String> {
    let mut text = [0_u8; 32];
    let length = c_int::try_from(text.len()).ok()?;
    // SAFETY: the function writes at most `length` bytes, including the terminating null, to the
    // array.
    unsafe { call!(runtime, hipDeviceGetPCIBusId(text.as_mut_ptr().cast(), length, ordinal)) }
        .ok()?;
    let found = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?.to_ascii_lowercase();
    (!found.is_empty()).then_some(found)
}

/// Returns nine tenths of the free memory of the current GPU. The rest is left to the runtime and
/// rocBLAS.
fn usable_memory(runtime: &Runtime) -> Result<u64, CallError> {
    Ok(free_bytes(runtime)? / 10 * 9)
}

/// Returns the free memory of the current GPU in bytes.
pub(super) fn free_bytes(runtime: &Runtime) -> Result<u64, CallError> {
    let (mut free, mut total) = (0_usize, 0_usize);
    // SAFETY: both pointers refer to live variables of this type.
    unsafe { call!(runtime, hipMemGetInfo(&raw mut free, &raw mut total)) }?;
    Ok(free.min(total) as u64)
}

fn caches(arch: &str, second_level: Option<u32>) -> Vec<Cache> {
    let mut caches = Vec::new();
    if let Some(bytes) = second_level {
        caches.push(Cache { level: 2, size_bytes: u64::from(bytes), shared_by: None });
    }
    if let Some(size_bytes) = arch::memory_side_cache_bytes(arch) {
        caches.push(Cache { level: 3, size_bytes, shared_by: None });
    }
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cache_sizes_a_flush() {
        assert_eq!(largest_cache("gfx942", Some(4 << 20)), Some(256 << 20));
        assert_eq!(largest_cache("gfx90a", Some(8 << 20)), Some(8 << 20));
        assert_eq!(largest_cache("gfx90a", None), None);
    }

    fn largest_cache(arch: &str, second_level: Option<u32>) -> Option<u64> {
        caches(arch, second_level).iter().map(|cache| cache.size_bytes).max()
    }
}
