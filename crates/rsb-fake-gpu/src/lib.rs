//! A fake of `libamdhip64`, hiprtc, rocBLAS and hipBLASLt, and of `libcuda`, NVRTC, cuBLAS and
//! cuBLASLt, in one library: for tests on machines without a GPU.
//!
//! Results are right, computed by the host; times come from a virtual clock (see `gpu`) and mean
//! nothing. It exports `rsb_fake_gpu`, by which a program can tell it from the real thing. What is
//! asked of it is checked: a wild pointer, a handle that is none or a copy beyond an allocation is
//! a status. Faults are ordered by variables, see `orders`.
// The names are those of the C interface that is imitated.
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

/// What programs look for to tell the fake GPU from the real runtime: its version, as text.
#[unsafe(no_mangle)]
pub extern "C" fn rsb_fake_gpu() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Stems of the kernels that it has a twin for, with their numbers of parameters.
pub fn kernels() -> impl Iterator<Item = (&'static str, usize)> {
    kernels::all().map(|twin| (twin.stem, twin.parameters))
}
