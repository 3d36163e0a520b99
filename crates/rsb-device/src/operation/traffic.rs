//! Operations on memory itself: streams, pointer chases, allocations.

use rsb_model::Dtype;
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Role, named};

/// Traffic over buffers of `elements` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStream {
    /// Which reads and writes.
    pub pattern: StreamPattern,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements in each buffer.
    pub elements: u64,
    /// How results are stored.
    pub stores: Stores,
}

/// Reads and writes of a [`MemoryStream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamPattern {
    /// The exclusive-or of all 64-bit words of a, the last one padded with zeros: one read. It
    /// needs no arithmetic unit, is the same in any order and can be checked to the bit.
    Read,
    /// a ← s: one write.
    Write,
    /// b ← a: one read, one write.
    Copy,
    /// c ← a + s·b: two reads, one write.
    Triad,
    /// a ← −a, as a product with −1: one read, one write, of the same array. It is exact in every
    /// type, and never grows.
    #[serde(rename = "read_write")]
    ReadWrite,
}

named!(
    StreamPattern,
    "memory pattern",
    Read = "read",
    Write = "write",
    Copy = "copy",
    Triad = "triad",
    ReadWrite = "read_write"
);

/// Whether stores go through the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stores {
    /// Through the caches (a write reads the line first on most CPUs).
    Temporal,
    /// Around the caches.
    NonTemporal,
}

named!(Stores, "kind of store", Temporal = "temporal", NonTemporal = "non-temporal");

impl MemoryStream {
    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let input = BufferSpec::new(Role::Input, self.dtype, self.elements);
        let output = BufferSpec::new(Role::Output, self.dtype, self.elements);
        match self.pattern {
            StreamPattern::Read => vec![input, BufferSpec::word(Role::Output)],
            StreamPattern::Write => vec![output],
            StreamPattern::Copy => vec![input, output],
            StreamPattern::ReadWrite => {
                vec![BufferSpec::new(Role::InOut, self.dtype, self.elements)]
            }
            StreamPattern::Triad => vec![input, input, output],
        }
    }
}

/// One cycle through all nodes in random order, `line_bytes` apart. The first eight bytes of a node
/// are the offset in bytes of the next one, as a little-endian word. The second buffer holds the
/// offset at which the next launch goes on, so that launches walk the whole cycle and not the same
/// stretch again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerChase {
    /// Nodes in the cycle.
    pub nodes: u64,
    /// Bytes from one node to the next in memory: a cache line, so that every access needs a line
    /// of its own.
    pub line_bytes: u64,
    /// Dependent reads in one launch.
    pub accesses: u64,
    /// Seed of the order.
    pub seed: u64,
}

impl PointerChase {
    /// Size of the cycle in memory.
    pub const fn bytes(&self) -> u64 {
        self.nodes.saturating_mul(self.line_bytes)
    }
}

/// Memory taken and given back: one launch does both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocate {
    /// How much at once.
    pub bytes: u64,
    /// Whether it is used in between.
    pub touch: Touch,
}

/// What is done with memory between taking it and giving it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Nothing.
    Untouched,
    /// Every byte is written, so that the system has to provide each page, as any use of a tensor
    /// does.
    Written,
}

/// Blocks of random size (log-uniform) replaced at random: what a long-running program does to its
/// heap. The output is two `f64`: bytes held from the system for the blocks, and bytes in live
/// blocks, at the end of the churn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Churn {
    /// Smallest block.
    pub min_bytes: u64,
    /// Largest block.
    pub max_bytes: u64,
    /// About how much is live at any time.
    pub live_bytes: u64,
    /// Blocks replaced after the first filling.
    pub replacements: u64,
    /// Seed of sizes and order.
    pub seed: u64,
}

/// One step of a [`Churn`]: what the slot held is freed, then a block of `bytes` is put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChurnStep {
    /// Which slot.
    pub slot: usize,
    /// Size of its new block.
    pub bytes: usize,
}

impl Churn {
    /// Slots for blocks.
    pub fn slots(&self) -> usize {
        (self.live_bytes as f64 / self.mean_bytes()).ceil().max(1.0) as usize
    }

    /// Mean of a log-uniform size.
    fn mean_bytes(&self) -> f64 {
        let (low, high) =
            (self.min_bytes.max(1) as f64, self.max_bytes.max(self.min_bytes).max(1) as f64);
        if high > low { (high - low) / (high / low).ln() } else { low }
    }

    /// Every step, the first filling first.
    pub fn steps(&self) -> impl Iterator<Item = ChurnStep> {
        let slots = self.slots();
        let mut random = rsb_model::random::Generator::new(self.seed);
        let (low, high) =
            (self.min_bytes.max(1) as f64, self.max_bytes.max(self.min_bytes).max(1) as f64);
        let ratio = high / low;
        (0..slots + self.replacements as usize).map(move |step| {
            let slot = if step < slots { step } else { random.below(slots as u64) as usize };
            let bytes = (low * ratio.powf(random.unit())).round() as usize;
            ChurnStep { slot, bytes }
        })
    }

    /// Bytes in live blocks at the end.
    pub fn final_live_bytes(&self) -> u64 {
        let mut sizes = vec![0_usize; self.slots()];
        for step in self.steps() {
            if let Some(size) = sizes.get_mut(step.slot) {
                *size = step.bytes;
            }
        }
        sizes.iter().map(|&size| size as u64).sum()
    }
}
