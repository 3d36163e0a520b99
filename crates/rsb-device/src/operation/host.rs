//! Operations between the host and a device: transfers, and launches of kernels that do nothing.

use rsb_model::Dtype;
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Role, named};

/// Bytes from one place to another. Both buffers are of the device: the first is what is sent, the
/// second shows after the first launch what has arrived. Where the way begins or ends on the host,
/// the kernel has memory of its own there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// From where to where.
    pub direction: TransferDirection,
    /// The kind of memory on the host's side; of no matter between devices.
    pub host_memory: HostMemory,
    /// How much in one launch, a multiple of four; each way where there are two.
    pub bytes: u64,
}

/// From where to where a [`Transfer`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferDirection {
    /// From the host to the device.
    HostToDevice,
    /// From the device to the host.
    DeviceToHost,
    /// Within the device.
    DeviceToDevice,
    /// From the host to the device and from the device to the host at once, in two queues: as much
    /// each way.
    Bidirectional,
}

named!(
    TransferDirection,
    "direction",
    HostToDevice = "host-to-device",
    DeviceToHost = "device-to-host",
    DeviceToDevice = "device-to-device",
    Bidirectional = "bidirectional"
);

/// Memory of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostMemory {
    /// Locked in place, so that the device reaches it on its own.
    Pinned,
    /// As any program has it.
    Pageable,
}

named!(HostMemory, "kind of host memory", Pinned = "pinned", Pageable = "pageable");

impl Transfer {
    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let elements = self.bytes / 4;
        vec![
            BufferSpec::new(Role::Input, Dtype::F32, elements),
            BufferSpec::new(Role::Output, Dtype::F32, elements),
        ]
    }

    /// Within the device each byte is read and written there; over a link it passes once, and both
    /// ways count.
    pub(super) fn bytes_moved(&self) -> f64 {
        match self.direction {
            TransferDirection::DeviceToDevice | TransferDirection::Bidirectional => {
                2.0 * self.bytes as f64
            }
            TransferDirection::HostToDevice | TransferDirection::DeviceToHost => self.bytes as f64,
        }
    }
}

/// Kernels that do nothing, one after the other: what a launch costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Kernels in one launch of the operation.
    pub kernels: u32,
    /// How they are handed over.
    pub mode: LaunchMode,
}

/// How kernels are handed to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchMode {
    /// One call for each.
    Stream,
    /// All together as a graph that was recorded before.
    Graph,
}

named!(LaunchMode, "launch mode", Stream = "stream", Graph = "graph");
