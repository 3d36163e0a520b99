//! Work that is recorded once and launched as a whole.

use std::ffi::{c_char, c_int, c_void};

use hip_runtime_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipStream_t};

use super::{handle, put};
use crate::card::Way;
use crate::state::{answer, more};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamBeginCapture(stream: hipStream_t, _mode: c_int) -> hipError_t {
    answer(|state| {
        // The stream without a name cannot be captured.
        let stream = state.streams.get(handle(stream))?;
        if stream.captured.is_some() {
            return Err(more::CAPTURE_UNSUPPORTED);
        }
        stream.captured = Some(Vec::new());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) -> hipError_t {
    answer(|state| {
        let captured = state.streams.get(handle(stream))?.captured.take().ok_or(more::CAPTURE_ILLEGAL)?;
        let made = state.graphs.add(captured);
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(graph, made as hipGraph_t) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGraphInstantiate(
    executable: *mut hipGraphExec_t,
    graph: hipGraph_t,
    _node: *mut *mut c_void,
    _log: *mut c_char,
    _log_bytes: usize,
) -> hipError_t {
    answer(|state| {
        let tasks = state.graphs.get(handle(graph))?.clone();
        let made = state.executables.add(tasks);
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(executable, made as hipGraphExec_t) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphLaunch(executable: hipGraphExec_t, stream: hipStream_t) -> hipError_t {
    answer(|state| {
        let stream = handle(stream);
        let card = state.stream(stream)?.card;
        state.sound(card)?;
        // Taken out while it runs: its work changes the rest of the state.
        let tasks = std::mem::take(state.executables.get(handle(executable))?);
        let ran = tasks.iter().try_for_each(|task| state.run(stream, task, Way::Graph));
        *state.executables.get(handle(executable))? = tasks;
        ran
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphExecDestroy(executable: hipGraphExec_t) -> hipError_t {
    answer(|state| state.executables.remove(handle(executable)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t {
    answer(|state| state.graphs.remove(handle(graph)).map(drop))
}
