//! NVRTC, the runtime compiler. It needs neither a device nor a driver.

use std::ffi::{c_char, c_int};

use runtime_loading::{Unavailable, function_table};

use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status code; 0 is success. See [`result`].
pub type nvrtcResult = c_int;

handles! {
    /// A program to compile.
    nvrtcProgram = _nvrtcProgram;
}

/// Values of [`nvrtcResult`].
pub mod result {
    use super::nvrtcResult;

    /// Success.
    pub const SUCCESS: nvrtcResult = 0;
    /// Out of memory.
    pub const OUT_OF_MEMORY: nvrtcResult = 1;
    /// The program could not be created.
    pub const PROGRAM_CREATION_FAILURE: nvrtcResult = 2;
    /// An argument is invalid.
    pub const INVALID_INPUT: nvrtcResult = 3;
    /// The program handle is invalid.
    pub const INVALID_PROGRAM: nvrtcResult = 4;
    /// An option is unknown, such as an unsupported architecture.
    pub const INVALID_OPTION: nvrtcResult = 5;
    /// The source has errors; see the log.
    pub const COMPILATION: nvrtcResult = 6;
    /// The library of built-in functions next to the compiler is missing.
    pub const BUILTIN_OPERATION_FAILURE: nvrtcResult = 7;
    /// Internal compiler error.
    pub const INTERNAL_ERROR: nvrtcResult = 11;
}

function_table! {
    /// The NVRTC functions that this project uses.
    pub struct Nvrtc {
        /// Returns the version, which is that of CUDA.
        fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult;
        /// Returns the description of a status, as a static string.
        fn nvrtcGetErrorString(status: nvrtcResult) -> *const c_char;
        /// Returns the number of supported architectures.
        fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> nvrtcResult;
        /// Returns the supported architectures: 90 for sm_90.
        fn nvrtcGetSupportedArchs(numbers: *mut c_int) -> nvrtcResult;
        /// Creates a program from source.
        fn nvrtcCreateProgram(
            program: *mut nvrtcProgram, source: *const c_char, name: *const c_char, headers: c_int,
            header_sources: *const *const c_char, header_names: *const *const c_char,
        ) -> nvrtcResult;
        /// Compiles a program.
        fn nvrtcCompileProgram(
            program: nvrtcProgram, options: c_int, option_texts: *const *const c_char,
        ) -> nvrtcResult;
        /// Returns the length of the compiler's log, including the final zero.
        fn nvrtcGetProgramLogSize(program: nvrtcProgram, bytes: *mut usize) -> nvrtcResult;
        /// Returns the compiler's log.
        fn nvrtcGetProgramLog(program: nvrtcProgram, log: *mut c_char) -> nvrtcResult;
        /// Returns the size of the GPU code.
        fn nvrtcGetCUBINSize(program: nvrtcProgram, bytes: *mut usize) -> nvrtcResult;
        /// Returns the GPU code.
        fn nvrtcGetCUBIN(program: nvrtcProgram, code: *mut c_char) -> nvrtcResult;
        /// Destroys a program.
        fn nvrtcDestroyProgram(program: *mut nvrtcProgram) -> nvrtcResult;
    }
}

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NVIDIA's runtime compiler (libnvrtc)",
    files: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"],
    variable: "RSB_NVRTC_LIBRARY",
    symbol: "nvrtcCompileProgram",
    cure: "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` into an environment and \
           set RSB_CUDA_PATH to its directory",
};

impl Nvrtc {
    /// Loads the compiler from the search path of this process.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the compiler from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded, or lacks `nvrtcGetCUBIN`.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let compiler = Self::resolve(LIBRARY.find(places)?);
        match compiler.missing().first() {
            Some(name) if compiler.nvrtcGetCUBIN.is_none() => {
                Err(Unavailable::symbol(name, compiler.loaded.path()))
            }
            _ => Ok(compiler),
        }
    }
}
