//! Properties of a GPU in Linux's device tree under sysfs: its PCI Express link and its clock
//! levels.

use std::ffi::c_int;
use std::path::Path;

use rsb_model::gpu::PcieLink;

/// Directory of PCI devices by address.
const DEVICES: &str = "/sys/bus/pci/devices";

/// Returns the bandwidth of the link of the GPU at `address` in one direction, in GB/s; `None` if
/// it has no link or the system does not report it. `vendor` is the PCI vendor ID, such as
/// `0x1002`.
pub(super) fn gb_s(address: &str, vendor: &str) -> Option<f64> {
    narrowest(Path::new(DEVICES), address, vendor)
}

/// Returns the highest level of `pp_dpm_sclk` of the GPU at `address`, in MHz; `None` if the driver
/// has no such table.
#[cfg(feature = "rocm")]
pub(crate) fn highest_level_mhz(address: &str, vendor: &str) -> Option<f64> {
    highest_level(Path::new(DEVICES), address, vendor)
}

#[cfg(any(feature = "rocm", test))]
fn highest_level(devices: &Path, address: &str, vendor: &str) -> Option<f64> {
    let device = devices.join(address);
    if read(&device, "vendor")? != vendor {
        return None;
    }
    read(&device, "pp_dpm_sclk")?.lines().filter_map(level_mhz).reduce(f64::max)
}

/// Returns the clock in a line such as `1: 2499Mhz *`. Implausible values (all ones from a lost
/// GPU) are ignored.
#[cfg(any(feature = "rocm", test))]
fn level_mhz(line: &str) -> Option<f64> {
    let (_, value) = line.split_once(':')?;
    let mhz = value.split_whitespace().next()?.to_ascii_lowercase();
    mhz.strip_suffix("mhz")?.parse().ok().filter(|mhz| (1.0..=10_000.0).contains(mhz))
}

/// Returns whether copies between host and GPU cross PCI Express. They do not if the GPU is part of
/// the CPU (`integrated`, MI300A), or if it reads the host's page tables over a coherent link
/// (NVLink-C2C of Grace).
///
/// HIP reports both for GPUs that share the host's memory (clr `hip_device.cpp`: `integrated` since
/// ROCm 6.2, and `pageableMemoryAccessUsesHostPageTables`, each from `hostUnifiedMemory_`).
pub(crate) fn is_on_pcie(
    name: &str,
    integrated: Option<c_int>,
    uses_host_page_tables: Option<c_int>,
) -> bool {
    integrated != Some(1) && uses_host_page_tables != Some(1) && !name.contains("MI300A")
}

/// Returns the bandwidth of the narrowest link between the GPU and the CPU. A GPU is often behind
/// its own switch, whose inner link is always wide. Returns `None` if the device at this address is
/// from another vendor.
fn narrowest(devices: &Path, address: &str, vendor: &str) -> Option<f64> {
    let device = std::fs::canonicalize(devices.join(address)).ok()?;
    if read(&device, "vendor")? != vendor {
        return None;
    }
    device.ancestors().take_while(|path| is_of_address(path)).filter_map(stretch).reduce(f64::min)
}

/// Returns whether the name of a directory is an address such as `0000:03:00.0`.
fn is_of_address(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == "0000:00:00.0".len() && name.matches(':').count() == 2
}

/// Returns the bandwidth of one link, from `16.0 GT/s PCIe` and `16` lanes.
fn stretch(device: &Path) -> Option<f64> {
    let speed: f64 = read(device, "max_link_speed")?.split(' ').next()?.parse().ok()?;
    let width: u32 = read(device, "max_link_width")?.parse().ok()?;
    let is_one = (1.0..=256.0).contains(&speed) && (1..=32).contains(&width);
    is_one.then(|| PcieLink::new(speed, width).gb_s)
}

fn read(device: &Path, file: &str) -> Option<String> {
    Some(std::fs::read_to_string(device.join(file)).ok()?.trim().to_owned())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const AMD: &str = "0x1002";

    fn write(dir: &Path, vendor: &str, speed: &str, width: &str) {
        std::fs::create_dir_all(dir).unwrap();
        for (name, text) in
            [("vendor", vendor), ("max_link_speed", speed), ("max_link_width", width)]
        {
            std::fs::write(dir.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn the_highest_clock_level_counts() {
        let tree = tempfile::tempdir().unwrap();
        let gpu = tree.path().join("0000:03:00.0");
        write(&gpu, AMD, "16.0 GT/s PCIe", "16");
        assert_eq!(highest_level(tree.path(), "0000:03:00.0", AMD), None, "no table");
        for (text, mhz) in [
            ("0: 500Mhz\n1: 31Mhz *\n2: 3320Mhz\n", Some(3320.0)),
            ("S: 500Mhz *\n1: 2070Mhz\n", Some(2070.0)),
            ("0: 99999999999999999999Mhz\n1: 0Mhz *\n", None),
            ("nonsense\n", None),
        ] {
            std::fs::write(gpu.join("pp_dpm_sclk"), text).unwrap();
            assert_eq!(highest_level(tree.path(), "0000:03:00.0", AMD), mhz, "{text:?}");
        }
        std::fs::write(gpu.join("pp_dpm_sclk"), "0: 3320Mhz\n").unwrap();
        std::fs::write(gpu.join("vendor"), "0x10de\n").unwrap();
        assert_eq!(
            highest_level(tree.path(), "0000:03:00.0", AMD),
            None,
            "another vendor's device"
        );
    }

    #[test]
    fn gpus_that_share_the_hosts_memory_are_not_on_pcie() {
        for (name, integrated, host_page_tables, expected) in [
            ("NVIDIA H100 PCIe", Some(0), Some(0), true),
            ("AMD Instinct MI300X", Some(0), None, true),
            ("a driver without either attribute", None, None, true),
            ("AMD Radeon 8060S", Some(1), Some(1), false),
            ("NVIDIA GH200 480GB", Some(0), Some(1), false),
            ("AMD Instinct MI300A", Some(0), None, false),
        ] {
            assert_eq!(is_on_pcie(name, integrated, host_page_tables), expected, "{name}");
        }
    }

    #[test]
    fn the_narrowest_stretch_counts() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        let bridge = root.join("devices/pci0000:00/0000:00:01.1");
        let gpu = bridge.join("0000:01:00.0/0000:02:00.0/0000:03:00.0");
        write(&gpu, AMD, "16.0 GT/s PCIe", "16");
        write(&bridge, AMD, "8.0 GT/s PCIe", "16");
        let devices = root.join("bus");
        std::fs::create_dir_all(&devices).unwrap();
        std::os::unix::fs::symlink(&gpu, devices.join("0000:03:00.0")).unwrap();
        let found = narrowest(&devices, "0000:03:00.0", AMD).unwrap();
        assert!((found - 15.75).abs() < 0.01, "{found}");
        write(&bridge, AMD, "Unknown", "255");
        let found = narrowest(&devices, "0000:03:00.0", AMD).unwrap();
        assert!(
            (found - 31.5).abs() < 0.01,
            "a link that reports no speed must be ignored: {found}"
        );
        write(&gpu, "0x144d", "16.0 GT/s PCIe", "4");
        assert_eq!(
            narrowest(&devices, "0000:03:00.0", AMD),
            None,
            "the device at this address is a disk"
        );
        assert_eq!(narrowest(&devices, "0000:04:00.0", AMD), None);
    }
}
