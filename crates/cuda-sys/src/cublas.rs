//! cuBLAS: matrix products of one type with sums in another, and the numbers that go with them.

use std::ffi::{c_char, c_int, c_void};

use runtime_loading::{Loaded, Unavailable, function_table};

use crate::driver::CUstream;
use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status; 0 is success. See [`status`].
pub type cublasStatus_t = c_int;

handles! {
    /// What every call is given.
    cublasHandle_t = cublasContext;
}

/// Values of [`cublasStatus_t`].
pub mod status {
    use super::cublasStatus_t;

    /// All is well.
    pub const SUCCESS: cublasStatus_t = 0;
    /// The library could not start: no device, or a driver that is too old for it.
    pub const NOT_INITIALIZED: cublasStatus_t = 1;
    /// Memory is used up.
    pub const ALLOC_FAILED: cublasStatus_t = 3;
    /// An argument is not acceptable.
    pub const INVALID_VALUE: cublasStatus_t = 7;
    /// The device lacks a unit that this needs.
    pub const ARCH_MISMATCH: cublasStatus_t = 8;
    /// A kernel failed.
    pub const EXECUTION_FAILED: cublasStatus_t = 13;
    /// Something inside broke.
    pub const INTERNAL_ERROR: cublasStatus_t = 14;
    /// There is no such function for these types or sizes.
    pub const NOT_SUPPORTED: cublasStatus_t = 15;
}

/// Values of `cublasOperation_t`.
pub mod operation {
    use std::ffi::c_int;

    /// As it is.
    pub const NONE: c_int = 0;
    /// Transposed.
    pub const TRANSPOSE: c_int = 1;
}

/// Values of `cudaDataType_t`.
pub mod datatype {
    use std::ffi::c_int;

    /// 32 bits.
    pub const F32: c_int = 0;
    /// 64 bits.
    pub const F64: c_int = 1;
    /// 16 bits, five of them exponent.
    pub const F16: c_int = 2;
    /// Whole, 8 bits.
    pub const I8: c_int = 3;
    /// Whole, 32 bits.
    pub const I32: c_int = 10;
    /// 16 bits, eight of them exponent.
    pub const BF16: c_int = 14;
    /// 8 bits, four of them exponent.
    pub const F8_E4M3: c_int = 28;
}

/// Values of `cublasComputeType_t`: what is multiplied and summed in.
pub mod compute {
    use std::ffi::c_int;

    /// f32, its inputs as they are.
    pub const F32: c_int = 68;
    /// f32, its inputs rounded to tf32 for the matrix units.
    pub const F32_FAST_TF32: c_int = 77;
    /// f64.
    pub const F64: c_int = 70;
    /// Whole numbers of 32 bits.
    pub const I32: c_int = 72;
}

/// Values of `cublasGemmAlgo_t`.
pub mod gemm_algo {
    use std::ffi::c_int;

    /// The library's own choice.
    pub const DEFAULT: c_int = -1;
}

function_table! {
    /// What is used of cuBLAS.
    pub struct Cublas {
        /// A handle on the current context.
        fn cublasCreate_v2(handle: *mut cublasHandle_t) -> cublasStatus_t;
        /// Gives it back.
        fn cublasDestroy_v2(handle: cublasHandle_t) -> cublasStatus_t;
        /// The queue that it puts work into.
        fn cublasSetStream_v2(handle: cublasHandle_t, stream: CUstream) -> cublasStatus_t;
        /// Text for a status; static.
        fn cublasGetStatusString(status: cublasStatus_t) -> *const c_char;
        /// `C = alpha op(A) op(B) + beta C` for matrices that follow one another, column by column.
        fn cublasGemmStridedBatchedEx(
            handle: cublasHandle_t, operation_a: c_int, operation_b: c_int, m: c_int, n: c_int, k: c_int,
            alpha: *const c_void, a: *const c_void, a_type: c_int, a_leading: c_int, a_stride: i64,
            b: *const c_void, b_type: c_int, b_leading: c_int, b_stride: i64, beta: *const c_void,
            c: *mut c_void, c_type: c_int, c_leading: c_int, c_stride: i64, batch: c_int, compute: c_int,
            algorithm: c_int,
        ) -> cublasStatus_t;
    }
}

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "cuBLAS (libcublas)",
    files: &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"],
    variable: "RSB_CUBLAS_LIBRARY",
    symbol: "cublasCreate_v2",
    cure: "install the CUDA toolkit, or `pip install nvidia-cublas` into an environment and name \
           its directory in \
           RSB_CUDA_PATH",
};

impl Cublas {
    /// Loads the library from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// When there is none.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let found: Loaded = LIBRARY.find(places)?;
        let library = Self::resolve(found);
        if library.cublasCreate_v2.is_none() {
            return Err(Unavailable::symbol("cublasCreate_v2", library.loaded.path()));
        }
        Ok(library)
    }
}
