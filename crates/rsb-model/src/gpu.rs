//! GPU or accelerator as described by its machine. Unknown values are `None` or empty, never zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A GPU or accelerator, or one partition of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gpu {
    /// Position in the machine's list of GPUs.
    pub index: u32,
    /// Marketing name, from the driver or the PCI-id table.
    pub name: Option<String>,
    /// PCI `vendor:device` id in hexadecimal, such as `1002:744c`.
    pub pci_id: Option<String>,
    /// PCI address, such as `0000:03:00.0`.
    pub pci_address: Option<String>,
    /// Whether the GPU is discrete or part of the CPU.
    pub kind: Option<GpuKind>,
    /// Whether the GPU is a virtual function (SR-IOV): a share of a physical GPU that a guest can
    /// use.
    pub virtual_function: Option<bool>,
    /// PCI address of the physical GPU to which this virtual function belongs. Absent for physical
    /// GPUs, and in a guest, which cannot see the physical GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_function: Option<String>,
    /// Instruction set, such as `gfx1100` or `sm_90`.
    pub gfx_target: Option<String>,
    /// Number of compute units or streaming multiprocessors.
    pub compute_units: Option<u32>,
    /// Highest clock of the compute units listed by the driver, in MHz. RDNA GPUs can exceed it.
    pub max_mhz: Option<f64>,
    /// Upper limit of the clock that the driver would accept, in MHz, if it reports one.
    pub limit_mhz: Option<f64>,
    /// GPU memory in GB. For a GPU without memory of its own, the part of the system memory that
    /// the firmware reserves for it.
    pub vram_gb: Option<f64>,
    /// Peak memory bandwidth in GB/s, from memory type, bus width and clock. For a partition, its
    /// share.
    pub memory_bandwidth_gb_s: Option<f64>,
    /// Details of the GPU memory.
    pub memory: GpuMemory,
    /// Caches, smallest level first.
    pub caches: Vec<GpuCache>,
    /// PCI Express link to the CPU.
    pub pcie: Pcie,
    /// Links to other GPUs and to CPUs.
    pub links: Vec<GpuLink>,
    /// Name and version of the kernel driver.
    pub driver: Option<String>,
    /// Version of the GPU firmware (VBIOS).
    pub vbios: Option<String>,
    /// DRM device file of the GPU, such as `renderD128`.
    pub render_node: Option<String>,
    /// Node number in the topology of AMD's compute driver (KFD), which determines the order of its
    /// devices. Null if the topology does not list the GPU.
    pub kfd_node: Option<u32>,
    /// Partition mode, such as `SPX/NPS1`.
    pub partition: Option<String>,
    /// Index of this partition within its GPU, from 0. Null if the GPU is not partitioned.
    pub partition_index: Option<u32>,
    /// Number of partitions of the GPU. Each partition is a separate device with its own memory and
    /// share of the bandwidth; link, power, driver and sensors are those of the whole GPU.
    pub partitions: Option<u32>,
    /// How the kernel maps memory for the GPU: `identity`, or `DMA` behind an IOMMU.
    pub iommu: Option<String>,
    /// ECC errors of memory and other blocks since the driver was loaded. Null if the GPU does not
    /// count them.
    pub ecc: Option<Ecc>,
    /// Current power limit, in W.
    pub power_cap_w: Option<f64>,
    /// Factory default of the power limit, in W.
    pub power_cap_default_w: Option<f64>,
    /// Clock policy: `auto`, or `manual`, `low` or `high` if the user has set it.
    pub performance_level: Option<String>,
    /// Whether the GPU is suspended. Its sensors and clocks are not read then, because that would
    /// wake it.
    pub asleep: Option<bool>,
    /// Available sensors: `temperature edge`, `power`, `fan` …
    pub sensors: Vec<SensorName>,
    /// Backends through which the GPU can be used on this machine.
    pub backends: Vec<String>,
}

/// Name of a sensor, such as `temperature junction`.
pub type SensorName = String;

named_enum! {
    serde
    /// Whether a GPU is part of the CPU.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum GpuKind {
        /// Part of the CPU; it shares the system memory.
        Integrated = "integrated",
        /// Separate GPU or accelerator module.
        Discrete = "discrete",
    }
}

/// Memory of a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuMemory {
    /// Memory type: `HBM2e`, `GDDR6` …
    pub kind: Option<String>,
    /// Vendor of the memory chips.
    pub vendor: Option<String>,
    /// Bus width in bits.
    pub width_bits: Option<u32>,
    /// Highest memory clock as counted by the driver, in MHz.
    pub max_mhz: Option<f64>,
    /// System memory that the GPU can map (AMD's GTT), in GB. Not part of `vram_gb`.
    pub shared_gb: Option<f64>,
}

/// Caches of one size and type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct GpuCache {
    /// Level; 1 is closest to the compute unit.
    pub level: u32,
    /// Contents of the caches.
    pub kind: GpuCacheKind,
    /// Size of each cache, in bytes.
    pub size_bytes: u64,
    /// Number of caches.
    pub count: u32,
}

/// Contents of a GPU cache.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum GpuCacheKind {
    /// Data, or data and instructions.
    Data,
    /// Instructions only.
    Instruction,
}

/// PCI Express link of a GPU, limited by the slowest segment of the path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pcie {
    /// Current speed. It can be low because the GPU is idle.
    pub now: Option<PcieLink>,
    /// Highest possible speed.
    pub max: Option<PcieLink>,
    /// Whether the driver has lowered the speed to save power, if it reports this.
    pub saves_power: Option<bool>,
    /// Number of packets that had to be sent again.
    pub replays: Option<u64>,
}

/// Speed and width of a PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    /// Transfer rate of one lane, in GT/s.
    pub gt_s: f64,
    /// Number of lanes.
    pub width: u32,
    /// Bandwidth in one direction, in GB/s, after line encoding.
    pub gb_s: f64,
}

impl PcieLink {
    /// Returns the link of `width` lanes at `gt_s` GT/s each.
    /// ```
    /// let gen4 = rsb_model::gpu::PcieLink::new(16.0, 16);
    /// assert!((gen4.gb_s - 31.5).abs() < 0.01);
    /// ```
    pub fn new(gt_s: f64, width: u32) -> Self {
        // PCI Express base specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, above that
        // 242 of 256 bytes of a flit.
        let encoding = if gt_s <= 5.0 {
            8.0 / 10.0
        } else if gt_s <= 32.0 {
            128.0 / 130.0
        } else {
            242.0 / 256.0
        };
        Self { gt_s, width, gb_s: gt_s * f64::from(width) / 8.0 * encoding }
    }
}

/// Link from a GPU to another GPU or to a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuLink {
    /// Link type: `xgmi`, `pcie` …
    pub kind: String,
    /// Position of the other GPU in the machine's list. Null if the link goes to a CPU.
    pub peer: Option<u32>,
    /// Distance (weight) reported by the driver.
    pub weight: Option<u32>,
    /// Bandwidth in one direction, in GB/s.
    pub gb_s: Option<f64>,
}

/// Counts of ECC errors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ecc {
    /// Sum over all blocks.
    pub total: EccCount,
    /// Counts per block: `umc` (memory), `gfx`, `sdma` … Blocks without errors are omitted.
    pub blocks: BTreeMap<String, EccCount>,
}

/// ECC errors of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EccCount {
    /// Uncorrected errors: data was lost.
    pub uncorrectable: u64,
    /// Corrected errors.
    pub correctable: u64,
    /// Errors in data that was not used yet.
    pub deferred: u64,
}

/// GPU that could not be read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadGpu {
    /// Device that was read: `card0 (0000:03:00.0)`, or `node 4` of AMD's compute driver.
    pub place: String,
    /// Last property that was requested, such as `its clocks`. Later properties were not requested.
    pub asked: String,
    /// Result of that request.
    pub answer: Answer,
}

/// Result of a failed read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The read has not returned yet.
    Late,
    /// The kernel returned an error.
    Failed,
    /// The kernel does not show the device to this user or container.
    Denied,
}

impl Answer {
    /// Returns the result as a verb phrase such as `does not answer`. Its subject is one GPU, or
    /// several if `gpus` is above 1.
    pub const fn describe(self, gpus: usize) -> &'static str {
        match (self, gpus) {
            (Self::Late, 0 | 1) => "does not answer",
            (Self::Late, _) => "do not answer",
            (Self::Failed, _) => "cannot be read",
            (Self::Denied, 0 | 1) => "is not shown here",
            (Self::Denied, _) => "are not shown here",
        }
    }
}

impl Gpu {
    /// Returns the name of the GPU, or its instruction set or PCI id if the name is unknown.
    pub fn label(&self) -> &str {
        let known = self.name.as_deref().or(self.gfx_target.as_deref()).or(self.pci_id.as_deref());
        known.unwrap_or("unknown GPU")
    }

    /// Returns whether this is an AMD GPU.
    pub fn is_amd(&self) -> bool {
        self.pci_id.as_deref().is_some_and(|id| id.starts_with("1002:"))
            || self.gfx_target.as_deref().is_some_and(|target| target.starts_with("gfx"))
    }

    /// Returns the name of the driver without its version.
    pub fn driver_name(&self) -> Option<&str> {
        self.driver.as_deref()?.split(' ').next()
    }

    /// Returns the physical GPU of this virtual function. `gpus` is the list of GPUs of the
    /// machine.
    pub fn physical_gpu<'a>(&self, gpus: &'a [Self]) -> Option<&'a Self> {
        let address = self.physical_function.as_deref()?;
        gpus.iter().find(|gpu| gpu.pci_address.as_deref() == Some(address))
    }

    /// Describes a virtual function: `a virtual function of GPU 0 on this host`, or `a virtual
    /// function` in a guest. `gpus` is the list of GPUs of the machine. Returns `None` for a
    /// physical GPU.
    pub fn describe_virtual_function(&self, gpus: &[Self]) -> Option<String> {
        if self.virtual_function != Some(true) {
            return None;
        }
        let Some(address) = self.physical_function.as_deref() else {
            return Some("a virtual function".to_owned());
        };
        let physical = match self.physical_gpu(gpus) {
            Some(gpu) => format!("GPU {}", gpu.index),
            None => format!("the GPU at {address}"),
        };
        Some(format!("a virtual function of {physical} on this host"))
    }

    /// Returns the total size in bytes of all last-level data caches, which a cache flush must
    /// exceed.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        let data = self.caches.iter().filter(|cache| cache.kind == GpuCacheKind::Data);
        let last = data.clone().map(|cache| cache.level).max()?;
        let sizes = data.filter(|cache| cache.level == last);
        Some(
            sizes
                .map(|cache| cache.size_bytes.saturating_mul(u64::from(cache.count)))
                .fold(0, u64::saturating_add),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_what_the_specification_says() {
        for (gt_s, width, gb_s) in [
            (2.5, 16, 4.0),
            (5.0, 8, 4.0),
            (8.0, 16, 15.754),
            (16.0, 16, 31.508),
            (32.0, 16, 63.015),
            (64.0, 16, 121.0),
        ] {
            let found = PcieLink::new(gt_s, width).gb_s;
            assert!((found - gb_s).abs() < 1e-3, "{gt_s} GT/s x{width}: {found}");
        }
    }

    fn cache(level: u32, kind: GpuCacheKind, size_bytes: u64, count: u32) -> GpuCache {
        GpuCache { level, kind, size_bytes, count }
    }

    #[test]
    fn the_last_level_counts_every_slice() {
        let caches = vec![
            cache(1, GpuCacheKind::Data, 32 << 10, 304),
            cache(2, GpuCacheKind::Data, 4 << 20, 8),
            cache(3, GpuCacheKind::Instruction, 1 << 30, 1),
        ];
        assert_eq!(Gpu { caches, ..Gpu::default() }.last_level_cache_bytes(), Some(32 << 20));
        assert_eq!(Gpu::default().last_level_cache_bytes(), None);
    }

    #[test]
    fn a_virtual_function_is_described_by_its_physical_function() {
        let physical = Gpu { index: 3, pci_address: Some("0000:00:02.0".into()), ..Gpu::default() };
        let gpus = std::slice::from_ref(&physical);
        let guest = Gpu { virtual_function: Some(true), ..Gpu::default() };
        let host = Gpu { physical_function: Some("0000:00:02.0".into()), ..guest.clone() };
        assert_eq!(physical.describe_virtual_function(gpus), None);
        assert_eq!(guest.describe_virtual_function(gpus).as_deref(), Some("a virtual function"));
        assert_eq!(
            host.describe_virtual_function(gpus).as_deref(),
            Some("a virtual function of GPU 3 on this host")
        );
        assert_eq!(
            host.describe_virtual_function(&[]).as_deref(),
            Some("a virtual function of the GPU at 0000:00:02.0 on this host")
        );
    }

    #[test]
    fn a_gpu_is_called_by_the_best_that_is_known() {
        let mut gpu = Gpu { pci_id: Some("1002:744c".into()), ..Gpu::default() };
        assert_eq!((gpu.label(), gpu.is_amd()), ("1002:744c", true));
        gpu.gfx_target = Some("gfx1100".into());
        assert_eq!(gpu.label(), "gfx1100");
        gpu.name = Some("AMD Radeon RX 7900 XTX".into());
        assert_eq!(gpu.label(), "AMD Radeon RX 7900 XTX");
        assert_eq!((Gpu::default().label(), Gpu::default().is_amd()), ("unknown GPU", false));
    }
}
