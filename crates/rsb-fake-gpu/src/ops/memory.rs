//! Device and host memory.

use crate::gpu::{MEMORY_BYTES, Route};
use crate::heap::Home;
use crate::orders::Fault;
use crate::state::{State, Task, current};
use crate::status::{self, Status};

/// Direction of a copy as passed by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the host to a GPU.
    ToGpu,
    /// From a GPU to the host.
    ToHost,
    /// From GPUs to GPUs.
    OnGpus,
    /// Determined from the addresses.
    AsTold,
}

/// Kind of memory to free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Device memory, including memory shared with the host.
    Gpu,
    /// The host.
    Host,
}

impl State {
    /// Allocates device memory on the current GPU, or pinned host memory.
    pub(crate) fn allocate(&mut self, bytes: usize, home: Home) -> Result<usize, Status> {
        let gpu = current();
        self.sound(gpu)?;
        if home != Home::Pinned {
            self.allocations += 1;
            if self.is_out_of_memory() || bytes as u64 > self.free_bytes(gpu) {
                return Err(status::OUT_OF_MEMORY);
            }
        }
        self.heap.give(bytes, home).ok_or(status::OUT_OF_MEMORY)
    }

    fn is_out_of_memory(&self) -> bool {
        let Ok(orders) = &self.orders else { return false };
        orders
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::OutOfMemory(which) if self.allocations >= *which))
    }

    /// Frees the block at `address`, which must be memory of kind `side`.
    pub(crate) fn release(&mut self, address: usize, side: Side) -> Result<(), Status> {
        let is_pinned = self.heap.find(address, 1).map(|block| block.home == Home::Pinned);
        let right = is_pinned == Some(side == Side::Host);
        if right && self.heap.take(address) { Ok(()) } else { Err(status::INVALID_VALUE) }
    }

    /// Returns the free and total memory of the current GPU, in bytes.
    pub(crate) fn memory_info(&mut self) -> Result<[usize; 2], Status> {
        self.sound(current())?;
        Ok([self.free_bytes(current()), MEMORY_BYTES]
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    /// Enqueues a copy in a stream. Fails if an address that `direction` requires to be on a GPU is
    /// not in an allocated block.
    pub(crate) fn copy_in(
        &mut self,
        stream: usize,
        [to, from]: [usize; 2],
        bytes: usize,
        direction: Direction,
    ) -> Result<(), Status> {
        let right = match direction {
            Direction::ToGpu => self.is_on_gpu(to, bytes),
            Direction::ToHost => self.is_on_gpu(from, bytes),
            Direction::OnGpus => self.is_on_gpu(to, bytes) && self.is_on_gpu(from, bytes),
            Direction::AsTold => self.is_on_gpu(to, bytes) || self.is_on_gpu(from, bytes),
        };
        if !right {
            return Err(status::INVALID_VALUE);
        }
        let route = self.route(to, from)?;
        self.hand_over(stream, Task::Copy { to, from, bytes, route })
    }

    fn is_on_gpu(&self, address: usize, bytes: usize) -> bool {
        let home = self.heap.find(address, bytes).map(|block| block.home);
        matches!(home, Some(Home::Gpu(_) | Home::Managed(_)))
    }

    /// Copies in the default stream, and waits.
    pub(crate) fn copy_now(
        &mut self,
        ends: [usize; 2],
        bytes: usize,
        direction: Direction,
    ) -> Result<(), Status> {
        self.copy_in(0, ends, bytes, direction)?;
        self.wait(0)
    }

    /// Enqueues a fill with a byte value in a stream.
    pub(crate) fn fill_in(
        &mut self,
        stream: usize,
        to: usize,
        value: u8,
        bytes: usize,
    ) -> Result<(), Status> {
        if self.heap.find(to, bytes).is_none() {
            return Err(status::INVALID_VALUE);
        }
        self.hand_over(stream, Task::Fill { to, value, bytes })
    }

    /// Enqueues a copy between GPUs in a stream. Source and destination are each an address and its
    /// GPU.
    pub(crate) fn copy_to_peer(
        &mut self,
        stream: usize,
        to: (usize, usize),
        from: (usize, usize),
        bytes: usize,
    ) -> Result<(), Status> {
        for (address, gpu) in [to, from] {
            let home = self.heap.find(address, bytes).map(|block| block.home);
            if home != Some(Home::Gpu(gpu)) {
                return Err(status::INVALID_VALUE);
            }
        }
        let route = if to.1 == from.1 { Route::Gpu } else { Route::Peer };
        self.hand_over(stream, Task::Copy { to: to.0, from: from.0, bytes, route })
    }
}
