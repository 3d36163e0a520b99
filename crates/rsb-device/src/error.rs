//! Errors of devices.

use rsb_model::Reason;

/// Error of a device operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Not supported by this device: a data type, an instruction, a library. The case is skipped.
    #[error("{0}")]
    Unsupported(Reason),
    /// Unexpected failure: out of memory, launch failure, device lost. The case fails.
    #[error("{0}")]
    Failed(Reason),
}
