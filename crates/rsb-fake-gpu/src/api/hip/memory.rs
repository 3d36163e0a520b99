//! Device and host memory.

use std::ffi::{c_int, c_uint, c_void};

use hip_runtime_sys::{hipError_t, hipStream_t, memcpy};

use super::{answer, handle, put, put_handle};
use crate::heap::Home;
use crate::ops::{Direction, Side};
use crate::state::current;
use crate::status::{self, Status};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t {
    answer(|state| {
        let [free_bytes, total_bytes] = state.memory_info()?;
        // SAFETY: the C interface requires both output pointers to be null or valid for a write.
        unsafe { put(free, free_bytes).and_then(|()| put(total, total_bytes)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(pointer, state.allocate(bytes, Home::Gpu(current()))?) })
}

fn free(pointer: *mut c_void, side: Side) -> hipError_t {
    answer(|state| if pointer.is_null() { Ok(()) } else { state.release(handle(pointer), side) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipFree(pointer: *mut c_void) -> hipError_t {
    free(pointer, Side::Gpu)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipHostMalloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    _: c_uint,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(pointer, state.allocate(bytes, Home::Pinned)?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipHostFree(pointer: *mut c_void) -> hipError_t {
    free(pointer, Side::Host)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMallocManaged(
    pointer: *mut *mut c_void,
    bytes: usize,
    _: c_uint,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put_handle(pointer, state.allocate(bytes, Home::Managed(current()))?) })
}

fn direction(kind: c_int) -> Result<Direction, Status> {
    Ok(match kind {
        memcpy::HOST_TO_DEVICE => Direction::ToGpu,
        memcpy::DEVICE_TO_HOST => Direction::ToHost,
        memcpy::DEVICE_TO_DEVICE => Direction::OnGpus,
        memcpy::DEFAULT => Direction::AsTold,
        _ => return Err(status::INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> hipError_t {
    answer(|state| state.copy_now([handle(to), handle(from)], bytes, direction(kind)?))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| {
        state.copy_in(handle(stream), [handle(to), handle(from)], bytes, direction(kind)?)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipMemsetAsync(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| state.fill_in(handle(stream), handle(to), value as u8, bytes))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| {
        let (to, from) =
            ((handle(to), state.index(to_device)?), (handle(from), state.index(from_device)?));
        state.copy_to_peer(handle(stream), to, from, bytes)
    })
}
