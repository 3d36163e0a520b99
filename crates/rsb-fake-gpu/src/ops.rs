//! What the calls of the interfaces do: once, for HIP and for CUDA. The functions in `api`
//! translate their arguments and their statuses, and nothing else.

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
