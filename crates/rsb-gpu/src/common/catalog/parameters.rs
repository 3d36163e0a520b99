//! What kernels are given, in their order.

use rsb_model::Dtype;

use super::Element::{self, Byte, F16, F64, Product, Result, T, U32, U64};
use super::Parameter::{self, Count, In, InOut, Number, Out, Scratch};

pub(super) const READ: &[Parameter] = &[
    In("a", Byte),
    Count("bytes"),
    Scratch("partials, one for each block", U64),
    InOut("counter, zero before and after", U32),
    Out("result", U64),
];
pub(super) const COPY: &[Parameter] = &[In("a", Byte), Out("b", Byte), Count("bytes")];
pub(super) const WRITE: &[Parameter] = &[Out("a", T), Count("n"), Number("s")];
pub(super) const READ_WRITE: &[Parameter] = &[InOut("a", T), Count("n"), Number("s")];
pub(super) const TRIAD: &[Parameter] =
    &[In("a", T), In("b", T), Out("c", T), Count("n"), Number("s")];
pub(super) const ONE_INPUT: &[Parameter] = &[In("x", T), Out("y", T), Count("n")];
pub(super) const TWO_INPUTS: &[Parameter] = &[In("x", T), In("z", T), Out("y", T), Count("n")];
pub(super) const SUM: &[Parameter] = &[
    In("x", T),
    Count("n"),
    Number("scale"),
    Scratch("partials, one for each block", F64),
    InOut("counter, zero before and after", U32),
    Out("result", Result),
];
const fn largest(result: Element) -> [Parameter; 6] {
    [
        In("x", T),
        Count("n"),
        Scratch("values, one for each block", F64),
        Scratch("positions, one for each block", U64),
        InOut("counter, zero before and after", U32),
        Out("result", result),
    ]
}
pub(super) const MAX: &[Parameter] = &largest(Result);
pub(super) const ARGMAX: &[Parameter] = &largest(U64);
pub(super) const SOFTMAX: &[Parameter] =
    &[In("x", T), Out("y", T), Count("rows"), Count("columns")];
pub(super) const LAYER_NORM: &[Parameter] = &[
    In("x", T),
    In("gain, one for each column", T),
    In("bias, one for each column", T),
    Out("y", T),
    Count("rows"),
    Count("columns"),
    Number("epsilon"),
];
pub(super) const RMS_NORM: &[Parameter] = &[
    In("x", T),
    In("gain, one for each column", T),
    Out("y", T),
    Count("rows"),
    Count("columns"),
    Number("epsilon"),
];
pub(super) const ROTATE: &[Parameter] = &[
    In("x, batch by rows by columns by width", T),
    In("angles, rows by width: cosine and sine in turn", T),
    InOut("y, batch by columns by capacity by width", T),
    Count("batch"),
    Count("rows"),
    Count("columns"),
    Count("width, even"),
    Count("capacity"),
    Count("position"),
];
pub(super) const GATHER: &[Parameter] = &[
    In("x, of by width", T),
    In("index, one for each row of y", U64),
    Out("y, rows by width", T),
    Count("of"),
    Count("rows"),
    Count("width"),
];
pub(super) const REARRANGE: &[Parameter] = &[
    In("x, batch by rows by columns by width", T),
    InOut("y, batch by columns by capacity by width", T),
    Count("batch"),
    Count("rows"),
    Count("columns"),
    Count("width"),
    Count("capacity"),
    Count("position"),
];
pub(super) const ATTENTION: &[Parameter] = &[
    In("q, heads by group by queries by head_dim", T),
    In("k, heads by capacity by head_dim", T),
    In("v, as k", T),
    Out("y, as q", T),
    Count("heads of keys, of all sequences"),
    Count("group, heads of queries for each"),
    Count("queries"),
    Count("positions"),
    Count("capacity"),
    Count("head_dim, at most 128"),
    Count("causal, 0 or 1"),
    Number("scale"),
];
pub(super) const CONVOLUTION: &[Parameter] = &[
    In("x, batch by in_channels by height by width", T),
    In("w, out_channels by in_channels/groups by kernel_height by kernel_width", T),
    Out("y, batch by out_channels by out_height by out_width", T),
    Count("batch"),
    Count("in_channels"),
    Count("out_channels"),
    Count("height"),
    Count("width"),
    Count("kernel_height"),
    Count("kernel_width"),
    Count("out_height"),
    Count("out_width"),
    Count("stride"),
    Count("padding"),
    Count("dilation"),
    Count("groups"),
];
const fn gemm(result: Element) -> [Parameter; 12] {
    [
        In("a", T),
        In("b", T),
        InOut("c, not read where beta is 0", result),
        Count("m"),
        Count("n"),
        Count("k"),
        Count("batch"),
        Count("stride_b, from one matrix of b to the next"),
        Count("transpose_a, 0 or 1"),
        Count("transpose_b, 0 or 1"),
        Number("alpha"),
        Number("beta"),
    ]
}
pub(super) const GEMM: &[Parameter] = &gemm(Product);
pub(super) const GEMM_NARROW: &[Parameter] = &gemm(T);
pub(super) const GEMM_TYPES: &[Dtype] =
    &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8];
pub(super) const QUANTIZED: &[Parameter] = &[
    In("a, m by k", T),
    In(
        "w, n by k whole numbers with sign; of 4 bits two in a byte, the earlier one in the lower \
         half",
        Byte,
    ),
    In("scales, n by groups of a row", F16),
    Out("c, m by n", T),
    Count("m"),
    Count("n"),
    Count("k, a multiple of 32"),
    Count("group, weights with one scale, a multiple of 32"),
    Count("bits, 4 or 8"),
];
pub(super) const PEAK: &[Parameter] = &[Out("result", T), Count("pieces")];
