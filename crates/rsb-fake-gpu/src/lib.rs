//! Fake GPU libraries for tests on machines without a GPU: `libamdhip64`, hiprtc, rocBLAS and
//! hipBLASLt, and `libcuda`, NVRTC, cuBLAS and cuBLASLt, in one library.
//!
//! Results are correct and computed by the host; times come from a virtual clock (see `gpu`) and
//! are meaningless. The library exports `rsb_fake_gpu`, by which a program distinguishes it from
//! the real libraries. Arguments are checked: a wild pointer, an invalid handle or an out-of-bounds
//! copy returns an error status. Environment variables inject faults, see `orders`.
// The names are those of the emulated C interface.
#![allow(unsafe_code, non_snake_case, clippy::print_stderr)]

mod api;
mod clock;
mod element;
pub mod file;
mod gpu;
mod heap;
mod image;
mod kernels;
mod launch;
mod ops;
mod orders;
mod product;
mod state;
mod status;

/// Returns the version as text. Programs look for this symbol to distinguish the fake GPU from the
/// real runtime.
#[unsafe(no_mangle)]
pub extern "C" fn rsb_fake_gpu() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the stems of the emulated kernels, with their numbers of parameters.
pub fn kernels() -> impl Iterator<Item = (&'static str, usize)> {
    kernels::all().map(|twin| (twin.stem, twin.parameters))
}
