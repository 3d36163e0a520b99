//! The HIP runtime, hiprtc, rocBLAS and hipBLASLt.

pub(super) mod device;
pub(super) mod graph;
pub(super) mod hipblaslt;
pub(super) mod hiprtc;
pub(super) mod memory;
pub(super) mod module;
pub(super) mod rocblas;
pub(super) mod stream;

use super::{handle, put, put_handle, put_text, whole};
use crate::gpu::Vendor;
use crate::state::{State, with};
use crate::status::{self, Status};

/// Answers a runtime call.
fn answer(call: impl FnOnce(&mut State) -> Result<(), Status>) -> Status {
    with(Vendor::Amd, call).err().unwrap_or(status::SUCCESS)
}
