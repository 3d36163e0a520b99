//! Runtimes that can use a GPU, by their installed files. No library is loaded. An installed
//! library may still fail, which the device layer detects.

use std::path::PathBuf;

use super::sysfs_gpu::SysfsGpu;
use crate::host::{Host, entries};
use crate::rocm::{self, LIBRARY_DIRS};

/// Installed runtimes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Runtimes {
    hip: bool,
    cuda: bool,
    /// File names of the drivers that Vulkan's loader would load; empty without the loader.
    vulkan: Vec<String>,
    /// File names of the drivers that OpenCL's loader would load.
    opencl: Vec<String>,
}

impl Runtimes {
    pub(crate) fn find(host: &Host) -> Self {
        if !host.is_whole() {
            return Self::default();
        }
        let dirs = library_dirs(host);
        let mut found = Self {
            hip: has_any(
                &dirs,
                &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
            ),
            cuda: has_any(&dirs, &["libcuda.so.1", "libcuda.so"]),
            ..Self::default()
        };
        if has_any(&dirs, &["libvulkan.so.1"]) {
            found.vulkan.extend(host.entries("/usr/share/vulkan/icd.d"));
            found.vulkan.extend(host.entries("/etc/vulkan/icd.d"));
        }
        if has_any(&dirs, &["libOpenCL.so.1"]) {
            found.opencl = host.entries("/etc/OpenCL/vendors");
        }
        found
    }

    /// Returns the runtimes that can use `gpu`; `in_kfd` is whether AMD's compute driver lists it.
    pub(crate) fn reaching(&self, gpu: &SysfsGpu, in_kfd: bool) -> Vec<String> {
        let (vulkan, opencl): (&[&str], &[&str]) = if gpu.is_amd() {
            (&["radeon", "amd"], &["amdocl", "rusticl", "mesa"])
        } else if gpu.is_nvidia() {
            (&["nvidia", "nouveau"], &["nvidia"])
        } else {
            (&["intel"], &["intel"])
        };
        let is_bound = gpu.driver_name().is_some_and(|driver| !driver.ends_with("vfio-pci"));
        let reached = [
            ("rocm", self.hip && in_kfd && gpu.is_amd()),
            ("cuda", self.cuda && gpu.driver_name() == Some("nvidia")),
            ("vulkan", is_bound && gpu.is_in_drm && has_mark(&self.vulkan, vulkan)),
            ("opencl", is_bound && has_mark(&self.opencl, opencl)),
        ];
        reached.into_iter().filter(|(_, here)| *here).map(|(name, _)| name.to_owned()).collect()
    }
}

/// Returns whether one of `dirs` has a file with one of `names`.
fn has_any(dirs: &[PathBuf], names: &[&str]) -> bool {
    dirs.iter().any(|dir| names.iter().any(|name| dir.join(name).exists()))
}

/// Returns whether the name of one of `drivers` contains one of `marks`.
fn has_mark(drivers: &[String], marks: &[&str]) -> bool {
    drivers.iter().any(|driver| marks.iter().any(|mark| driver.to_ascii_lowercase().contains(mark)))
}

fn library_dirs(host: &Host) -> Vec<PathBuf> {
    let named = host
        .variable("LD_LIBRARY_PATH")
        .map(|paths| std::env::split_paths(paths).collect::<Vec<_>>());
    let rocm =
        rocm::roots(host).into_iter().flat_map(|root| [root.join("lib"), root.join("lib64")]);
    let standard = LIBRARY_DIRS.into_iter().filter_map(|dir| host.path(dir));
    let dirs = named.into_iter().flatten().chain(rocm).chain(standard);
    dirs.filter(|dir| !entries(dir).is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn gpu(vendor: u32, driver: &str) -> SysfsGpu {
        SysfsGpu {
            vendor: Some(vendor),
            driver: Some(driver.to_owned()),
            is_in_drm: true,
            ..SysfsGpu::default()
        }
    }

    #[test]
    fn a_runtime_needs_its_library_and_the_gpus_driver() {
        let tree = Tree::new(&[
            ("opt/rocm/lib/libamdhip64.so.7", ""),
            ("usr/lib64/libcuda.so.1", ""),
            ("usr/lib64/libvulkan.so.1", ""),
            ("usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "{}"),
            ("etc/OpenCL/vendors/amdocl64.icd", ""),
        ]);
        let found = Runtimes::find(&tree.host());
        let amd = gpu(0x1002, "amdgpu 6.8.0");
        assert_eq!(
            found.reaching(&amd, true),
            ["rocm", "vulkan"],
            "OpenCL is not listed without its loader"
        );
        assert_eq!(found.reaching(&amd, false), ["vulkan"]);
        assert_eq!(found.reaching(&gpu(0x1002, "vfio-pci"), false), Vec::<String>::new());
        assert_eq!(found.reaching(&gpu(0x10de, "nvidia 570.1"), false), ["cuda"]);
        assert_eq!(found.reaching(&gpu(0x10de, "nouveau"), false), Vec::<String>::new());
        assert_eq!(Runtimes::find(&Tree::new(&[]).host()), Runtimes::default());
        assert_eq!(Runtimes::find(&Host::sysfs_only(tree.path("sys"))), Runtimes::default());
    }
}
