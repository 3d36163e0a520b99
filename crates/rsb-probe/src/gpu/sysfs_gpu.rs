//! A GPU in the DRM or PCI tree: `class/drm/card0/device` or `bus/pci/devices/0000:03:00.0`.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rsb_model::gpu::GpuKind;

use super::answers::GpuReport;
use super::details::{self, Details};
use super::names::KnownGpu;
use super::pci::{PciId, is_address};
use crate::host::{Host, entries, hexadecimal, read_line, read_number, read_text, refusal};
use crate::plausible;

/// Vendors of compute GPUs. Excludes the displays of server management chips and of hypervisors.
const AMD: u32 = 0x1002;
const NVIDIA: u32 = 0x10de;
const INTEL: u32 = 0x8086;

/// PCI device ID of the MI300A, which combines a CPU and an accelerator and has the chip of a GPU.
const MI300A: u32 = 0x74a0;
/// Instruction sets of the graphics in AMD's CPUs. Source: LLVM's AMDGPU usage guide.
const IN_CPUS: [&str; 14] = [
    "gfx801", "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037",
    "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
];

/// PCI device IDs of Intel's discrete GPUs: Ponte Vecchio, DG1, Alchemist and Battlemage. Source:
/// the kernel's `include/drm/intel/pciids.h`.
const INTEL_DISCRETE: [RangeInclusive<u32>; 6] = [
    0x0b69..=0x0b6e,
    0x0bd0..=0x0be5,
    0x4905..=0x4909,
    0x4f80..=0x4f88,
    0x5690..=0x56c2,
    0xe202..=0xe223,
];

/// Facts about a GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SysfsGpu {
    pub(crate) vendor: Option<u32>,
    pub(crate) id: Option<PciId>,
    pub(crate) revision: Option<u32>,
    /// Vendor and number of the board.
    pub(crate) board: Option<PciId>,
    pub(crate) address: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) vram_bytes: Option<u64>,
    pub(crate) driver: Option<String>,
    pub(crate) partition: Option<String>,
    pub(crate) memory_vendor: Option<String>,
    pub(crate) shared_bytes: Option<u64>,
    pub(crate) vbios: Option<String>,
    pub(crate) render_node: Option<String>,
    pub(crate) iommu: Option<String>,
    /// Whether it is a virtual function of another GPU, if the kernel shows that.
    pub(crate) is_virtual: Option<bool>,
    /// PCI address of the physical function, if this is a virtual function and this machine is its
    /// host.
    pub(crate) physical_function: Option<String>,
    pub(crate) details: Details,
    /// Whether the GPU is in the DRM, which Vulkan requires.
    pub(crate) is_in_drm: bool,
}

/// Returns the directories of all GPUs: those in the DRM, and those that are only on the bus.
pub(crate) fn dirs(host: &Host) -> Vec<PathBuf> {
    with_those_on_the_bus(host, in_drm(host))
}

/// Returns the directories of the GPUs in the DRM.
pub(crate) fn in_drm(host: &Host) -> Vec<PathBuf> {
    let drm = host.path("/sys/class/drm");
    let numbers = host.entries("/sys/class/drm").into_iter().filter(|name| is_gpu(name));
    drm.into_iter()
        .flat_map(|drm| numbers.clone().map(move |name| drm.join(name).join("device")))
        .collect()
}

/// Returns `found` and the GPUs that are only on the bus (NVIDIA without its DRM driver, GPUs
/// without a driver).
pub(crate) fn with_those_on_the_bus(host: &Host, mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    let known: HashSet<(u64, u64)> = found.iter().filter_map(|dir| identity_of(dir)).collect();
    if let Some(bus) = host.path("/sys/bus/pci/devices") {
        for address in entries(&bus) {
            let dir = bus.join(address);
            if computes(&dir) && identity_of(&dir).is_some_and(|own| !known.contains(&own)) {
                found.push(dir);
            }
        }
    }
    found
}

/// Returns device and inode, which identify a directory independent of its path. This takes one
/// system call; resolving links takes one per path component.
fn identity_of(dir: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(dir).ok()?;
    Some((found.dev(), found.ino()))
}

/// Returns a name for the GPU in `dir` before its facts are known, such as `card0 (0000:03:00.0)`.
/// Does not access the GPU.
pub(crate) fn place(dir: &Path) -> String {
    let named = if dir.ends_with("device") { dir.parent().unwrap_or(dir) } else { dir };
    let name = named.file_name().unwrap_or_default().to_string_lossy();
    match address_of_link(dir).filter(|address| *address != name) {
        Some(address) => format!("{name} ({address})"),
        None => name.into_owned(),
    }
}

/// Returns whether `name` is a GPU such as `card0`, not a connector such as `card0-DP-1`.
fn is_gpu(name: &str) -> bool {
    name.strip_prefix("card")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether the class of a PCI function is display (03) or processing accelerator (12, of
/// AMD and NVIDIA).
fn computes(function: &Path) -> bool {
    let class = read_hexadecimal(&function.join("class")).map(|class| class >> 16);
    let vendor = read_hexadecimal(&function.join("vendor"));
    match class {
        Some(0x03) => true,
        Some(0x12) => matches!(vendor, Some(AMD | NVIDIA)),
        _ => false,
    }
}

/// Reads one GPU: first its identity, then the rest.
pub(crate) fn read(host: &Host, dir: &Path, report: &dyn Fn(GpuReport<SysfsGpu>)) {
    report(GpuReport::nothing());
    let Some(mut gpu) = identity(host, dir) else { return report(unknown(dir)) };
    report(GpuReport::so_far(gpu.clone(), "its name and memory"));
    gpu.revision = read_hexadecimal(&dir.join("revision"));
    gpu.name =
        read_line(&dir.join("product_name")).or_else(|| nvidia_name(host, gpu.address.as_deref()?));
    // The file of AMD's driver, then that of Intel's xe.
    gpu.vram_bytes = read_memory_bytes(&dir.join("mem_info_vram_total"))
        .or_else(|| read_memory_bytes(&dir.join("tile0/physical_vram_size_bytes")));
    gpu.shared_bytes = read_memory_bytes(&dir.join("mem_info_gtt_total"));
    gpu.memory_vendor =
        read_line(&dir.join("mem_info_vram_vendor")).filter(|vendor| vendor != "unknown");
    gpu.vbios = read_line(&dir.join("vbios_version"));
    gpu.render_node =
        entries(&dir.join("drm")).into_iter().find(|name| name.starts_with("renderD"));
    gpu.iommu = read_line(&dir.join("iommu_group/type"));
    gpu.is_virtual = is_virtual(dir);
    gpu.physical_function = address_of_link(&dir.join("physfn"));
    let compute = read_line(&dir.join("current_compute_partition"));
    let memory = read_line(&dir.join("current_memory_partition"));
    gpu.partition = match (compute, memory) {
        (Some(compute), Some(memory)) => Some(format!("{compute}/{memory}")),
        (compute, memory) => compute.or(memory),
    };
    report(GpuReport::so_far(gpu.clone(), "its power state"));
    details::read(dir, &|details, next| {
        report(GpuReport::so_far(SysfsGpu { details, ..gpu.clone() }, next));
    });
}

/// Returns whether the GPU in `dir` is a virtual function. A host shows the link `physfn` in its
/// virtual functions and `sriov_totalvfs` in GPUs that have some; a guest shows neither.
pub(crate) fn is_virtual(dir: &Path) -> Option<bool> {
    if dir.join("physfn").symlink_metadata().is_ok() {
        return Some(true);
    }
    dir.join("sriov_totalvfs").exists().then_some(false)
}

/// Reads a plausible number of bytes of GPU memory.
fn read_memory_bytes(file: &Path) -> Option<u64> {
    read_number(file).and_then(plausible::memory_bytes)
}

/// Reads a number such as `0x1002`.
fn read_hexadecimal(file: &Path) -> Option<u32> {
    read_line(file).as_deref().and_then(hexadecimal)
}

/// Returns the report for a directory without an identified vendor: not a supported GPU, or one
/// that the kernel refuses to describe.
fn unknown(dir: &Path) -> GpuReport<SysfsGpu> {
    let vendor = dir.join("vendor");
    if read_line(&vendor).is_some() {
        return GpuReport::nothing();
    }
    let refused = [vendor, dir.join("uevent")].iter().find_map(|file| refusal(file));
    refused.map_or_else(GpuReport::nothing, GpuReport::from_error)
}

/// Returns the PCI address of the GPU in `dir`.
pub(crate) fn address(dir: &Path) -> Option<String> {
    let event = read_text(&dir.join("uevent")).unwrap_or_default();
    let slot = event.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")).map(str::trim);
    slot.map(str::to_owned).or_else(|| address_of_link(dir))
}

/// Returns the PCI address from the real path of `dir`; the links in the kernel's trees point to
/// it.
fn address_of_link(dir: &Path) -> Option<String> {
    std::fs::read_link(dir)
        .ok()
        .and_then(|real| last_address(&real))
        .or_else(|| last_address(&std::fs::canonicalize(dir).ok()?))
}

/// Returns the last part of `path`, if it is a PCI address.
fn last_address(path: &Path) -> Option<String> {
    path.file_name()?.to_str().filter(|name| is_address(name)).map(str::to_owned)
}

/// Returns the kernel driver that is bound to the GPU in `dir`.
pub(crate) fn driver(dir: &Path) -> Option<String> {
    let event = read_text(&dir.join("uevent")).unwrap_or_default();
    let name = event
        .lines()
        .find_map(|line| line.strip_prefix("DRIVER="))
        .map(|driver| driver.trim().to_owned());
    name.or_else(|| driver_of_link(dir))
}

/// Returns the driver from the kernel's link.
fn driver_of_link(dir: &Path) -> Option<String> {
    Some(std::fs::canonicalize(dir.join("driver")).ok()?.file_name()?.to_str()?.to_owned())
}

/// Reads the identity of the GPU from files that never access it.
fn identity(host: &Host, dir: &Path) -> Option<SysfsGpu> {
    let event = read_text(&dir.join("uevent")).unwrap_or_default();
    let id = event_id(&event, "PCI_ID").or_else(|| read_id(dir, "vendor", "device"));
    let vendor = id.map(|id| id.vendor).or_else(|| read_hexadecimal(&dir.join("vendor")))?;
    if !matches!(vendor, AMD | NVIDIA | INTEL) {
        return None;
    }
    Some(SysfsGpu {
        vendor: Some(vendor),
        id,
        board: event_id(&event, "PCI_SUBSYS_ID")
            .or_else(|| read_id(dir, "subsystem_vendor", "subsystem_device")),
        address: event_value(&event, "PCI_SLOT_NAME")
            .map(str::to_owned)
            .or_else(|| address_of_link(dir)),
        driver: event_value(&event, "DRIVER")
            .map(str::to_owned)
            .or_else(|| driver_of_link(dir))
            .map(|driver| with_version(host, driver)),
        is_in_drm: dir.join("drm").is_dir() || dir.ends_with("device"),
        ..SysfsGpu::default()
    })
}

/// Returns the value of a line `name=value` of `uevent`.
fn event_value<'a>(event: &'a str, name: &str) -> Option<&'a str> {
    event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::trim)
}

/// Returns the IDs in a line `name=1002:744C` of `uevent`.
fn event_id(event: &str, name: &str) -> Option<PciId> {
    let (vendor, device) = event_value(event, name)?.split_once(':')?;
    Some(PciId { vendor: hexadecimal(vendor)?, device: hexadecimal(device)? })
}

/// Reads the IDs from two files of `dir`.
fn read_id(dir: &Path, vendor: &str, device: &str) -> Option<PciId> {
    Some(PciId {
        vendor: read_hexadecimal(&dir.join(vendor))?,
        device: read_hexadecimal(&dir.join(device))?,
    })
}

/// Appends a version to the driver's name: that of the module if it is out-of-tree, otherwise that
/// of the kernel.
fn with_version(host: &Host, driver: String) -> String {
    let own = host.line(&format!("/sys/module/{driver}/version"));
    match own.or_else(|| crate::os::kernel(host)) {
        Some(version) => format!("{driver} {version}"),
        None => driver,
    }
}

/// Returns the name that NVIDIA's driver reports in `/proc`.
fn nvidia_name(host: &Host, address: &str) -> Option<String> {
    let text = host.text(&format!("/proc/driver/nvidia/gpus/{address}/information"))?;
    let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim();
    (!model.is_empty() && model != "Unknown").then(|| model.to_owned())
}

impl SysfsGpu {
    /// Returns whether the GPU is integrated or discrete, if its chip or PCI address shows that;
    /// `target` is its instruction set.
    pub(crate) fn kind(&self, target: Option<&str>, has_own_memory: bool) -> Option<GpuKind> {
        match self.vendor {
            Some(INTEL) => self.intel_kind(),
            Some(NVIDIA) => Some(GpuKind::Discrete),
            _ if self.id.is_some_and(|id| id.vendor == AMD && id.device == MI300A) => {
                Some(GpuKind::Integrated)
            }
            _ if target.is_some_and(|target| IN_CPUS.contains(&target)) => {
                Some(GpuKind::Integrated)
            }
            _ => has_own_memory.then_some(GpuKind::Discrete),
        }
    }

    /// Does the same as [`Self::kind`] for Intel's GPUs. A guest may see a virtual function of
    /// integrated graphics at any address.
    fn intel_kind(&self) -> Option<GpuKind> {
        let device = self.id.map_or(0, |id| id.device);
        let has_discrete_id = INTEL_DISCRETE.iter().any(|range| range.contains(&device));
        if has_discrete_id || self.vram_bytes.is_some() {
            return Some(GpuKind::Discrete);
        }
        // Fixed PCI address of the CPU's own graphics.
        (self.address.as_deref() == Some("0000:00:02.0")).then_some(GpuKind::Integrated)
    }

    /// Returns whether the GPU is a virtual function, according to the kernel or else to `known`.
    /// Only AMD's virtual functions have separate PCI IDs.
    pub(crate) fn virtual_function(&self, known: Option<KnownGpu>) -> Option<bool> {
        let named = known.filter(|_| self.is_amd()).map(KnownGpu::is_virtual_function);
        self.is_virtual.or(named)
    }

    pub(crate) fn is_amd(&self) -> bool {
        self.vendor == Some(AMD)
    }

    pub(crate) fn is_nvidia(&self) -> bool {
        self.vendor == Some(NVIDIA)
    }

    /// Returns the name of the driver without its version.
    pub(crate) fn driver_name(&self) -> Option<&str> {
        self.driver.as_deref()?.split(' ').next()
    }
}
