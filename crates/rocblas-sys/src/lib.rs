//! rocBLAS, loaded at run time. Nothing is linked: if the library or a function is missing, an
//! [`Unavailable`] value with a description, a reason and a fix is returned. Supports rocBLAS of
//! ROCm 5.5 to 7.2.
//!
//! The environment variable `RSB_ROCBLAS_LIBRARY` sets the library file, for tests and unusual
//! installations.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

use hip_runtime_sys::search::{RocmLibrary, RocmPaths};
use hip_runtime_sys::{KernelFiles, Unavailable, function_table, hipStream_t};

/// Location of the kernels. Check it before creating a handle: rocBLAS terminates the process if it
/// has no kernels for the GPU.
pub const KERNELS: KernelFiles =
    KernelFiles { name: "rocBLAS", directory: "rocblas", variable: "ROCBLAS_TENSILE_LIBPATH" };

/// A status code; 0 is success. See [`status`].
pub type rocblas_status = c_int;
/// Sizes and leading dimensions.
pub type rocblas_int = i32;
/// Distances between the matrices of a batch, in elements.
pub type rocblas_stride = i64;

#[doc(hidden)]
#[repr(C)]
pub struct _rocblas_handle {
    _private: [u8; 0],
}
/// A rocBLAS handle, the first argument of most calls.
pub type rocblas_handle = *mut _rocblas_handle;

/// Values of [`rocblas_status`].
pub mod status {
    use super::rocblas_status;

    /// Success.
    pub const SUCCESS: rocblas_status = 0;
    /// The handle is invalid.
    pub const INVALID_HANDLE: rocblas_status = 1;
    /// No function supports these types.
    pub const NOT_IMPLEMENTED: rocblas_status = 2;
    /// A pointer is null.
    pub const INVALID_POINTER: rocblas_status = 3;
    /// A size is invalid.
    pub const INVALID_SIZE: rocblas_status = 4;
    /// Out of memory.
    pub const MEMORY_ERROR: rocblas_status = 5;
    /// Internal error; also returned if there is no device.
    pub const INTERNAL_ERROR: rocblas_status = 6;
}

/// Values of `rocblas_operation`.
pub mod operation {
    use std::ffi::c_int;

    /// Not transposed.
    pub const NONE: c_int = 111;
    /// Transposed.
    pub const TRANSPOSE: c_int = 112;
    /// Transposed and conjugated.
    pub const CONJUGATE_TRANSPOSE: c_int = 113;
}

/// Values of `rocblas_datatype`.
pub mod datatype {
    use std::ffi::c_int;

    /// 16-bit float with 5 exponent bits.
    pub const F16_R: c_int = 150;
    /// 32-bit float.
    pub const F32_R: c_int = 151;
    /// 64-bit float.
    pub const F64_R: c_int = 152;
    /// 8-bit integer.
    pub const I8_R: c_int = 160;
    /// 32-bit integer.
    pub const I32_R: c_int = 162;
    /// 16-bit float with 8 exponent bits.
    pub const BF16_R: c_int = 168;
}

/// Location of the values of alpha and beta.
pub mod pointer_mode {
    use std::ffi::c_int;

    /// Host memory.
    pub const HOST: c_int = 0;
    /// Device memory.
    pub const DEVICE: c_int = 1;
}

/// Type in which products of f32 matrices are computed.
pub mod math_mode {
    use std::ffi::c_int;

    /// f32.
    pub const DEFAULT: c_int = 0;
    /// xf32, supported by the matrix units of gfx940 to gfx942; has no effect on other GPUs.
    pub const XF32: c_int = 1;
}

/// Algorithm chosen by the library; there is no other.
pub const GEMM_ALGO_STANDARD: c_int = 0;

function_table! {
    /// The rocBLAS functions that this project uses.
    pub struct RocBlas {
        /// Creates a handle. Needs a device, and may terminate the process if kernels are missing:
        /// see [`KERNELS`].
        fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status;
        /// Destroys a handle.
        fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status;
        /// Sets the stream that a handle submits work to.
        fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> rocblas_status;
        /// Sets the location of the values of alpha and beta; see [`pointer_mode`].
        fn rocblas_set_pointer_mode(handle: rocblas_handle, mode: c_int) -> rocblas_status;
        /// Sets the type in which products of f32 matrices are computed; see [`math_mode`].
        fn rocblas_set_math_mode(handle: rocblas_handle, mode: c_int) -> rocblas_status;
        /// Returns the description of a status, as a static string.
        fn rocblas_status_to_string(status: rocblas_status) -> *const c_char;
        /// Computes D ← alpha·op(A)·op(B) + beta·C for a batch of column-major matrices with
        /// constant strides and with mixed types.
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

/// The library, under its names in ROCm 7, 6, 5.5 to 5.7 and Debian, and without a version.
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
    /// Loads the library from the search path of this process, without calling any of its
    /// functions.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded, or the file found is not rocBLAS.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let library = Self::resolve(LIBRARY.find(places)?);
        if library.rocblas_create_handle.is_none() {
            return Err(Unavailable::symbol("rocblas_create_handle", library.loaded.path()));
        }
        Ok(library)
    }
}
