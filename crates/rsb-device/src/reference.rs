//! Reference results: every operation in f64, written as plainly as possible.
//!
//! [`execute()`] runs a whole operation on buffers in memory. The functions for single elements and
//! rows also verify samples of results that are too large to compute twice.

mod execute;
mod maths;
pub mod mutation;
mod parallel;
mod shared;
mod verify;

pub use execute::execute;
pub use maths::{
    ConvolutionPoint, attended_row, convolution_element, elementwise, gemm_element, normalized_row,
    rearranged_element, softmax_row,
};
pub use verify::{
    chain_tolerance, distribution, fill, init, mark_unwritten, projection_limit, tolerance, verify,
};

#[cfg(test)]
mod tests;
