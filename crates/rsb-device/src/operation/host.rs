//! Operations between the host and a device: transfers, and launches of kernels that do nothing.

use rsb_model::Dtype;
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Role, named};

/// A copy of bytes between host and device, or within the device. Both buffers are on the device:
/// the first is the data sent, the second contains the data received after the first launch. If the
/// host is one end, the kernel allocates the memory there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Source and destination.
    pub direction: TransferDirection,
    /// Type of memory on the host; irrelevant for copies within the device.
    pub host_memory: HostMemory,
    /// Bytes per launch, a multiple of four; per direction if bidirectional.
    pub bytes: u64,
}

rsb_model::named_enum! {
    serde
    /// Source and destination of a [`Transfer`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum TransferDirection {
        /// From the host to the device.
        HostToDevice = "host-to-device",
        /// From the device to the host.
        DeviceToHost = "device-to-host",
        /// Within the device.
        DeviceToDevice = "device-to-device",
        /// Host to device and device to host at once, in two streams: the same number of bytes each
        /// way.
        Bidirectional = "bidirectional",
    }
}

named!(TransferDirection, "direction");

rsb_model::named_enum! {
    serde
    /// Type of host memory.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HostMemory {
        /// Page-locked, so that the device can access it directly.
        Pinned = "pinned",
        /// Ordinary pageable memory.
        Pageable = "pageable",
    }
}

named!(HostMemory, "type of host memory");

impl Transfer {
    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let elements = self.bytes / 4;
        vec![
            BufferSpec::new(Role::Input, Dtype::F32, elements),
            BufferSpec::new(Role::Output, Dtype::F32, elements),
        ]
    }

    /// Returns the bytes moved. Within the device, each byte counts twice, as read and written;
    /// over a link it counts once per direction.
    pub(super) fn bytes_moved(&self) -> f64 {
        match self.direction {
            TransferDirection::DeviceToDevice | TransferDirection::Bidirectional => {
                2.0 * self.bytes as f64
            }
            TransferDirection::HostToDevice | TransferDirection::DeviceToHost => self.bytes as f64,
        }
    }
}

/// Empty kernels, launched one after another, which measure launch overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Kernels per launch of the operation.
    pub kernels: u32,
    /// How the kernels are launched.
    pub mode: LaunchMode,
}

rsb_model::named_enum! {
    serde
    /// How kernels are submitted to a device.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum LaunchMode {
        /// One call per kernel.
        Stream = "stream",
        /// All together, as a graph recorded before.
        Graph = "graph",
    }
}

named!(LaunchMode, "launch mode");
