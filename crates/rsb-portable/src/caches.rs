//! Caches of a GPU. OpenCL reports a single size: that of a first-level cache on AMD
//! (`globalMemCacheSize_` in clr's `rocdevice.cpp`), and 72 KiB on some NVIDIA GPUs
//! (<https://github.com/pocl/pocl/issues/1359>). Vulkan reports none. Buffer sizes and cache
//! flushes depend on cache sizes, which are therefore taken from other sources or treated as
//! unknown.
#![allow(unsafe_code)]

use rsb_model::environment::Cache;
use rsb_probe::ProbeOptions;

const AMD: u32 = 0x1002;
const NVIDIA: u32 = 0x10de;

/// Properties that identify a GPU and its caches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuIdentity<'a> {
    /// PCI bus address, such as `0000:03:00.0`.
    pub(crate) address: Option<&'a str>,
    /// PCI vendor ID.
    pub(crate) vendor: Option<u32>,
    /// Cache size reported by the backend.
    pub(crate) reported: Option<u64>,
}

/// Returns the caches shared by the whole GPU, nearest first; empty if unknown. Sources, in order:
/// the CUDA driver for NVIDIA GPUs, AMD's compute driver or a table of PCI IDs for the GPU at this
/// PCI address, and the size reported by the backend. The last is ignored for AMD and NVIDIA, for
/// which it may be another cache.
pub(crate) fn of_gpu(gpu: GpuIdentity<'_>) -> Vec<Cache> {
    let by_cuda = gpu.address.filter(|_| gpu.vendor == Some(NVIDIA)).and_then(second_level_by_cuda);
    let probed = gpu
        .address
        .map(|address| rsb_probe::gpu_caches(&ProbeOptions::here(), address))
        .unwrap_or_default();
    choose(gpu, by_cuda, probed)
}

fn choose(gpu: GpuIdentity<'_>, by_cuda: Option<u64>, probed: Vec<Cache>) -> Vec<Cache> {
    if let Some(size) = by_cuda {
        return vec![second_level(size)];
    }
    if !probed.is_empty() {
        return probed;
    }
    match (gpu.vendor, gpu.reported) {
        (Some(AMD | NVIDIA), _) | (_, None) => Vec::new(),
        (_, Some(size)) => vec![second_level(size)],
    }
}

fn second_level(size_bytes: u64) -> Cache {
    Cache { level: 2, size_bytes, shared_by: None }
}

/// Returns the size of the L2 cache of the NVIDIA GPU at `address`, if the CUDA driver is
/// available.
#[cfg(feature = "cuda")]
fn second_level_by_cuda(address: &str) -> Option<u64> {
    use cuda_sys::{Cuda, attribute, error};

    let api = Cuda::load().ok()?;
    let (init, count_of, device_at) = (api.cuInit?, api.cuDeviceGetCount?, api.cuDeviceGet?);
    let (address_of, attribute_of) = (api.cuDeviceGetPCIBusId?, api.cuDeviceGetAttribute?);
    // SAFETY: `cuInit` takes no pointers, and zero is its only valid flag.
    if unsafe { init(0) } != error::SUCCESS {
        return None;
    }
    let mut count = 0;
    // SAFETY: the pointer is to a live variable of this type.
    if unsafe { count_of(&raw mut count) } != error::SUCCESS {
        return None;
    }
    (0..count).find_map(|ordinal| {
        let (mut device, mut size, mut text) = (0, 0, [0_u8; 32]);
        // SAFETY: the pointer is to a live variable of the device type.
        if unsafe { device_at(&raw mut device, ordinal) } != error::SUCCESS {
            return None;
        }
        // SAFETY: the function writes at most the given number of bytes into the array, including
        // the terminator.
        if unsafe { address_of(text.as_mut_ptr().cast(), 32, device) } != error::SUCCESS
            || !is_at(&text, address)
        {
            return None;
        }
        // SAFETY: the pointer is to a live `c_int`, and the driver returned the device.
        let status = unsafe { attribute_of(&raw mut size, attribute::L2_CACHE_SIZE, device) };
        (status == error::SUCCESS && size > 0).then(|| u64::from(size.unsigned_abs()))
    })
}

/// Returns whether the PCI address reported by CUDA is the sysfs address `address`. CUDA may use
/// eight digits for the domain.
#[cfg(feature = "cuda")]
fn is_at(text: &[u8], address: &str) -> bool {
    let text = std::ffi::CStr::from_bytes_until_nul(text)
        .ok()
        .and_then(|text| text.to_str().ok())
        .unwrap_or_default();
    !text.is_empty() && without_zeros(text) == without_zeros(address)
}

#[cfg(feature = "cuda")]
fn without_zeros(text: &str) -> String {
    text.trim_start_matches('0').to_ascii_lowercase()
}

#[cfg(not(feature = "cuda"))]
fn second_level_by_cuda(_: &str) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "cuda")]
    #[test]
    fn a_place_on_the_bus_is_the_same_with_any_number_of_zeros() {
        assert!(
            is_at(b"00000000:C1:00.0\0", "0000:c1:00.0")
                && is_at(b"0000:03:00.0\0", "0000:03:00.0")
        );
        assert!(!is_at(b"00000000:C1:00.0\0", "0001:c1:00.0") && !is_at(b"\0", "0000:c1:00.0"));
    }

    #[test]
    fn the_vendors_driver_comes_first_and_a_first_level_cache_is_not_taken_for_the_last() {
        const MIB: u64 = 1 << 20;
        const INTEL: u32 = 0x8086;
        struct Row {
            name: &'static str,
            vendor: Option<u32>,
            reported: Option<u64>,
            by_cuda: Option<u64>,
            probed: &'static [(u32, u64)],
            expected: &'static [(u32, u64)],
        }
        let row = |name, vendor, reported| Row {
            name,
            vendor,
            reported,
            by_cuda: None,
            probed: &[],
            expected: &[],
        };
        let small = Some(72 << 10);
        let cache =
            |&(level, size_bytes): &(u32, u64)| Cache { level, size_bytes, shared_by: None };
        for row in [
            Row {
                by_cuda: Some(72 * MIB),
                expected: &[(2, 72 * MIB)],
                ..row("RTX 4090, CUDA", Some(NVIDIA), small)
            },
            Row {
                probed: &[(2, 96 * MIB)],
                expected: &[(2, 96 * MIB)],
                ..row("RTX 5090, by its id", Some(NVIDIA), small)
            },
            row("NVIDIA, unknown", Some(NVIDIA), small),
            Row {
                probed: &[(2, 6 * MIB), (3, 96 * MIB)],
                expected: &[(2, 6 * MIB), (3, 96 * MIB)],
                ..row("RX 7900 XTX, compute driver", Some(AMD), Some(32 << 10))
            },
            row("AMD, unknown", Some(AMD), Some(16 << 10)),
            Row { expected: &[(2, 16 * MIB)], ..row("Arc A770", Some(INTEL), Some(16 * MIB)) },
            row("Arc A770 by Vulkan", Some(INTEL), None),
            row("nothing known", None, None),
        ] {
            let gpu = GpuIdentity {
                address: Some("0000:03:00.0"),
                vendor: row.vendor,
                reported: row.reported,
            };
            let found = choose(gpu, row.by_cuda, row.probed.iter().map(cache).collect());
            assert_eq!(found, row.expected.iter().map(cache).collect::<Vec<_>>(), "{}", row.name);
        }
    }
}
