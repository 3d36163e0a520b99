//! Operations shared by HIP and CUDA. The functions in `api` only translate arguments and statuses.

mod compiler;
mod device;
pub(crate) mod gemm;
mod graph;
pub(crate) mod lt;
mod memory;
mod module;
mod stream;

pub(crate) use compiler::result;
pub(crate) use device::{bus, place};
pub(crate) use memory::{Direction, Side};
pub(crate) use module::{Geometry, Limits};
