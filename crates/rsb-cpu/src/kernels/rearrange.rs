//! Rows in another order: each is copied unchanged, whatever its type, or rotated by the angles of
//! its position.

use super::elementwise::{self, Function};
use crate::kernel::{Bound, CpuKernel, format_of, unsupported_error};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Gather, Rearrange};

/// Operation applied to a row that is moved.
#[derive(Clone, Copy)]
enum RowAction {
    Copied,
    /// Rotation by the angles of the row's position, stored in this format.
    Turned(Span, Option<HalfFormat>),
}

pub(super) fn kernel(op: Rearrange, bound: Bound) -> Result<CpuKernel, DeviceError> {
    if !op.fits() || !op.dtype.bits().is_multiple_of(8) {
        return Err(unsupported_error(
            "rearrange",
            "its rows do not fit into the capacity, have an odd length for a rotation, or do not \
             end at a byte",
            "choose a larger capacity, an even row length, or a data type of whole bytes",
        ));
    }
    let way = if op.rotary {
        RowAction::Turned(bound.span(1), format_of("rotary positions", op.dtype)?)
    } else {
        RowAction::Copied
    };
    let (x, y) = (bound.span(0), bound.span(op.y_index()));
    let rows = (op.batch * op.rows) as usize;
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            for row in pool.share(index, rows, 1) {
                // SAFETY: `bound` keeps all buffers alive, and they are distinct; no two threads
                // share a row of `x`, and therefore none share a position in `y`.
                unsafe { put(&op, way, row as u64, x, y) };
            }
        });
    }))
}

/// Writes row `row` of `x`, counted over the whole batch, to its place in `y`.
///
/// # Safety
/// The spans outlive the call and do not overlap, and nothing else accesses this place in `y`.
unsafe fn put(op: &Rearrange, way: RowAction, row: u64, x: Span, y: Span) {
    let width = op.dtype.bytes(op.width) as usize;
    let (batch, row_of_batch) = (row / op.rows, row % op.rows);
    let place = op.position + row_of_batch;
    for column in 0..op.columns {
        let from = (row * op.columns + column) as usize * width;
        let to = ((batch * op.columns + column) * op.capacity + place) as usize * width;
        match way {
            RowAction::Copied => {
                // SAFETY: guaranteed by the caller.
                let (x, y) = unsafe {
                    (x.slice::<u8>(&(from..from + width)), y.slice_mut::<u8>(&(to..to + width)))
                };
                y.copy_from_slice(x);
            }
            RowAction::Turned(angles, format) => {
                let angles = angles.from::<u8>(row_of_batch as usize * width);
                let spans = [x.from::<u8>(from), angles, y.from::<u8>(to)];
                // SAFETY: guaranteed by the caller.
                unsafe { elementwise::run(TURN, format, spans, &(0..op.width as usize)) };
            }
        }
    }
}

/// Prepares the kernel that gathers rows of a table by index. An index outside the table leaves its
/// output row unchanged.
pub(super) fn gather(op: Gather, bound: Bound) -> Result<CpuKernel, DeviceError> {
    if !op.dtype.bits().is_multiple_of(8) {
        return Err(unsupported_error(
            "gather",
            "its rows do not end at a byte boundary",
            "choose a data type of whole bytes",
        ));
    }
    let [x, indices, y] = [0, 1, 2].map(|index| bound.span(index));
    let width = op.dtype.bytes(op.width) as usize;
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|thread| {
            let share = pool.share(thread, op.rows as usize, 1);
            // SAFETY: `bound` keeps all buffers alive; they are distinct, and shares of rows are
            // disjoint.
            let (indices, y) = unsafe {
                (
                    indices.slice::<u64>(&share),
                    y.slice_mut::<u8>(&(share.start * width..share.end * width)),
                )
            };
            for (&index, to) in
                indices.iter().zip(y.chunks_exact_mut(width)).filter(|(index, _)| **index < op.of)
            {
                let from = index as usize * width;
                // SAFETY: as above; nothing writes to `x`.
                to.copy_from_slice(unsafe { x.slice(&(from..from + width)) });
            }
        });
    }))
}

/// Multiplies complex numbers, each of two adjacent elements.
const TURN: Function = |x, angles, y| {
    let ((x, _), (angles, _), (y, _)) =
        (x.as_chunks::<2>(), angles.as_chunks::<2>(), y.as_chunks_mut::<2>());
    for ((y, x), angle) in y.iter_mut().zip(x).zip(angles) {
        let ([first, second], [cosine, sine]) = (x, angle);
        *y = [first * cosine - second * sine, first * sine + second * cosine];
    }
};
