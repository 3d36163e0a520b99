//! Graphs: work captured once and launched as a whole.

use std::ffi::c_int;

use cuda_sys::{CUgraph, CUgraphExec, CUresult, CUstream};

use super::{handle, in_context, put_handle};
use crate::status;

/// Valid capture modes: `CU_STREAM_CAPTURE_MODE_GLOBAL`, `_THREAD_LOCAL` and `_RELAXED`.
const MODES: std::ops::RangeInclusive<c_int> = 0..=2;

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int) -> CUresult {
    in_context(|state| {
        if MODES.contains(&mode) {
            state.begin_capture(handle(stream))
        } else {
            Err(status::INVALID_VALUE)
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamEndCapture(
    stream: CUstream,
    graph: *mut CUgraph,
) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    in_context(|state| unsafe { put_handle(graph, state.end_capture(handle(stream))?) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    flags: u64,
) -> CUresult {
    in_context(|state| {
        if flags != 0 {
            return Err(status::NOT_SUPPORTED);
        }
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(executable, state.instantiate(handle(graph))?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CUresult {
    in_context(|state| state.launch_graph(handle(executable), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuGraphExecDestroy(executable: CUgraphExec) -> CUresult {
    in_context(|state| state.executables.remove(handle(executable)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuGraphDestroy(graph: CUgraph) -> CUresult {
    in_context(|state| state.graphs.remove(handle(graph)).map(drop))
}
