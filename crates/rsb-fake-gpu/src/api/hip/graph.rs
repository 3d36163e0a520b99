//! Graphs: work captured once and launched as a whole.

use std::ffi::{c_char, c_int, c_void};

use hip_runtime_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipStream_t};

use super::{answer, handle, put_handle};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamBeginCapture(stream: hipStream_t, _mode: c_int) -> hipError_t {
    answer(|state| state.begin_capture(handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamEndCapture(
    stream: hipStream_t,
    graph: *mut hipGraph_t,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(graph, state.end_capture(handle(stream))?) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGraphInstantiate(
    executable: *mut hipGraphExec_t,
    graph: hipGraph_t,
    _node: *mut *mut c_void,
    _log: *mut c_char,
    _log_bytes: usize,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(executable, state.instantiate(handle(graph))?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphLaunch(
    executable: hipGraphExec_t,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| state.launch_graph(handle(executable), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphExecDestroy(executable: hipGraphExec_t) -> hipError_t {
    answer(|state| state.executables.remove(handle(executable)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t {
    answer(|state| state.graphs.remove(handle(graph)).map(drop))
}
