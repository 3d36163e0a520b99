//! Operations on memory: streams, pointer chases, allocations.

use rsb_model::Dtype;
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Role, named};

/// Memory traffic over buffers of `elements` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStream {
    /// Access pattern.
    pub pattern: StreamPattern,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements in each buffer.
    pub elements: u64,
    /// Type of stores for results.
    pub stores: Stores,
}

rsb_model::named_enum! {
    serde
    /// Access pattern of a [`MemoryStream`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum StreamPattern {
        /// Exclusive-or of all 64-bit words of a, the last one padded with zeros: one read. The
        /// result needs no arithmetic unit, does not depend on the order, and can be verified
        /// exactly.
        Read = "read",
        /// a ← s: one write.
        Write = "write",
        /// b ← a: one read, one write.
        Copy = "copy",
        /// c ← a + s·b: two reads, one write.
        Triad = "triad",
        /// a ← −a, as a product with −1: one read, one write, of the same array. Exact in every
        /// type, and the magnitude never grows.
        ReadWrite = "read_write",
    }
}

named!(StreamPattern, "memory pattern");

rsb_model::named_enum! {
    serde
    /// Whether stores go through the caches.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Stores {
        /// Through the caches (a write reads the line first on most CPUs).
        Temporal = "temporal",
        /// Around the caches.
        NonTemporal = "non-temporal",
    }
}

named!(Stores, "store type");

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
/// are the byte offset of the next one, as a little-endian word. The second buffer holds the offset
/// at which the next launch continues, so that launches walk the whole cycle instead of repeating
/// one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerChase {
    /// Nodes in the cycle.
    pub nodes: u64,
    /// Bytes from one node to the next in memory: a cache line, so that every access needs a
    /// separate line.
    pub line_bytes: u64,
    /// Dependent reads in one launch.
    pub accesses: u64,
    /// Seed of the order.
    pub seed: u64,
}

impl PointerChase {
    /// Returns the size of the cycle in memory.
    pub const fn bytes(&self) -> u64 {
        self.nodes.saturating_mul(self.line_bytes)
    }
}

/// Memory allocated and freed in each launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocate {
    /// Bytes per allocation.
    pub bytes: u64,
    /// Whether the memory is written between allocation and free.
    pub touch: Touch,
}

/// Use of memory between allocation and free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Not accessed.
    Untouched,
    /// Every byte is written, so that the system must provide each page, as for a tensor in use.
    Written,
}

/// Blocks of random size (log-uniform) replaced at random, like the heap of a long-running program.
/// The output is two `f64` at the end of the churn: bytes that the process holds for the blocks,
/// and bytes in live blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Churn {
    /// Smallest block.
    pub min_bytes: u64,
    /// Largest block.
    pub max_bytes: u64,
    /// Approximate number of live bytes at any time.
    pub live_bytes: u64,
    /// Number of replacements after all slots are filled.
    pub replacements: u64,
    /// Seed of sizes and order.
    pub seed: u64,
}

/// One step of a [`Churn`]: frees the block in the slot, then allocates one of `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChurnStep {
    /// Index of the slot.
    pub slot: usize,
    /// Size of its new block.
    pub bytes: usize,
}

impl Churn {
    /// Returns the number of slots for blocks.
    pub fn slots(&self) -> usize {
        (self.live_bytes as f64 / self.mean_bytes()).ceil().max(1.0) as usize
    }

    /// Returns the mean of a log-uniform size.
    fn mean_bytes(&self) -> f64 {
        let (low, high) =
            (self.min_bytes.max(1) as f64, self.max_bytes.max(self.min_bytes).max(1) as f64);
        if high > low { (high - low) / (high / low).ln() } else { low }
    }

    /// Returns every step, starting with those that fill the slots.
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

    /// Returns the bytes in live blocks at the end.
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
