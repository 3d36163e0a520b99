//! hipBLASLt, loaded at run time. Nothing is linked: if the library or a function is missing, an
//! [`Unavailable`] value with a description, a reason and a fix is returned. The constants are
//! those of `hipblaslt.h` 0.6 (ROCm 6.0), 0.8, 0.11 and 1.5, of `hipblas-common.h` and of
//! `hip/library_types.h`. Versions before 0.6 use other constants; see [`OLDEST_VERSION`].
//!
//! The environment variable `RSB_HIPBLASLT_LIBRARY` sets the library file, for tests and unusual
//! installations.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_int, c_void};

use hip_runtime_sys::search::{RocmLibrary, RocmPaths};
use hip_runtime_sys::{KernelFiles, Unavailable, function_table};

/// A status code; 0 is success. See [`status`].
pub type hipblasStatus_t = c_int;
/// A hipBLASLt handle, the first argument of most calls.
pub type hipblasLtHandle_t = *mut c_void;
/// Description of a matrix product; opaque, although the header shows its size.
pub type hipblasLtMatmulDesc_t = *mut c_void;
/// Memory layout of a matrix.
pub type hipblasLtMatrixLayout_t = *mut c_void;
/// Constraints on the choice of an algorithm.
pub type hipblasLtMatmulPreference_t = *mut c_void;

/// Size of an algorithm (`hipblasLtMatmulAlgo_t`) in 64-bit words.
pub const ALGORITHM_WORDS: usize = 3;

/// An algorithm and its properties (`hipblasLtMatmulHeuristicResult_t`) in 64-bit words: the
/// algorithm, its workspace in bytes, a status in the lower half of the next word, and 20 bytes
/// that are not used here.
pub type hipblasLtMatmulHeuristicResult_t = [u64; ALGORITHM_WORDS + 4];

/// Oldest supported version, 0.6.0, as returned by `hipblasLtGetVersion`. Older versions use other
/// constants.
pub const OLDEST_VERSION: c_int = 600;

/// Values of [`hipblasStatus_t`].
pub mod status {
    use super::hipblasStatus_t;

    /// Success.
    pub const SUCCESS: hipblasStatus_t = 0;
    /// The handle is not initialized.
    pub const NOT_INITIALIZED: hipblasStatus_t = 1;
    /// Out of memory.
    pub const ALLOC_FAILED: hipblasStatus_t = 2;
    /// An argument is invalid.
    pub const INVALID_VALUE: hipblasStatus_t = 3;
    /// A kernel failed.
    pub const EXECUTION_FAILED: hipblasStatus_t = 5;
    /// Internal error.
    pub const INTERNAL_ERROR: hipblasStatus_t = 6;
    /// No function supports these types or sizes.
    pub const NOT_SUPPORTED: hipblasStatus_t = 7;
    /// The device lacks a required hardware unit.
    pub const ARCH_MISMATCH: hipblasStatus_t = 8;
}

/// Values of `hipblasOperation_t`.
pub mod operation {
    use std::ffi::c_int;

    /// Not transposed.
    pub const NONE: c_int = 111;
    /// Transposed.
    pub const TRANSPOSE: c_int = 112;
}

/// Values of `hipDataType`.
pub mod datatype {
    use std::ffi::c_int;

    /// 32-bit float.
    pub const F32: c_int = 0;
    /// 16-bit float with 5 exponent bits.
    pub const F16: c_int = 2;
    /// 8-bit integer.
    pub const I8: c_int = 3;
    /// 32-bit integer.
    pub const I32: c_int = 10;
    /// 16-bit float with 8 exponent bits.
    pub const BF16: c_int = 14;
    /// 8-bit float with 4 exponent bits, as defined by the Open Compute Project: gfx950, gfx12.
    pub const F8_E4M3: c_int = 28;
    /// 8-bit float in which the same bits encode half the value, without negative zero: gfx940 to
    /// gfx942.
    pub const F8_E4M3_FNUZ: c_int = 1000;
}

/// Values of `hipblasComputeType_t`.
pub mod compute {
    use std::ffi::c_int;

    /// f32.
    pub const F32: c_int = 2;
    /// f32, with inputs rounded to xf32 for the matrix units.
    pub const F32_FAST_TF32: c_int = 6;
    /// 32-bit integers.
    pub const I32: c_int = 9;
}

/// Values of `hipblasLtMatmulDescAttributes_t`.
pub mod descriptor {
    use std::ffi::c_int;

    /// Operation on A, a constant of `operation`; 4 bytes.
    pub const TRANSPOSE_A: c_int = 0;
    /// Operation on B, a constant of `operation`; 4 bytes.
    pub const TRANSPOSE_B: c_int = 1;
    /// Epilogue, a constant of `epilogue`; 4 bytes.
    pub const EPILOGUE: c_int = 2;
    /// Address of the bias, which has one element per row of D.
    pub const BIAS_POINTER: c_int = 3;
    /// Type of the bias, a constant of `datatype`; 4 bytes.
    pub const BIAS_TYPE: c_int = 4;
}

/// Values of `hipblasLtMatrixLayoutAttribute_t`.
pub mod layout {
    use std::ffi::c_int;

    /// Number of matrices in the batch, 4 bytes.
    pub const BATCH_COUNT: c_int = 0;
    /// Elements between consecutive matrices of a batch, 8 bytes.
    pub const BATCH_STRIDE: c_int = 1;
}

/// Values of `hipblasLtEpilogue_t`.
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
    /// The hipBLASLt functions that this project uses.
    pub struct HipblasLt {
        /// Creates a handle on the current GPU.
        fn hipblasLtCreate(handle: *mut hipblasLtHandle_t) -> hipblasStatus_t;
        /// Destroys a handle.
        fn hipblasLtDestroy(handle: hipblasLtHandle_t) -> hipblasStatus_t;
        /// Returns the version: 100202 is 1.2.2.
        fn hipblasLtGetVersion(handle: hipblasLtHandle_t, version: *mut c_int) -> hipblasStatus_t;
        /// Creates the description of a product. `compute` is a constant of [`compute`], `scalars`
        /// the [`datatype`] of alpha and beta.
        fn hipblasLtMatmulDescCreate(
            descriptor: *mut hipblasLtMatmulDesc_t, compute: c_int, scalars: c_int,
        ) -> hipblasStatus_t;
        /// Destroys the description of a product.
        fn hipblasLtMatmulDescDestroy(descriptor: hipblasLtMatmulDesc_t) -> hipblasStatus_t;
        /// Sets an attribute of a product description; see [`descriptor`].
        fn hipblasLtMatmulDescSetAttribute(
            descriptor: hipblasLtMatmulDesc_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// Creates the layout of a column-major matrix whose elements have a type of [`datatype`].
        fn hipblasLtMatrixLayoutCreate(
            layout: *mut hipblasLtMatrixLayout_t, datatype: c_int, rows: u64, columns: u64, leading: i64,
        ) -> hipblasStatus_t;
        /// Destroys a layout.
        fn hipblasLtMatrixLayoutDestroy(layout: hipblasLtMatrixLayout_t) -> hipblasStatus_t;
        /// Sets an attribute of a layout; see [`layout`].
        fn hipblasLtMatrixLayoutSetAttribute(
            layout: hipblasLtMatrixLayout_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// Creates a preference. Initially it allows no workspace.
        fn hipblasLtMatmulPreferenceCreate(preference: *mut hipblasLtMatmulPreference_t) -> hipblasStatus_t;
        /// Destroys a preference.
        fn hipblasLtMatmulPreferenceDestroy(preference: hipblasLtMatmulPreference_t) -> hipblasStatus_t;
        /// Sets [`PREFERENCE_WORKSPACE_BYTES`].
        fn hipblasLtMatmulPreferenceSetAttribute(
            preference: hipblasLtMatmulPreference_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// Writes up to `wanted` results of type [`hipblasLtMatmulHeuristicResult_t`], best first,
        /// and the number of results.
        fn hipblasLtMatmulAlgoGetHeuristic(
            handle: hipblasLtHandle_t, descriptor: hipblasLtMatmulDesc_t, a: hipblasLtMatrixLayout_t,
            b: hipblasLtMatrixLayout_t, c: hipblasLtMatrixLayout_t, d: hipblasLtMatrixLayout_t,
            preference: hipblasLtMatmulPreference_t, wanted: c_int, results: *mut u64, found: *mut c_int,
        ) -> hipblasStatus_t;
        /// Computes D ← epilogue(alpha·op(A)·op(B) + beta·C) with an algorithm, in a `hipStream_t`.
        fn hipblasLtMatmul(
            handle: hipblasLtHandle_t, descriptor: hipblasLtMatmulDesc_t, alpha: *const c_void, a: *const c_void,
            a_layout: hipblasLtMatrixLayout_t, b: *const c_void, b_layout: hipblasLtMatrixLayout_t,
            beta: *const c_void, c: *const c_void, c_layout: hipblasLtMatrixLayout_t, d: *mut c_void,
            d_layout: hipblasLtMatrixLayout_t, algorithm: *const u64, workspace: *mut c_void, bytes: usize,
            stream: *mut c_void,
        ) -> hipblasStatus_t;
    }
}

/// Location of the kernel files. Check it first: if there are no kernels for the GPU, the heuristic
/// reports only an invalid value.
pub const KERNELS: KernelFiles = KernelFiles {
    name: "hipBLASLt",
    directory: "hipblaslt",
    variable: "HIPBLASLT_TENSILE_LIBPATH",
};

/// The library, under its names in ROCm 7 and 6, and without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "hipBLASLt (libhipblaslt)",
    files: &["libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"],
    variable: "RSB_HIPBLASLT_LIBRARY",
    cure: "install hipBLASLt (ROCm's packages: hipblaslt), or set ROCM_PATH or \
           RSB_HIPBLASLT_LIBRARY",
};

impl HipblasLt {
    /// Loads the library from the search path of this process.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded, or the file found is not hipBLASLt.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.hipblasLtCreate.is_none() {
            return Err(Unavailable::symbol("hipblasLtCreate", library.loaded.path()));
        }
        Ok(library)
    }
}
