//! Data types supported by the matrix units of an architecture, among those with a kernel.

use rsb_model::Dtype;

/// Returns the data types for which the matrix units of `arch` have an instruction: `gfx90a`, or
/// `sm_90`.
pub fn matrix_dtypes(arch: &str) -> &'static [Dtype] {
    use Dtype::{Bf8, Bf16, F16, F32, F64, Fp4, Fp6, Fp8, I4, I8, Tf32};
    match bare(arch) {
        "gfx908" => &[F32, F16, Bf16, I8],
        "gfx90a" => &[F64, F32, F16, Bf16, I8],
        "gfx940" | "gfx941" | "gfx942" => &[F64, F32, Tf32, F16, Bf16, Fp8, Bf8, I8],
        "gfx950" => &[F64, F32, F16, Bf16, Fp8, Bf8, I8, Fp6, Fp4],
        "gfx1100" | "gfx1101" | "gfx1102" | "gfx1103" | "gfx1150" | "gfx1151" | "gfx1152"
        | "gfx1153" => &[F16, Bf16, I8, I4],
        "gfx1200" | "gfx1201" => &[F16, Bf16, Fp8, Bf8, I8, I4],
        // Types of the instruction `mma` in NVIDIA's PTX manual. f64 runs on matrix units in
        // data-center GPUs; on other GPUs the instruction is emulated.
        "sm_80" | "sm_87" => &[F64, Tf32, F16, Bf16, I8, I4],
        "sm_86" => &[Tf32, F16, Bf16, I8, I4],
        "sm_89" => &[Tf32, F16, Bf16, Fp8, Bf8, I8, I4],
        "sm_90" | "sm_100" | "sm_103" => &[F64, Tf32, F16, Bf16, Fp8, Bf8, I8],
        "sm_120" | "sm_121" => &[Tf32, F16, Bf16, Fp8, Bf8, I8, Fp4],
        _ => &[],
    }
}

/// Returns the data types for which the matrix units of `arch` have an instruction with 2:4
/// structured sparsity of A.
pub fn sparse_dtypes(arch: &str) -> &'static [Dtype] {
    use Dtype::{Bf8, Bf16, F16, Fp8, I4, I8, Tf32};
    match bare(arch) {
        "gfx940" | "gfx941" | "gfx942" | "gfx950" => &[F16, Bf16, Fp8, Bf8, I8],
        "gfx1200" | "gfx1201" => &[F16, Bf16, Fp8, Bf8, I8, I4],
        "sm_80" | "sm_86" | "sm_87" => &[Tf32, F16, Bf16, I8, I4],
        "sm_89" => &[Tf32, F16, Bf16, Fp8, Bf8, I8, I4],
        "sm_90" | "sm_100" | "sm_103" | "sm_120" | "sm_121" => &[Tf32, F16, Bf16, Fp8, Bf8, I8],
        _ => &[],
    }
}

/// Returns `gfx90a` from `gfx90a:sramecc+:xnack-`.
fn bare(arch: &str) -> &str {
    arch.split(':').next().unwrap_or(arch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::architecture::{ARCHITECTURES, Engine};

    #[test]
    fn unknown_architectures_have_none() {
        assert!(matrix_dtypes("gfx1999").is_empty() && matrix_dtypes("sm_75").is_empty());
        assert_eq!(matrix_dtypes("gfx90a:sramecc+:xnack-"), matrix_dtypes("gfx90a"));
        assert!(matrix_dtypes("sm_90").contains(&Dtype::Fp8));
        assert!(
            sparse_dtypes("gfx90a").is_empty() && sparse_dtypes("gfx942").contains(&Dtype::Bf8)
        );
    }

    /// Every table entry must have a kernel, except for Turing's units, and for types that
    /// data-center Blackwell multiplies only with a whole block of threads.
    #[test]
    fn the_table_of_architectures_agrees() {
        for known in ARCHITECTURES.iter().filter(|known| known.target != "sm_75") {
            for (engine, kernels) in [
                (Engine::Matrix, matrix_dtypes(known.target)),
                (Engine::Sparse, sparse_dtypes(known.target)),
            ] {
                let rates =
                    known.rates.iter().filter(|rate| rate.engine == engine).map(|rate| rate.dtype);
                let mut rates: Vec<Dtype> = rates.collect();
                if known.target == "sm_100" {
                    rates.retain(|dtype| ![Dtype::Fp6, Dtype::Fp4].contains(dtype));
                }
                let same = rates.len() == kernels.len()
                    && rates.iter().all(|dtype| kernels.contains(dtype));
                assert!(same, "{}: {rates:?}, {kernels:?}", known.target);
            }
        }
    }
}
