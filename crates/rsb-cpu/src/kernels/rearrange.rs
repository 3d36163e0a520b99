//! Rows in another order: each is copied as it is, whatever its type.

use super::{Bound, CpuKernel, Span, ThreadPool, unsupported};
use rsb_device::device::DeviceError;
use rsb_device::operation::Rearrange;

pub(super) fn kernel(op: Rearrange, bound: Bound) -> Result<CpuKernel, DeviceError> {
    if !op.fits() || !op.dtype.bits().is_multiple_of(8) {
        return Err(unsupported(
            "rearrange",
            "its rows do not fit where they shall go, or do not end at a byte",
            "choose a larger capacity, or a type of whole bytes",
        ));
    }
    let (x, y) = (bound.span(0), bound.span(1));
    let rows = (op.batch * op.rows) as usize;
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            for row in pool.share(index, rows, 1) {
                // SAFETY: `bound` keeps both buffers, which are distinct, and no two threads have a row of `x` in common,
                // nor therefore a place in `y`.
                unsafe { put(&op, row as u64, x, y) };
            }
        });
    }))
}

/// Copies row `row` of `x`, counted over the whole batch, to its places.
///
/// # Safety
/// The spans must outlive the call and not overlap, and nobody else touch these places of `y`.
unsafe fn put(op: &Rearrange, row: u64, x: Span, y: Span) {
    let width = op.dtype.bytes(op.width) as usize;
    let (batch, place) = (row / op.rows, op.position + row % op.rows);
    for column in 0..op.columns {
        let from = (row * op.columns + column) as usize * width;
        let to = ((batch * op.columns + column) * op.capacity + place) as usize * width;
        // SAFETY: by the promise of the caller.
        let (x, y) = unsafe { (x.slice::<u8>(&(from..from + width)), y.slice_mut::<u8>(&(to..to + width))) };
        y.copy_from_slice(x);
    }
}
