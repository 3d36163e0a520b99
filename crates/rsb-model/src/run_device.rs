//! Devices of a run, and which of them are the same hardware. A GPU appears once per backend, under
//! a different name each time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BackendId, DeviceRef, DeviceType, Vendor};

/// Device on which cases of a run were planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDevice {
    /// Backend and index, as in case ids: `vulkan:0`.
    #[schemars(with = "String")]
    pub device: DeviceRef,
    /// Device name reported by the driver.
    pub name: String,
    /// Type of hardware.
    pub device_type: DeviceType,
    /// PCI address, if the backend reports it. Devices with the same address are the same GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// Driver name and version, for backends that can have several drivers for one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Whether two devices are the same GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardwareMatch {
    /// They have the same address, or both are the CPU.
    SameGpu,
    /// They have the same vendor, but an address is missing.
    SameVendor,
    /// Their addresses or vendors differ.
    Different,
}

const WORDS: &[(Vendor, &[&str])] = &[
    (Vendor::Nvidia, &["nvidia", "geforce", "quadro", "tesla"]),
    (Vendor::Amd, &["amd", "radeon", "instinct", "gfx", "radv"]),
    (Vendor::Intel, &["intel", "arc"]),
];

impl RunDevice {
    /// Returns the backend of the device.
    pub const fn backend(&self) -> BackendId {
        self.device.backend
    }

    /// Returns the vendor, derived from the backend or the device name.
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

    /// Compares the device with `other`.
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
