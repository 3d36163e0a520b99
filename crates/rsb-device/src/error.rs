//! Errors of devices.

use rsb_model::Reason;

/// Why a device did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// This device cannot do it: a data type, an instruction, a library. The case is skipped.
    #[error("{0}")]
    Unsupported(Reason),
    /// It should have worked: out of memory, launch failure, device lost. The case fails.
    #[error("{0}")]
    Failed(Reason),
}
