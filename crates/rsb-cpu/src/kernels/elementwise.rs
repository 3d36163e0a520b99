//! Element-wise operations: one pass over the inputs and one over the output.

use std::ops::Range;

use multiversion::target::target_cfg_f;

use super::maths;
use super::whole::{self, IntegerFormat};
use crate::kernel::{Bound, CpuKernel, format_of};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Elementwise, ElementwiseOp};
use rsb_gemm::convert::{self, BLOCK};

/// f(x, z) over slices of equal length; unary functions receive x twice.
pub(super) type Function = fn(&[f32], &[f32], &mut [f32]);

/// Threads get whole cache lines of the narrowest type, so that no two threads write to the same
/// line.
const GRAIN: usize = 64;

pub(super) fn kernel(op: &Elementwise, bound: Bound) -> Result<CpuKernel, DeviceError> {
    if let Some(form) = IntegerFormat::of(op.dtype) {
        return whole::kernel(op, form, bound);
    }
    let function = function(op.op);
    let elements = op.elements as usize;
    let second = op.op.inputs() - 1;
    let spans = [bound.span(0), bound.span(second), bound.span(second + 1)];
    let format = format_of("element-wise operations", op.dtype)?;
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            let share = pool.share(index, elements, GRAIN);
            // SAFETY: `bound` keeps the buffers alive, the output is distinct from the inputs, and
            // shares are disjoint.
            unsafe { run(function, format, spans, &share) };
        });
    }))
}

/// Applies `function` to a share of the elements.
///
/// # Safety
/// The spans outlive the call, the third overlaps neither of the others, and nothing else accesses
/// this share.
pub(super) unsafe fn run(
    function: Function,
    format: Option<HalfFormat>,
    [x, z, y]: [Span; 3],
    share: &Range<usize>,
) {
    match format {
        // SAFETY: guaranteed by the caller.
        None => unsafe { function(x.slice(share), z.slice(share), y.slice_mut(share)) },
        Some(format) => {
            // SAFETY: guaranteed by the caller.
            unsafe {
                run_sixteen(function, format, x.slice(share), z.slice(share), y.slice_mut(share));
            };
        }
    }
}

fn run_sixteen(function: Function, format: HalfFormat, x: &[u16], z: &[u16], y: &mut [u16]) {
    let (mut wide_x, mut wide_z, mut wide_y) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let same = std::ptr::eq(x, z);
    for ((x, z), y) in x.chunks(BLOCK).zip(z.chunks(BLOCK)).zip(y.chunks_mut(BLOCK)) {
        let length = y.len();
        let (Some(wide_x), Some(wide_z), Some(wide_y)) =
            (wide_x.get_mut(..length), wide_z.get_mut(..length), wide_y.get_mut(..length))
        else {
            return;
        };
        convert::widen(format, x, wide_x);
        if !same {
            convert::widen(format, z, wide_z);
        }
        function(wide_x, wide_z, wide_y);
        convert::narrow(format, wide_y, y);
    }
}

fn function(op: ElementwiseOp) -> Function {
    match op {
        ElementwiseOp::Add => add,
        ElementwiseOp::Multiply => multiply,
        ElementwiseOp::Relu => relu,
        ElementwiseOp::Gelu => gelu,
        ElementwiseOp::Sigmoid => sigmoid,
    }
}

macro_rules! functions {
    ($($name:ident = |$x:ident, $z:ident| $value:expr;)*) => {$(
        #[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
        fn $name(x: &[f32], z: &[f32], y: &mut [f32]) {
            for ((y, &$x), &$z) in y.iter_mut().zip(x).zip(z) {
                *y = $value;
            }
        }
    )*};
}

macro_rules! functions_of_one {
    ($($name:ident = |$x:ident, $fused:ident| $value:expr;)*) => {$(
        #[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
        fn $name(x: &[f32], _: &[f32], y: &mut [f32]) {
            const $fused: bool = target_cfg_f!(target_feature = "fma");
            for (y, &$x) in y.iter_mut().zip(x) {
                *y = $value;
            }
        }
    )*};
}

functions! {
    add = |x, z| x + z;
    multiply = |x, z| x * z;
}

functions_of_one! {
    relu = |x, _FUSED| if x > 0.0 { x } else { 0.0 };
    gelu = |x, FUSED| maths::gelu::<FUSED>(x);
    sigmoid = |x, FUSED| maths::sigmoid::<FUSED>(x);
}

#[cfg(test)]
mod tests {
    use super::ElementwiseOp::{Add, Gelu, Multiply, Relu, Sigmoid};
    use super::*;

    /// Checks the function alignment set in `.cargo/config.toml`. Without it, editing one function
    /// changes the speed of others.
    #[test]
    fn functions_begin_at_cache_lines() {
        if option_env!("RUSTFLAGS").or(option_env!("CARGO_ENCODED_RUSTFLAGS")).is_some() {
            eprintln!(
                "skipped: built with RUSTFLAGS, which cargo reads in place of .cargo/config.toml; \
                 unset it"
            );
            return;
        }
        for op in [Add, Multiply, Relu, Gelu, Sigmoid] {
            let begin = function(op) as usize;
            assert!(
                begin.is_multiple_of(64),
                "{op:?} at {begin:#x}: does your cargo config override our `target.*.rustflags`?"
            );
        }
    }
}
