//! Memory: every block that was given out, so that what is not one of them is an error and not a
//! crash.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

/// Where a block is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// On this GPU.
    Gpu(usize),
    /// Pinned memory of the host.
    Pinned,
    /// On this GPU and shared with the host.
    Managed(usize),
}

impl Home {
    /// The GPU whose memory it takes.
    const fn takes_from(self) -> Option<usize> {
        match self {
            Self::Gpu(gpu) | Self::Managed(gpu) => Some(gpu),
            Self::Pinned => None,
        }
    }
}

/// One block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) home: Home,
    /// Never used again for another block.
    pub(crate) id: u64,
    /// Grows whenever anything is written.
    pub(crate) version: u64,
}

/// Every block, and how much of each GPU they take.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    blocks: BTreeMap<usize, Block>,
    given: u64,
}

/// What any block is aligned to. `calloc` gives so much, and gives fresh pages without touching
/// them.
const ALIGNMENT: usize = 16;

impl Heap {
    /// A block of zeros; none when the host has no memory.
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

    /// Takes a block back; false when there is none at this address.
    pub(crate) fn take(&mut self, address: usize) -> bool {
        let Some(block) = self.blocks.remove(&address) else { return false };
        if let Ok(layout) = Layout::from_size_align(block.bytes, ALIGNMENT) {
            // SAFETY: it was allocated with this layout, and was in the table until now.
            unsafe { dealloc(block.address as *mut u8, layout) };
        }
        true
    }

    /// Takes back everything that `gpu` gave memory for.
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

    /// The block in which `bytes` bytes from `address` on lie.
    pub(crate) fn find(&self, address: usize, bytes: usize) -> Option<&Block> {
        let block = self.around(address)?;
        let fits = address.checked_add(bytes).is_some_and(|end| end <= block.address + block.bytes);
        fits.then_some(block)
    }

    /// The block in which `address` lies.
    pub(crate) fn around(&self, address: usize) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address < block.address + block.bytes).then_some(block)
    }

    /// Notes that something was written at `address`.
    pub(crate) fn mark_written(&mut self, address: usize) {
        if let Some((_, block)) = self.blocks.range_mut(..=address).next_back() {
            block.version += 1;
        }
    }

    /// The version of block `id` at `address`, while it is there.
    pub(crate) fn version(&self, address: usize, id: u64) -> Option<u64> {
        self.blocks.get(&address).filter(|block| block.id == id).map(|block| block.version)
    }

    /// Bytes that are given out on `gpu`.
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
