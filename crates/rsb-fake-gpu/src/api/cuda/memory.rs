//! Device and host memory. Allocations of zero bytes fail, unlike in HIP.

use std::ffi::{c_uchar, c_uint, c_void};

use cuda_sys::{CUcontext, CUdeviceptr, CUresult, CUstream};

use super::{address, handle, in_context, put, put_handle};
use crate::heap::Home;
use crate::ops::{Direction, Side};
use crate::state::{State, current};
use crate::status::{self, Status};

/// Valid flags: `CU_MEM_ATTACH_GLOBAL` and `CU_MEM_ATTACH_HOST`.
const ATTACH: std::ops::RangeInclusive<c_uint> = 1..=2;
/// Mask of the valid flags: `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP` and `_WRITECOMBINED`.
const HOST_ALLOC_FLAGS: c_uint = 7;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult {
    in_context(|state| {
        let [free_bytes, total_bytes] = state.memory_info()?;
        // SAFETY: the C interface requires both output pointers to be null or valid for a write.
        unsafe { put(free, free_bytes).and_then(|()| put(total, total_bytes)) }
    })
}

fn allocate(state: &mut State, bytes: usize, home: Home) -> Result<usize, Status> {
    if bytes == 0 { Err(status::INVALID_VALUE) } else { state.allocate(bytes, home) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAlloc_v2(to: *mut CUdeviceptr, bytes: usize) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    in_context(|state| unsafe {
        put(to, allocate(state, bytes, Home::Gpu(current()))? as CUdeviceptr)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAllocManaged(
    to: *mut CUdeviceptr,
    bytes: usize,
    flags: c_uint,
) -> CUresult {
    in_context(|state| {
        if !ATTACH.contains(&flags) {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(to, allocate(state, bytes, Home::Managed(current()))? as CUdeviceptr) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemFree_v2(pointer: CUdeviceptr) -> CUresult {
    in_context(|state| state.release(address(pointer), Side::Gpu))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemHostAlloc(
    to: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> CUresult {
    in_context(|state| {
        if flags > HOST_ALLOC_FLAGS {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(to, allocate(state, bytes, Home::Pinned)?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> CUresult {
    in_context(|state| state.release(handle(pointer), Side::Host))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    in_context(|state| state.fill_in(handle(stream), address(to), value, bytes))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    in_context(|state| {
        state.copy_in(handle(stream), [address(to), handle(from)], bytes, Direction::ToGpu)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    in_context(|state| {
        state.copy_in(handle(stream), [handle(to), address(from)], bytes, Direction::ToHost)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemcpyDtoDAsync_v2(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    in_context(|state| {
        state.copy_in(handle(stream), [address(to), address(from)], bytes, Direction::OnGpus)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemcpyPeerAsync(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    in_context(|state| {
        let to = (address(to), state.gpu_of(handle(to_context))?);
        let from = (address(from), state.gpu_of(handle(from_context))?);
        state.copy_to_peer(handle(stream), to, from, bytes)
    })
}
