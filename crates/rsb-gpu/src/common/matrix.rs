//! Which data types the matrix units of an architecture have, among those that there is a kernel for.

use rsb_model::Dtype;

/// Data types that the matrix units of `arch` have an instruction for: `gfx90a`, or `sm_90`.
pub fn matrix_dtypes(arch: &str) -> &'static [Dtype] {
    use Dtype::{Bf16, F16, F32, F64, Fp8, I4, I8, Tf32};
    // gfx90a:sramecc+:xnack-
    match arch.split(':').next().unwrap_or(arch) {
        "gfx908" => &[F32, F16, Bf16, I8],
        "gfx90a" | "gfx950" => &[F64, F32, F16, Bf16, I8],
        "gfx940" | "gfx941" | "gfx942" => &[F64, F32, Tf32, F16, Bf16, Fp8, I8],
        "gfx1100" | "gfx1101" | "gfx1102" | "gfx1103" | "gfx1150" | "gfx1151" | "gfx1152" | "gfx1153" => {
            &[F16, Bf16, I8, I4]
        }
        "gfx1200" | "gfx1201" => &[F16, Bf16, Fp8, I8, I4],
        // The instruction `mma`, as NVIDIA's manual of PTX has it. f64 runs on matrix units in the GPUs for data
        // centers; elsewhere the instruction is made of others.
        "sm_80" | "sm_87" => &[F64, Tf32, F16, Bf16, I8, I4],
        "sm_86" => &[Tf32, F16, Bf16, I8, I4],
        "sm_89" => &[Tf32, F16, Bf16, Fp8, I8, I4],
        "sm_90" | "sm_100" | "sm_103" => &[F64, Tf32, F16, Bf16, Fp8, I8],
        "sm_120" | "sm_121" => &[Tf32, F16, Bf16, Fp8, I8],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_architectures_have_none() {
        assert!(matrix_dtypes("gfx1999").is_empty() && matrix_dtypes("sm_75").is_empty());
        assert_eq!(matrix_dtypes("gfx90a:sramecc+:xnack-"), matrix_dtypes("gfx90a"));
        assert!(matrix_dtypes("sm_90").contains(&Dtype::Fp8));
    }
}
