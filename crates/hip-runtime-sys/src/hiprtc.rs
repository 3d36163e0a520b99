//! hiprtc, the runtime compiler. It is a separate library (`libhiprtc`) since ROCm 6, and part of
//! the HIP runtime in ROCm 5.

use std::ffi::{c_char, c_int};
use std::path::PathBuf;

use crate::hip::LIBRARY;
use crate::search::{RocmLibrary, RocmPaths};
use crate::{Loaded, Unavailable, function_table};

/// A status code; 0 is success. See [`result`].
pub type hiprtcResult = c_int;

#[doc(hidden)]
#[repr(C)]
pub struct _hiprtcProgram {
    _private: [u8; 0],
}
/// A program to compile.
pub type hiprtcProgram = *mut _hiprtcProgram;

/// Values of [`hiprtcResult`].
pub mod result {
    use super::hiprtcResult;

    /// Success.
    pub const SUCCESS: hiprtcResult = 0;
    /// Out of memory.
    pub const OUT_OF_MEMORY: hiprtcResult = 1;
    /// An option is unknown.
    pub const INVALID_OPTION: hiprtcResult = 5;
    /// The source has errors; see the log.
    pub const COMPILATION: hiprtcResult = 6;
    /// Internal compiler error.
    pub const INTERNAL_ERROR: hiprtcResult = 11;
}

function_table! {
    /// The hiprtc functions that this project uses. They need no device.
    pub struct Hiprtc {
        /// Returns the version: 9.0 in ROCm 5 to 7.0.
        fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult;
        /// Returns the description of a status, as a static string.
        fn hiprtcGetErrorString(status: hiprtcResult) -> *const c_char;
        /// Creates a program from source.
        fn hiprtcCreateProgram(
            program: *mut hiprtcProgram,
            source: *const c_char,
            name: *const c_char,
            headers: c_int,
            header_sources: *const *const c_char,
            header_names: *const *const c_char,
        ) -> hiprtcResult;
        /// Compiles a program.
        fn hiprtcCompileProgram(
            program: hiprtcProgram,
            options: c_int,
            option_texts: *const *const c_char,
        ) -> hiprtcResult;
        /// Returns the length of the compiler's log, including the final zero.
        fn hiprtcGetProgramLogSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
        /// Returns the compiler's log.
        fn hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char) -> hiprtcResult;
        /// Returns the size of the code object.
        fn hiprtcGetCodeSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
        /// Returns the code object.
        fn hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult;
        /// Destroys a program.
        fn hiprtcDestroyProgram(program: *mut hiprtcProgram) -> hiprtcResult;
    }
}

const COMPILER: RocmLibrary = RocmLibrary {
    name: "the HIP runtime compiler (libhiprtc)",
    files: &["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"],
    variable: LIBRARY.variable,
    cure: "install ROCm with hiprtc (Debian and Ubuntu: libhiprtc; ROCm's packages: \
           hip-runtime-amd), or set ROCM_PATH",
};

impl Hiprtc {
    /// Loads the compiler from the search path of this process.
    ///
    /// # Errors
    /// If no compiler can be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the compiler that belongs to the runtime in `places`. If the runtime's file is set
    /// explicitly, only this file and its directory are searched for the compiler, since two
    /// versions of ROCm must not be mixed in one process.
    ///
    /// # Errors
    /// If no compiler can be loaded.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let beside = match &places.explicit {
            Some(file) => {
                let dir = PathBuf::from(file).parent().map(PathBuf::from).unwrap_or_default();
                COMPILER
                    .files
                    .iter()
                    .map(|name| dir.join(name))
                    .filter(|path| path.exists())
                    .collect()
            }
            None => places.candidates(COMPILER.files),
        };
        let found = if places.explicit.is_some() {
            in_runtime(places).or_else(|| first_of(&beside))
        } else {
            first_of(&beside).or_else(|| in_runtime(places))
        };
        found.map(Self::resolve).ok_or_else(|| {
            let why = match &places.explicit {
                Some(file) => {
                    format!(
                        "{} contains no compiler, and its directory has none either",
                        PathBuf::from(file).display()
                    )
                }
                None => places.nowhere(COMPILER.files),
            };
            Unavailable::new(COMPILER.name, why, COMPILER.cure)
        })
    }
}

/// Loads the first of `files` that can be loaded. Returns `None` if it contains no compiler.
fn first_of(files: &[PathBuf]) -> Option<Loaded> {
    Loaded::first(files).ok().filter(has_compiler)
}

/// Loads the HIP runtime. Returns `None` if it contains no compiler.
fn in_runtime(places: &RocmPaths) -> Option<Loaded> {
    LIBRARY.find(places).ok().filter(has_compiler)
}

fn has_compiler(loaded: &Loaded) -> bool {
    loaded.exports("hiprtcCompileProgram")
}
