//! Fake GPU libraries for tests on machines without a GPU: `libamdhip64`, hiprtc, rocBLAS and
//! hipBLASLt, and `libcuda`, NVRTC, cuBLAS and cuBLASLt, in one library.
//!
//! The host computes correct results. Times come from a virtual clock (see `gpu`) and do not
//! predict those of real GPUs. The library exports `rsb_fake_gpu`, which distinguishes it from the
//! real libraries. Arguments are checked: an invalid pointer or handle, or an out-of-bounds copy,
//! returns an error status. Environment variables inject faults; see `orders`.
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

/// Returns the version of this crate as text. Programs look up this symbol to distinguish the fake
/// GPU from a real runtime.
#[unsafe(no_mangle)]
pub extern "C" fn rsb_fake_gpu() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the symbols of the emulated kernels, without data types, and their numbers of
/// parameters.
pub fn kernels() -> impl Iterator<Item = (&'static str, usize)> {
    kernels::all().map(|twin| (twin.stem, twin.parameters))
}
