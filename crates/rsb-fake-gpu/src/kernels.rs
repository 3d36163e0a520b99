//! Host implementations of all GPU kernels, one table row per symbol without data type.
//!
//! To add a kernel, write a function that reads its parameters from the launch in the order of
//! rsb-gpu's kernel catalog, computes, and returns the amount of work. Then add a row to `TWINS` in
//! the same file.

mod attention;
mod convolution;
mod elementwise;
mod gemm;
mod memory;
mod normalize;
mod peak;
mod quantized;
mod reduce;

use rsb_model::Dtype;

use crate::launch::{KernelError, Launch, Work};

/// A kernel, for all its data types.
#[derive(Debug)]
pub(crate) struct FakeKernel {
    /// Symbol without the data type.
    pub(crate) stem: &'static str,
    /// Number of parameters, each of 8 bytes.
    pub(crate) parameters: usize,
    /// Function that runs the kernel.
    pub(crate) run: fn(&mut Launch<'_>) -> Result<Work, KernelError>,
}

/// Creates a row of the table.
const fn twin(
    stem: &'static str,
    parameters: usize,
    run: fn(&mut Launch<'_>) -> Result<Work, KernelError>,
) -> FakeKernel {
    FakeKernel { stem, parameters, run }
}

/// Returns all kernels.
pub(crate) fn all() -> impl Iterator<Item = &'static FakeKernel> {
    let files = [
        memory::TWINS,
        elementwise::TWINS,
        reduce::TWINS,
        normalize::TWINS,
        attention::TWINS,
        convolution::TWINS,
        gemm::TWINS,
        quantized::TWINS,
        peak::TWINS,
    ];
    files.into_iter().flatten()
}

/// Returns the kernel and the data type of a symbol such as `rsb_triad_f32`; the type is f32 if the
/// symbol contains none.
pub(crate) fn find(symbol: &str) -> Option<(&'static FakeKernel, Dtype)> {
    all().find_map(|twin| {
        let rest = symbol.strip_prefix(twin.stem)?;
        if rest.is_empty() {
            return Some((twin, Dtype::F32));
        }
        Some((twin, rest.strip_prefix('_')?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_a_stem_and_a_type() {
        for (symbol, expected) in [
            ("rsb_write_nt_f16", Some(("rsb_write_nt", Dtype::F16))),
            ("rsb_write_f64", Some(("rsb_write", Dtype::F64))),
            ("rsb_empty", Some(("rsb_empty", Dtype::F32))),
            ("rsb_write_f33", None),
            ("rsb_other", None),
        ] {
            let found = find(symbol).map(|(twin, dtype)| (twin.stem, dtype));
            assert_eq!(found, expected, "{symbol}");
        }
    }
}
