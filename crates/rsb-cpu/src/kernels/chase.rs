//! Dependent reads: each value is the address of the next read, so that reads cannot overlap.

use crate::kernel::{Bound, CpuKernel};
use rsb_device::operation::PointerChase;

pub(super) fn kernel(op: &PointerChase, bound: Bound) -> CpuKernel {
    let (cycle, position) = (bound.span(0), bound.span(1));
    let (bytes, accesses) = (op.bytes() as usize, op.accesses);
    CpuKernel::native(move || {
        let _keeps_the_buffers = &bound;
        // SAFETY: `bound` keeps both buffers alive; they are distinct, and only this thread runs.
        let (cycle, position) =
            unsafe { (cycle.slice::<u8>(&(0..bytes)), position.slice_mut::<u8>(&(0..8))) };
        let Some(position) = position.first_chunk_mut::<8>() else { return };
        *position = walk(cycle, u64::from_le_bytes(*position), accesses).to_le_bytes();
    })
}

/// Returns the position after `accesses` steps from `start`. The bounds check does not add latency,
/// since the CPU predicts its outcome and continues.
fn walk(cycle: &[u8], start: u64, accesses: u64) -> u64 {
    let mut at = start;
    for _ in 0..accesses {
        match cycle.get(at as usize..).and_then(<[u8]>::first_chunk) {
            Some(next) => at = u64::from_le_bytes(*next),
            None => return u64::MAX,
        }
    }
    at
}
