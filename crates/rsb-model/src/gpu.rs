//! A GPU or accelerator as its machine describes it. What no file tells is `None` or empty, never
//! zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A GPU or accelerator, or one partition of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gpu {
    /// Position in the list of the machine.
    pub index: u32,
    /// Marketing name, from the driver or the PCI-id table.
    pub name: Option<String>,
    /// `vendor:device` in hexadecimal: `1002:744c`.
    pub pci_id: Option<String>,
    /// Address on the bus: `0000:03:00.0`.
    pub pci_address: Option<String>,
    /// Whether it is a GPU or a part of the CPU.
    pub kind: Option<GpuKind>,
    /// Whether it is a virtual function, a share of a GPU given to a guest.
    pub virtual_function: Option<bool>,
    /// Instruction set: `gfx1100`, `sm_90`.
    pub gfx_target: Option<String>,
    /// Compute units or streaming multiprocessors.
    pub compute_units: Option<u32>,
    /// Highest clock of the compute units that the driver lists, in MHz. GPUs of the RDNA family
    /// may go beyond it.
    pub max_mhz: Option<f64>,
    /// The clock that the driver would let the GPU reach, in MHz, where it tells.
    pub limit_mhz: Option<f64>,
    /// Memory of the GPU in GB.
    pub vram_gb: Option<f64>,
    /// Highest memory bandwidth, from kind, width and clock, in GB/s; of a partition, its share.
    pub memory_bandwidth_gb_s: Option<f64>,
    /// The memory itself.
    pub memory: GpuMemory,
    /// Caches, smallest level first.
    pub caches: Vec<GpuCache>,
    /// The link to the CPU.
    pub pcie: Pcie,
    /// Links to other GPUs and to CPUs.
    pub links: Vec<GpuLink>,
    /// Kernel driver and its version.
    pub driver: Option<String>,
    /// Version of the GPU's own firmware.
    pub vbios: Option<String>,
    /// The device file of the DRM through which it is reached: `renderD128`.
    pub render_node: Option<String>,
    /// Its node in the topology of AMD's compute driver, which orders devices by it; none when that
    /// lists it not.
    pub kfd_node: Option<u32>,
    /// Partition mode: `SPX/NPS1`.
    pub partition: Option<String>,
    /// Which partition of its GPU this is, from 0; none where the GPU is whole.
    pub partition_index: Option<u32>,
    /// How many partitions the GPU is split into. Each is a device of its own, with its memory and
    /// its share of the bandwidth; link, power, driver and sensors are those of the whole.
    pub partitions: Option<u32>,
    /// How the kernel hands memory to the GPU: `identity`, or `DMA` behind an IOMMU.
    pub iommu: Option<String>,
    /// Errors of memory and other blocks counted since the driver was loaded; none when it does not
    /// count.
    pub ecc: Option<Ecc>,
    /// Power that the GPU may draw, in W.
    pub power_cap_w: Option<f64>,
    /// Power that the GPU may draw as delivered, in W.
    pub power_cap_default_w: Option<f64>,
    /// How clocks are chosen: `auto`, or `manual`, `low`, `high` when somebody has set them.
    pub performance_level: Option<String>,
    /// Whether the GPU sleeps. Its sensors and clocks are not asked then: that would wake it.
    pub asleep: Option<bool>,
    /// Sensors that it has: `temperature edge`, `power`, `fan` …
    pub sensors: Vec<SensorName>,
    /// Runtimes through which it can be reached here.
    pub backends: Vec<String>,
}

/// Name of a sensor, such as `temperature junction`.
pub type SensorName = String;

/// Where a GPU sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GpuKind {
    /// Part of the CPU; it shares the machine's memory.
    Integrated,
    /// A GPU or module of its own.
    Discrete,
}

impl GpuKind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Integrated => "integrated",
            Self::Discrete => "discrete",
        }
    }
}

/// The memory of a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuMemory {
    /// `HBM2e`, `GDDR6` …
    pub kind: Option<String>,
    /// Vendor of the chips.
    pub vendor: Option<String>,
    /// Width of the bus in bits.
    pub width_bits: Option<u32>,
    /// Highest clock as the driver counts it, in MHz.
    pub max_mhz: Option<f64>,
    /// Memory of the machine that the GPU may map, in GB.
    pub shared_gb: Option<f64>,
}

/// Caches of one size and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct GpuCache {
    /// 1 is nearest.
    pub level: u32,
    /// What it holds.
    pub kind: GpuCacheKind,
    /// Bytes in each.
    pub size_bytes: u64,
    /// How many there are.
    pub count: u32,
}

/// What a cache of a GPU holds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum GpuCacheKind {
    /// Data, or data and instructions.
    Data,
    /// Instructions alone.
    Instruction,
}

/// The PCI Express link of a GPU, over its narrowest stretch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pcie {
    /// As it runs now; it may be slow because the GPU is idle.
    pub now: Option<PcieLink>,
    /// At most.
    pub max: Option<PcieLink>,
    /// Whether the driver has lowered it to save power, where it tells.
    pub saves_power: Option<bool>,
    /// Packets that had to be sent again.
    pub replays: Option<u64>,
}

/// Speed and width of a PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    /// Transfers of one lane, in GT/s.
    pub gt_s: f64,
    /// Lanes.
    pub width: u32,
    /// What it can carry one way, in GB/s, after the encoding of the line.
    pub gb_s: f64,
}

impl PcieLink {
    /// A link of `width` lanes at `gt_s` each.
    ///
    /// ```
    /// let gen4 = rsb_model::gpu::PcieLink::new(16.0, 16);
    /// assert!((gen4.gb_s - 31.5).abs() < 0.01);
    /// ```
    pub fn new(gt_s: f64, width: u32) -> Self {
        // PCI Express base specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256
        // bytes of a flit then.
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

/// A link of a GPU to another GPU or to a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuLink {
    /// `xgmi`, `pcie` …
    pub kind: String,
    /// The other GPU's position in the list of the machine; none when it is a CPU.
    pub peer: Option<u32>,
    /// Distance as the driver weighs it.
    pub weight: Option<u32>,
    /// What it can carry one way, in GB/s.
    pub gb_s: Option<f64>,
}

/// Errors that were corrected, and those that were not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ecc {
    /// All blocks together.
    pub total: EccCount,
    /// By block: `umc` (memory), `gfx`, `sdma` …; those without errors are left out.
    pub blocks: BTreeMap<String, EccCount>,
}

/// Errors of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EccCount {
    /// Not corrected: data were lost.
    pub uncorrectable: u64,
    /// Corrected.
    pub correctable: u64,
    /// Found but not yet used.
    pub deferred: u64,
}

/// A GPU that could not be read, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadGpu {
    /// Where it was read: `card0 (0000:03:00.0)`, or `node 4` of AMD's compute driver.
    pub place: String,
    /// What was asked last: `its clocks`. What comes after it was not asked.
    pub asked: String,
    /// What became of that.
    pub answer: Answer,
}

/// What became of a read that told nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The read has not come back.
    Late,
    /// The kernel returned an error.
    Failed,
    /// The kernel does not show it to this user or container.
    Denied,
}

impl Answer {
    /// What is to be said of a GPU (or, with `gpus`, of several) with this answer: `does not
    /// answer`.
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
    /// What to call it: its name, else the instruction set, else the PCI id.
    pub fn label(&self) -> &str {
        let known = self.name.as_deref().or(self.gfx_target.as_deref()).or(self.pci_id.as_deref());
        known.unwrap_or("unknown GPU")
    }

    /// Whether AMD made it.
    pub fn is_amd(&self) -> bool {
        self.pci_id.as_deref().is_some_and(|id| id.starts_with("1002:"))
            || self.gfx_target.as_deref().is_some_and(|target| target.starts_with("gfx"))
    }

    /// Name of the driver without its version.
    pub fn driver_name(&self) -> Option<&str> {
        self.driver.as_deref()?.split(' ').next()
    }

    /// Bytes of the last level of data cache, all of that level together: what a flush must exceed.
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
