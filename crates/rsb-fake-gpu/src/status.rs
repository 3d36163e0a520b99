//! Statuses used by `state`. Both interfaces use the same numbers with the same meaning, since HIP
//! adopted those of the CUDA driver; tests compare them.

pub(crate) use hip_runtime_sys::error::*;
pub(crate) use hip_runtime_sys::hipError_t as Status;

/// The current context has been destroyed. CUDA only.
pub(crate) const CONTEXT_IS_DESTROYED: Status = 709;
/// No context is current, or the one passed is invalid. CUDA only.
pub(crate) const INVALID_CONTEXT: Status = 201;
/// A handle is invalid.
pub(crate) const INVALID_HANDLE: Status = 400;
/// The call is not permitted during a stream capture.
pub(crate) const CAPTURE_UNSUPPORTED: Status = 900;
/// The stream is not being captured.
pub(crate) const CAPTURE_ILLEGAL: Status = 901;

/// Returns the description of a status. HIP and CUDA use the same texts for those listed here.
pub(crate) fn text(status: Status) -> &'static std::ffi::CStr {
    match status {
        SUCCESS => c"no error",
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        INVALID_CONFIGURATION => c"invalid configuration argument",
        INVALID_DEVICE => c"invalid device ordinal",
        INVALID_IMAGE => c"device kernel image is invalid",
        INVALID_CONTEXT => c"invalid device context",
        NO_BINARY_FOR_GPU => c"no kernel image is available for execution on the device",
        PEER_ACCESS_UNSUPPORTED => c"peer access is not supported between these two devices",
        INVALID_HANDLE => c"invalid resource handle",
        NOT_FOUND => c"named symbol not found",
        NOT_READY => c"device not ready",
        ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        PEER_ACCESS_ALREADY_ENABLED => c"peer access is already enabled",
        CONTEXT_IS_DESTROYED => c"context is destroyed",
        LAUNCH_FAILURE => c"unspecified launch failure",
        NOT_SUPPORTED => c"operation not supported",
        CAPTURE_UNSUPPORTED => c"operation not permitted when stream is capturing",
        CAPTURE_ILLEGAL => c"operation failed due to a previous error during capture",
        _ => c"unknown error",
    }
}
