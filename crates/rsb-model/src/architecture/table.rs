//! Table of architectures, and of boards that exceed the clock listed by their driver. Sparse rates
//! count the zeros of A as multiplied, as data sheets do.

use super::{Architecture, Board, Engine, MatrixKind, MatrixUnit, Rate};
use crate::ids::Dtype::{Bf8, Bf16, F16, F32, F64, Fp4, Fp6, Fp8, I4, I8, Tf32};

const fn matrix(dtype: crate::Dtype, per_clock_per_cu: u32, tiles: &'static [[u32; 3]]) -> Rate {
    Rate { dtype, engine: Engine::Matrix, per_clock_per_cu, tiles }
}

const fn sparse(dtype: crate::Dtype, per_clock_per_cu: u32, tiles: &'static [[u32; 3]]) -> Rate {
    Rate { engine: Engine::Sparse, ..matrix(dtype, per_clock_per_cu, tiles) }
}

const fn vector(dtype: crate::Dtype, per_clock_per_cu: u32) -> Rate {
    Rate { dtype, engine: Engine::Vector, per_clock_per_cu, tiles: &[] }
}

const fn mfma(generation: u32) -> MatrixUnit {
    MatrixUnit { kind: MatrixKind::Mfma, generation }
}

const fn mma(generation: u32) -> MatrixUnit {
    MatrixUnit { kind: MatrixKind::Mma, generation }
}

const fn wmma(generation: u32) -> MatrixUnit {
    MatrixUnit { kind: MatrixKind::Wmma, generation }
}

const fn xmx(generation: u32) -> MatrixUnit {
    MatrixUnit { kind: MatrixKind::Xmx, generation }
}

const fn board(name: &'static str, compute_units: u32, boost_mhz: u32) -> Board {
    Board { name, compute_units, boost_mhz }
}

/// `V_DOT4` and `V_DOT8` perform four and eight multiply-adds per 32-bit lane.
const VEGA_20: &[Rate] =
    &[vector(F64, 64), vector(F32, 128), vector(F16, 256), vector(I8, 512), vector(I4, 1024)];

const CDNA_1: &[Rate] = &[
    matrix(F32, 256, &[[32, 32, 2], [16, 16, 4]]),
    matrix(F16, 1024, &[[32, 32, 8], [16, 16, 16]]),
    matrix(Bf16, 512, &[[32, 32, 4], [16, 16, 8]]),
    matrix(I8, 1024, &[[32, 32, 8], [16, 16, 16]]),
    vector(F64, 64),
    vector(F32, 128),
];

/// The f32 rate of 256 on the vector unit needs packed instructions; without them it is 128.
const CDNA_2: &[Rate] = &[
    matrix(F64, 256, &[[16, 16, 4]]),
    matrix(F32, 256, &[[32, 32, 2], [16, 16, 4]]),
    matrix(F16, 1024, &[[32, 32, 8], [16, 16, 16]]),
    matrix(Bf16, 1024, &[[32, 32, 8], [16, 16, 16]]),
    matrix(I8, 1024, &[[32, 32, 8], [16, 16, 16]]),
    vector(F64, 128),
    vector(F32, 256),
];

const CDNA_3: &[Rate] = &[
    matrix(F64, 256, &[[16, 16, 4]]),
    matrix(F32, 256, &[[32, 32, 2], [16, 16, 4]]),
    matrix(Tf32, 1024, &[[32, 32, 4], [16, 16, 8]]),
    matrix(F16, 2048, &[[32, 32, 8], [16, 16, 16]]),
    matrix(Bf16, 2048, &[[32, 32, 8], [16, 16, 16]]),
    matrix(Fp8, 4096, &[[32, 32, 16], [16, 16, 32]]),
    matrix(Bf8, 4096, &[[32, 32, 16], [16, 16, 32]]),
    matrix(I8, 4096, &[[32, 32, 16], [16, 16, 32]]),
    sparse(F16, 4096, &[[32, 32, 16], [16, 16, 32]]),
    sparse(Bf16, 4096, &[[32, 32, 16], [16, 16, 32]]),
    sparse(Fp8, 8192, &[[32, 32, 32], [16, 16, 64]]),
    sparse(Bf8, 8192, &[[32, 32, 32], [16, 16, 64]]),
    sparse(I8, 8192, &[[32, 32, 32], [16, 16, 64]]),
    vector(F64, 128),
    vector(F32, 256),
];

/// Compared with CDNA 3, the matrix unit lacks tf32 and has half the f64 rate.
const CDNA_4: &[Rate] = &[
    matrix(F64, 128, &[[16, 16, 4]]),
    matrix(F32, 256, &[[32, 32, 2], [16, 16, 4]]),
    matrix(F16, 4096, &[[32, 32, 16], [16, 16, 32]]),
    matrix(Bf16, 4096, &[[32, 32, 16], [16, 16, 32]]),
    matrix(Fp8, 8192, &[[32, 32, 64], [16, 16, 128]]),
    matrix(Bf8, 8192, &[[32, 32, 64], [16, 16, 128]]),
    matrix(I8, 8192, &[[32, 32, 32], [16, 16, 64]]),
    matrix(Fp6, 16384, &[[32, 32, 64], [16, 16, 128]]),
    matrix(Fp4, 16384, &[[32, 32, 64], [16, 16, 128]]),
    sparse(F16, 8192, &[[32, 32, 32], [16, 16, 64]]),
    sparse(Bf16, 8192, &[[32, 32, 32], [16, 16, 64]]),
    sparse(Fp8, 16384, &[[32, 32, 64], [16, 16, 128]]),
    sparse(Bf8, 16384, &[[32, 32, 64], [16, 16, 128]]),
    sparse(I8, 16384, &[[32, 32, 64], [16, 16, 128]]),
    vector(F64, 128),
    vector(F32, 256),
];

const RDNA_2: &[Rate] =
    &[vector(F64, 8), vector(F32, 128), vector(F16, 256), vector(I8, 512), vector(I4, 1024)];

/// The f32 rate of 256 on the vector unit needs dual-issued instructions; without them it is 128.
const RDNA_3: &[Rate] = &[
    matrix(F16, 512, &[[16, 16, 16]]),
    matrix(Bf16, 512, &[[16, 16, 16]]),
    matrix(I8, 512, &[[16, 16, 16]]),
    matrix(I4, 1024, &[[16, 16, 16]]),
    vector(F64, 8),
    vector(F32, 256),
    vector(F16, 512),
];

const RDNA_4: &[Rate] = &[
    matrix(F16, 1024, &[[16, 16, 16]]),
    matrix(Bf16, 1024, &[[16, 16, 16]]),
    matrix(Fp8, 2048, &[[16, 16, 16]]),
    matrix(Bf8, 2048, &[[16, 16, 16]]),
    matrix(I8, 2048, &[[16, 16, 16]]),
    matrix(I4, 4096, &[[16, 16, 32], [16, 16, 16]]),
    sparse(F16, 2048, &[[16, 16, 32]]),
    sparse(Bf16, 2048, &[[16, 16, 32]]),
    sparse(Fp8, 4096, &[[16, 16, 32]]),
    sparse(Bf8, 4096, &[[16, 16, 32]]),
    sparse(I8, 4096, &[[16, 16, 32]]),
    sparse(I4, 8192, &[[16, 16, 64], [16, 16, 32]]),
    vector(F64, 4),
    vector(F32, 256),
    vector(F16, 512),
];

const TURING: &[Rate] = &[
    matrix(F16, 1024, &[[16, 8, 8]]),
    matrix(I8, 2048, &[[8, 8, 16]]),
    matrix(I4, 4096, &[[8, 8, 32]]),
    vector(F64, 4),
    vector(F32, 128),
    vector(F16, 256),
];

const AMPERE: &[Rate] = &[
    matrix(F64, 128, &[[8, 8, 4]]),
    matrix(Tf32, 1024, &[[16, 8, 8], [16, 8, 4]]),
    matrix(F16, 2048, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Bf16, 2048, &[[16, 8, 16], [16, 8, 8]]),
    matrix(I8, 4096, &[[16, 8, 32], [16, 8, 16]]),
    matrix(I4, 8192, &[[16, 8, 64], [16, 8, 32]]),
    sparse(Tf32, 2048, &[[16, 8, 16], [16, 8, 8]]),
    sparse(F16, 4096, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Bf16, 4096, &[[16, 8, 32], [16, 8, 16]]),
    sparse(I8, 8192, &[[16, 8, 64], [16, 8, 32]]),
    sparse(I4, 16384, &[[16, 8, 128], [16, 8, 64]]),
    vector(F64, 64),
    vector(F32, 128),
    vector(F16, 512),
];

/// `GeForce` GPUs accumulate floating-point products in f32 at half of these rates.
const AMPERE_GRAPHICS: &[Rate] = &[
    matrix(Tf32, 512, &[[16, 8, 8], [16, 8, 4]]),
    matrix(F16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Bf16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(I8, 2048, &[[16, 8, 32], [16, 8, 16]]),
    matrix(I4, 4096, &[[16, 8, 64], [16, 8, 32]]),
    sparse(Tf32, 1024, &[[16, 8, 16], [16, 8, 8]]),
    sparse(F16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Bf16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(I8, 4096, &[[16, 8, 64], [16, 8, 32]]),
    sparse(I4, 8192, &[[16, 8, 128], [16, 8, 64]]),
    vector(F64, 4),
    vector(F32, 256),
    vector(F16, 256),
];

/// `GeForce` GPUs accumulate floating-point products in f32 at half of these rates.
const ADA: &[Rate] = &[
    matrix(Tf32, 512, &[[16, 8, 8], [16, 8, 4]]),
    matrix(F16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Bf16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Fp8, 2048, &[[16, 8, 32]]),
    matrix(Bf8, 2048, &[[16, 8, 32]]),
    matrix(I8, 2048, &[[16, 8, 32], [16, 8, 16]]),
    matrix(I4, 4096, &[[16, 8, 64], [16, 8, 32]]),
    sparse(Tf32, 1024, &[[16, 8, 16], [16, 8, 8]]),
    sparse(F16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Bf16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Fp8, 4096, &[[16, 8, 64]]),
    sparse(Bf8, 4096, &[[16, 8, 64]]),
    sparse(I8, 4096, &[[16, 8, 64], [16, 8, 32]]),
    sparse(I4, 8192, &[[16, 8, 128], [16, 8, 64]]),
    vector(F64, 4),
    vector(F32, 256),
    vector(F16, 256),
];

/// Rates of the warpgroup instruction (four warps). The instruction of one warp reaches about two
/// thirds.
const HOPPER: &[Rate] = &[
    matrix(F64, 256, &[[16, 8, 16], [8, 8, 4]]),
    matrix(Tf32, 2048, &[[64, 256, 8], [16, 8, 8]]),
    matrix(F16, 4096, &[[64, 256, 16], [16, 8, 16]]),
    matrix(Bf16, 4096, &[[64, 256, 16], [16, 8, 16]]),
    matrix(Fp8, 8192, &[[64, 256, 32], [16, 8, 32]]),
    matrix(Bf8, 8192, &[[64, 256, 32], [16, 8, 32]]),
    matrix(I8, 8192, &[[64, 256, 32], [16, 8, 32]]),
    sparse(Tf32, 4096, &[[64, 256, 16], [16, 8, 16]]),
    sparse(F16, 8192, &[[64, 256, 32], [16, 8, 32]]),
    sparse(Bf16, 8192, &[[64, 256, 32], [16, 8, 32]]),
    sparse(Fp8, 16384, &[[64, 256, 64], [16, 8, 64]]),
    sparse(Bf8, 16384, &[[64, 256, 64], [16, 8, 64]]),
    sparse(I8, 16384, &[[64, 256, 64], [16, 8, 64]]),
    vector(F64, 128),
    vector(F32, 256),
    vector(F16, 512),
];

/// Only instructions of a whole block reach the full rate of the matrix units.
const BLACKWELL: &[Rate] = &[
    matrix(F64, 128, &[[8, 8, 4]]),
    matrix(Tf32, 4096, &[[128, 256, 8], [16, 8, 8]]),
    matrix(F16, 8192, &[[128, 256, 16], [16, 8, 16]]),
    matrix(Bf16, 8192, &[[128, 256, 16], [16, 8, 16]]),
    matrix(Fp8, 16384, &[[128, 256, 32], [16, 8, 32]]),
    matrix(Bf8, 16384, &[[128, 256, 32], [16, 8, 32]]),
    matrix(I8, 16384, &[[128, 256, 32], [16, 8, 32]]),
    matrix(Fp6, 16384, &[[128, 256, 32]]),
    matrix(Fp4, 32768, &[[128, 256, 64]]),
    sparse(Tf32, 8192, &[[128, 256, 16], [16, 8, 16]]),
    sparse(F16, 16384, &[[128, 256, 32], [16, 8, 32]]),
    sparse(Bf16, 16384, &[[128, 256, 32], [16, 8, 32]]),
    sparse(Fp8, 32768, &[[128, 256, 64], [16, 8, 64]]),
    sparse(Bf8, 32768, &[[128, 256, 64], [16, 8, 64]]),
    sparse(I8, 32768, &[[128, 256, 64], [16, 8, 64]]),
    vector(F64, 128),
    vector(F32, 256),
    vector(F16, 512),
];

/// `GeForce` GPUs accumulate floating-point products, except fp4, in f32 at half of these rates. No
/// fp6 rate is published.
const BLACKWELL_GRAPHICS: &[Rate] = &[
    matrix(Tf32, 512, &[[16, 8, 8], [16, 8, 4]]),
    matrix(F16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Bf16, 1024, &[[16, 8, 16], [16, 8, 8]]),
    matrix(Fp8, 2048, &[[16, 8, 32]]),
    matrix(Bf8, 2048, &[[16, 8, 32]]),
    matrix(I8, 2048, &[[16, 8, 32], [16, 8, 16]]),
    matrix(Fp4, 4096, &[[16, 8, 64]]),
    sparse(Tf32, 1024, &[[16, 8, 16], [16, 8, 8]]),
    sparse(F16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Bf16, 2048, &[[16, 8, 32], [16, 8, 16]]),
    sparse(Fp8, 4096, &[[16, 8, 64]]),
    sparse(Bf8, 4096, &[[16, 8, 64]]),
    sparse(I8, 4096, &[[16, 8, 64], [16, 8, 32]]),
    vector(F64, 4),
    vector(F32, 256),
    vector(F16, 256),
];

/// A compute unit is a Xe core, with 128 f32 lanes or 256 f16 lanes. Xe-HPG has no f64; no f64 rate
/// is published for Xe2.
const XE_HPG: &[Rate] = &[
    matrix(F16, 2048, &[[8, 8, 16]]),
    matrix(Bf16, 2048, &[[8, 8, 16]]),
    matrix(I8, 4096, &[[8, 8, 32]]),
    vector(F32, 256),
    vector(F16, 512),
];

const XE2_HPG: &[Rate] = &[
    matrix(F16, 2048, &[[8, 16, 16]]),
    matrix(Bf16, 2048, &[[8, 16, 16]]),
    matrix(I8, 4096, &[[8, 16, 32]]),
    vector(F32, 256),
    vector(F16, 512),
];

// Boost clocks from AMD's product pages ("Boost frequency: up to …") and graphics clocks from
// Intel's. The data-sheet test contains the rates listed on the same pages.
const NAVI_21: &[Board] = &[
    board("RX 6800", 60, 2105),
    board("RX 6800 XT", 72, 2250),
    board("RX 6900 XT", 80, 2250),
    board("RX 6950 XT", 80, 2310),
    board("PRO W6800", 60, 2320),
];
const NAVI_22: &[Board] =
    &[board("RX 6700", 36, 2450), board("RX 6700 XT", 40, 2581), board("RX 6750 XT", 40, 2600)];
const NAVI_23: &[Board] =
    &[board("RX 6600", 28, 2491), board("RX 6600 XT", 32, 2589), board("RX 6650 XT", 32, 2635)];
const NAVI_31: &[Board] = &[
    board("RX 7900 GRE", 80, 2245),
    board("RX 7900 XT", 84, 2400),
    board("RX 7900 XTX", 96, 2500),
    board("PRO W7900", 96, 2495),
];
const NAVI_32: &[Board] = &[board("RX 7700 XT", 54, 2544), board("RX 7800 XT", 60, 2430)];
const NAVI_33: &[Board] =
    &[board("RX 7600", 32, 2655), board("RX 7600 XT", 32, 2755), board("PRO W7600", 32, 2440)];
const NAVI_44: &[Board] = &[board("RX 9060", 28, 2990), board("RX 9060 XT", 32, 3130)];
const NAVI_48: &[Board] =
    &[board("RX 9070", 56, 2520), board("RX 9070 XT", 64, 2970), board("AI PRO R9700", 64, 2920)];
const STRIX_HALO: &[Board] = &[board("8050S", 32, 2800), board("8060S", 40, 2900)];
const ACM_G10: &[Board] = &[board("Arc A770", 32, 2100)];
const BMG_G21: &[Board] = &[board("Arc B580", 20, 2670)];
const NO_BOARDS: &[Board] = &[];

const SOURCE_VEGA: &str = "AMD Radeon Instinct MI60 data sheet; Vega 7nm instruction set reference";
const SOURCE_CDNA_1: &str =
    "ROCm documentation, GPU architecture MI100; MI100 instruction set reference";
const SOURCE_CDNA_2: &str =
    "ROCm documentation, GPU architecture MI250; MI200 instruction set reference";
const SOURCE_CDNA_3: &str = "ROCm documentation, GPU architecture MI300; AMD Instinct MI300X data \
                             sheet; CDNA 3 instruction set reference";
const SOURCE_CDNA_4: &str = "AMD Instinct MI355X data sheet; CDNA 4 instruction set reference";
const SOURCE_RDNA_2: &str =
    "AMD Radeon RX 6900 XT specifications; RDNA 2 instruction set reference";
const SOURCE_RDNA_3: &str = "GPUOpen, WMMA on RDNA 3; AMD Radeon RX 7900 XTX specifications";
const SOURCE_RDNA_4: &str = "GPUOpen, matrix cores of RDNA 4; AMD Radeon RX 9070 XT specifications";

const SOURCE_TURING: &str = "NVIDIA T4 data sheet; NVIDIA Turing GPU architecture (white paper)";
const SOURCE_AMPERE: &str = "NVIDIA A100 Tensor Core GPU architecture (white paper)";
const SOURCE_AMPERE_GRAPHICS: &str =
    "NVIDIA A40 data sheet; NVIDIA Ampere GA102 GPU architecture (white paper)";
const SOURCE_ADA: &str = "NVIDIA L40S data sheet; NVIDIA Ada GPU architecture (white paper)";
const SOURCE_HOPPER: &str = "NVIDIA H100 Tensor Core GPU architecture (white paper)";
const SOURCE_BLACKWELL: &str = "NVIDIA HGX B200 data sheet";
const SOURCE_BLACKWELL_GRAPHICS: &str = "NVIDIA RTX Blackwell GPU architecture (white paper)";

const SOURCE_XE_HPG: &str =
    "Intel Arc A770 specifications; Intel, introduction to the Xe-HPG architecture (white paper)";
const SOURCE_XE2_HPG: &str = "Intel Arc B580 specifications; Intel Arc B-series architecture brief";

macro_rules! rows {
    ($($target:literal $family:literal $gpus:literal $wavefront:literal $since:tt $matrix:expr, $rates:ident $boards:ident
       $source:ident;)*) => {
        &[$(Architecture {
            target: $target, family: $family, gpus: $gpus, wavefront: $wavefront, since: $since,
            matrix: $matrix, rates: $rates, boards: $boards, source: $source,
        },)*]
    };
}

// The pair is the first ROCm or CUDA release whose runtime compiler supports the target, from the
// lists of supported GPUs in ROCm's release notes and from CUDA's release notes. If an earlier LLVM
// compiler may already support the target, the pair is the first release that is certain to support
// it.
/// Architectures of AMD and NVIDIA for which kernels are compiled, by vendor, oldest first.
pub const ARCHITECTURES: &[Architecture] = rows! {
    "gfx906" "GCN 5.1" "Instinct MI50, MI60, Radeon VII" 64 (2, 0) None, VEGA_20 NO_BOARDS SOURCE_VEGA;
    "gfx908" "CDNA 1" "Instinct MI100" 64 (4, 0) Some(mfma(1)), CDNA_1 NO_BOARDS SOURCE_CDNA_1;
    "gfx90a" "CDNA 2" "Instinct MI210, MI250, MI250X" 64 (4, 5) Some(mfma(2)), CDNA_2 NO_BOARDS SOURCE_CDNA_2;
    "gfx942" "CDNA 3" "Instinct MI300A, MI300X, MI325X" 64 (6, 0) Some(mfma(3)), CDNA_3 NO_BOARDS SOURCE_CDNA_3;
    "gfx950" "CDNA 4" "Instinct MI350X, MI355X" 64 (7, 0) Some(mfma(4)), CDNA_4 NO_BOARDS SOURCE_CDNA_4;
    "gfx1030" "RDNA 2" "Radeon RX 6800, 6900, Pro W6800, V620" 32 (4, 5) None, RDNA_2 NAVI_21 SOURCE_RDNA_2;
    "gfx1031" "RDNA 2" "Radeon RX 6700, 6750" 32 (4, 5) None, RDNA_2 NAVI_22 SOURCE_RDNA_2;
    "gfx1032" "RDNA 2" "Radeon RX 6600, 6650" 32 (4, 5) None, RDNA_2 NAVI_23 SOURCE_RDNA_2;
    "gfx1100" "RDNA 3" "Radeon RX 7900, Pro W7800, W7900" 32 (5, 5) Some(wmma(1)), RDNA_3 NAVI_31 SOURCE_RDNA_3;
    "gfx1101" "RDNA 3" "Radeon RX 7700, 7800, Pro W7700, V710" 32 (5, 5) Some(wmma(1)), RDNA_3 NAVI_32 SOURCE_RDNA_3;
    "gfx1102" "RDNA 3" "Radeon RX 7600, Pro W7600" 32 (5, 5) Some(wmma(1)), RDNA_3 NAVI_33 SOURCE_RDNA_3;
    "gfx1103" "RDNA 3" "Radeon 740M to 780M (in CPUs)" 32 (5, 5) Some(wmma(1)), RDNA_3 NO_BOARDS SOURCE_RDNA_3;
    "gfx1150" "RDNA 3.5" "Radeon 880M, 890M (in CPUs)" 32 (6, 2) Some(wmma(1)), RDNA_3 NO_BOARDS SOURCE_RDNA_3;
    "gfx1151" "RDNA 3.5" "Radeon 8050S, 8060S (in CPUs)" 32 (6, 2) Some(wmma(1)), RDNA_3 STRIX_HALO SOURCE_RDNA_3;
    "gfx1200" "RDNA 4" "Radeon RX 9060" 32 (6, 3) Some(wmma(2)), RDNA_4 NAVI_44 SOURCE_RDNA_4;
    "gfx1201" "RDNA 4" "Radeon RX 9070, AI PRO R9700" 32 (6, 3) Some(wmma(2)), RDNA_4 NAVI_48 SOURCE_RDNA_4;
    "sm_75" "Turing" "T4, Quadro RTX, GeForce RTX 20" 32 (10, 0) Some(mma(2)), TURING NO_BOARDS SOURCE_TURING;
    "sm_80" "Ampere" "A100, A30" 32 (11, 0) Some(mma(3)), AMPERE NO_BOARDS SOURCE_AMPERE;
    "sm_86" "Ampere" "A10, A40, RTX A6000, GeForce RTX 30" 32 (11, 1) Some(mma(3)), AMPERE_GRAPHICS NO_BOARDS SOURCE_AMPERE_GRAPHICS;
    "sm_89" "Ada" "L4, L40S, RTX 6000 Ada, GeForce RTX 40" 32 (11, 8) Some(mma(4)), ADA NO_BOARDS SOURCE_ADA;
    "sm_90" "Hopper" "H100, H200, GH200" 32 (11, 8) Some(mma(4)), HOPPER NO_BOARDS SOURCE_HOPPER;
    "sm_100" "Blackwell" "B200, GB200" 32 (12, 8) Some(mma(5)), BLACKWELL NO_BOARDS SOURCE_BLACKWELL;
    "sm_120" "Blackwell" "RTX PRO 6000 Blackwell, GeForce RTX 50" 32 (12, 8) Some(mma(5)), BLACKWELL_GRAPHICS NO_BOARDS SOURCE_BLACKWELL_GRAPHICS;
};

/// Intel architectures, for which OpenCL and Vulkan compile the kernels; used for peaks only. The
/// names are those of Intel's graphics compiler.
pub const INTEL: &[Architecture] = rows! {
    "acm-g10" "Xe-HPG" "Arc A770" 16 (0, 0) Some(xmx(1)), XE_HPG ACM_G10 SOURCE_XE_HPG;
    "bmg-g21" "Xe2-HPG" "Arc B580" 16 (0, 0) Some(xmx(2)), XE2_HPG BMG_G21 SOURCE_XE2_HPG;
};
