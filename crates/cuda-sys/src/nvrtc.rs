//! The runtime compiler. It works without a device and without a driver.

use std::ffi::{c_char, c_int};

use runtime_loading::{Unavailable, function_table};

use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status; 0 is success. See [`result`].
pub type nvrtcResult = c_int;

handles! {
    /// A source under compilation.
    nvrtcProgram = _nvrtcProgram;
}

/// Values of [`nvrtcResult`].
pub mod result {
    use super::nvrtcResult;

    /// All is well.
    pub const SUCCESS: nvrtcResult = 0;
    /// Memory is used up.
    pub const OUT_OF_MEMORY: nvrtcResult = 1;
    /// A program could not be made.
    pub const PROGRAM_CREATION_FAILURE: nvrtcResult = 2;
    /// An argument is not acceptable.
    pub const INVALID_INPUT: nvrtcResult = 3;
    /// The program is not one.
    pub const INVALID_PROGRAM: nvrtcResult = 4;
    /// An option is not known, an architecture for instance.
    pub const INVALID_OPTION: nvrtcResult = 5;
    /// The source has mistakes; the log says which.
    pub const COMPILATION: nvrtcResult = 6;
    /// The library of built-in functions beside the compiler is missing.
    pub const BUILTIN_OPERATION_FAILURE: nvrtcResult = 7;
    /// The compiler broke.
    pub const INTERNAL_ERROR: nvrtcResult = 11;
}

function_table! {
    /// What is used of NVRTC.
    pub struct Nvrtc {
        /// Its version: that of CUDA.
        fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult;
        /// Text for a status; static.
        fn nvrtcGetErrorString(status: nvrtcResult) -> *const c_char;
        /// How many architectures it knows.
        fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> nvrtcResult;
        /// Their numbers: 90 for sm_90.
        fn nvrtcGetSupportedArchs(numbers: *mut c_int) -> nvrtcResult;
        /// Takes a source.
        fn nvrtcCreateProgram(
            program: *mut nvrtcProgram, source: *const c_char, name: *const c_char, headers: c_int,
            header_sources: *const *const c_char, header_names: *const *const c_char,
        ) -> nvrtcResult;
        /// Compiles it.
        fn nvrtcCompileProgram(
            program: nvrtcProgram, options: c_int, option_texts: *const *const c_char,
        ) -> nvrtcResult;
        /// Length of what the compiler said, with the final zero.
        fn nvrtcGetProgramLogSize(program: nvrtcProgram, bytes: *mut usize) -> nvrtcResult;
        /// What it said.
        fn nvrtcGetProgramLog(program: nvrtcProgram, log: *mut c_char) -> nvrtcResult;
        /// Size of the code for a GPU.
        fn nvrtcGetCUBINSize(program: nvrtcProgram, bytes: *mut usize) -> nvrtcResult;
        /// The code.
        fn nvrtcGetCUBIN(program: nvrtcProgram, code: *mut c_char) -> nvrtcResult;
        /// Gives it back.
        fn nvrtcDestroyProgram(program: *mut nvrtcProgram) -> nvrtcResult;
    }
}

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NVIDIA's runtime compiler (libnvrtc)",
    files: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"],
    variable: "RSB_NVRTC_LIBRARY",
    symbol: "nvrtcCompileProgram",
    cure: "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` into an environment and \
           name its directory in \
           RSB_CUDA_PATH",
};

impl Nvrtc {
    /// Loads the compiler from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the compiler from `places`.
    ///
    /// # Errors
    /// When there is none.
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
