//! Compute devices listed by AMD's kernel driver: `class/kfd/kfd/topology/nodes/N`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rsb_model::gpu::{GpuCache, GpuCacheKind};

use super::answers::GpuReport;
use super::memory::Memory;
use super::pci::PciId;
use super::sysfs_gpu::SysfsGpu;
use crate::host::{Host, entries, read_line, read_text, refusal};
use crate::plausible;

/// A compute node; CPU nodes are excluded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Node {
    number: u32,
    /// Unique ID of the chip, shared by the partitions of a GPU.
    unique_id: Option<u64>,
    /// Position among the partitions, if the GPU is split into several nodes.
    pub(crate) part: Option<Part>,
    pub(crate) id: Option<PciId>,
    pub(crate) address: Option<String>,
    /// Target, such as `gfx90a`.
    pub(crate) target: Option<String>,
    pub(crate) compute_units: Option<u32>,
    pub(crate) vram_bytes: Option<u64>,
    pub(crate) memory: Option<Memory>,
    /// Name of the chip in the driver, such as `aldebaran`.
    pub(crate) code_name: Option<String>,
    /// Highest clock of the compute units.
    pub(crate) max_mhz: Option<f64>,
    /// Number of the render node: 128 for `renderD128`.
    pub(crate) render_minor: Option<u32>,
    pub(crate) links: Vec<Link>,
    pub(crate) caches: Vec<GpuCache>,
}

/// A place among the partitions of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Index from 0.
    pub(crate) index: u32,
    pub(crate) of: u32,
}

/// A link to another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) kind: &'static str,
    /// Number of the other node, which may be that of a CPU.
    pub(crate) to: u32,
    pub(crate) weight: Option<u32>,
    /// Rate in MB/s, one way.
    pub(crate) max_mb_s: Option<u32>,
}

impl Node {
    /// Returns whether the node belongs to `gpu`: the whole GPU or a partition.
    pub(crate) fn is_of(&self, gpu: &SysfsGpu) -> bool {
        match (&self.address, &gpu.address) {
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            // If the tree has no PCI address, compare the model.
            _ => self.id.is_some() && self.id == gpu.id,
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns a GPU record for a node that is in no other tree.
    pub(crate) fn gpu(&self) -> SysfsGpu {
        let render_node = self.render_minor.map(|minor| format!("renderD{minor}"));
        SysfsGpu {
            vendor: self.id.map(|id| id.vendor),
            id: self.id,
            address: self.address.clone(),
            render_node,
            ..SysfsGpu::default()
        }
    }
}

/// Finds the nodes that are partitions of the same GPU and assigns its address to them. The kernel
/// encodes the partition number in the PCI function of the address, or in the top bits of the
/// location ID.
pub(crate) fn join_partitions(nodes: &mut [Node]) {
    let mut chips: BTreeMap<(Option<u64>, Option<String>), Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        let address = node.address.clone().filter(|_| node.unique_id.is_none());
        if node.unique_id.is_some() || address.is_some() {
            chips.entry((node.unique_id, address)).or_default().push(place);
        }
    }
    for places in chips.into_values().filter(|places| places.len() > 1) {
        let whole = places.iter().filter_map(|&place| nodes[place].address.clone()).min();
        let of = places.len() as u32;
        for (index, place) in (0..).zip(places) {
            nodes[place].address.clone_from(&whole);
            nodes[place].part = Some(Part { index, of });
        }
    }
}

/// Returns the directories of all nodes, including CPUs, by their number.
pub(crate) fn dirs(host: &Host) -> Vec<(u32, PathBuf)> {
    let Some(dir) = host.path("/sys/class/kfd/kfd/topology/nodes") else { return Vec::new() };
    let mut numbers: Vec<u32> = entries(&dir).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| (number, dir.join(number.to_string()))).collect()
}

/// Reads one node, if it is not a CPU: first its identity, then its links and caches, which are
/// hundreds of files.
pub(crate) fn read(dir: &Path, number: u32, report: &dyn Fn(GpuReport<Node>)) {
    report(GpuReport::nothing());
    let Some(properties) = Properties::read(dir) else {
        return report(
            refusal(&dir.join(PROPERTIES)).map_or_else(GpuReport::nothing, GpuReport::from_error),
        );
    };
    let Some(mut node) = node(dir, number, &properties) else { return };
    report(GpuReport::so_far(node.clone(), "its links"));
    node.links = ["io_links", "p2p_links"].iter().flat_map(|kind| links(&dir.join(kind))).collect();
    report(GpuReport::so_far(node.clone(), "its caches"));
    node.caches = caches(&dir.join("caches"));
    report(GpuReport::so_far(node, "nothing more"));
}

/// Returns the caches of the GPU at `address`; for a partitioned GPU, those of the first partition.
pub(crate) fn caches_at(host: &Host, address: &str) -> Vec<GpuCache> {
    for (number, dir) in dirs(host) {
        let Some(properties) = Properties::read(&dir) else { continue };
        let own = node(&dir, number, &properties).and_then(|node| node.address);
        if own.is_some_and(|own| own.eq_ignore_ascii_case(address)) {
            return caches(&dir.join("caches"));
        }
    }
    Vec::new()
}

const PROPERTIES: &str = "properties";

/// Lines of `name value`.
struct Properties(HashMap<String, u64>);

impl Properties {
    fn read(dir: &Path) -> Option<Self> {
        let text = read_text(&dir.join(PROPERTIES))?;
        let pairs = text.lines().filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.trim_matches(['\0', ' ']).parse().ok()?))
        });
        Some(Self(pairs.collect()))
    }

    /// Returns a value; the driver writes 0 for unknown values.
    fn nonzero(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied().filter(|value| *value > 0)
    }

    fn small(&self, name: &str) -> Option<u32> {
        u32::try_from(self.nonzero(name)?).ok()
    }

    fn megahertz(&self, name: &str) -> Option<f64> {
        plausible::megahertz(f64::from(self.small(name)?))
    }
}

fn node(dir: &Path, number: u32, properties: &Properties) -> Option<Node> {
    let units = properties.small("simd_count")?;
    let id = properties.small("vendor_id").zip(properties.small("device_id"));
    let place = properties.small("location_id");
    let banks = banks(dir);
    let compute_units = properties.small("simd_per_cu").and_then(|each| units.checked_div(each));
    Some(Node {
        number,
        unique_id: properties.nonzero("unique_id"),
        part: None,
        id: id.map(|(vendor, device)| PciId { vendor, device }),
        address: place.map(|place| address(properties.small("domain").unwrap_or(0), place)),
        target: properties.small("gfx_target_version").map(target),
        compute_units: compute_units.and_then(plausible::compute_units),
        vram_bytes: banks
            .iter()
            .map(|bank| bank.0)
            .reduce(u64::saturating_add)
            .and_then(plausible::memory_bytes),
        memory: banks.iter().find_map(|bank| bank.1),
        // All recent chips have this name, which only describes how the driver found them.
        code_name: read_line(&dir.join("name")).filter(|name| name != "ip discovery"),
        max_mhz: properties.megahertz("max_engine_clk_fcompute"),
        render_minor: properties.small("drm_render_minor"),
        links: Vec::new(),
        caches: Vec::new(),
    })
}

/// Reads the direct links of a node (`io_links`), or the paths to other GPUs through a CPU
/// (`p2p_links`).
fn links(dir: &Path) -> Vec<Link> {
    let mut found: Vec<Link> =
        entries(dir).into_iter().filter_map(|name| read_link(&dir.join(name))).collect();
    found.sort_by_key(|link| link.to);
    found
}

/// Reads the link in `dir`.
fn read_link(dir: &Path) -> Option<Link> {
    let link = Properties::read(dir)?;
    let kind = match link.nonzero("type") {
        Some(1) => "hypertransport",
        Some(2) => "pcie",
        Some(11) => "xgmi",
        _ => "other",
    };
    let rate = link.small("max_bandwidth").and_then(plausible::link_mb_s);
    // Node 0 exists, so 0 is a valid value here.
    let to = u32::try_from(*link.0.get("node_to")?).ok()?;
    Some(Link { kind, to, weight: link.small("weight"), max_mb_s: rate })
}

/// Reads the caches, counted by size and kind. The driver writes kB of 1024 bytes.
fn caches(dir: &Path) -> Vec<GpuCache> {
    const DATA: u64 = 1;
    const INSTRUCTION: u64 = 2;
    let size =
        |cache: &Properties| plausible::cache_bytes(cache.nonzero("size")?.saturating_mul(1024));
    let mut counts: BTreeMap<(u32, GpuCacheKind, u64), u32> = BTreeMap::new();
    for cache in entries(dir).into_iter().filter_map(|name| Properties::read(&dir.join(name))) {
        let (Some(level), Some(size)) = (cache.small("level"), size(&cache)) else { continue };
        let holds = cache.nonzero("type").unwrap_or(DATA);
        let kind = if holds & (DATA | INSTRUCTION) == INSTRUCTION {
            GpuCacheKind::Instruction
        } else {
            GpuCacheKind::Data
        };
        *counts.entry((level, kind, size)).or_default() += 1;
    }
    let counted = counts.into_iter();
    counted
        .map(|((level, kind, size_bytes), count)| GpuCache { level, kind, size_bytes, count })
        .collect()
}

/// Returns size and speed of each bank of the GPU's own memory.
fn banks(dir: &Path) -> Vec<(u64, Option<Memory>)> {
    const OWN_VISIBLE: u64 = 1;
    const OWN_HIDDEN: u64 = 2;
    let dir = dir.join("mem_banks");
    let all = entries(&dir).into_iter().filter_map(|name| Properties::read(&dir.join(name)));
    all.filter(|bank| matches!(bank.nonzero("heap_type"), Some(OWN_VISIBLE | OWN_HIDDEN)))
        .map(|bank| {
            let memory = bank
                .small("width")
                .and_then(plausible::width_bits)
                .zip(bank.megahertz("mem_clk_max"));
            let memory = memory.map(|(width_bits, clock_mhz)| Memory { width_bits, clock_mhz });
            (bank.nonzero("size_in_bytes").unwrap_or(0), memory)
        })
        .collect()
}

/// Formats a target: 90010 is `gfx90a`, with the last two parts in hexadecimal.
fn target(version: u32) -> String {
    format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100)
}

/// Formats a PCI address such as `0000:63:00.0`. The top four bits of `place` are the partition.
fn address(domain: u32, place: u32) -> String {
    format!("{domain:04x}:{:02x}:{:02x}.{:x}", place >> 8 & 0xff, place >> 3 & 0x1f, place & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_places_are_decoded() {
        for (version, name) in [
            (90_402, "gfx942"),
            (90_010, "gfx90a"),
            (110_500, "gfx1150"),
            (120_001, "gfx1201"),
            (90_006, "gfx906"),
        ] {
            assert_eq!(target(version), name);
        }
        assert_eq!(address(0, 25_344), "0000:63:00.0");
        assert_eq!(address(0x10, 0x3000_c10b), "0010:c1:01.3");
    }
}
