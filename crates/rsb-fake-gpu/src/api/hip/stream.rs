//! Streams and events.

use std::ffi::c_uint;

use hip_runtime_sys::{hipError_t, hipEvent_t, hipStream_t};

use super::{answer, handle, put, put_handle};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamCreateWithFlags(
    stream: *mut hipStream_t,
    _flags: c_uint,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(stream, state.new_stream()?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamDestroy(stream: hipStream_t) -> hipError_t {
    answer(|state| state.streams.remove(handle(stream)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t {
    answer(|state| state.wait(handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamWaitEvent(
    stream: hipStream_t,
    event: hipEvent_t,
    _flags: c_uint,
) -> hipError_t {
    answer(|state| state.stream_waits(handle(stream), handle(event)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipEventCreateWithFlags(
    event: *mut hipEvent_t,
    _flags: c_uint,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(event, state.new_event()?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventDestroy(event: hipEvent_t) -> hipError_t {
    answer(|state| state.events.remove(handle(event)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    answer(|state| state.record(handle(event), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipEventElapsedTime(
    to: *mut f32,
    from: hipEvent_t,
    until: hipEvent_t,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put(to, state.elapsed_ms(handle(from), handle(until))?) })
}
