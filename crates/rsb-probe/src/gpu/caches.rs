//! Shared caches of one GPU, for callers that only know its PCI address. OpenCL and Vulkan report a
//! first-level cache, or nothing.

use rsb_model::environment::Cache;
use rsb_model::gpu::{GpuCache, GpuCacheKind};

use super::kfd;
use super::pci::PciId;
use crate::host::{Host, hexadecimal};

/// Lines of the form `vendor device level MiB`.
const TABLE: &str = include_str!("last_caches.txt");

/// Returns the caches from the second level on, lowest level first: those that AMD's compute driver
/// lists, and the last level from the table if it is higher, because older kernels do not know the
/// memory-side cache of newer GPUs.
pub(crate) fn shared_caches(host: &Host, address: &str) -> Vec<Cache> {
    let listed = kfd::caches_at(host, address);
    with_last(&listed, id(host, address).and_then(last))
}

fn with_last(listed: &[GpuCache], last: Option<Cache>) -> Vec<Cache> {
    let mut found: Vec<Cache> = Vec::new();
    for cache in listed {
        if cache.kind != GpuCacheKind::Data || cache.level <= 1 {
            continue;
        }
        match found.iter_mut().find(|known| known.level == cache.level) {
            Some(known) => known.size_bytes = known.size_bytes.max(cache.size_bytes),
            None => found.push(Cache {
                level: cache.level,
                size_bytes: cache.size_bytes,
                shared_by: None,
            }),
        }
    }
    found.extend(last.filter(|last| found.iter().all(|known| known.level < last.level)));
    found.sort_by_key(|cache| cache.level);
    found
}

/// Returns vendor and model of the device at a PCI address.
fn id(host: &Host, address: &str) -> Option<PciId> {
    let number =
        |name: &str| hexadecimal(&host.line(&format!("/sys/bus/pci/devices/{address}/{name}"))?);
    Some(PciId { vendor: number("vendor")?, device: number("device")? })
}

/// Returns the table's cache for a GPU.
fn last(id: PciId) -> Option<Cache> {
    rows().find(|(known, _)| *known == id).map(|(_, cache)| cache)
}

fn rows() -> impl Iterator<Item = (PciId, Cache)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(parse)
}

fn parse(line: &str) -> Option<(PciId, Cache)> {
    let [vendor, device, level, mebibytes] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let id = PciId { vendor: hexadecimal(vendor)?, device: hexadecimal(device)? };
    let size_bytes = mebibytes.parse::<u64>().ok()? << 20;
    Some((id, Cache { level: level.parse().ok()?, size_bytes, shared_by: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    const ADDRESS: &str = "0000:03:00.0";
    const MIB: u64 = 1 << 20;

    /// Builds a tree with a GPU of this ID on the bus. If `caches` (level, KiB and type) is not
    /// empty, the compute driver has a node for it.
    fn tree(id: [&str; 2], caches: &[(u32, u32, u32)]) -> Tree {
        let tree = Tree::new(&[]);
        for (name, value) in ["vendor", "device"].into_iter().zip(id) {
            tree.write(&format!("sys/bus/pci/devices/{ADDRESS}/{name}"), value);
        }
        let node = "sys/class/kfd/kfd/topology/nodes/1";
        if !caches.is_empty() {
            tree.write(&format!("{node}/properties"), "simd_count 8\ndomain 0\nlocation_id 768\n");
        }
        for (number, (level, size, holds)) in caches.iter().enumerate() {
            let text = format!("level {level}\nsize {size}\ntype {holds}\n");
            tree.write(&format!("{node}/caches/{number}/properties"), &text);
        }
        tree
    }

    fn level_sizes(tree: &Tree) -> Vec<(u32, u64)> {
        shared_caches(&tree.host(), ADDRESS)
            .iter()
            .map(|cache| (cache.level, cache.size_bytes / MIB))
            .collect()
    }

    #[test]
    fn the_compute_driver_tells_and_the_table_adds_what_it_lacks() {
        let first = (1, 16, 9);
        for (name, id, caches, expected) in [
            (
                "RX 7900 XTX",
                ["0x1002", "0x744c"],
                &[first, (2, 6144, 9), (3, 98_304, 9)][..],
                &[(2, 6), (3, 96)][..],
            ),
            (
                "RX 7900 XT",
                ["0x1002", "0x744c"],
                &[(2, 6144, 9), (3, 81_920, 9)],
                &[(2, 6), (3, 80)],
            ),
            (
                "MI300X, an older kernel",
                ["0x1002", "0x74a1"],
                &[first, (2, 4096, 9)],
                &[(2, 4), (3, 256)],
            ),
            (
                "not in the table",
                ["0x1002", "0x9999"],
                &[first, (2, 4096, 9), (1, 64, 10)],
                &[(2, 4)],
            ),
            ("no compute driver", ["0x1002", "0x744c"], &[], &[(3, 96)]),
            ("RTX 4090", ["0x10de", "0x2684"], &[], &[(2, 72)]),
            ("Arc A770", ["0x8086", "0x56a0"], &[], &[]),
        ] {
            assert_eq!(level_sizes(&tree(id, caches)), expected, "{name}");
        }
    }

    #[test]
    fn another_gpu_is_not_asked() {
        let tree = tree(["0x1002", "0x744c"], &[(2, 6144, 9)]);
        assert_eq!(shared_caches(&tree.host(), "0000:04:00.0"), []);
    }

    #[test]
    fn every_line_is_a_row_in_order_and_above_32_mib() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let all: Vec<_> = rows().collect();
        assert_eq!(all.len(), lines, "a line does not parse");
        assert!(all.windows(2).all(|pair| {
            (pair[0].0.vendor, pair[0].0.device) < (pair[1].0.vendor, pair[1].0.device)
        }));
        assert!(
            all.iter()
                .all(|(_, cache)| cache.size_bytes > 32 * MIB && (2..=3).contains(&cache.level))
        );
    }
}
