//! cuBLAS: matrix products, with separate element and accumulation types, and the constants they
//! use.

use std::ffi::{c_char, c_int, c_void};

use runtime_loading::{Loaded, Unavailable, function_table};

use crate::driver::CUstream;
use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status code; 0 is success. See [`status`].
pub type cublasStatus_t = c_int;

handles! {
    /// A cuBLAS handle, the first argument of most calls.
    cublasHandle_t = cublasContext;
}

/// Values of [`cublasStatus_t`].
pub mod status {
    use super::cublasStatus_t;

    /// Success.
    pub const SUCCESS: cublasStatus_t = 0;
    /// The library could not start: no device, or a driver that is too old.
    pub const NOT_INITIALIZED: cublasStatus_t = 1;
    /// Out of memory.
    pub const ALLOC_FAILED: cublasStatus_t = 3;
    /// An argument is invalid.
    pub const INVALID_VALUE: cublasStatus_t = 7;
    /// The device lacks a required hardware unit.
    pub const ARCH_MISMATCH: cublasStatus_t = 8;
    /// A kernel failed.
    pub const EXECUTION_FAILED: cublasStatus_t = 13;
    /// Internal error.
    pub const INTERNAL_ERROR: cublasStatus_t = 14;
    /// No function supports these types or sizes.
    pub const NOT_SUPPORTED: cublasStatus_t = 15;
}

/// Values of `cublasOperation_t`.
pub mod operation {
    use std::ffi::c_int;

    /// Not transposed.
    pub const NONE: c_int = 0;
    /// Transposed.
    pub const TRANSPOSE: c_int = 1;
}

/// Values of `cudaDataType_t`.
pub mod datatype {
    use std::ffi::c_int;

    /// 32-bit float.
    pub const F32: c_int = 0;
    /// 64-bit float.
    pub const F64: c_int = 1;
    /// 16-bit float with 5 exponent bits.
    pub const F16: c_int = 2;
    /// 8-bit integer.
    pub const I8: c_int = 3;
    /// 32-bit integer.
    pub const I32: c_int = 10;
    /// 16-bit float with 8 exponent bits.
    pub const BF16: c_int = 14;
    /// 8-bit float with 4 exponent bits.
    pub const F8_E4M3: c_int = 28;
}

/// Values of `cublasComputeType_t`: the type of products and sums.
pub mod compute {
    use std::ffi::c_int;

    /// f32, with unmodified inputs.
    pub const F32: c_int = 68;
    /// f32, with inputs rounded to tf32 for the matrix units.
    pub const F32_FAST_TF32: c_int = 77;
    /// f64.
    pub const F64: c_int = 70;
    /// 32-bit integers.
    pub const I32: c_int = 72;
}

/// Values of `cublasGemmAlgo_t`.
pub mod gemm_algo {
    use std::ffi::c_int;

    /// Algorithm chosen by the library.
    pub const DEFAULT: c_int = -1;
}

function_table! {
    /// The cuBLAS functions that this project uses.
    pub struct Cublas {
        /// Creates a handle in the current context.
        fn cublasCreate_v2(handle: *mut cublasHandle_t) -> cublasStatus_t;
        /// Destroys a handle.
        fn cublasDestroy_v2(handle: cublasHandle_t) -> cublasStatus_t;
        /// Sets the stream that a handle submits work to.
        fn cublasSetStream_v2(handle: cublasHandle_t, stream: CUstream) -> cublasStatus_t;
        /// Returns the description of a status, as a static string.
        fn cublasGetStatusString(status: cublasStatus_t) -> *const c_char;
        /// Computes `C = alpha op(A) op(B) + beta C` for a batch of column-major matrices at fixed
        /// strides.
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
    cure: "install the CUDA toolkit, or `pip install nvidia-cublas` into an environment and set \
           RSB_CUDA_PATH to its directory",
};

impl Cublas {
    /// Loads the library from the search path of this process.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let found: Loaded = LIBRARY.find(places)?;
        let library = Self::resolve(found);
        if library.cublasCreate_v2.is_none() {
            return Err(Unavailable::symbol("cublasCreate_v2", library.loaded.path()));
        }
        Ok(library)
    }
}
