//! GPUs on the machine page: common properties once, followed by those that differ.

use itertools::Itertools as _;
use rsb_model::gpu::{EccCount, Gpu, GpuCache, GpuCacheKind, GpuKind, Pcie, PcieLink};
use rsb_model::shape::format_bytes;

use crate::label::group_by_key;
use crate::number::format_quantity;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendDiscovery {
    /// The runtimes of the host were examined.
    Looked,
    /// Only a directory tree was read.
    Unknown,
}

type Lines = Vec<(String, Option<String>)>;

/// A titled section of the page, with the name and value of each line. An unknown value is `None`.
pub(crate) type Section = (String, Lines);

pub(crate) fn sections(gpus: &[Gpu], reach: BackendDiscovery) -> Vec<Section> {
    let mut sections = Vec::new();
    let each = gpus.iter().map(|gpu| (common(gpu, gpus, reach), gpu));
    for (mut lines, members) in group_by_key(each) {
        lines.extend(own(&members));
        sections.push((title(&members), lines));
    }
    sections
}

fn title(members: &[&Gpu]) -> String {
    let indices: Vec<u32> = members.iter().map(|gpu| gpu.index).collect();
    let name = if indices.len() == 1 { "GPU" } else { "GPUs" };
    format!("{name} {}", ranges(&indices))
}

/// Formats indices as ranges: `0 to 3, 7`.
pub(crate) fn ranges(indices: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &index in indices {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let shown = runs.iter().map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

pub(crate) fn entry(name: &str, value: Option<String>) -> (String, Option<String>) {
    (name.to_owned(), value)
}

pub(crate) fn known_entries<const N: usize>(
    entries: [(&str, Option<String>); N],
) -> impl Iterator<Item = (String, Option<String>)> {
    let known = entries.into_iter().filter(|(_, value)| value.is_some());
    known.map(|(name, value)| entry(name, value))
}

/// Returns the properties of `gpu`, one of `gpus`, that it may share with the others.
fn common(gpu: &Gpu, gpus: &[Gpu], reach: BackendDiscovery) -> Lines {
    let mut lines = vec![
        entry("model", Some(model(gpu, gpus))),
        entry("compute", compute(gpu)),
        entry("memory", memory(gpu)),
    ];
    // The link of an integrated GPU is not worth showing.
    if gpu.kind != Some(GpuKind::Integrated) {
        lines.push(entry("PCIe", pcie(&gpu.pcie)));
    }
    lines.push(entry("driver", gpu.driver.clone()));
    let caches: Vec<String> = gpu.caches.iter().map(cache).collect();
    let more = [
        ("caches", join_words(&caches)),
        ("partition", gpu.partition.clone()),
        ("power", power(gpu)),
        ("errors", gpu.ecc.as_ref().map(|ecc| errors(ecc.total))),
        ("sensors", join_words(&gpu.sensors)),
        (
            "state",
            gpu.asleep
                .filter(|asleep| *asleep)
                .map(|_| "asleep; clocks, links and sensors were not read".to_owned()),
        ),
        ("reached by", reachable_backends(gpu, reach)),
    ];
    lines.extend(known_entries(more));
    lines
}

pub(crate) fn join_words(words: &[String]) -> Option<String> {
    if words.is_empty() { None } else { Some(words.join(", ")) }
}

fn model(gpu: &Gpu, gpus: &[Gpu]) -> String {
    let mut parts = vec![gpu.label().to_owned()];
    parts.extend(gpu.gfx_target.clone().filter(|target| target != gpu.label()));
    parts.extend(gpu.kind.map(|kind| kind.as_str().to_owned()));
    parts.extend(gpu.describe_virtual_function(gpus));
    parts
        .extend(gpu.pci_id.clone().filter(|id| id != gpu.label()).map(|id| format!("PCI id {id}")));
    parts.join(", ")
}

fn compute(gpu: &Gpu) -> Option<String> {
    let units = gpu.compute_units.map(|units| format!("{units} compute units"));
    let mut parts: Vec<String> = units.clone().into_iter().collect();
    parts.extend(gpu.max_mhz.map(|mhz| format!("up to {mhz:.0} MHz")));
    parts.extend(
        gpu.limit_mhz
            .filter(|limit| Some(*limit) != gpu.max_mhz)
            .map(|mhz| format!("limit {mhz:.0} MHz")),
    );
    if units.is_none() && !parts.is_empty() {
        parts.push("number of compute units unknown".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn memory(gpu: &Gpu) -> Option<String> {
    let memory = &gpu.memory;
    let is_integrated = gpu.kind == Some(GpuKind::Integrated);
    // An integrated GPU whose memory kind is known has dedicated memory.
    let reserved = if is_integrated && memory.kind.is_none() { " reserved" } else { "" };
    let size = gpu.vram_gb.map(|gb| format!("{}{reserved}", format_quantity(gb, "GB")));
    let own: Vec<String> = size.into_iter().chain(memory.kind.clone()).collect();
    let mut parts: Vec<String> = Vec::new();
    if !own.is_empty() {
        parts.push(own.join(" "));
    }
    parts.extend(memory.width_bits.map(|bits| format!("{bits} bits")));
    parts.extend(memory.max_mhz.map(|mhz| format!("up to {mhz:.0} MHz")));
    parts.extend(
        gpu.memory_bandwidth_gb_s.map(|rate| format!("at most {}", format_quantity(rate, "GB/s"))),
    );
    // Any GPU may map host memory, but it matters only for integrated GPUs, which have little
    // dedicated memory.
    let shared = memory.shared_gb.filter(|_| is_integrated);
    parts.extend(shared.map(|gb| format!("{} shared with the machine", format_quantity(gb, "GB"))));
    if gpu.vram_gb.is_none() && !parts.is_empty() {
        parts.push("size unknown".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn pcie(pcie: &Pcie) -> Option<String> {
    match (pcie.now, pcie.max) {
        (Some(now), Some(max)) if now == max => Some(describe_link(now)),
        (Some(now), Some(max)) => {
            Some(format!("now {}, at most {}", describe_link(now), describe_link(max)))
        }
        (Some(now), None) => Some(format!("now {}", describe_link(now))),
        (None, Some(max)) => Some(format!("at most {}", describe_link(max))),
        (None, None) => None,
    }
}

fn describe_link(link: PcieLink) -> String {
    format!("{} GT/s x{} ({})", link.gt_s, link.width, format_quantity(link.gb_s, "GB/s"))
}

fn cache(cache: &GpuCache) -> String {
    let kind = if cache.kind == GpuCacheKind::Instruction { " instructions" } else { "" };
    format!("L{}{kind} {} × {}", cache.level, format_bytes(cache.size_bytes), cache.count)
}

fn power(gpu: &Gpu) -> Option<String> {
    let cap = gpu.power_cap_w?;
    Some(match gpu.power_cap_default_w.filter(|default| *default > cap) {
        Some(default) => format!("at most {cap:.0} W, lowered from {default:.0} W"),
        None => format!("at most {cap:.0} W"),
    })
}

fn errors(count: EccCount) -> String {
    if count == EccCount::default() {
        return "none counted".to_owned();
    }
    let EccCount { uncorrectable, correctable, deferred } = count;
    format!("{uncorrectable} not corrected, {correctable} corrected, {deferred} set aside")
}

fn reachable_backends(gpu: &Gpu, reach: BackendDiscovery) -> Option<String> {
    match (gpu.backends.as_slice(), reach) {
        ([], BackendDiscovery::Unknown) => None,
        ([], BackendDiscovery::Looked) => Some("no runtime".to_owned()),
        (backends, _) => Some(backends.join(", ")),
    }
}

/// Returns the properties that differ between the GPUs: their addresses and links.
fn own(members: &[&Gpu]) -> Lines {
    let mut addresses: Vec<&str> =
        members.iter().filter_map(|gpu| gpu.pci_address.as_deref()).collect();
    // Partitions of one GPU are adjacent and share its address.
    addresses.dedup();
    let mut lines = Vec::new();
    if members.iter().all(|gpu| gpu.partitions.is_some()) {
        let whole = if addresses.len() == 1 {
            "one GPU".to_owned()
        } else {
            format!("{} GPUs", addresses.len())
        };
        lines.push(entry("parts", Some(format!("{} partitions of {whole}", members.len()))));
    }
    if !addresses.is_empty() {
        lines.push(entry(
            if addresses.len() == 1 { "address" } else { "addresses" },
            Some(addresses.join(", ")),
        ));
    }
    for kind in ["xgmi", "pcie"] {
        lines.extend(link_lines(members, kind));
    }
    lines
}

/// Returns the GPUs connected by links of `kind`: as groups if all GPUs of each group are linked to
/// each other and to no others, otherwise as the peers of each GPU.
fn link_lines(members: &[&Gpu], kind: &str) -> Lines {
    let mut linked: Vec<(u32, Vec<u32>)> = Vec::new();
    for gpu in members {
        let links = gpu.links.iter().filter(|link| link.kind == kind);
        let peers: Vec<u32> = links.filter_map(|link| link.peer).collect();
        if !peers.is_empty() {
            linked.push((gpu.index, peers));
        }
    }
    if linked.is_empty() {
        return Vec::new();
    }
    let name = if kind == "xgmi" { "xGMI" } else { "PCIe peers" };
    let rate = rate(members, kind);
    let circle = |(index, peers): &(u32, Vec<u32>)| -> Vec<u32> {
        peers.iter().copied().chain([*index]).sorted_unstable().collect()
    };
    let circles: Vec<Vec<u32>> = linked.iter().map(circle).unique().collect();
    let closed = circles.iter().map(Vec::len).sum::<usize>() == linked.len();
    if closed {
        let groups: Vec<String> =
            circles.iter().map(|circle| format!("GPUs {}", ranges(circle))).collect();
        return vec![entry(name, Some(format!("joins {}{rate}", groups.join(", and "))))];
    }
    let mut lines: Lines = Vec::new();
    let groups = group_by_key(linked.into_iter().map(|(index, peers)| (peers, index)));
    for (place, (to, from)) in groups.iter().enumerate() {
        // Do not list a connection again from its other end.
        let is_mirrored =
            groups.iter().take(place).any(|(peers, earlier)| earlier == to && peers == from);
        if !is_mirrored {
            let text = format!("GPUs {} with {}{rate}", ranges(from), ranges(to));
            lines.push(entry(name, Some(text)));
        }
    }
    lines
}

/// Returns `; 50.0 GB/s each way` if all links of the kind have the same rate.
fn rate(members: &[&Gpu], kind: &str) -> String {
    let mut rates = members
        .iter()
        .flat_map(|gpu| &gpu.links)
        .filter(|link| link.kind == kind && link.peer.is_some())
        .map(|link| link.gb_s);
    match rates.next().flatten() {
        Some(first) if rates.all(|rate| rate == Some(first)) => {
            format!("; {} each way", format_quantity(first, "GB/s"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests {
    use rsb_model::gpu::{GpuLink, GpuMemory};

    use super::*;

    fn with_peers(index: u32, kind: &str, peers: &[u32]) -> Gpu {
        let links = peers.iter().map(|&peer| GpuLink {
            kind: kind.into(),
            peer: Some(peer),
            weight: None,
            gb_s: Some(50.0),
        });
        Gpu { index, links: links.collect(), ..Gpu::default() }
    }

    fn link_values(gpus: &[Gpu], kind: &str) -> Vec<String> {
        let members: Vec<&Gpu> = gpus.iter().collect();
        link_lines(&members, kind).into_iter().filter_map(|(_, value)| value).collect()
    }

    #[test]
    fn closed_groups_are_named_and_open_ones_listed() {
        let pairs = [(0, 1), (1, 0), (2, 3), (3, 2)]
            .map(|(index, peer)| with_peers(index, "xgmi", &[peer]));
        assert_eq!(
            link_values(&pairs, "xgmi"),
            ["joins GPUs 0, 1, and GPUs 2, 3; 50.0 GB/s each way"]
        );
        let chain = [
            with_peers(0, "xgmi", &[1]),
            with_peers(1, "xgmi", &[0, 2]),
            with_peers(2, "xgmi", &[1]),
        ];
        assert_eq!(link_values(&chain, "xgmi"), ["GPUs 0, 2 with 1; 50.0 GB/s each way"]);
        assert_eq!(link_values(&chain, "pcie"), Vec::<String>::new());
    }

    #[test]
    fn reserved_and_shared_memory_of_an_integrated_gpu_are_apart() {
        let gpu = Gpu {
            kind: Some(GpuKind::Integrated),
            vram_gb: Some(2.147_483_648),
            memory: GpuMemory { shared_gb: Some(16.441_004_032), ..GpuMemory::default() },
            ..Gpu::default()
        };
        let text = "2.15 GB reserved, 16.4 GB shared with the machine";
        assert_eq!(memory(&gpu).as_deref(), Some(text));
        let own = GpuMemory { kind: Some("HBM3".into()), ..GpuMemory::default() };
        let accelerator = Gpu { vram_gb: Some(137.0), memory: own, ..gpu };
        assert_eq!(memory(&accelerator).as_deref(), Some("137 GB HBM3"));
    }

    #[test]
    fn virtual_functions_are_listed_with_their_physical_function() {
        let physical = Gpu { pci_address: Some("0000:00:02.0".into()), ..Gpu::default() };
        let share = |index| Gpu {
            index,
            virtual_function: Some(true),
            physical_function: Some("0000:00:02.0".into()),
            ..Gpu::default()
        };
        let sections = sections(&[physical, share(1), share(2)], BackendDiscovery::Unknown);
        let (title, lines) = &sections[1];
        assert_eq!(title, "GPUs 1, 2");
        let text = "unknown GPU, a virtual function of GPU 0 on this host";
        assert_eq!(lines[0], entry("model", Some(text.to_owned())));
    }

    #[test]
    fn runs_of_numbers_are_shortened() {
        for (indices, text) in
            [(&[][..], ""), (&[3], "3"), (&[0, 1], "0, 1"), (&[0, 1, 2, 3, 7], "0 to 3, 7")]
        {
            assert_eq!(ranges(indices), text);
        }
    }
}
