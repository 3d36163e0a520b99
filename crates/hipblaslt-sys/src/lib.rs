//! hipBLASLt, loaded at run time. Nothing is linked: a library or a function that is missing is a
//! value with what, why and cure. The numbers are those of `hipblaslt.h` 0.6 (ROCm 6.0), 0.8, 0.11
//! and 1.5, of `hipblas-common.h` and of `hip/library_types.h`; before 0.6 there were others, see
//! [`OLDEST_VERSION`].
//!
//! `RSB_HIPBLASLT_LIBRARY` names the library file explicitly, for tests and odd installations.
// The names are those of the C interface, so that its documentation can be searched for them.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_int, c_void};

use hip_runtime_sys::search::{RocmLibrary, RocmPaths};
use hip_runtime_sys::{KernelFiles, Unavailable, function_table};

/// A status; 0 is success. See [`status`].
pub type hipblasStatus_t = c_int;
/// What every call is given.
pub type hipblasLtHandle_t = *mut c_void;
/// What a product does. Its header shows its size; it is made and read by the library alone.
pub type hipblasLtMatmulDesc_t = *mut c_void;
/// How a matrix lies in memory.
pub type hipblasLtMatrixLayout_t = *mut c_void;
/// What an algorithm may need.
pub type hipblasLtMatmulPreference_t = *mut c_void;

/// Words of an algorithm, `hipblasLtMatmulAlgo_t`.
pub const ALGORITHM_WORDS: usize = 3;

/// An algorithm and what goes with it, `hipblasLtMatmulHeuristicResult_t`, in words: the algorithm,
/// its workspace in bytes, a status in the lower half of the next, and 20 bytes that are not used
/// here.
pub type hipblasLtMatmulHeuristicResult_t = [u64; ALGORITHM_WORDS + 4];

/// The oldest version whose numbers are those here, as `hipblasLtGetVersion` says it: 0.6.0.
pub const OLDEST_VERSION: c_int = 600;

/// Values of [`hipblasStatus_t`].
pub mod status {
    use super::hipblasStatus_t;

    /// All is well.
    pub const SUCCESS: hipblasStatus_t = 0;
    /// The handle is none.
    pub const NOT_INITIALIZED: hipblasStatus_t = 1;
    /// Memory is used up.
    pub const ALLOC_FAILED: hipblasStatus_t = 2;
    /// An argument is not acceptable.
    pub const INVALID_VALUE: hipblasStatus_t = 3;
    /// A kernel failed.
    pub const EXECUTION_FAILED: hipblasStatus_t = 5;
    /// Something inside broke.
    pub const INTERNAL_ERROR: hipblasStatus_t = 6;
    /// There is no such function for these types or sizes.
    pub const NOT_SUPPORTED: hipblasStatus_t = 7;
    /// The device lacks a unit that this needs.
    pub const ARCH_MISMATCH: hipblasStatus_t = 8;
}

/// Values of `hipblasOperation_t`.
pub mod operation {
    use std::ffi::c_int;

    /// As it is.
    pub const NONE: c_int = 111;
    /// Transposed.
    pub const TRANSPOSE: c_int = 112;
}

/// Values of `hipDataType`.
pub mod datatype {
    use std::ffi::c_int;

    /// 32 bits.
    pub const F32: c_int = 0;
    /// 16 bits, five of them exponent.
    pub const F16: c_int = 2;
    /// Whole, 8 bits.
    pub const I8: c_int = 3;
    /// Whole, 32 bits.
    pub const I32: c_int = 10;
    /// 16 bits, eight of them exponent.
    pub const BF16: c_int = 14;
    /// 8 bits, four of them exponent, of the Open Compute Project: gfx950, gfx12.
    pub const F8_E4M3: c_int = 28;
    /// The same bits for half of the number, without a negative zero: gfx940 to gfx942.
    pub const F8_E4M3_FNUZ: c_int = 1000;
}

/// Values of `hipblasComputeType_t`.
pub mod compute {
    use std::ffi::c_int;

    /// f32.
    pub const F32: c_int = 2;
    /// f32, its inputs rounded to xf32 for the matrix units.
    pub const F32_FAST_TF32: c_int = 6;
    /// Whole numbers of 32 bits.
    pub const I32: c_int = 9;
}

/// Values of `hipblasLtMatmulDescAttributes_t`.
pub mod descriptor {
    use std::ffi::c_int;

    /// An `operation` for A, 4 bytes.
    pub const TRANSPOSE_A: c_int = 0;
    /// The same for B.
    pub const TRANSPOSE_B: c_int = 1;
    /// An `epilogue`, 4 bytes.
    pub const EPILOGUE: c_int = 2;
    /// Address of the bias, one element for each row of D.
    pub const BIAS_POINTER: c_int = 3;
    /// Its `datatype`, 4 bytes.
    pub const BIAS_TYPE: c_int = 4;
}

/// Values of `hipblasLtMatrixLayoutAttribute_t`.
pub mod layout {
    use std::ffi::c_int;

    /// Matrices that follow one another, 4 bytes.
    pub const BATCH_COUNT: c_int = 0;
    /// Elements from one to the next, 8 bytes.
    pub const BATCH_STRIDE: c_int = 1;
}

/// Values of `hipblasLtEpilogue_t`.
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
    /// What is used of hipBLASLt.
    pub struct HipblasLt {
        /// A handle on the current GPU.
        fn hipblasLtCreate(handle: *mut hipblasLtHandle_t) -> hipblasStatus_t;
        /// Gives it back.
        fn hipblasLtDestroy(handle: hipblasLtHandle_t) -> hipblasStatus_t;
        /// Its version: 100202 is 1.2.2.
        fn hipblasLtGetVersion(handle: hipblasLtHandle_t, version: *mut c_int) -> hipblasStatus_t;
        /// A product that computes in a type of [`compute`] with factors of a [`datatype`].
        fn hipblasLtMatmulDescCreate(
            descriptor: *mut hipblasLtMatmulDesc_t, compute: c_int, scalars: c_int,
        ) -> hipblasStatus_t;
        /// Gives it back.
        fn hipblasLtMatmulDescDestroy(descriptor: hipblasLtMatmulDesc_t) -> hipblasStatus_t;
        /// Sets an attribute of [`descriptor`].
        fn hipblasLtMatmulDescSetAttribute(
            descriptor: hipblasLtMatmulDesc_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// A matrix of a [`datatype`], column by column, as it is stored.
        fn hipblasLtMatrixLayoutCreate(
            layout: *mut hipblasLtMatrixLayout_t, datatype: c_int, rows: u64, columns: u64, leading: i64,
        ) -> hipblasStatus_t;
        /// Gives it back.
        fn hipblasLtMatrixLayoutDestroy(layout: hipblasLtMatrixLayout_t) -> hipblasStatus_t;
        /// Sets an attribute of [`layout`].
        fn hipblasLtMatrixLayoutSetAttribute(
            layout: hipblasLtMatrixLayout_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// A preference: no workspace.
        fn hipblasLtMatmulPreferenceCreate(preference: *mut hipblasLtMatmulPreference_t) -> hipblasStatus_t;
        /// Gives it back.
        fn hipblasLtMatmulPreferenceDestroy(preference: hipblasLtMatmulPreference_t) -> hipblasStatus_t;
        /// Sets [`PREFERENCE_WORKSPACE_BYTES`].
        fn hipblasLtMatmulPreferenceSetAttribute(
            preference: hipblasLtMatmulPreference_t, attribute: c_int, value: *const c_void, bytes: usize,
        ) -> hipblasStatus_t;
        /// Writes at most `wanted` of [`hipblasLtMatmulHeuristicResult_t`], the best first, and how
        /// many.
        fn hipblasLtMatmulAlgoGetHeuristic(
            handle: hipblasLtHandle_t, descriptor: hipblasLtMatmulDesc_t, a: hipblasLtMatrixLayout_t,
            b: hipblasLtMatrixLayout_t, c: hipblasLtMatrixLayout_t, d: hipblasLtMatrixLayout_t,
            preference: hipblasLtMatmulPreference_t, wanted: c_int, results: *mut u64, found: *mut c_int,
        ) -> hipblasStatus_t;
        /// D ← epilogue(alpha·op(A)·op(B) + beta·C) by an algorithm, in a `hipStream_t`.
        fn hipblasLtMatmul(
            handle: hipblasLtHandle_t, descriptor: hipblasLtMatmulDesc_t, alpha: *const c_void, a: *const c_void,
            a_layout: hipblasLtMatrixLayout_t, b: *const c_void, b_layout: hipblasLtMatrixLayout_t,
            beta: *const c_void, c: *const c_void, c_layout: hipblasLtMatrixLayout_t, d: *mut c_void,
            d_layout: hipblasLtMatrixLayout_t, algorithm: *const u64, workspace: *mut c_void, bytes: usize,
            stream: *mut c_void,
        ) -> hipblasStatus_t;
    }
}

/// Where it keeps its kernels. Without those for the GPU its heuristic says that a value is not
/// acceptable.
pub const KERNELS: KernelFiles = KernelFiles {
    name: "hipBLASLt",
    directory: "hipblaslt",
    variable: "HIPBLASLT_TENSILE_LIBPATH",
};

/// The library, by its names of ROCm 7, 6 and those without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "hipBLASLt (libhipblaslt)",
    files: &["libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"],
    variable: "RSB_HIPBLASLT_LIBRARY",
    cure: "install hipBLASLt (ROCm's packages: hipblaslt), or set ROCM_PATH or \
           RSB_HIPBLASLT_LIBRARY",
};

impl HipblasLt {
    /// Loads the library from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// When there is none, or what is there is not hipBLASLt.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.hipblasLtCreate.is_none() {
            return Err(Unavailable::symbol("hipblasLtCreate", library.loaded.path()));
        }
        Ok(library)
    }
}
