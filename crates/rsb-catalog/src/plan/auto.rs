//! Device selection of `auto`: each GPU once, through its native runtime if available, and the CPU
//! only as itself, not through Vulkan or OpenCL drivers that run on it.
//!
//! `RunDevice` in `rsb-model` decides which devices are the same GPU.

use std::cmp::Ordering;

use rsb_device::DeviceInfo;
use rsb_model::run_device::HardwareMatch;
use rsb_model::{BackendId, DeviceType, Reason, RunDevice};

/// Returns whether to measure `other` instead of `device` if they are, or may be, the same GPU. The
/// runtime of the GPU's vendor has priority, followed by the backends in the order of their
/// identifiers. If one backend has several drivers for a GPU, the first one has priority.
fn goes_before(other: &DeviceInfo, device: &DeviceInfo) -> bool {
    let (before, own) = (other.record(), device.record());
    let alike = before.alike(&own);
    match preference(&before).cmp(&preference(&own)) {
        Ordering::Less => alike != HardwareMatch::Different,
        Ordering::Equal => {
            alike == HardwareMatch::SameGpu
                && before.driver != own.driver
                && other.device.index < device.device.index
        }
        Ordering::Greater => false,
    }
}

/// Returns the sort key of a device; smaller is preferred.
fn preference(device: &RunDevice) -> impl Ord {
    let backend = device.backend();
    (Some(backend) != device.vendor().native(), backend)
}

/// Returns whether `auto` selects `device` from `all` devices of the machine.
pub(super) fn takes(device: &DeviceInfo, all: &[DeviceInfo]) -> bool {
    match (device.device.backend, device.device_type) {
        (BackendId::Cpu, _) => true,
        (_, DeviceType::Cpu) => false,
        _ => !all.iter().any(|other| goes_before(other, device)),
    }
}

/// Returns the backends whose devices `auto` does not select, each with the reason.
pub(super) fn left_out(all: &[DeviceInfo]) -> Vec<(BackendId, Reason)> {
    let mut found = Vec::new();
    for backend in BackendId::ALL {
        let own: Vec<&DeviceInfo> =
            all.iter().filter(|device| device.device.backend == backend).collect();
        if own.is_empty() || own.iter().any(|device| takes(device, all)) {
            continue;
        }
        let names = own.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        let why = if own.iter().all(|device| device.device_type == DeviceType::Cpu) {
            format!("{names} runs on the CPU, which auto measures directly")
        } else {
            format!("{names} is already measured through a more direct backend")
        };
        let what = format!("devices of {backend}");
        let cure = format!("select them with --backend {backend}");
        found.push((backend, Reason::new(what, why, cure)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, name: &str, device_type: DeviceType) -> DeviceInfo {
        DeviceInfo {
            units: 8,
            usable_memory_bytes: 8 << 30,
            ..DeviceInfo::new(id.parse().unwrap(), name, device_type)
        }
    }

    fn selected_devices(all: &[DeviceInfo]) -> Vec<String> {
        all.iter()
            .filter(|device| takes(device, all))
            .map(|device| device.device.to_string())
            .collect()
    }

    #[test]
    fn each_gpu_is_taken_once_and_natively() {
        use DeviceType::{Cpu, Gpu};
        let here = [
            device("cpu:0", "AMD EPYC", Cpu),
            device("rocm:0", "Radeon RX 7900 XTX", Gpu),
            device("vulkan:0", "AMD Radeon RX 7900 XTX (RADV NAVI31)", Gpu),
            device("vulkan:1", "NVIDIA GeForce RTX 4090 (NVIDIA)", Gpu),
            device("vulkan:2", "llvmpipe (LLVM 15.0.6, 256 bits)", Cpu),
            device("opencl:0", "gfx1100 (AMD Accelerated Parallel Processing)", Gpu),
            device("opencl:1", "AMD EPYC (Portable Computing Language)", Cpu),
            device("opencl:2", "Intel(R) Arc(TM) A770 Graphics (Intel(R) OpenCL Graphics)", Gpu),
            device("oneapi:0", "Intel(R) Arc(TM) A770 Graphics (Intel(R) OpenCL Graphics)", Gpu),
        ];
        assert_eq!(selected_devices(&here), ["cpu:0", "rocm:0", "vulkan:1", "oneapi:0"]);
        let [(BackendId::Opencl, reason)]: [(BackendId, Reason); 1] =
            left_out(&here).try_into().unwrap()
        else {
            panic!()
        };
        assert!(reason.why.contains("Arc") && reason.cure.contains("--backend opencl"), "{reason}");
    }

    #[test]
    fn drivers_for_the_cpu_are_left_out_with_a_word_about_it() {
        let here = [
            device("cpu:0", "x", DeviceType::Cpu),
            device("vulkan:0", "llvmpipe [llvmpipe]", DeviceType::Cpu),
        ];
        assert_eq!(selected_devices(&here), ["cpu:0"]);
        let [(BackendId::Vulkan, reason)]: [(BackendId, Reason); 1] =
            left_out(&here).try_into().unwrap()
        else {
            panic!()
        };
        assert!(
            reason.why.contains("llvmpipe") && reason.cure.contains("--backend vulkan"),
            "{reason}"
        );
    }

    #[test]
    fn addresses_tell_gpus_of_one_vendor_apart_and_join_what_is_one() {
        let (one, two) = ("0000:03:00.0", "0000:C3:00.0");
        for (what, here, expected) in [
            (
                "one GPU twice",
                vec![at("rocm:0", one, ""), at("vulkan:0", one, "radv")],
                vec!["rocm:0"],
            ),
            (
                "two GPUs",
                vec![at("rocm:0", one, ""), at("vulkan:0", two, "radv")],
                vec!["rocm:0", "vulkan:0"],
            ),
            (
                "letters",
                vec![at("rocm:0", two, ""), at("opencl:0", "0000:c3:00.0", "x")],
                vec!["rocm:0"],
            ),
            (
                "no address",
                vec![at("rocm:0", one, ""), at("opencl:0", "", "rusticl")],
                vec!["rocm:0"],
            ),
            (
                "one of two without",
                vec![
                    at("rocm:0", one, ""),
                    at("vulkan:0", two, "radv"),
                    at("opencl:0", "", "rusticl"),
                ],
                vec!["rocm:0", "vulkan:0"],
            ),
            (
                "two drivers",
                vec![at("vulkan:0", one, "radv"), at("vulkan:1", one, "amdvlk")],
                vec!["vulkan:0"],
            ),
            (
                "parts of a GPU",
                vec![at("rocm:0", one, ""), at("rocm:1", one, "")],
                vec!["rocm:0", "rocm:1"],
            ),
            (
                "twins",
                vec![
                    at("vulkan:0", one, "radv"),
                    at("vulkan:1", two, "radv"),
                    at("opencl:0", two, "rusticl"),
                ],
                vec!["vulkan:0", "vulkan:1"],
            ),
            (
                "no vendor's name",
                vec![nvidia("cuda:0", one), nvidia("vulkan:0", one)],
                vec!["cuda:0"],
            ),
        ] {
            assert_eq!(selected_devices(&here), expected, "{what}");
        }
    }

    /// Returns an AMD GPU with a driver, and with an address unless `address` is empty.
    fn at(id: &str, address: &str, driver: &str) -> DeviceInfo {
        DeviceInfo {
            pci_address: (!address.is_empty()).then(|| address.to_owned()),
            driver: Some(driver.to_owned()),
            ..device(id, "AMD Radeon", DeviceType::Gpu)
        }
    }

    fn nvidia(id: &str, address: &str) -> DeviceInfo {
        DeviceInfo { name: "H200".into(), ..at(id, address, "") }
    }

    #[test]
    fn before_rocm_is_there_a_gpu_is_taken_through_vulkan() {
        let here = [
            device("cpu:0", "x", DeviceType::Cpu),
            device("vulkan:0", "AMD Radeon Graphics (RADV GFX1100)", DeviceType::Gpu),
            device("opencl:0", "Radeon (rusticl)", DeviceType::Gpu),
        ];
        assert_eq!(selected_devices(&here), ["cpu:0", "vulkan:0"]);
    }
}
