//! rocBLAS, loaded at run time. Nothing is linked: a library or a function that is missing is a
//! value with what, why and cure. Works with rocBLAS of ROCm 5.5 to 7.2.
//!
//! `RSB_ROCBLAS_LIBRARY` names the library file explicitly, for tests and odd installations.
// The names are those of the C interface, so that its documentation can be searched for them.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

use hip_runtime_sys::search::{RocmLibrary, RocmPaths};
use hip_runtime_sys::{KernelFiles, Unavailable, function_table, hipStream_t};

/// Where it keeps its kernels. Look there before a handle is made: without those for the GPU it
/// ends the process.
pub const KERNELS: KernelFiles =
    KernelFiles { name: "rocBLAS", directory: "rocblas", variable: "ROCBLAS_TENSILE_LIBPATH" };

/// A status; 0 is success. See [`status`].
pub type rocblas_status = c_int;
/// Sizes and leading dimensions.
pub type rocblas_int = i32;
/// Distances between matrices of a batch.
pub type rocblas_stride = i64;

#[doc(hidden)]
#[repr(C)]
pub struct _rocblas_handle {
    _private: [u8; 0],
}
/// What every call is given.
pub type rocblas_handle = *mut _rocblas_handle;

/// Values of [`rocblas_status`].
pub mod status {
    use super::rocblas_status;

    /// All is well.
    pub const SUCCESS: rocblas_status = 0;
    /// The handle is not one.
    pub const INVALID_HANDLE: rocblas_status = 1;
    /// There is no such function for these types.
    pub const NOT_IMPLEMENTED: rocblas_status = 2;
    /// A pointer is null.
    pub const INVALID_POINTER: rocblas_status = 3;
    /// A size is not possible.
    pub const INVALID_SIZE: rocblas_status = 4;
    /// Memory is used up.
    pub const MEMORY_ERROR: rocblas_status = 5;
    /// Something inside broke; also where there is no device.
    pub const INTERNAL_ERROR: rocblas_status = 6;
}

/// Values of `rocblas_operation`.
pub mod operation {
    use std::ffi::c_int;

    /// As it is.
    pub const NONE: c_int = 111;
    /// Transposed.
    pub const TRANSPOSE: c_int = 112;
    /// Transposed and conjugated.
    pub const CONJUGATE_TRANSPOSE: c_int = 113;
}

/// Values of `rocblas_datatype`.
pub mod datatype {
    use std::ffi::c_int;

    /// 16 bits, five of them exponent.
    pub const F16_R: c_int = 150;
    /// 32 bits.
    pub const F32_R: c_int = 151;
    /// 64 bits.
    pub const F64_R: c_int = 152;
    /// Whole, 8 bits.
    pub const I8_R: c_int = 160;
    /// Whole, 32 bits.
    pub const I32_R: c_int = 162;
    /// 16 bits, eight of them exponent.
    pub const BF16_R: c_int = 168;
}

/// Where alpha and beta are.
pub mod pointer_mode {
    use std::ffi::c_int;

    /// In the memory of the host.
    pub const HOST: c_int = 0;
    /// In the memory of the device.
    pub const DEVICE: c_int = 1;
}

/// What products of f32 are multiplied in.
pub mod math_mode {
    use std::ffi::c_int;

    /// f32.
    pub const DEFAULT: c_int = 0;
    /// xf32, which the matrix units of gfx940 to gfx942 have. Elsewhere it changes nothing.
    pub const XF32: c_int = 1;
}

/// The only algorithm there is: the library's own choice.
pub const GEMM_ALGO_STANDARD: c_int = 0;

function_table! {
    /// What is used of rocBLAS.
    pub struct RocBlas {
        /// A handle. It needs a device and may end the process where kernels are missing: see
        /// [`KERNELS`].
        fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status;
        /// Gives it back.
        fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status;
        /// The stream that calls with this handle go to.
        fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> rocblas_status;
        /// Where alpha and beta are; see [`pointer_mode`].
        fn rocblas_set_pointer_mode(handle: rocblas_handle, mode: c_int) -> rocblas_status;
        /// What products of f32 are multiplied in; see [`math_mode`].
        fn rocblas_set_math_mode(handle: rocblas_handle, mode: c_int) -> rocblas_status;
        /// Text for a status; static.
        fn rocblas_status_to_string(status: rocblas_status) -> *const c_char;
        /// D ← alpha·op(A)·op(B) + beta·C, column-major, in any mixture of types, for matrices that
        /// follow one another at fixed distances.
        fn rocblas_gemm_strided_batched_ex(
            handle: rocblas_handle,
            operation_a: c_int,
            operation_b: c_int,
            m: rocblas_int,
            n: rocblas_int,
            k: rocblas_int,
            alpha: *const c_void,
            a: *const c_void,
            a_type: c_int,
            lda: rocblas_int,
            stride_a: rocblas_stride,
            b: *const c_void,
            b_type: c_int,
            ldb: rocblas_int,
            stride_b: rocblas_stride,
            beta: *const c_void,
            c: *const c_void,
            c_type: c_int,
            ldc: rocblas_int,
            stride_c: rocblas_stride,
            d: *mut c_void,
            d_type: c_int,
            ldd: rocblas_int,
            stride_d: rocblas_stride,
            batch: rocblas_int,
            compute_type: c_int,
            algorithm: c_int,
            solution: i32,
            flags: u32,
        ) -> rocblas_status;
    }
}

/// The library, by its names of ROCm 7, 6, 5.5 to 5.7, Debian and those without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "rocBLAS (librocblas)",
    files: &[
        "librocblas.so.5",
        "librocblas.so.4",
        "librocblas.so.3",
        "librocblas.so.0",
        "librocblas.so",
    ],
    variable: "RSB_ROCBLAS_LIBRARY",
    cure: "install rocBLAS (Debian: librocblas; ROCm's packages: rocblas), or set ROCM_PATH or \
           RSB_ROCBLAS_LIBRARY",
};

impl RocBlas {
    /// Loads the library from where this process finds it. Nothing of it is run yet.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// When there is none, or what is there is not rocBLAS.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.rocblas_create_handle.is_none() {
            return Err(Unavailable::symbol("rocblas_create_handle", library.loaded.path()));
        }
        Ok(library)
    }
}
