//! What is used of NCCL and RCCL, which have the same functions under the same names. Names and
//! numbers are those of their headers `nccl.h` and `rccl.h`, the same since version 2.7. Where the
//! libraries lie is said by `cuda-sys` and `hip-runtime-sys`.
// The names are those of the C interface, so that its documentation can be searched for them.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

pub use runtime_loading::{Loaded, Unavailable};

use runtime_loading::function_table;

/// A status; 0 is success.
pub type ncclResult_t = c_int;

#[doc(hidden)]
#[repr(C)]
pub struct ncclComm {
    _private: [u8; 0],
}
/// A GPU's place among those that work together.
pub type ncclComm_t = *mut ncclComm;

/// A stream of the vendor's runtime (`cudaStream_t`, `hipStream_t`).
pub type stream_t = *mut c_void;

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

/// The function by which a library is known.
pub const SYMBOL: &str = "ncclCommInitAll";

function_table! {
    /// What is used of NCCL and RCCL.
    pub struct Nccl {
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
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, operation: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// `count` elements of each GPU, one after another, on every GPU.
        fn ncclAllGather(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// What all GPUs send, put together by `operation`: `count` elements of it on each GPU.
        fn ncclReduceScatter(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, operation: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// What GPU `root` sends, on every GPU.
        fn ncclBroadcast(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, root: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// To GPU `peer`, which receives as much.
        fn ncclSend(
            send: *const c_void, count: usize, data_type: c_int, peer: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// From GPU `peer`, which sends as much.
        fn ncclRecv(
            receive: *mut c_void, count: usize, data_type: c_int, peer: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// Text for a status; static.
        fn ncclGetErrorString(status: ncclResult_t) -> *const c_char;
    }
}

impl Nccl {
    /// The functions of a library that was found. Nothing of it is run yet.
    pub fn of(library: Loaded) -> Self {
        Self::resolve(library)
    }
}
