//! Functions of NCCL and RCCL that this project uses. Both libraries export them under the same
//! names. Prototypes and constants are those of `nccl.h` and `rccl.h`, unchanged since version 2.7.
//! The crates `cuda-sys` and `hip-runtime-sys` find the libraries.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

pub use runtime_loading::{Loaded, Unavailable};

use runtime_loading::function_table;

/// A status code; 0 is success.
pub type ncclResult_t = c_int;

#[doc(hidden)]
#[repr(C)]
pub struct ncclComm {
    _private: [u8; 0],
}
/// A communicator: handle of one GPU in a group of GPUs that communicate.
pub type ncclComm_t = *mut ncclComm;

/// A stream of the vendor's runtime (`cudaStream_t`, `hipStream_t`).
pub type stream_t = *mut c_void;

/// Numbers of `ncclDataType_t`.
pub mod nccl_type {
    use std::ffi::c_int;

    /// 16-bit float with 5 exponent bits.
    pub const FLOAT16: c_int = 6;
    /// 32-bit float.
    pub const FLOAT32: c_int = 7;
    /// 64-bit float.
    pub const FLOAT64: c_int = 8;
    /// 16-bit float with 8 exponent bits.
    pub const BFLOAT16: c_int = 9;
}

/// `ncclSum`.
pub const NCCL_SUM: c_int = 0;

/// A function that every version of the library exports, used to check a loaded file.
pub const SYMBOL: &str = "ncclCommInitAll";

function_table! {
    /// The NCCL and RCCL functions that this project uses.
    pub struct Nccl {
        /// Creates a communicator for each of `count` devices, all driven by this process.
        fn ncclCommInitAll(communicators: *mut ncclComm_t, count: c_int, devices: *const c_int) -> ncclResult_t;
        /// Destroys a communicator.
        fn ncclCommDestroy(communicator: ncclComm_t) -> ncclResult_t;
        /// Starts a group of calls, which are deferred until the group ends.
        fn ncclGroupStart() -> ncclResult_t;
        /// Ends the group and starts its calls.
        fn ncclGroupEnd() -> ncclResult_t;
        /// Reduces the data of all GPUs with `operation`. Every GPU receives the result.
        fn ncclAllReduce(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, operation: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// Concatenates `count` elements of each GPU. Every GPU receives the result.
        fn ncclAllGather(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// Reduces the data of all GPUs with `operation`. Each GPU receives a part of the result
        /// with `count` elements.
        fn ncclReduceScatter(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, operation: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// Broadcasts the data of GPU `root` to every GPU.
        fn ncclBroadcast(
            send: *const c_void, receive: *mut c_void, count: usize, data_type: c_int, root: c_int,
            communicator: ncclComm_t, stream: stream_t,
        ) -> ncclResult_t;
        /// Sends to GPU `peer`, which must receive the same number of elements.
        fn ncclSend(
            send: *const c_void, count: usize, data_type: c_int, peer: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// Receives from GPU `peer`, which must send the same number of elements.
        fn ncclRecv(
            receive: *mut c_void, count: usize, data_type: c_int, peer: c_int, communicator: ncclComm_t,
            stream: stream_t,
        ) -> ncclResult_t;
        /// Returns the description of a status, as a static string.
        fn ncclGetErrorString(status: ncclResult_t) -> *const c_char;
    }
}

impl Nccl {
    /// Resolves the functions of a loaded library, without calling any of them.
    pub fn of(library: Loaded) -> Self {
        Self::resolve(library)
    }
}
