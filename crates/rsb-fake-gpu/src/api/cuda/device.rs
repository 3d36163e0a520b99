//! Initialization, status texts, and properties of a GPU.

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{CUdevice, CUresult, attribute};

use super::{VERSION, answer, put, put_text, whole};
use crate::gpu::Vendor;
use crate::ops::place;
use crate::orders::Place;
use crate::state::{State, with};
use crate::status;

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuInit(flags: c_uint) -> CUresult {
    let started = with(Vendor::Nvidia, |state: &mut State| {
        state.abort_if_ordered(Place::Init, "cuInit");
        match state.gpu_count()? {
            0 => Err(status::NO_DEVICE),
            _ if flags != 0 => Err(status::INVALID_VALUE),
            _ => {
                state.cuda_is_ready = true;
                Ok(())
            }
        }
    });
    started.err().unwrap_or(status::SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    let [major, minor] = VERSION;
    // May be called before initialization. SAFETY: the caller provides space for one value, or
    // null.
    unsafe { put(version, major * 1000 + minor * 10) }.err().unwrap_or(status::SUCCESS)
}

/// Names of the statuses that the fake GPU returns.
const NAMES: [(c_int, &std::ffi::CStr); 20] = [
    (status::SUCCESS, c"CUDA_SUCCESS"),
    (status::INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE"),
    (status::OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY"),
    (status::NOT_INITIALIZED, c"CUDA_ERROR_NOT_INITIALIZED"),
    (status::NO_DEVICE, c"CUDA_ERROR_NO_DEVICE"),
    (status::INVALID_DEVICE, c"CUDA_ERROR_INVALID_DEVICE"),
    (status::INVALID_IMAGE, c"CUDA_ERROR_INVALID_IMAGE"),
    (status::INVALID_CONTEXT, c"CUDA_ERROR_INVALID_CONTEXT"),
    (status::NO_BINARY_FOR_GPU, c"CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (status::PEER_ACCESS_UNSUPPORTED, c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"),
    (status::INVALID_HANDLE, c"CUDA_ERROR_INVALID_HANDLE"),
    (status::NOT_FOUND, c"CUDA_ERROR_NOT_FOUND"),
    (status::ILLEGAL_ADDRESS, c"CUDA_ERROR_ILLEGAL_ADDRESS"),
    (status::PEER_ACCESS_ALREADY_ENABLED, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"),
    (status::CONTEXT_IS_DESTROYED, c"CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (status::LAUNCH_FAILURE, c"CUDA_ERROR_LAUNCH_FAILED"),
    (status::NOT_SUPPORTED, c"CUDA_ERROR_NOT_SUPPORTED"),
    (status::CAPTURE_UNSUPPORTED, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (status::CAPTURE_ILLEGAL, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    (status::UNKNOWN, c"CUDA_ERROR_UNKNOWN"),
];

/// Writes the name or description of a status, or null if the status is unknown.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn tell(
    status: CUresult,
    to: *mut *const c_char,
    text: impl Fn(&'static std::ffi::CStr) -> *const c_char,
) -> CUresult {
    let name = NAMES.iter().find(|(known, _)| *known == status).map(|(_, name)| *name);
    // SAFETY: guaranteed by the caller.
    let written = unsafe { put(to, name.map_or(std::ptr::null(), text)) };
    if name.is_some() && written.is_ok() { status::SUCCESS } else { status::INVALID_VALUE }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorName(
    status: CUresult,
    to: *mut *const c_char,
) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    unsafe { tell(status, to, std::ffi::CStr::as_ptr) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorString(
    status: CUresult,
    to: *mut *const c_char,
) -> CUresult {
    let text = match status {
        status::NOT_INITIALIZED => with(Vendor::Nvidia, |state| state.mistake()),
        status::NO_DEVICE => c"no CUDA-capable device is detected",
        other => status::text(other),
    };
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    unsafe { tell(status, to, |_| text.as_ptr()) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put(count, c_int::try_from(state.gpu_count()?).unwrap_or(0)) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    answer(|state| {
        state.index(ordinal)?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(device, ordinal) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(
    text: *mut c_char,
    length: c_int,
    device: CUdevice,
) -> CUresult {
    answer(|state| {
        state.index(device)?;
        // SAFETY: the C interface requires `text` to be null or valid for writes of `length` bytes.
        unsafe { put_text(text, usize::try_from(length).unwrap_or(0), &state.name()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetPCIBusId(
    text: *mut c_char,
    length: c_int,
    device: CUdevice,
) -> CUresult {
    answer(|state| {
        let place = place(state.index(device)?).to_uppercase();
        // SAFETY: the C interface requires `text` to be null or valid for writes of `length` bytes.
        unsafe { put_text(text, usize::try_from(length).unwrap_or(0), &place) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    number: c_int,
    device: CUdevice,
) -> CUresult {
    answer(|state| {
        state.index(device)?;
        let model = state.model;
        let found = match number {
            attribute::MAX_THREADS_PER_BLOCK => 1024,
            attribute::MAX_SHARED_MEMORY_PER_BLOCK => super::module::SHARED_BYTES,
            attribute::WARP_SIZE => whole(model.wavefront),
            attribute::CLOCK_RATE => whole(model.mhz * 1000),
            attribute::MULTIPROCESSOR_COUNT => whole(model.units),
            attribute::INTEGRATED => 0,
            attribute::ECC_ENABLED | attribute::MANAGED_MEMORY => 1,
            attribute::MEMORY_CLOCK_RATE => whole(model.memory_mhz * 1000),
            attribute::MEMORY_BUS_WIDTH => whole(model.bus_bits),
            attribute::L2_CACHE_SIZE => c_int::try_from(model.l2_bytes).unwrap_or(c_int::MAX),
            attribute::MAX_THREADS_PER_MULTIPROCESSOR => model.unit.threads,
            attribute::COMPUTE_CAPABILITY_MAJOR => whole(model.machine / 10),
            attribute::COMPUTE_CAPABILITY_MINOR => whole(model.machine % 10),
            _ => return Err(status::INVALID_VALUE),
        };
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(value, found) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceCanAccessPeer(
    can: *mut c_int,
    device: CUdevice,
    peer: CUdevice,
) -> CUresult {
    answer(|state| {
        let reaches = state.reaches(device, peer)?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(can, c_int::from(reaches)) }
    })
}
