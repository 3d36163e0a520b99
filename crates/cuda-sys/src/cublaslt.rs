//! cuBLASLt: matrix products with what follows them, and a choice of algorithms. Its prototypes and
//! numbers are those of `cublasLt.h` of CUDA 13.1.

use std::ffi::{c_int, c_void};

use runtime_loading::{Unavailable, function_table};

use crate::cublas::cublasStatus_t;
use crate::search::{CudaLibrary, CudaPaths};

/// What every call is given.
pub type cublasLtHandle_t = *mut c_void;
/// What a product does; made and read by the library alone.
pub type cublasLtMatmulDesc_t = *mut c_void;
/// How a matrix lies in memory.
pub type cublasLtMatrixLayout_t = *mut c_void;
/// What an algorithm may need.
pub type cublasLtMatmulPreference_t = *mut c_void;

/// Words of an algorithm, `cublasLtMatmulAlgo_t`.
pub const ALGORITHM_WORDS: usize = 8;

/// An algorithm and what goes with it, `cublasLtMatmulHeuristicResult_t`, in words: the algorithm,
/// its workspace in bytes, a status in the lower half of the next, and 20 bytes that are not used
/// here.
pub type cublasLtMatmulHeuristicResult_t = [u64; ALGORITHM_WORDS + 4];

/// Values of `cublasLtMatmulDescAttributes_t`.
pub mod descriptor {
    use std::ffi::c_int;

    /// An [`crate::operation`] for A, 4 bytes.
    pub const TRANSPOSE_A: c_int = 3;
    /// The same for B.
    pub const TRANSPOSE_B: c_int = 4;
    /// An [`super::epilogue`], 4 bytes.
    pub const EPILOGUE: c_int = 7;
    /// Address of the bias, one element for each row of D.
    pub const BIAS_POINTER: c_int = 8;
    /// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`, 1 byte: with 1, products of fp8 are not promoted to a
    /// higher precision from time to time while they are summed.
    pub const FAST_ACCUMULATION: c_int = 25;
    /// Its [`crate::datatype`], 4 bytes.
    pub const BIAS_TYPE: c_int = 26;
}

/// Values of `cublasLtMatrixLayoutAttribute_t`.
pub mod layout {
    use std::ffi::c_int;

    /// Matrices that follow one another, 4 bytes.
    pub const BATCH_COUNT: c_int = 5;
    /// Elements from one to the next, 8 bytes.
    pub const BATCH_STRIDE: c_int = 6;
}

/// Values of `cublasLtEpilogue_t`.
pub mod epilogue {
    use std::ffi::c_int;

    /// Nothing.
    pub const NONE: c_int = 1;
    /// The bias is added.
    pub const BIAS: c_int = 4;
    /// The bias is added, and GELU taken of the sum.
    pub const GELU_BIAS: c_int = 36;
}

/// The attribute of a preference that says how many bytes of workspace an algorithm may need, 8
/// bytes.
pub const PREFERENCE_WORKSPACE_BYTES: c_int = 1;

function_table! {
    /// What is used of cuBLASLt.
    pub struct CublasLt {
        /// A handle on the current context.
        fn cublasLtCreate(handle: *mut cublasLtHandle_t) -> cublasStatus_t;
        /// Gives it back.
        fn cublasLtDestroy(handle: cublasLtHandle_t) -> cublasStatus_t;
        /// A product that computes in a type of [`crate::compute`] with factors of a
        /// [`crate::datatype`].
        fn cublasLtMatmulDescCreate(
            descriptor: *mut cublasLtMatmulDesc_t, compute: c_int, scalars: c_int,
        ) -> cublasStatus_t;
        /// Gives it back.
        fn cublasLtMatmulDescDestroy(descriptor: cublasLtMatmulDesc_t) -> cublasStatus_t;
        /// Sets an attribute of [`descriptor`].
        fn cublasLtMatmulDescSetAttribute(
            descriptor: cublasLtMatmulDesc_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// A matrix of a [`crate::datatype`], column by column, as it is stored.
        fn cublasLtMatrixLayoutCreate(
            layout: *mut cublasLtMatrixLayout_t, datatype: c_int, rows: u64, columns: u64, leading: i64,
        ) -> cublasStatus_t;
        /// Gives it back.
        fn cublasLtMatrixLayoutDestroy(layout: cublasLtMatrixLayout_t) -> cublasStatus_t;
        /// Sets an attribute of [`layout`].
        fn cublasLtMatrixLayoutSetAttribute(
            layout: cublasLtMatrixLayout_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// A preference: no workspace.
        fn cublasLtMatmulPreferenceCreate(preference: *mut cublasLtMatmulPreference_t) -> cublasStatus_t;
        /// Gives it back.
        fn cublasLtMatmulPreferenceDestroy(preference: cublasLtMatmulPreference_t) -> cublasStatus_t;
        /// Sets [`PREFERENCE_WORKSPACE_BYTES`].
        fn cublasLtMatmulPreferenceSetAttribute(
            preference: cublasLtMatmulPreference_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> cublasStatus_t;
        /// Writes at most `wanted` of [`cublasLtMatmulHeuristicResult_t`], the best first, and how
        /// many.
        fn cublasLtMatmulAlgoGetHeuristic(
            handle: cublasLtHandle_t, descriptor: cublasLtMatmulDesc_t, a: cublasLtMatrixLayout_t,
            b: cublasLtMatrixLayout_t, c: cublasLtMatrixLayout_t, d: cublasLtMatrixLayout_t,
            preference: cublasLtMatmulPreference_t, wanted: c_int, results: *mut u64, found: *mut c_int,
        ) -> cublasStatus_t;
        /// D ← epilogue(alpha·op(A)·op(B) + beta·C) by an algorithm, in a `CUstream`.
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
    cure: "install the CUDA toolkit, or `pip install nvidia-cublas` into an environment and name \
           its directory in \
           RSB_CUDA_PATH",
};

impl CublasLt {
    /// Loads the library from `places`.
    ///
    /// # Errors
    /// When there is none, or what is there is not cuBLASLt.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.cublasLtCreate.is_none() {
            return Err(Unavailable::symbol("cublasLtCreate", library.loaded.path()));
        }
        Ok(library)
    }
}
