//! Graphics cards and accelerators, from the trees of the DRM, the KFD and the PCI bus. No tool of a vendor is needed.
//!
//! Only facts that the kernel keeps in memory are read: sensors and clocks would wake a card that sleeps. Each card is
//! read in a thread of its own, and first tells who it is: one whose details hang is still listed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rsb_model::environment::Gpu;

use crate::host::Host;
use crate::limit::Pending;

mod backends;
mod card;
mod kfd;
mod memory;
mod names;

use backends::Runtimes;
use card::Card;
use kfd::Node;

/// Cards being read.
pub(crate) struct Started {
    cards: Vec<Pending<Card>>,
    nodes: Pending<Vec<Node>>,
    runtimes: Pending<Runtimes>,
}

/// Begins to read every card of `host`; finding them has until `deadline`.
pub(crate) fn start(host: &Arc<Host>, deadline: Instant) -> Started {
    let (listing, own, installed) = (Arc::clone(host), Arc::clone(host), Arc::clone(host));
    let folders = Pending::start(move |report| report(card::folders(&listing)));
    let nodes = Pending::start(move |report| kfd::read(&own, report));
    let runtimes = Pending::start(move |report| report(Runtimes::find(&installed)));
    let read = |folder: PathBuf| {
        let host = Arc::clone(host);
        Pending::start(move |report| card::read(&host, &folder, report))
    };
    let cards = folders.latest(deadline).unwrap_or_default().into_iter().map(read).collect();
    Started { cards, nodes, runtimes }
}

impl Started {
    /// What has been read by `deadline`, in the order of the bus.
    pub(crate) fn finish(self, deadline: Instant) -> Vec<Gpu> {
        let cards: Vec<Card> = self.cards.into_iter().filter_map(|card| card.latest(deadline)).collect();
        let nodes = self.nodes.latest(deadline).unwrap_or_default();
        let runtimes = self.runtimes.latest(deadline).unwrap_or_default();
        let mut found = merge(cards, nodes);
        found.sort_by_key(Entry::order);
        let numbered = (0..).zip(found).map(|(index, entry)| {
            let backends = runtimes.reaching(&entry.card, entry.node.is_some());
            Gpu { index, backends, ..entry.gpu() }
        });
        numbered.collect()
    }
}

/// One compute device: a card, one of the partitions of a card, or a node whose card is not shown here.
struct Entry {
    card: Card,
    node: Option<Node>,
    /// Whether the card is split into several nodes.
    is_part: bool,
}

/// Brings together what the two trees say of the same card.
fn merge(cards: Vec<Card>, nodes: Vec<Node>) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    for card in cards {
        let mut own: Vec<Node> = nodes.iter_mut().filter_map(|node| node.take_if(|node| node.is_of(&card))).collect();
        if own.len() < 2 {
            found.push(Entry { card, node: own.pop(), is_part: false });
            continue;
        }
        found.extend(own.into_iter().map(|node| Entry { card: card.clone(), node: Some(node), is_part: true }));
    }
    let alone = nodes.into_iter().flatten();
    found.extend(alone.map(|node| Entry { card: Card::of_node(&node), node: Some(node), is_part: false }));
    found
}

impl Entry {
    fn order(&self) -> (bool, Option<String>, u32) {
        (self.card.address.is_none(), self.card.address.clone(), self.node.as_ref().map_or(0, Node::order))
    }

    fn gpu(self) -> Gpu {
        let Self { card, node, is_part } = self;
        let node = node.unwrap_or_default();
        let known = card.id.and_then(|id| names::find(id, card.revision));
        let target = node.target.clone().or_else(|| known.as_ref()?.target.map(str::to_owned));
        // The DRM tells the memory of the whole card, a node that of its partition.
        let vram = if is_part { node.vram_bytes } else { card.vram_bytes.or(node.vram_bytes) };
        Gpu {
            name: card.name.or_else(|| known.map(|known| known.name.to_owned())).or(node.code_name),
            pci_id: card.id.map(|id| id.to_string()),
            pci_address: card.address,
            compute_units: node.compute_units,
            vram_gb: vram.map(|bytes| bytes as f64 / 1e9),
            memory_bandwidth_gb_s: memory::bandwidth_gb_s(target.as_deref(), node.memory),
            gfx_target: target,
            driver: card.driver,
            partition: card.partition,
            ..Gpu::default()
        }
    }
}

#[cfg(test)]
mod tests;
