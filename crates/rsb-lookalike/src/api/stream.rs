//! Streams and marks in them.

use std::ffi::c_uint;

use hip_runtime_sys::{error, hipError_t, hipEvent_t, hipStream_t};

use super::{handle, put};
use crate::orders::Lie;
use crate::state::{Stream, answer, current, more};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamCreateWithFlags(stream: *mut hipStream_t, _flags: c_uint) -> hipError_t {
    answer(|state| {
        state.sound(current())?;
        let made = state.streams.add(Stream::idle(current()));
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(stream, made as hipStream_t) }
    })
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
pub(crate) unsafe extern "C" fn hipEventCreateWithFlags(event: *mut hipEvent_t, _flags: c_uint) -> hipError_t {
    answer(|state| {
        state.sound(current())?;
        let made = state.events.add(None);
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(event, made as hipEvent_t) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventDestroy(event: hipEvent_t) -> hipError_t {
    answer(|state| state.events.remove(handle(event)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    answer(|state| {
        let stream = state.stream(handle(stream))?;
        let (card, busy_until) = (stream.card, stream.busy_until);
        if stream.captured.is_some() {
            return Err(more::CAPTURE_UNSUPPORTED);
        }
        state.sound(card)?;
        let now = state.clock.mark(busy_until);
        *state.events.get(handle(event))? = Some((card, now));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventSynchronize(event: hipEvent_t) -> hipError_t {
    answer(|state| {
        let Some((card, time)) = *state.events.get(handle(event))? else { return Ok(()) };
        state.clock.waited(time);
        state.wait_for_card(card)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipEventElapsedTime(to: *mut f32, from: hipEvent_t, until: hipEvent_t) -> hipError_t {
    answer(|state| {
        let (from, until) = (*state.events.get(handle(from))?, *state.events.get(handle(until))?);
        let (Some((card, from)), Some((other, until))) = (from, until) else { return Err(more::INVALID_HANDLE) };
        if card != other {
            return Err(more::INVALID_HANDLE);
        }
        state.sound(card)?;
        let milliseconds = (until - from) / 1e6;
        let told = match state.orders.as_ref().map_err(|_| error::NOT_INITIALIZED)?.lie() {
            None => milliseconds,
            Some(Lie::Fast) => milliseconds / 1e6,
            Some(Lie::Backwards) => -milliseconds,
            Some(Lie::Nan) => f64::NAN,
            Some(Lie::Stopped) => 0.0,
        };
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(to, told as f32) }
    })
}
