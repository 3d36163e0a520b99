//! Devices as a run records them, and which of them are one piece of hardware: a GPU shows itself
//! through each runtime, and every one of them names it differently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BackendId, DeviceRef, DeviceType, Vendor};

/// A device of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDevice {
    /// Backend and position, as ids of cases name it: `vulkan:0`.
    #[schemars(with = "String")]
    pub device: DeviceRef,
    /// Its name, as its driver gives it.
    pub name: String,
    /// What kind of hardware it is.
    pub device_type: DeviceType,
    /// Its address on the bus, where the backend tells: devices with one address are one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// The driver, where a backend may have several for one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// What is known of two devices being one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardwareMatch {
    /// They are at one address, or both are the CPU.
    SameGpu,
    /// They have one vendor, and an address is missing.
    SameVendor,
    /// Their addresses or their vendors differ.
    Different,
}

const WORDS: &[(Vendor, &[&str])] = &[
    (Vendor::Nvidia, &["nvidia", "geforce", "quadro", "tesla"]),
    (Vendor::Amd, &["amd", "radeon", "instinct", "gfx", "radv"]),
    (Vendor::Intel, &["intel", "arc"]),
];

impl RunDevice {
    /// The backend that it is reached through.
    pub const fn backend(&self) -> BackendId {
        self.device.backend
    }

    /// Its vendor.
    pub fn vendor(&self) -> Vendor {
        if let Some(vendor) = BackendId::native_of(self.backend()) {
            return vendor;
        }
        let name = self.name.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
        for (vendor, known) in WORDS {
            if known.iter().any(|known| words.iter().any(|word| word.starts_with(known))) {
                return *vendor;
            }
        }
        Vendor::Other
    }

    /// Whether it and `other` are one piece of hardware, as far as can be told.
    pub fn alike(&self, other: &Self) -> HardwareMatch {
        match [self, other].map(|device| device.device_type == DeviceType::Cpu) {
            [true, true] => return HardwareMatch::SameGpu,
            [false, false] => {}
            _ => return HardwareMatch::Different,
        }
        match (&self.pci_address, &other.pci_address) {
            (Some(own), Some(other)) if own.eq_ignore_ascii_case(other) => HardwareMatch::SameGpu,
            (Some(_), Some(_)) => HardwareMatch::Different,
            _ if self.vendor() == other.vendor() => HardwareMatch::SameVendor,
            _ => HardwareMatch::Different,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_device(device: &str, name: &str, pci_address: Option<&str>) -> RunDevice {
        let is_cpu = name.contains("llvmpipe") || device == "cpu:0";
        RunDevice {
            device: device.parse().unwrap(),
            name: name.into(),
            device_type: if is_cpu { DeviceType::Cpu } else { DeviceType::Gpu },
            pci_address: pci_address.map(str::to_owned),
            driver: None,
        }
    }

    #[test]
    fn an_address_says_more_than_a_name() {
        let (one, two) = (Some("0000:c1:00.0"), Some("0000:C1:00.0"));
        let other = Some("0000:03:00.0");
        for (left, right, expected) in [
            (
                run_device("rocm:0", "x", one),
                run_device("vulkan:0", "AMD Radeon", two),
                HardwareMatch::SameGpu,
            ),
            (
                run_device("rocm:0", "x", one),
                run_device("vulkan:0", "AMD Radeon", other),
                HardwareMatch::Different,
            ),
            (
                run_device("rocm:0", "x", one),
                run_device("opencl:0", "gfx1100", None),
                HardwareMatch::SameVendor,
            ),
            (
                run_device("cuda:0", "x", one),
                run_device("opencl:0", "gfx1100", None),
                HardwareMatch::Different,
            ),
            (
                run_device("cpu:0", "x", None),
                run_device("vulkan:0", "llvmpipe", None),
                HardwareMatch::SameGpu,
            ),
            (
                run_device("cpu:0", "AMD EPYC", None),
                run_device("rocm:0", "x", None),
                HardwareMatch::Different,
            ),
        ] {
            assert_eq!(
                (left.alike(&right), right.alike(&left)),
                (expected, expected),
                "{left:?} {right:?}"
            );
        }
    }

    fn native(device: &str, name: &str) -> Option<BackendId> {
        run_device(device, name, None).vendor().native()
    }

    #[test]
    fn vendors_have_their_own_runtime() {
        assert_eq!(native("vulkan:0", "AMD Radeon Graphics (RADV GFX1100)"), Some(BackendId::Rocm));
        assert_eq!(native("vulkan:1", "NVIDIA GeForce RTX 4090"), Some(BackendId::Cuda));
        assert_eq!(native("opencl:0", "Intel(R) Arc(TM) A770 Graphics"), Some(BackendId::Oneapi));
        assert_eq!(native("vulkan:2", "Mali-G610"), None);
    }
}
