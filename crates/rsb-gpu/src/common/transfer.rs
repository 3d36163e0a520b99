//! Copies between host and GPU from pinned or pageable memory, in one direction or both, within a
//! GPU, and from GPU to GPU.

use std::rc::Rc;

use super::core::Core;
use super::driver::{Copy, CopyDirection};
use super::launch::allocation;
use super::memory::HostBlock;
use super::side::SideStream;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::held::HostSide;
use rsb_device::operation::{HostMemory, Transfer, TransferDirection};

/// A [`Transfer`] bound to its buffers.
pub(super) struct TransferKernel {
    core: Rc<Core>,
    /// Copy in the main stream. The kernel keeps the memory at both ends alive.
    copy: Copy,
    direction: TransferDirection,
    /// Whether the received data has been copied from the host to the second buffer, which happens
    /// once, for verification.
    shown: bool,
    host: Option<HostBlock>,
    /// Copy to the host, if the transfer is bidirectional.
    back: Option<ReturnCopy>,
    to: Buffer,
    _from: Buffer,
}

/// A copy from the device to the host in a separate stream.
struct ReturnCopy {
    side: SideStream,
    copy: Copy,
    host: HostBlock,
}

impl ReturnCopy {
    fn new(
        core: &Rc<Core>,
        from: *const std::ffi::c_void,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let mut host = HostBlock::new_pinned(core, bytes)?;
        let copy = Copy { to: host.address(), from, bytes, ends: CopyDirection::DeviceToHost };
        Ok(Self { side: SideStream::new(core)?, copy, host })
    }

    fn start(&self, core: &Core) -> Result<(), DeviceError> {
        self.side.leave()?;
        // SAFETY: both ends have this length, and `TransferKernel` keeps them alive until both
        // streams have completed the copy.
        unsafe { core.driver.copy(self.copy, self.side.stream) }
    }
}

/// Binds `op` to its two buffers.
pub(super) fn kernel(
    core: &Rc<Core>,
    op: &Transfer,
    buffers: &[Buffer],
) -> Result<TransferKernel, DeviceError> {
    let (from, to) = (allocation(buffers.first())?, allocation(buffers.get(1))?);
    let bytes = usize::try_from(op.bytes.min(from.bytes()).min(to.bytes())).unwrap_or(usize::MAX);
    let mut host = match (op.direction, op.host_memory) {
        (TransferDirection::DeviceToDevice, _) => None,
        (_, HostMemory::Pinned) => Some(HostBlock::new_pinned(core, bytes)?),
        (TransferDirection::Bidirectional, HostMemory::Pageable) => {
            return Err(DeviceError::Unsupported(rsb_model::Reason::new(
                "pageable memory both ways at once",
                "the runtime copies pageable memory through the host, one direction after the other",
                "measure pinned memory",
            )));
        }
        (_, HostMemory::Pageable) => Some(HostBlock::pageable(bytes)),
    };
    let copy = match (op.direction, &mut host) {
        (TransferDirection::HostToDevice | TransferDirection::Bidirectional, Some(host)) => {
            let fill = Copy {
                to: host.address(),
                from: from.address(),
                bytes,
                ends: CopyDirection::DeviceToHost,
            };
            start(core, fill)?;
            core.synchronize()?;
            Copy {
                to: to.address(),
                from: host.address(),
                bytes,
                ends: CopyDirection::HostToDevice,
            }
        }
        (TransferDirection::DeviceToHost, Some(host)) => Copy {
            to: host.address(),
            from: from.address(),
            bytes,
            ends: CopyDirection::DeviceToHost,
        },
        _ => Copy {
            to: to.address(),
            from: from.address(),
            bytes,
            ends: CopyDirection::DeviceToDevice,
        },
    };
    let back = match op.direction {
        TransferDirection::Bidirectional => Some(ReturnCopy::new(core, from.address(), bytes)?),
        _ => None,
    };
    let to = buffers.get(1).cloned().ok_or_else(wrong_buffers)?;
    let from = buffers.first().cloned().ok_or_else(wrong_buffers)?;
    Ok(TransferKernel {
        core: Rc::clone(core),
        copy,
        direction: op.direction,
        shown: false,
        host,
        back,
        to,
        _from: from,
    })
}

/// Enqueues `copy` in the stream of `core`.
fn start(core: &Core, copy: Copy) -> Result<(), DeviceError> {
    core.activate()?;
    // SAFETY: both ends have this length, and the caller keeps them alive until the stream has
    // completed the copy.
    unsafe { core.driver.copy(copy, core.stream) }
}

impl TransferKernel {
    /// Starts the copies in both directions. Subsequent launches wait for both.
    fn start_both(&mut self) -> Result<(), DeviceError> {
        let Some(back) = &mut self.back else { return Ok(()) };
        back.start(&self.core)?;
        start(&self.core, self.copy)?;
        back.side.come_back()?;
        let (false, Some(host)) = (self.shown, &mut self.host) else { return Ok(()) };
        self.shown = true;
        self.core.synchronize()?;
        let blocks = [host.address(), back.host.address()];
        // SAFETY: both blocks have this length, and nothing writes to them after the wait above.
        let [sent, arrived] = blocks.map(|block| unsafe {
            std::slice::from_raw_parts(block.cast::<u8>(), self.copy.bytes)
        });
        if sent == arrived {
            return Ok(());
        }
        Err(DeviceError::Failed(rsb_model::Reason::new(
            "wrong result of bidirectional",
            "the data on the host differs from the data on the GPU",
            "suspect the driver or the link: measure each direction separately, and check the \
             kernel log (dmesg)",
        )))
    }

    fn show(&mut self) -> Result<(), DeviceError> {
        let Some(host) = &mut self.host else { return Ok(()) };
        self.core.synchronize()?;
        // SAFETY: the block has this length, nothing writes to it after the wait above, and it
        // outlives the copy.
        let arrived =
            unsafe { std::slice::from_raw_parts(host.address().cast::<u8>(), self.copy.bytes) };
        let _ = allocation(Some(&self.to))?.copy(0, HostSide::From(arrived))?;
        Ok(())
    }
}

impl Kernel for TransferKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        if self.back.is_some() {
            return self.start_both();
        }
        start(&self.core, self.copy)?;
        if self.direction == TransferDirection::DeviceToHost && !self.shown {
            self.shown = true;
            self.show()?;
        }
        Ok(())
    }

    fn provider(&self) -> String {
        self.core.driver.name().to_owned()
    }
}

impl Drop for TransferKernel {
    fn drop(&mut self) {
        // Wait, since a copy may still be using the host's memory.
        let _ = self.core.synchronize();
    }
}

/// A copy between two buffers, which may be on two GPUs.
pub(super) struct PeerCopy {
    core: Rc<Core>,
    from: Buffer,
    to: Buffer,
    /// Name of the path of the copy: peer access, or staging through the host.
    way: &'static str,
}

/// Binds a copy of all of `from` to the start of `to`. Enables peer access if the GPUs support it.
pub(super) fn peer_copy(
    core: &Rc<Core>,
    from: &Buffer,
    to: &Buffer,
) -> Result<PeerCopy, DeviceError> {
    let (source, target) = (allocation(Some(from))?, allocation(Some(to))?);
    if source.bytes() > target.bytes() {
        return Err(wrong_buffers());
    }
    let (a, b) = (source.core().ordinal, target.core().ordinal);
    let direct = a == b || (core.driver.enable_peer(a, b)? && core.driver.enable_peer(b, a)?);
    let way = if direct { "peer" } else { "staged" };
    Ok(PeerCopy { core: Rc::clone(core), from: from.clone(), to: to.clone(), way })
}

impl Kernel for PeerCopy {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let (from, to) = (allocation(Some(&self.from))?, allocation(Some(&self.to))?);
        let core = &self.core;
        core.activate()?;
        let bytes = usize::try_from(from.bytes()).unwrap_or(usize::MAX);
        let copy = Copy {
            to: to.address(),
            from: from.address(),
            bytes,
            ends: CopyDirection::DeviceToDevice,
        };
        // SAFETY: the target is at least as long as the source, and `self` keeps both alive.
        unsafe {
            core.driver.copy_peer(copy, [to.core().ordinal, from.core().ordinal], core.stream)
        }
    }

    fn provider(&self) -> String {
        format!("{}-{}", self.core.driver.name(), self.way)
    }
}

fn wrong_buffers() -> DeviceError {
    DeviceError::Failed(rsb_model::Reason::new(
        "buffers of a copy",
        "the target is smaller than the source, or a buffer is missing",
        "report this as a bug with the case id",
    ))
}
