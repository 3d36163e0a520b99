//! Copies: between host and card from pinned or pageable memory, within a card, and from card to card.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use hip_runtime_sys::{error, memcpy};

use super::core::Core;
use super::launch::allocation;
use super::memory::{HostBlock, HostSide};
use super::runtime::{HipError, call};
use crate::device::{Buffer, DeviceError, Kernel};
use crate::operation::{Direction, HostMemory, Transfer};

/// One copy in the stream of its card.
struct Copy {
    core: Rc<Core>,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
}

impl Copy {
    fn start(&self) -> Result<(), HipError> {
        self.core.activate()?;
        let Self { core, to, from, bytes, kind } = self;
        // SAFETY: both ends are this long and are kept by the kernel that owns this copy.
        unsafe { call!(core.runtime, hipMemcpyAsync(*to, *from, *bytes, *kind, core.stream)) }
    }
}

/// A [`Transfer`], bound.
pub(super) struct TransferKernel {
    copy: Copy,
    direction: Direction,
    /// What arrives on the host is sent on to the second buffer once, so that it can be checked.
    shown: bool,
    host: Option<HostBlock>,
    to: Buffer,
    _from: Buffer,
}

/// Binds `op` to its two buffers.
pub(super) fn kernel(core: &Rc<Core>, op: &Transfer, buffers: &[Buffer]) -> Result<TransferKernel, DeviceError> {
    let (from, to) = (allocation(buffers.first())?, allocation(buffers.get(1))?);
    let bytes = usize::try_from(op.bytes.min(from.bytes()).min(to.bytes())).unwrap_or(usize::MAX);
    let mut host = match (op.direction, op.host_memory) {
        (Direction::DeviceToDevice, _) => None,
        (_, HostMemory::Pinned) => Some(HostBlock::pinned(core, bytes)?),
        (_, HostMemory::Pageable) => Some(HostBlock::pageable(bytes)),
    };
    let core = Rc::clone(core);
    let copy = match (op.direction, &mut host) {
        (Direction::HostToDevice, Some(host)) => {
            let fill = Copy {
                core: Rc::clone(&core),
                to: host.address(),
                from: from.address(),
                bytes,
                kind: memcpy::DEVICE_TO_HOST,
            };
            fill.start()?;
            core.synchronize()?;
            Copy { core, to: to.address(), from: host.address(), bytes, kind: memcpy::HOST_TO_DEVICE }
        }
        (Direction::DeviceToHost, Some(host)) => {
            Copy { core, to: host.address(), from: from.address(), bytes, kind: memcpy::DEVICE_TO_HOST }
        }
        _ => Copy { core, to: to.address(), from: from.address(), bytes, kind: memcpy::DEVICE_TO_DEVICE },
    };
    let keep = |index: usize| buffers.get(index).cloned().ok_or_else(wrong_buffers);
    Ok(TransferKernel { copy, direction: op.direction, shown: false, host, to: keep(1)?, _from: keep(0)? })
}

impl TransferKernel {
    fn show(&mut self) -> Result<(), DeviceError> {
        let Some(host) = &mut self.host else { return Ok(()) };
        self.copy.core.synchronize()?;
        let bytes = self.copy.bytes;
        // SAFETY: the block is this long, nothing writes to it after the wait above, and it outlives the copy.
        let arrived = unsafe { std::slice::from_raw_parts(host.address().cast::<u8>(), bytes) };
        let _ = allocation(Some(&self.to))?.copy(0, HostSide::From(arrived))?;
        Ok(())
    }
}

impl Kernel for TransferKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.copy.start()?;
        if self.direction == Direction::DeviceToHost && !self.shown {
            self.shown = true;
            self.show()?;
        }
        Ok(())
    }

    fn provider(&self) -> String {
        "hip".to_owned()
    }
}

/// A copy between two buffers, which may lie on two cards.
pub(super) struct PeerCopy {
    core: Rc<Core>,
    from: Buffer,
    to: Buffer,
    provider: &'static str,
}

/// Binds a copy of all of `from` to the start of `to`. Where one card can reach the other's memory, it may.
pub(super) fn peer_copy(core: &Rc<Core>, from: &Buffer, to: &Buffer) -> Result<PeerCopy, DeviceError> {
    let (source, target) = (allocation(Some(from))?, allocation(Some(to))?);
    if source.bytes() > target.bytes() {
        return Err(wrong_buffers());
    }
    let (a, b) = (source.core(), target.core());
    let direct = a.ordinal == b.ordinal || (enable(a, b.ordinal)? && enable(b, a.ordinal)?);
    let provider = if direct { "hip-peer" } else { "hip-staged" };
    Ok(PeerCopy { core: Rc::clone(core), from: from.clone(), to: to.clone(), provider })
}

/// Lets `core` reach the memory of `peer`; false where the hardware cannot.
fn enable(core: &Core, peer: c_int) -> Result<bool, HipError> {
    let mut can: c_int = 0;
    // SAFETY: the pointer is to a live variable of this type.
    unsafe { call!(core.runtime, hipDeviceCanAccessPeer(&raw mut can, core.ordinal, peer)) }?;
    if can == 0 {
        return Ok(false);
    }
    core.activate()?;
    // SAFETY: no pointers; zero is the only flag there is.
    match unsafe { call!(core.runtime, hipDeviceEnablePeerAccess(peer, 0)) } {
        Ok(()) => Ok(true),
        Err(failed) if failed.code() == Some(error::PEER_ACCESS_ALREADY_ENABLED) => Ok(true),
        Err(failed) => Err(failed),
    }
}

impl Kernel for PeerCopy {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let (from, to) = (allocation(Some(&self.from))?, allocation(Some(&self.to))?);
        let core = &self.core;
        core.activate()?;
        let bytes = usize::try_from(from.bytes()).unwrap_or(usize::MAX);
        // SAFETY: the target is at least as long as the source, and `self` keeps both.
        unsafe {
            call!(
                core.runtime,
                hipMemcpyPeerAsync(
                    to.address(),
                    to.core().ordinal,
                    from.address(),
                    from.core().ordinal,
                    bytes,
                    core.stream
                )
            )
        }?;
        Ok(())
    }

    fn provider(&self) -> String {
        self.provider.to_owned()
    }
}

fn wrong_buffers() -> DeviceError {
    DeviceError::Failed(rsb_model::Reason::new(
        "buffers of a copy",
        "the target is smaller than the source, or one is missing",
        "this is a defect of this program: please report it with the case's id",
    ))
}
