//! GPUs and accelerators, from the DRM, KFD and PCI trees; no vendor tool is needed.
//!
//! For a sleeping GPU, only facts that the kernel keeps in memory are read, because reading sensors
//! and clocks would wake it. Each GPU is read in a separate thread. The thread reports the identity
//! first, so that a GPU is listed even if reading its details hangs.

use std::collections::HashMap;

use std::sync::Arc;
use std::time::Instant;

use rsb_model::gpu::{Answer, Gpu, GpuLink, GpuMemory, UnreadGpu};

use crate::host::Host;
use crate::limit::{Completion, Pending};

mod answers;
mod backends;
pub(crate) mod caches;
pub(crate) mod details;
pub(crate) mod intel;
mod kfd;
pub(crate) mod levels;
mod memory;
mod names;
mod pci;
pub(crate) mod sysfs_gpu;

use answers::{GpuQuery, gather};
use backends::Runtimes;
use kfd::Node;
use sysfs_gpu::SysfsGpu;

/// A scan of GPUs in progress.
pub(crate) struct PendingGpuScan {
    gpus: Vec<GpuQuery<SysfsGpu>>,
    nodes: Vec<GpuQuery<Node>>,
    runtimes: Pending<Runtimes>,
    /// Directory lists that were not read completely.
    unread: Vec<UnreadGpu>,
}

/// Result of a scan.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GpuInventory {
    /// GPUs in the order of their bus addresses.
    pub(crate) gpus: Vec<Gpu>,
    /// GPUs that were not read completely.
    pub(crate) unread: Vec<UnreadGpu>,
}

/// Starts reading every GPU of `host`. Listing the GPUs may take half of the time until `deadline`.
pub(crate) fn start(host: &Arc<Host>, deadline: Instant) -> PendingGpuScan {
    let (listing, own, installed) = (Arc::clone(host), Arc::clone(host), Arc::clone(host));
    let dirs = Pending::start(move |report| {
        let in_drm = sysfs_gpu::in_drm(&listing);
        report(in_drm.clone());
        report(sysfs_gpu::with_those_on_the_bus(&listing, in_drm));
    });
    let nodes = Pending::start(move |report| report(kfd::dirs(&own)));
    let runtimes = Pending::start(move |report| report(Runtimes::find(&installed)));
    let now = Instant::now();
    let listed = now + deadline.saturating_duration_since(now) / 2;
    let mut unread = Vec::new();
    let mut gpus = Vec::new();
    for dir in list(dirs, "the list of GPUs", listed, &mut unread) {
        let (host, place) = (Arc::clone(host), sysfs_gpu::place(&dir));
        let reading = Pending::start(move |report| sysfs_gpu::read(&host, &dir, report));
        gpus.push(GpuQuery { place, reading });
    }
    let mut queries = Vec::new();
    for (number, dir) in list(nodes, "the compute driver's list of GPUs", listed, &mut unread) {
        let place = format!("node {number} of the compute driver");
        let reading = Pending::start(move |report| kfd::read(&dir, number, report));
        queries.push(GpuQuery { place, reading });
    }
    PendingGpuScan { gpus, nodes: queries, runtimes, unread }
}

/// Returns a list of directories, or the part of it that was available by `deadline`.
fn list<T: Default + Send + 'static>(
    listing: Pending<T>,
    name: &str,
    deadline: Instant,
    unread: &mut Vec<UnreadGpu>,
) -> T {
    let (dirs, ended) = listing.outcome(deadline);
    if ended == Completion::Late {
        unread.push(UnreadGpu {
            place: name.to_owned(),
            asked: "its entries".to_owned(),
            answer: Answer::Late,
        });
    }
    dirs.unwrap_or_default()
}

impl PendingGpuScan {
    /// Returns the facts read by `deadline`.
    pub(crate) fn finish(self, deadline: Instant) -> GpuInventory {
        let (gpus, unread_gpus) = gather(self.gpus, deadline);
        let (mut nodes, unread_nodes) = gather(self.nodes, deadline);
        kfd::join_partitions(&mut nodes);
        let unread = [self.unread, unread_gpus, unread_nodes].concat();
        let runtimes = self.runtimes.latest(deadline).unwrap_or_default();
        let mut found = merge(gpus, nodes);
        found.sort_by_key(Entry::order);
        let places: HashMap<u32, u32> = (0..)
            .zip(&found)
            .filter_map(|(index, entry)| Some((entry.node_number()?, index)))
            .collect();
        let numbered = (0..).zip(found).map(|(index, entry)| {
            let backends = runtimes.reaching(&entry.gpu, entry.node.is_some());
            Gpu {
                index,
                backends,
                links: entry.links(&places),
                kfd_node: entry.node_number(),
                ..entry.gpu()
            }
        });
        let mut gpus: Vec<Gpu> = numbered.collect();
        complete_virtual_functions(&mut gpus);
        GpuInventory { gpus, unread }
    }
}

/// Copies kind and instruction set of the physical function to its virtual functions, which are the
/// same chip but often have another PCI ID.
fn complete_virtual_functions(gpus: &mut [Gpu]) {
    let known = gpus.to_vec();
    for gpu in gpus {
        let Some(physical) = gpu.physical_gpu(&known) else { continue };
        gpu.kind = physical.kind.or(gpu.kind);
        gpu.gfx_target = gpu.gfx_target.take().or_else(|| physical.gfx_target.clone());
    }
}

/// A compute device: a GPU, a partition of a GPU, or a node whose GPU is not visible.
struct Entry {
    gpu: SysfsGpu,
    node: Option<Node>,
}

/// Merges the facts of both trees about the same GPU.
fn merge(gpus: Vec<SysfsGpu>, nodes: Vec<Node>) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    for gpu in gpus {
        let own: Vec<Node> =
            nodes.iter_mut().filter_map(|node| node.take_if(|node| node.is_of(&gpu))).collect();
        if own.is_empty() {
            found.push(Entry { gpu, node: None });
            continue;
        }
        found.extend(own.into_iter().map(|node| Entry { gpu: gpu.clone(), node: Some(node) }));
    }
    let alone = nodes.into_iter().flatten();
    found.extend(alone.map(|node| Entry { gpu: node.gpu(), node: Some(node) }));
    found
}

impl Entry {
    fn order(&self) -> (bool, Option<String>, u32) {
        (
            self.gpu.address.is_none(),
            self.gpu.address.clone(),
            self.node.as_ref().map_or(0, Node::number),
        )
    }

    fn node_number(&self) -> Option<u32> {
        self.node.as_ref().map(Node::number)
    }

    /// Returns the links to other devices of the list, by their position in it, and to CPUs.
    fn links(&self, places: &HashMap<u32, u32>) -> Vec<GpuLink> {
        let links = self.node.iter().flat_map(|node| &node.links);
        let mut found: Vec<GpuLink> = links
            .map(|link| GpuLink {
                kind: link.kind.to_owned(),
                peer: places.get(&link.to).copied(),
                weight: link.weight,
                gb_s: link.max_mb_s.map(|rate| f64::from(rate) / 1e3),
            })
            .collect();
        found.sort_by_key(|link| (link.peer, link.weight));
        found
    }

    fn gpu(self) -> Gpu {
        let Self { gpu, node } = self;
        let node = node.unwrap_or_default();
        let known = gpu.id.and_then(|id| names::find(id, gpu.revision, gpu.board));
        let target = node.target.clone().or_else(|| known.as_ref()?.target.map(str::to_owned));
        // The DRM reports memory and device file of the whole GPU; a node reports those of its
        // partition.
        let vram =
            if node.part.is_some() { node.vram_bytes } else { gpu.vram_bytes.or(node.vram_bytes) };
        let width_bits = node.memory.map(|memory| memory.width_bits);
        let kind = target.as_deref().and_then(|target| memory::kind(target, gpu.id, width_bits));
        let memory_mhz = node.memory.map(|memory| memory.clock_mhz).or(gpu.details.memory_max_mhz);
        let bandwidth = kind.zip(width_bits).zip(memory_mhz);
        let sharers = node.part.map_or(1, |part| part.of);
        let place = gpu.kind(target.as_deref(), kind.is_some());
        let virtual_function = gpu.virtual_function(known);
        let own_file = node.render_minor.map(|minor| format!("renderD{minor}"));
        let details = gpu.details;
        Gpu {
            name: gpu.name.or_else(|| known.map(|known| known.name.to_owned())).or(node.code_name),
            pci_id: gpu.id.map(|id| id.to_string()),
            pci_address: gpu.address,
            kind: place,
            virtual_function,
            physical_function: gpu.physical_function,
            compute_units: node.compute_units,
            // On RDNA the topology lists the game clock, and the table of levels a higher one.
            max_mhz: node.max_mhz.into_iter().chain(details.max_mhz).reduce(f64::max),
            limit_mhz: details.limit_mhz,
            vram_gb: vram.map(|bytes| bytes as f64 / 1e9),
            memory_bandwidth_gb_s: bandwidth.map(|((kind, width), mhz)| {
                memory::bandwidth_gb_s(kind, width, mhz) / f64::from(sharers)
            }),
            memory: GpuMemory {
                kind: kind.map(|kind| kind.name.to_owned()),
                vendor: gpu.memory_vendor,
                width_bits,
                max_mhz: memory_mhz,
                shared_gb: gpu.shared_bytes.map(|bytes| bytes as f64 / 1e9),
            },
            caches: node.caches,
            pcie: details.pcie,
            gfx_target: target,
            driver: gpu.driver,
            vbios: gpu.vbios,
            render_node: if node.part.is_some() { own_file } else { gpu.render_node.or(own_file) },
            partition: gpu.partition,
            partition_index: node.part.map(|part| part.index),
            partitions: node.part.map(|part| part.of),
            iommu: gpu.iommu,
            ecc: details.ecc,
            power_cap_w: details.power_cap_w,
            power_cap_default_w: details.power_cap_default_w,
            performance_level: details.performance_level,
            asleep: details.asleep,
            sensors: details.sensors,
            ..Gpu::default()
        }
    }
}

#[cfg(test)]
mod tests;
