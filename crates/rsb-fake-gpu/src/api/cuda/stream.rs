//! Streams and events.

use std::ffi::c_uint;

use cuda_sys::{CUevent, CUresult, CUstream};

use super::{handle, in_context, put, put_handle};
use crate::status;

/// `CU_STREAM_NON_BLOCKING`.
const STREAM_FLAGS: c_uint = 1;
/// The only valid event flag, `CU_EVENT_BLOCKING_SYNC`. Events without timing and interprocess
/// events are not emulated.
const EVENT_FLAGS: c_uint = 1;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult {
    in_context(|state| {
        if flags > STREAM_FLAGS {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(stream, state.new_stream()?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> CUresult {
    in_context(|state| state.streams.remove(handle(stream)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    in_context(|state| state.wait(handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuStreamWaitEvent(
    stream: CUstream,
    event: CUevent,
    flags: c_uint,
) -> CUresult {
    in_context(|state| {
        if flags > EVENT_FLAGS {
            Err(status::INVALID_VALUE)
        } else {
            state.stream_waits(handle(stream), handle(event))
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult {
    in_context(|state| {
        if flags > EVENT_FLAGS {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(event, state.new_event()?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    in_context(|state| state.events.remove(handle(event)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    in_context(|state| state.record(handle(event), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventElapsedTime(
    to: *mut f32,
    from: CUevent,
    until: CUevent,
) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    in_context(|state| unsafe { put(to, state.elapsed_ms(handle(from), handle(until))?) })
}
