//! What is used of RCCL. Names and numbers are those of its header `rccl.h`, the same since version 2.7.

use std::ffi::{c_char, c_int, c_void};

use runtime_loading::{Unavailable, function_table};

use crate::hip::hipStream_t;
use crate::search::{RocmLibrary, RocmPaths};

/// A status; 0 is success.
pub type ncclResult_t = c_int;

#[doc(hidden)]
#[repr(C)]
pub struct ncclComm {
    _private: [u8; 0],
}
/// A GPU's place among those that work together.
pub type ncclComm_t = *mut ncclComm;

/// Numbers of `ncclDataType_t`.
pub mod nccl_type {
    use std::ffi::c_int;

    /// 16 bits, five of them exponent.
    pub const FLOAT16: c_int = 6;
    /// 32 bits.
    pub const FLOAT32: c_int = 7;
    /// 64 bits.
    pub const FLOAT64: c_int = 8;
    /// 16 bits, eight of them exponent.
    pub const BFLOAT16: c_int = 9;
}

/// `ncclSum`.
pub const NCCL_SUM: c_int = 0;

function_table! {
    /// What is used of RCCL.
    pub struct Rccl {
        /// A communicator for each of `count` devices, all driven by this process.
        fn ncclCommInitAll(communicators: *mut ncclComm_t, count: c_int, devices: *const c_int) -> ncclResult_t;
        /// Gives it back.
        fn ncclCommDestroy(communicator: ncclComm_t) -> ncclResult_t;
        /// Calls from here on begin together.
        fn ncclGroupStart() -> ncclResult_t;
        /// They begin.
        fn ncclGroupEnd() -> ncclResult_t;
        /// What all GPUs send, put together by `operation`, on every GPU.
        fn ncclAllReduce(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            operation: c_int,
            communicator: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Text for a status; static.
        fn ncclGetErrorString(status: ncclResult_t) -> *const c_char;
    }
}

/// The library, by its names with and without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "RCCL (librccl)",
    files: &["librccl.so.1", "librccl.so"],
    variable: "RSB_RCCL_LIBRARY",
    cure: "install RCCL (Debian: librccl1; ROCm's packages: rccl), or set ROCM_PATH or RSB_RCCL_LIBRARY",
};

impl Rccl {
    /// Loads the library from where this process finds it. Nothing of it is run yet.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Ok(Self::resolve(LIBRARY.find(&RocmPaths::here(&LIBRARY))?))
    }
}
