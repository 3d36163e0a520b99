//! Primary contexts of the GPUs.

use std::ffi::c_uint;

use cuda_sys::{CUcontext, CUdevice, CUresult};

use super::{answer, handle, in_context, put_handle};
use crate::status;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    device: CUdevice,
) -> CUresult {
    answer(|state| {
        let gpu = state.index(device)?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(context, state.retain(gpu)?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    answer(|state| {
        let gpu = state.index(device)?;
        state.unretain(gpu)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    answer(|state| state.set_context(handle(context)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> CUresult {
    in_context(|state| {
        if flags != 0 {
            return Err(status::INVALID_VALUE);
        }
        let peer = state.gpu_of(handle(peer))?;
        state.enable_peer(peer)
    })
}
