//! Platform and device enumeration. A property that a driver does not report is unknown, not zero.

use rsb_model::{DeviceRef, DeviceType, Reason};

use super::OpenclBackend;
use super::api::{Object, ask, flag, status};
use super::bus;
use super::runtime::{ClError, Runtime, call, no_platform};
use crate::caches::{self, GpuIdentity};
use crate::portable::version_in;
use rsb_device::device::{Backend as _, DeviceInfo};

/// A device with the data needed to open it.
pub(super) struct DeviceCandidate {
    pub(super) info: DeviceInfo,
    pub(super) platform: Object,
    pub(super) device: Object,
    pub(super) limits: Limits,
}

/// Limits and features of a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Maximum bytes of one buffer.
    pub(super) buffer_bytes: u64,
    /// Maximum work-items per group.
    pub(super) group: u64,
    /// Whether it computes in f64.
    pub(super) f64: Presence,
    /// Whether it computes in f16.
    pub(super) f16: Presence,
    /// Preferred vector widths in elements, for f64, f32 and f16.
    pub(super) widths: [u64; 3],
}

/// Whether a device has a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Yes,
    No,
}

/// Returns every device of every platform that `backend` uses, in the loader's order.
pub(super) fn devices(
    runtime: &Runtime,
    backend: OpenclBackend,
) -> Result<Vec<DeviceCandidate>, Reason> {
    let mut found = Vec::new();
    let (mut others, mut refusal) = (Vec::new(), None);
    for platform in platforms(runtime)? {
        let name = platform_name(runtime, platform);
        if backend == OpenclBackend::Intel && !name.contains("Intel") {
            others.push(name);
            continue;
        }
        match of_platform(runtime, platform) {
            Ok(devices) => {
                for device in devices {
                    let index = u32::try_from(found.len()).unwrap_or(u32::MAX);
                    let reference = DeviceRef { backend: backend.id(), index };
                    found.extend(describe(runtime, platform, device, &name, reference));
                }
            }
            Err(error) => refusal = Some(Reason::from(error)),
        }
    }
    match (found.is_empty(), refusal) {
        (false, _) => Ok(found),
        (true, Some(reason)) => Err(reason),
        (true, None) if backend == OpenclBackend::Intel => Err(Reason::new(
            "Intel's OpenCL platform",
            format!("all installed platforms are from other vendors: {}", others.join(", ")),
            "install Intel's OpenCL runtime",
        )),
        (true, None) => Err(Reason::new(
            "OpenCL devices",
            "drivers are installed, but none of them finds a device",
            "check that this user can access /dev/dri (groups render and video), and that the \
             driver supports the GPU",
        )),
    }
}

fn platforms(runtime: &Runtime) -> Result<Vec<Object>, Reason> {
    let mut count = 0_u32;
    // SAFETY: the pointer is to a live variable; no list is requested.
    match unsafe { call!(runtime, clGetPlatformIDs(0, std::ptr::null_mut(), &raw mut count)) } {
        Ok(()) if count > 0 => {}
        Ok(()) | Err(ClError::Status { code: status::PLATFORM_NOT_FOUND, .. }) => {
            return Err(no_platform());
        }
        Err(other) => return Err(other.into()),
    }
    let mut platforms = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: the list has room for `count` platforms.
    unsafe {
        call!(runtime, clGetPlatformIDs(count, platforms.as_mut_ptr(), std::ptr::null_mut()))
    }?;
    Ok(platforms)
}

fn platform_name(runtime: &Runtime, platform: Object) -> String {
    let name = Runtime::text(|size, value, needed| {
        // SAFETY: the platform is live, and the pointer is null or to a buffer of the given size.
        unsafe {
            call!(runtime, clGetPlatformInfo(platform, ask::PLATFORM_NAME, size, value, needed))
        }
    });
    name.unwrap_or_else(|_| "unnamed platform".to_owned())
}

fn of_platform(runtime: &Runtime, platform: Object) -> Result<Vec<Object>, ClError> {
    let mut count = 0_u32;
    let no_list = std::ptr::null_mut();
    // SAFETY: the pointer is to a live variable; no list is requested.
    match unsafe {
        call!(runtime, clGetDeviceIDs(platform, flag::TYPE_ALL, 0, no_list, &raw mut count))
    } {
        Ok(()) => {}
        Err(ClError::Status { code: status::DEVICE_NOT_FOUND, .. }) => return Ok(Vec::new()),
        Err(other) => return Err(other),
    }
    let mut devices: Vec<Object> = vec![std::ptr::null_mut(); count as usize];
    let (list, no_count) = (devices.as_mut_ptr(), std::ptr::null_mut());
    // SAFETY: the list has room for `count` devices.
    unsafe { call!(runtime, clGetDeviceIDs(platform, flag::TYPE_ALL, count, list, no_count)) }?;
    Ok(devices)
}

/// Describes a device. Returns `None` if the driver does not report the device type.
fn describe(
    runtime: &Runtime,
    platform: Object,
    device: Object,
    platform_name: &str,
    reference: DeviceRef,
) -> Option<DeviceCandidate> {
    let positive = |name| runtime.device_number(device, name).filter(|&value| value > 0);
    let kind = runtime.device_number(device, ask::DEVICE_TYPE)?;
    let device_type = if kind & flag::TYPE_CPU != 0 { DeviceType::Cpu } else { DeviceType::Gpu };
    let name = runtime
        .device_text(device, ask::DEVICE_NAME)
        .unwrap_or_else(|_| "unnamed device".to_owned());
    let extensions = runtime.device_text(device, ask::DEVICE_EXTENSIONS).unwrap_or_default();
    let buffer_bytes = positive(ask::DEVICE_MAX_MEM_ALLOC_SIZE).unwrap_or(128 << 20);
    let limits = Limits {
        buffer_bytes,
        group: positive(ask::DEVICE_MAX_WORK_GROUP_SIZE).unwrap_or(1),
        f64: presence(&extensions, "cl_khr_fp64"),
        f16: presence(&extensions, "cl_khr_fp16"),
        widths: [
            positive(ask::DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE).unwrap_or(1).min(16),
            positive(ask::DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT).unwrap_or(1).min(16),
            positive(ask::DEVICE_PREFERRED_VECTOR_WIDTH_HALF).unwrap_or(1).min(16),
        ],
    };
    let clock = positive(ask::DEVICE_MAX_CLOCK_FREQUENCY).map(|mhz| mhz as f64);
    let memory = positive(ask::DEVICE_GLOBAL_MEM_SIZE)? / 10 * 9;
    let pci_address = bus::address(runtime, device).filter(|_| device_type == DeviceType::Gpu);
    let caches = if device_type == DeviceType::Gpu {
        caches::of_gpu(GpuIdentity {
            address: pci_address.as_deref(),
            vendor: runtime
                .device_number(device, ask::DEVICE_VENDOR_ID)
                .and_then(|vendor| u32::try_from(vendor).ok()),
            reported: positive(ask::DEVICE_GLOBAL_MEM_CACHE_SIZE),
        })
    } else {
        Vec::new()
    };
    let version = runtime.device_text(device, ask::DRIVER_VERSION).unwrap_or_default();
    let driver = match version_in(&version) {
        Some(version) => format!("{platform_name} {version}"),
        None => platform_name.to_owned(),
    };
    let info = DeviceInfo {
        device: reference,
        // The name includes the platform, since several drivers may expose the same GPU.
        name: format!("{name} ({platform_name})"),
        device_type,
        pci_address,
        driver: Some(driver),
        arch: None,
        units: positive(ask::DEVICE_MAX_COMPUTE_UNITS)
            .and_then(|units| u32::try_from(units).ok())
            .unwrap_or(1),
        max_clock_mhz: clock.filter(|_| device_type == DeviceType::Gpu),
        power_level_mhz: None,
        usable_memory_bytes: memory.min(buffer_bytes.saturating_mul(8)),
        caches,
        peak_bandwidth_gb_s: None,
    };
    let info = if device_type == DeviceType::Cpu { crate::portable::on_cpu(info) } else { info };
    Some(DeviceCandidate { info, platform, device, limits })
}

fn presence(extensions: &str, name: &str) -> Presence {
    if extensions.split(' ').any(|known| known == name) { Presence::Yes } else { Presence::No }
}
