//! 8-bit and 4-bit integers: element-wise operations and reductions. 4-bit integers are stored two
//! per byte, the first in the lower half; blocks of them are unpacked, processed and packed in L1.

use std::ops::Range;

use rsb_model::Dtype;

use super::reduce::Partial;
use crate::kernel::{Bound, CpuKernel, unsupported_error};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Elementwise, ElementwiseOp, ReduceOp};
use rsb_gemm::convert::BLOCK;

/// f(x, z) over slices of equal length; unary functions receive x twice.
type Function = fn(&[i8], &[i8], &mut [i8]);

/// Threads get whole cache lines of either type, so that no two threads write to the same line.
const GRAIN: usize = 128;

/// Storage format of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerFormat {
    Bytes,
    Halves,
}

impl IntegerFormat {
    pub(super) const fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::I8 => Some(Self::Bytes),
            Dtype::I4 => Some(Self::Halves),
            _ => None,
        }
    }
}

pub(super) fn kernel(
    op: &Elementwise,
    form: IntegerFormat,
    bound: Bound,
) -> Result<CpuKernel, DeviceError> {
    let function: Function = match op.op {
        ElementwiseOp::Add => add,
        ElementwiseOp::Relu => relu,
        ElementwiseOp::Multiply | ElementwiseOp::Gelu | ElementwiseOp::Sigmoid => {
            return Err(unsupported_error(
                format!("{} of {}", op.op, op.dtype),
                "an integer cannot hold its result without a scale",
                "choose add or relu, or f32, f16 or bf16",
            ));
        }
    };
    let elements = op.elements as usize;
    let second = op.op.inputs() - 1;
    let [x, z, y] = [bound.span(0), bound.span(second), bound.span(second + 1)];
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            let share = pool.share(index, elements, GRAIN);
            match form {
                // SAFETY: `bound` keeps the buffers alive, the output is distinct from the inputs,
                // and shares are disjoint.
                IntegerFormat::Bytes => unsafe {
                    function(x.slice(&share), z.slice(&share), y.slice_mut(&share));
                },
                IntegerFormat::Halves => {
                    let bytes = bytes_of(&share);
                    // SAFETY: as above; a share starts at an even element.
                    unsafe {
                        run_halves(function, x.slice(&bytes), z.slice(&bytes), y.slice_mut(&bytes));
                    };
                }
            }
        });
    }))
}

const fn bytes_of(share: &Range<usize>) -> Range<usize> {
    share.start / 2..share.end.div_ceil(2)
}

fn run_halves(function: Function, x: &[u8], z: &[u8], y: &mut [u8]) {
    let (mut wide_x, mut wide_z, mut wide_y) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
    let same = std::ptr::eq(x, z);
    for ((x, z), y) in x.chunks(BLOCK / 2).zip(z.chunks(BLOCK / 2)).zip(y.chunks_mut(BLOCK / 2)) {
        let length = 2 * y.len();
        let (Some(wide_x), Some(wide_z), Some(wide_y)) =
            (wide_x.get_mut(..length), wide_z.get_mut(..length), wide_y.get_mut(..length))
        else {
            return;
        };
        unpack(x, wide_x);
        if !same {
            unpack(z, wide_z);
        }
        function(wide_x, wide_z, wide_y);
        pack(wide_y, y);
    }
}

macro_rules! by_width {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$about])*
        #[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
        fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}

by_width! {
    fn add(x: &[i8], z: &[i8], y: &mut [i8]) {
        for ((y, &x), &z) in y.iter_mut().zip(x).zip(z) {
            *y = x.saturating_add(z);
        }
    }

    /// Unpacks two numbers from each byte, the lower half first.
    fn unpack(from: &[u8], to: &mut [i8]) {
        for (to, &byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(from) {
            *to = [(byte << 4).cast_signed() >> 4, byte.cast_signed() >> 4];
        }
    }

    /// Packs two numbers into each byte, saturating to 4 bits.
    fn pack(from: &[i8], to: &mut [u8]) {
        for (to, &[low, high]) in to.iter_mut().zip(from.as_chunks::<2>().0) {
            let half = |number: i8| number.clamp(-8, 7).cast_unsigned() & 15;
            *to = half(low) | half(high) << 4;
        }
    }

    fn sum(block: &[i8]) -> i32 {
        block.iter().map(|&number| i32::from(number)).sum()
    }

    fn largest(block: &[i8]) -> i8 {
        block.iter().fold(i8::MIN, |most, &number| most.max(number))
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn relu(x: &[i8], _: &[i8], y: &mut [i8]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x.max(0);
    }
}

/// Returns the partial result for a share of the input.
///
/// # Safety
/// The input outlives the call, and nothing writes to it.
pub(super) unsafe fn partial(
    kind: ReduceOp,
    form: IntegerFormat,
    input: Span,
    share: &Range<usize>,
) -> Partial {
    let mut total = Partial::NONE;
    let mut look = |block: &[i8], first: usize| match kind {
        ReduceOp::Sum | ReduceOp::Mean => total.sum += f64::from(sum(block)),
        ReduceOp::Max | ReduceOp::Argmax => {
            let most = largest(block);
            if f32::from(most) > total.largest {
                let at = block.iter().position(|&number| number == most).unwrap_or(0);
                (total.largest, total.at) = (f32::from(most), first + at);
            }
        }
    };
    match form {
        IntegerFormat::Bytes => {
            // SAFETY: guaranteed by the caller.
            let x = unsafe { input.slice::<i8>(share) };
            x.chunks(BLOCK)
                .zip((share.start..).step_by(BLOCK))
                .for_each(|(block, first)| look(block, first));
        }
        IntegerFormat::Halves => {
            let mut wide = [0; BLOCK];
            // SAFETY: guaranteed by the caller; a share starts at an even element.
            let x = unsafe { input.slice::<u8>(&bytes_of(share)) };
            for (bytes, first) in x.chunks(BLOCK / 2).zip((share.start..).step_by(BLOCK)) {
                unpack(bytes, &mut wide);
                // The last byte may hold only one number.
                let block =
                    wide.get(..(2 * bytes.len()).min(share.end - first)).unwrap_or_default();
                look(block, first);
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_bytes_are_numbers_with_a_sign() {
        let mut numbers = [0; 4];
        unpack(&[0x8f, 0x70], &mut numbers);
        assert_eq!(numbers, [-1, -8, 0, 7]);
        let mut bytes = [0; 2];
        pack(&[-1, -100, 0, 100], &mut bytes);
        assert_eq!(bytes, [0x8f, 0x70]);
    }
}
