//! cuBLASLt: matrix products with fused epilogues and a choice of algorithms. Prototypes and
//! numbers are those of `cublasLt.h` of CUDA 13.1.

use std::ffi::{c_int, c_void};

use runtime_loading::{Unavailable, function_table};

use crate::cublas::cublasStatus_t;
use crate::search::{CudaLibrary, CudaPaths};

/// A cuBLASLt handle, the first argument of most calls.
pub type cublasLtHandle_t = *mut c_void;
/// Description of a matrix product; opaque.
pub type cublasLtMatmulDesc_t = *mut c_void;
/// Memory layout of a matrix.
pub type cublasLtMatrixLayout_t = *mut c_void;
/// Constraints on the choice of an algorithm.
pub type cublasLtMatmulPreference_t = *mut c_void;

/// Size of an algorithm (`cublasLtMatmulAlgo_t`) in 64-bit words.
pub const ALGORITHM_WORDS: usize = 8;

/// An algorithm and its properties (`cublasLtMatmulHeuristicResult_t`) in 64-bit words: the
/// algorithm, its workspace in bytes, a status in the lower half of the next word, and 20 bytes
/// that are not used here.
pub type cublasLtMatmulHeuristicResult_t = [u64; ALGORITHM_WORDS + 4];

/// Values of `cublasLtMatmulDescAttributes_t`.
pub mod descriptor {
    use std::ffi::c_int;

    /// Operation on A, a constant of [`crate::operation`]; 4 bytes.
    pub const TRANSPOSE_A: c_int = 3;
    /// Operation on B, a constant of [`crate::operation`]; 4 bytes.
    pub const TRANSPOSE_B: c_int = 4;
    /// Epilogue, a constant of [`super::epilogue`]; 4 bytes.
    pub const EPILOGUE: c_int = 7;
    /// Address of the bias, which has one element per row of D.
    pub const BIAS_POINTER: c_int = 8;
    /// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`; 1 byte. If 1, partial sums of fp8 products are not moved
    /// to a higher precision at intervals, which is faster but less exact.
    pub const FAST_ACCUMULATION: c_int = 25;
    /// Type of the bias, a constant of [`crate::datatype`]; 4 bytes.
    pub const BIAS_TYPE: c_int = 26;
}

/// Values of `cublasLtMatrixLayoutAttribute_t`.
pub mod layout {
    use std::ffi::c_int;

    /// Number of matrices in the batch, 4 bytes.
    pub const BATCH_COUNT: c_int = 5;
    /// Elements between consecutive matrices of a batch, 8 bytes.
    pub const BATCH_STRIDE: c_int = 6;
}

/// Values of `cublasLtEpilogue_t`.
pub mod epilogue {
    use std::ffi::c_int;

    /// No epilogue.
    pub const NONE: c_int = 1;
    /// Adds the bias.
    pub const BIAS: c_int = 4;
    /// Adds the bias and applies GELU.
    pub const GELU_BIAS: c_int = 36;
}

/// Preference attribute for the maximum workspace of an algorithm in bytes; the value has 8 bytes.
pub const PREFERENCE_WORKSPACE_BYTES: c_int = 1;

function_table! {
    /// The cuBLASLt functions that this project uses.
    pub struct CublasLt {
        /// Creates a handle in the current context.
        fn cublasLtCreate(handle: *mut cublasLtHandle_t) -> cublasStatus_t;
        /// Destroys a handle.
        fn cublasLtDestroy(handle: cublasLtHandle_t) -> cublasStatus_t;
        /// Creates the description of a product. `compute` is a constant of [`crate::compute`],
        /// `scalars` the [`crate::datatype`] of alpha and beta.
        fn cublasLtMatmulDescCreate(
            descriptor: *mut cublasLtMatmulDesc_t, compute: c_int, scalars: c_int,
        ) -> cublasStatus_t;
        /// Destroys the description of a product.
        fn cublasLtMatmulDescDestroy(descriptor: cublasLtMatmulDesc_t) -> cublasStatus_t;
        /// Sets an attribute of a product description; see [`descriptor`].
        fn cublasLtMatmulDescSetAttribute(
            descriptor: cublasLtMatmulDesc_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// Creates the layout of a column-major matrix whose elements have a type of
        /// [`crate::datatype`].
        fn cublasLtMatrixLayoutCreate(
            layout: *mut cublasLtMatrixLayout_t, datatype: c_int, rows: u64, columns: u64, leading: i64,
        ) -> cublasStatus_t;
        /// Destroys a layout.
        fn cublasLtMatrixLayoutDestroy(layout: cublasLtMatrixLayout_t) -> cublasStatus_t;
        /// Sets an attribute of a layout; see [`layout`].
        fn cublasLtMatrixLayoutSetAttribute(
            layout: cublasLtMatrixLayout_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// Creates a preference. Initially it allows no workspace.
        fn cublasLtMatmulPreferenceCreate(preference: *mut cublasLtMatmulPreference_t) -> cublasStatus_t;
        /// Destroys a preference.
        fn cublasLtMatmulPreferenceDestroy(preference: cublasLtMatmulPreference_t) -> cublasStatus_t;
        /// Sets [`PREFERENCE_WORKSPACE_BYTES`].
        fn cublasLtMatmulPreferenceSetAttribute(
            preference: cublasLtMatmulPreference_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// Writes up to `wanted` results of type [`cublasLtMatmulHeuristicResult_t`], best first,
        /// and the number of results.
        fn cublasLtMatmulAlgoGetHeuristic(
            handle: cublasLtHandle_t, descriptor: cublasLtMatmulDesc_t, a: cublasLtMatrixLayout_t,
            b: cublasLtMatrixLayout_t, c: cublasLtMatrixLayout_t, d: cublasLtMatrixLayout_t,
            preference: cublasLtMatmulPreference_t, wanted: c_int, results: *mut u64, found: *mut c_int,
        ) -> cublasStatus_t;
        /// Computes D ← epilogue(alpha·op(A)·op(B) + beta·C) with an algorithm, in a `CUstream`.
        fn cublasLtMatmul(
            handle: cublasLtHandle_t, descriptor: cublasLtMatmulDesc_t, alpha: *const c_void, a: *const c_void,
            a_layout: cublasLtMatrixLayout_t, b: *const c_void, b_layout: cublasLtMatrixLayout_t,
            beta: *const c_void, c: *const c_void, c_layout: cublasLtMatrixLayout_t, d: *mut c_void,
            d_layout: cublasLtMatrixLayout_t, algorithm: *const u64, workspace: *mut c_void, bytes: usize,
            stream: *mut c_void,
        ) -> cublasStatus_t;
    }
}

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "cuBLASLt (libcublasLt)",
    files: &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"],
    variable: "RSB_CUBLASLT_LIBRARY",
    symbol: "cublasLtCreate",
    cure: "install the CUDA toolkit, or `pip install nvidia-cublas` into an environment and set \
           RSB_CUDA_PATH to its directory",
};

impl CublasLt {
    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded, or the file found is not cuBLASLt.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.cublasLtCreate.is_none() {
            return Err(Unavailable::symbol("cublasLtCreate", library.loaded.path()));
        }
        Ok(library)
    }
}
