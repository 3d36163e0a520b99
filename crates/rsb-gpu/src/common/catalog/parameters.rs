//! Parameters of kernels, in the order of their sources, which name each.

use rsb_model::Dtype;

use super::Parameter::{self, Count, In, InOut, Number, Out, Scratch};

pub(super) const READ: &[Parameter] = &[In, Count, Scratch, InOut, Out];
pub(super) const COPY: &[Parameter] = &[In, Out, Count];
pub(super) const WRITE: &[Parameter] = &[Out, Count, Number];
pub(super) const READ_WRITE: &[Parameter] = &[InOut, Count, Number];
pub(super) const TRIAD: &[Parameter] = &[In, In, Out, Count, Number];
pub(super) const ONE_INPUT: &[Parameter] = &[In, Out, Count];
pub(super) const TWO_INPUTS: &[Parameter] = &[In, In, Out, Count];
pub(super) const SUM: &[Parameter] = &[In, Count, Number, Scratch, InOut, Out];
pub(super) const MAX: &[Parameter] = &[In, Count, Scratch, Scratch, InOut, Out];
pub(super) const SOFTMAX: &[Parameter] = &[In, Out, Count, Count];
pub(super) const LAYER_NORM: &[Parameter] = &[In, In, In, Out, Count, Count, Number];
pub(super) const RMS_NORM: &[Parameter] = &[In, In, Out, Count, Count, Number];
pub(super) const ROTATE: &[Parameter] = &[In, In, InOut, Count, Count, Count, Count, Count, Count];
pub(super) const GATHER: &[Parameter] = &[In, In, Out, Count, Count, Count];
pub(super) const REARRANGE: &[Parameter] = &[In, InOut, Count, Count, Count, Count, Count, Count];
pub(super) const ATTENTION: &[Parameter] =
    &[In, In, In, Out, Count, Count, Count, Count, Count, Count, Count, Number];
pub(super) const CONVOLUTION: &[Parameter] = &[
    In, In, Out, Count, Count, Count, Count, Count, Count, Count, Count, Count, Count, Count,
    Count, Count,
];
/// The three matrices; m, n, k, batch, `stride_b` and both transpositions; alpha and beta.
pub(super) const GEMM: &[Parameter] =
    &[In, In, InOut, Count, Count, Count, Count, Count, Count, Count, Number, Number];
pub(super) const GEMM_TYPES: &[Dtype] =
    &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8];
pub(super) const QUANTIZED: &[Parameter] = &[In, In, In, Out, Count, Count, Count, Count, Count];
/// Nodes, position, accesses.
pub(super) const CHASE: &[Parameter] = &[In, InOut, Count];
pub(super) const PEAK: &[Parameter] = &[Out, Count];
