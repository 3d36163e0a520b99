//! Properties of a GPU, from its attributes. Attributes that the driver does not report are
//! unknown, not zero.

use std::ffi::{CStr, c_int};

use cuda_sys::{CUdevice, attribute};
use rsb_model::environment::Cache;
use rsb_model::{BackendId, DeviceRef, DeviceType, Reason};

use super::arch;
use super::runtime::Runtime;
use crate::common::{CallError, DeviceProperties, call, link, number};
use rsb_device::device::DeviceInfo;

/// Reads the properties of GPU `ordinal`.
pub(super) fn read(runtime: &Runtime, ordinal: c_int) -> Result<DeviceProperties, Reason> {
    let device = runtime.device(ordinal)?;
    let attribute =
        |attribute| number!(runtime, |value| cuDeviceGetAttribute(value, attribute, device)).ok();
    let positive = |number| attribute(number).filter(|&value| value > 0).map(c_int::unsigned_abs);
    let capability = attribute(attribute::COMPUTE_CAPABILITY_MAJOR)
        .zip(attribute(attribute::COMPUTE_CAPABILITY_MINOR));
    let (major, minor) = capability.ok_or_else(|| {
        Reason::new(
            format!("compute capability of device cuda:{ordinal}"),
            "the driver does not report it",
            "reinstall NVIDIA's driver, version 470 or newer",
        )
    })?;
    let arch = arch::name(major, minor);
    let integrated = attribute(attribute::INTEGRATED) == Some(1);
    let peak = arch::peak_bandwidth_gb_s(
        attribute(attribute::MEMORY_BUS_WIDTH).unwrap_or(0),
        attribute(attribute::MEMORY_CLOCK_RATE).unwrap_or(0),
    );
    runtime.make_current(ordinal)?;
    let index = ordinal.unsigned_abs();
    let name = name(runtime, device).unwrap_or_else(|| arch.clone());
    let is_on_pcie = link::is_on_pcie(
        &name,
        attribute(attribute::INTEGRATED),
        attribute(attribute::USES_HOST_PAGE_TABLES),
    );
    let info = DeviceInfo {
        device: DeviceRef { backend: BackendId::Cuda, index },
        name,
        device_type: if runtime.is_fake_gpu() { DeviceType::Simulated } else { DeviceType::Gpu },
        pci_address: pci_address(runtime, device),
        driver: runtime.version().map(|(major, minor)| format!("nvidia, CUDA {major}.{minor}")),
        arch: Some(arch.clone()),
        units: positive(attribute::MULTIPROCESSOR_COUNT).unwrap_or(1),
        max_clock_mhz: positive(attribute::CLOCK_RATE).map(|khz| f64::from(khz) / 1e3),
        power_level_mhz: None,
        usable_memory_bytes: usable_memory(runtime)?,
        caches: caches(positive(attribute::L2_CACHE_SIZE)),
        peak_bandwidth_gb_s: peak.filter(|_| !integrated),
    };
    let max_threads_per_unit = positive(attribute::MAX_THREADS_PER_MULTIPROCESSOR).unwrap_or(2048);
    Ok(DeviceProperties { info, arch, max_threads_per_unit, is_on_pcie })
}

/// Returns the marketing name; for a MIG instance it names the instance.
fn name(runtime: &Runtime, device: CUdevice) -> Option<String> {
    let mut text = [0_u8; 256];
    let length = c_int::try_from(text.len()).ok()?;
    // SAFETY: the function writes at most `length` bytes, including the terminating null, to the
    // array.
    unsafe { call!(runtime, cuDeviceGetName(text.as_mut_ptr().cast(), length, device)) }.ok()?;
    let name = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Returns the GPU's PCI address as in sysfs: `0000:03:00.0`.
fn pci_address(runtime: &Runtime, device: CUdevice) -> Option<String> {
    let mut text = [0_u8; 32];
    let length = c_int::try_from(text.len()).ok()?;
    // SAFETY: the function writes at most `length` bytes, including the terminating null, to the
    // array.
    unsafe { call!(runtime, cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), length, device)) }
        .ok()?;
    as_in_sysfs(CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?)
}

/// Converts an address to the sysfs format: some drivers write the domain with eight digits, sysfs
/// uses four.
fn as_in_sysfs(address: &str) -> Option<String> {
    let (domain, rest) = address.split_once(':')?;
    let domain = u32::from_str_radix(domain, 16).ok()?;
    Some(format!("{domain:04x}:{}", rest.to_ascii_lowercase()))
}

/// Returns nine tenths of the free memory of the current GPU: the driver and cuBLAS need some of
/// it.
fn usable_memory(runtime: &Runtime) -> Result<u64, CallError> {
    Ok(free_bytes(runtime)? / 10 * 9)
}

/// Returns the free memory of the current GPU in bytes.
pub(super) fn free_bytes(runtime: &Runtime) -> Result<u64, CallError> {
    let (mut free, mut total) = (0_usize, 0_usize);
    // SAFETY: both pointers refer to live variables of this type.
    unsafe { call!(runtime, cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
    Ok(free.min(total) as u64)
}

/// Returns the caches: the second level is the last on NVIDIA GPUs.
fn caches(second_level: Option<u32>) -> Vec<Cache> {
    let Some(bytes) = second_level else { return Vec::new() };
    vec![Cache { level: 2, size_bytes: u64::from(bytes), shared_by: None }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_sysfs_has_them() {
        assert_eq!(as_in_sysfs("00000000:C1:00.0").as_deref(), Some("0000:c1:00.0"));
        assert_eq!(as_in_sysfs("0000:03:00.0").as_deref(), Some("0000:03:00.0"));
        assert_eq!(as_in_sysfs("00010000:03:00.0").as_deref(), Some("10000:03:00.0"));
        assert_eq!(as_in_sysfs("nonsense"), None);
    }
}
