//! The PCI Express link of a GPU, as the kernel's tree of devices tells it.

use std::path::Path;

use rsb_model::gpu::PcieLink;

/// Where the kernel shows devices by their address.
const DEVICES: &str = "/sys/bus/pci/devices";

/// What the link of the GPU at `address` can carry one way, in GB/s; `None` where it has no link or nobody tells.
/// `vendor` is its vendor's number among those of PCI devices, such as `0x1002`.
pub(super) fn gb_s(address: &str, vendor: &str) -> Option<f64> {
    narrowest(Path::new(DEVICES), address, vendor)
}

/// The narrowest stretch between the GPU and the CPU: a GPU often sits behind a switch of its own, whose inner
/// link is always wide. A device of another vendor at this address is not the GPU.
fn narrowest(devices: &Path, address: &str, vendor: &str) -> Option<f64> {
    let device = std::fs::canonicalize(devices.join(address)).ok()?;
    if read(&device, "vendor")? != vendor {
        return None;
    }
    let is_address = |path: &&Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.len() == "0000:00:00.0".len() && name.matches(':').count() == 2
    };
    device.ancestors().take_while(is_address).filter_map(stretch).reduce(f64::min)
}

/// What one stretch can carry: `16.0 GT/s PCIe` and `16` lanes.
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
        for (name, text) in [("vendor", vendor), ("max_link_speed", speed), ("max_link_width", width)] {
            std::fs::write(dir.join(name), format!("{text}\n")).unwrap();
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
        assert!((found - 31.5).abs() < 0.01, "a stretch that tells nothing does not count: {found}");
        write(&gpu, "0x144d", "16.0 GT/s PCIe", "4");
        assert_eq!(narrowest(&devices, "0000:03:00.0", AMD), None, "a disk sits there");
        assert_eq!(narrowest(&devices, "0000:04:00.0", AMD), None);
    }
}
