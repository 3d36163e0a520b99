//! Copies between buffers. A copy from or to a buffer in host memory is a transfer over the bus.

use std::rc::Rc;

use super::core::Core;
use super::launch::allocation;
use super::memory::{Allocation, Place};
use crate::portable::{defect, unsupported_error};
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::operation::{HostMemory, Transfer, TransferDirection};

/// A bound copy.
pub(super) struct TransferKernel {
    ends: TransferRoute,
    bytes: u64,
    /// Whether data received on the host was already copied to the second buffer. The first launch
    /// does this, so that the data can be verified.
    shown: bool,
    from: Buffer,
    to: Buffer,
}

/// Source and destination of a copy.
enum TransferRoute {
    Within,
    FromHost(Allocation),
    ToHost(Allocation),
}

/// Binds `op` to its two buffers.
pub(super) fn kernel(
    core: &Rc<Core>,
    op: &Transfer,
    buffers: &[Buffer],
) -> Result<TransferKernel, DeviceError> {
    let [from, to] = buffers else { return Err(defect("transfer", "it needs two buffers")) };
    if op.direction != TransferDirection::DeviceToDevice && op.host_memory == HostMemory::Pageable {
        return Err(unsupported_error(
            "transfers of pageable memory",
            "Vulkan only copies from and to memory that it allocated itself",
            "measure pinned memory",
        ));
    }
    let bytes = op.bytes.min(from.bytes()).min(to.bytes());
    let ends = match op.direction {
        TransferDirection::DeviceToDevice => TransferRoute::Within,
        TransferDirection::Bidirectional => return Err(crate::portable::both_ways_at_once()),
        TransferDirection::DeviceToHost => {
            TransferRoute::ToHost(Allocation::new_zeroed(core, bytes, Place::Host)?)
        }
        TransferDirection::HostToDevice => {
            let host = Allocation::new_zeroed(core, bytes, Place::Host)?;
            allocation(Some(from))?.copy_to(&host, 0, 0, bytes)?;
            core.synchronize()?;
            TransferRoute::FromHost(host)
        }
    };
    Ok(TransferKernel { ends, bytes, shown: false, from: from.clone(), to: to.clone() })
}

/// Binds a copy of all of `from` to the start of `to` on one device.
pub(super) fn copy(
    core: &Rc<Core>,
    from: &Buffer,
    to: &Buffer,
) -> Result<TransferKernel, DeviceError> {
    let here =
        |buffer: &Buffer| allocation(Some(buffer)).map(|memory| Rc::ptr_eq(memory.core(), core));
    if !here(from)? || !here(to)? {
        return Err(unsupported_error(
            "copies between devices",
            "this backend cannot copy between the memories of Vulkan devices",
            "choose a backend that supports copies between devices, such as rocm or cuda",
        ));
    }
    if from.bytes() > to.bytes() {
        return Err(defect("copy", "the destination is smaller than the source"));
    }
    Ok(TransferKernel {
        ends: TransferRoute::Within,
        bytes: from.bytes(),
        shown: true,
        from: from.clone(),
        to: to.clone(),
    })
}

impl Kernel for TransferKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let (from, to) = (allocation(Some(&self.from))?, allocation(Some(&self.to))?);
        match &self.ends {
            TransferRoute::Within => from.copy_to(to, 0, 0, self.bytes)?,
            TransferRoute::FromHost(host) => host.copy_to(to, 0, 0, self.bytes)?,
            TransferRoute::ToHost(host) => {
                from.copy_to(host, 0, 0, self.bytes)?;
                if !self.shown {
                    host.copy_to(to, 0, 0, self.bytes)?;
                }
            }
        }
        self.shown = true;
        Ok(())
    }

    fn provider(&self) -> String {
        "vulkan".to_owned()
    }
}
