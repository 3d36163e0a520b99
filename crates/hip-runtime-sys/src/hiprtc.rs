//! The runtime compiler. It is a library of its own (`libhiprtc`) from ROCm 6 on, and part of the
//! runtime in ROCm 5.

use std::ffi::{c_char, c_int};
use std::path::PathBuf;

use crate::hip::LIBRARY;
use crate::search::{RocmLibrary, RocmPaths};
use crate::{Loaded, Unavailable, function_table};

/// A status; 0 is success. See [`result`].
pub type hiprtcResult = c_int;

#[doc(hidden)]
#[repr(C)]
pub struct _hiprtcProgram {
    _private: [u8; 0],
}
/// A source under compilation.
pub type hiprtcProgram = *mut _hiprtcProgram;

/// Values of [`hiprtcResult`].
pub mod result {
    use super::hiprtcResult;

    /// All is well.
    pub const SUCCESS: hiprtcResult = 0;
    /// Memory is used up.
    pub const OUT_OF_MEMORY: hiprtcResult = 1;
    /// An option is not known.
    pub const INVALID_OPTION: hiprtcResult = 5;
    /// The source has mistakes; the log says which.
    pub const COMPILATION: hiprtcResult = 6;
    /// The compiler broke.
    pub const INTERNAL_ERROR: hiprtcResult = 11;
}

function_table! {
    /// What is used of the runtime compiler. It works without a device.
    pub struct Hiprtc {
        /// Its version: 9.0 in ROCm 5 to 7.0.
        fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult;
        /// Text for a status; static.
        fn hiprtcGetErrorString(status: hiprtcResult) -> *const c_char;
        /// Takes a source.
        fn hiprtcCreateProgram(
            program: *mut hiprtcProgram,
            source: *const c_char,
            name: *const c_char,
            headers: c_int,
            header_sources: *const *const c_char,
            header_names: *const *const c_char,
        ) -> hiprtcResult;
        /// Compiles it.
        fn hiprtcCompileProgram(
            program: hiprtcProgram,
            options: c_int,
            option_texts: *const *const c_char,
        ) -> hiprtcResult;
        /// Length of what the compiler said, with the final zero.
        fn hiprtcGetProgramLogSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
        /// What it said.
        fn hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char) -> hiprtcResult;
        /// Size of the code object.
        fn hiprtcGetCodeSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
        /// The code object.
        fn hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult;
        /// Gives it back.
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
    /// Loads the compiler from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the compiler from `places`: one that goes with the runtime there. With an explicit
    /// file that is the file itself, or a compiler beside it; mixing two versions of ROCm in one
    /// process does not end well.
    ///
    /// # Errors
    /// When there is none.
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
                    format!("{} has no compiler inside or beside it", PathBuf::from(file).display())
                }
                None => places.nowhere(COMPILER.files),
            };
            Unavailable::new(COMPILER.name, why, COMPILER.cure)
        })
    }
}

/// The first of `files` that can be loaded, if it has a compiler.
fn first_of(files: &[PathBuf]) -> Option<Loaded> {
    Loaded::first(files).ok().filter(has_compiler)
}

/// The runtime itself, if it has a compiler.
fn in_runtime(places: &RocmPaths) -> Option<Loaded> {
    LIBRARY.find(places).ok().filter(has_compiler)
}

fn has_compiler(loaded: &Loaded) -> bool {
    loaded.exports("hiprtcCompileProgram")
}
