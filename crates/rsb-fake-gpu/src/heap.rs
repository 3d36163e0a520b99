//! Memory: a table of every allocated block, so that access to anything else is an error instead of
//! a crash.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

/// Location of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Memory of this GPU.
    Gpu(usize),
    /// Pinned memory of the host.
    Pinned,
    /// Memory of this GPU shared with the host.
    Managed(usize),
}

impl Home {
    /// Returns the GPU whose free memory the block reduces; `None` for host memory.
    const fn takes_from(self) -> Option<usize> {
        match self {
            Self::Gpu(gpu) | Self::Managed(gpu) => Some(gpu),
            Self::Pinned => None,
        }
    }
}

/// A memory block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) home: Home,
    /// Identifier, never reused for another block.
    pub(crate) id: u64,
    /// Incremented by every write.
    pub(crate) version: u64,
}

/// All blocks.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    blocks: BTreeMap<usize, Block>,
    given: u64,
}

/// Alignment of every block. `calloc` guarantees 16 bytes, and does not touch fresh pages, so
/// unused memory costs nothing.
const ALIGNMENT: usize = 16;

impl Heap {
    /// Allocates a zeroed block; `None` if the host is out of memory.
    pub(crate) fn give(&mut self, bytes: usize, home: Home) -> Option<usize> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()?;
        // SAFETY: the size is not zero.
        let address = unsafe { alloc_zeroed(layout) } as usize;
        if address == 0 {
            return None;
        }
        self.given += 1;
        self.blocks.insert(
            address,
            Block { address, bytes: bytes.max(1), home, id: self.given, version: 0 },
        );
        Some(address)
    }

    /// Frees a block; returns false if there is none at this address.
    pub(crate) fn take(&mut self, address: usize) -> bool {
        let Some(block) = self.blocks.remove(&address) else { return false };
        if let Ok(layout) = Layout::from_size_align(block.bytes, ALIGNMENT) {
            // SAFETY: the block was allocated with this layout, and removing it from the table
            // makes this the only deallocation.
            unsafe { dealloc(block.address as *mut u8, layout) };
        }
        true
    }

    /// Frees all blocks in the memory of `gpu`.
    pub(crate) fn take_all_of(&mut self, gpu: usize) {
        let addresses: Vec<usize> = self
            .blocks
            .values()
            .filter(|block| block.home.takes_from() == Some(gpu))
            .map(|block| block.address)
            .collect();
        for address in addresses {
            self.take(address);
        }
    }

    /// Returns the block that contains all `bytes` bytes starting at `address`.
    pub(crate) fn find(&self, address: usize, bytes: usize) -> Option<&Block> {
        let block = self.around(address)?;
        let fits = address.checked_add(bytes).is_some_and(|end| end <= block.address + block.bytes);
        fits.then_some(block)
    }

    /// Returns the block that contains `address`.
    pub(crate) fn around(&self, address: usize) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address < block.address + block.bytes).then_some(block)
    }

    /// Increments the version of the block that contains `address`.
    pub(crate) fn mark_written(&mut self, address: usize) {
        if let Some((_, block)) = self.blocks.range_mut(..=address).next_back() {
            block.version += 1;
        }
    }

    /// Returns the version of the block at `address` if its identifier is `id`; `None` if the block
    /// was freed.
    pub(crate) fn version(&self, address: usize, id: u64) -> Option<u64> {
        self.blocks.get(&address).filter(|block| block.id == id).map(|block| block.version)
    }

    /// Returns the bytes allocated on `gpu`.
    pub(crate) fn used_bytes(&self, gpu: usize) -> u64 {
        self.blocks
            .values()
            .filter(|block| block.home.takes_from() == Some(gpu))
            .map(|block| block.bytes as u64)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_one_block_is_found() {
        let mut heap = Heap::default();
        let address = heap.give(100, Home::Gpu(1)).unwrap();
        assert_eq!(heap.find(address + 40, 60).map(|block| block.address), Some(address));
        assert!(heap.find(address + 40, 61).is_none() && heap.find(address, usize::MAX).is_none());
        assert!(heap.around(address + 100).is_none() && heap.around(0).is_none());
        assert_eq!((heap.used_bytes(0), heap.used_bytes(1)), (0, 100));
        assert!(heap.take(address) && !heap.take(address));
        assert_eq!(heap.used_bytes(1), 0);
        let [kept, taken] = [0, 1].map(|gpu| heap.give(8, Home::Managed(gpu)).unwrap());
        heap.take_all_of(1);
        assert!(heap.around(kept).is_some() && heap.around(taken).is_none());
    }
}
