//! Kernel table and kernel selection by provider and CPU.

use rsb_device::operation::Gemm;
use rsb_model::{Dtype, Reason};

#[cfg(target_arch = "x86_64")]
use crate::amx::{self, AmxTiles, AmxType};
use crate::blocked::blocked_gemm;
#[cfg(target_arch = "x86_64")]
use crate::fp16::Fp16Avx512;
use crate::kernel::{GemmKernel, GemmTask, Scratch, SkinnyGemm};
use crate::micro_kernel::VectorMicroKernel;
use crate::pack::{F32, OffsetQuads, Packing, Pairs, PairsOfI8, Quads, WidenBf16, WidenF16};
use crate::simd;
use crate::skinny::{MIN_ROWS_OF_TILES, skinny_gemm};

/// Provider that selects the widest units of this CPU.
const WIDEST: &str = "native";
/// Provider that accumulates up to 32 products in f16.
pub const F16_SUMS: &str = "native-avx512fp16";
/// Providers: the first selects the widest units of this CPU, each of the others one instruction
/// set.
pub const PROVIDERS: [&str; 5] = [WIDEST, "native-amx", F16_SUMS, "native-avx512", "native-avx2"];

/// Returns the kernel for `op` from provider `name`.
///
/// # Errors
/// If the provider has no kernel for the data type, the factors or the output of `op`, or if this
/// CPU lacks the instructions.
pub(super) fn find(name: &str, op: &Gemm) -> Result<GemmKernel, Reason> {
    let what = format!("{} product by {name}", op.dtype);
    if op.dtype == Dtype::I8 && op.is_narrowed() {
        return Err(Reason::new(
            what,
            "its sums of i8 products have 32 bits",
            "choose output=wide",
        ));
    }
    if op.dtype == Dtype::I8 && [op.alpha, op.beta].iter().any(|factor| factor.fract() != 0.0) {
        return Err(Reason::new(
            what,
            "its sums are integers, but alpha or beta is not",
            "choose integers for alpha and beta",
        ));
    }
    let of_type = || ALL.iter().filter(|candidate| candidate.dtype == op.dtype);
    if of_type().next().is_none() {
        return Err(Reason::new(
            what,
            "it supports only f32, f16, bf16 and i8",
            "choose one of these, or another provider",
        ));
    }
    let set = name.strip_prefix(WIDEST).map_or(name, |set| set.trim_start_matches('-'));
    let found = of_type()
        .find(|candidate| (set.is_empty() || candidate.set == set) && (candidate.is_available)());
    if let Some(candidate) = found {
        return Ok(candidate.kernel);
    }
    let is_for_it = of_type().any(|candidate| candidate.set == set);
    let why = if is_for_it {
        format!(
            "this CPU does not support {set} for it, or Linux does not allow this process to use it"
        )
    } else {
        format!("no product of {} uses {set}", op.dtype)
    };
    Err(Reason::new(
        what,
        why,
        "choose provider=native, which uses the widest supported instructions",
    ))
}

/// Checks that provider `name` has a kernel for `op` on this CPU.
///
/// # Errors
/// If there is no such kernel. The reason names the data type, the factors or the instructions.
pub fn check(name: &str, op: &Gemm) -> Result<(), Reason> {
    find(name, op).map(drop)
}

/// Returns whether the widest units of this CPU compute `op` without packing B. This requires more
/// than one row, a transposed B, and at least 2¹⁶ elements in B, below which startup cost
/// dominates.
pub fn reads_b_once(op: &Gemm) -> bool {
    let rows = op.m as usize;
    if !op.transpose_b || rows <= 1 || op.n * op.k < 1 << 16 {
        return false;
    }
    find(WIDEST, op)
        .is_ok_and(|kernel| kernel.skinny.is_some_and(|skinny| skinny.is_faster(rows, op)))
}

/// Returns every kernel that this CPU supports, with its data type.
#[cfg(test)]
pub(super) fn available() -> impl Iterator<Item = (GemmKernel, Dtype)> {
    ALL.iter()
        .filter(|candidate| (candidate.is_available)())
        .map(|candidate| (candidate.kernel, candidate.dtype))
}

/// A kernel, its data type, and the condition for running it.
struct Candidate {
    dtype: Dtype,
    /// Instruction set, as in provider names.
    set: &'static str,
    is_available: fn() -> bool,
    kernel: GemmKernel,
}

impl Candidate {
    /// Removes the kernel for few rows, which would use a unit other than that in the provider
    /// name.
    #[cfg(target_arch = "x86_64")]
    const fn always_packed(mut self) -> Self {
        self.kernel.skinny = None;
        self
    }
}

/// Builds a candidate that needs `$feature`s and `$is_available`. Its microkernel is
/// `$micro_kernel`; products with few rows use `$unit`, or tiles from `MIN_ROWS_OF_TILES` rows if
/// given.
macro_rules! candidate {
    (@skinny [$($feature:tt),*], $micro_kernel:ty, ($unit:ident, $a:ident, $b:ident, $offset_a:literal)) => {
        SkinnyGemm::of_vectors(
            {
                $(#[target_feature(enable = $feature)])*
                unsafe fn of_unit(task: &GemmTask<'_>, scratch: &mut Scratch) {
                    // SAFETY: guaranteed by the caller; this function enables the features of the
                    // unit.
                    unsafe { skinny_gemm::<simd::$unit, $a, $b, 4, $offset_a>(task, scratch) }
                }
                of_unit
            },
            <$a as Packing>::GROUP,
        )
    };
    (@skinny [$($feature:tt),*], $micro_kernel:ty, ($unit:ident, $a:ident, $b:ident, $offset_a:literal), $tiles:expr) => {
        SkinnyGemm::of_tiles(
            {
                $(#[target_feature(enable = $feature)])*
                unsafe fn of_unit(task: &GemmTask<'_>, scratch: &mut Scratch) {
                    // SAFETY: as above.
                    unsafe {
                        if task.op.transpose_b && task.block.rows.len() >= MIN_ROWS_OF_TILES {
                            let _tiles = $tiles;
                            amx::skinny_gemm::<$micro_kernel>(task, scratch);
                        } else {
                            skinny_gemm::<simd::$unit, $a, $b, 4, $offset_a>(task, scratch);
                        }
                    }
                }
                of_unit
            },
            <$a as Packing>::GROUP,
        )
    };
    ($name:expr, $dtype:ident, $set:literal, [$($feature:tt),*], $micro_kernel:ty, skinny: ($unit:ident, $a:ident, $b:ident, $offset_a:literal)
     $(, where: $is_available:expr $(, with: $tiles:expr)?)?) => {
        Candidate {
            dtype: Dtype::$dtype,
            set: $set,
            is_available: || true $(&& std::arch::is_x86_feature_detected!($feature))* $(&& $is_available)?,
            kernel: GemmKernel::new::<$micro_kernel>(
                $name,
                {
                    $(#[target_feature(enable = $feature)])*
                    unsafe fn of_unit(task: &GemmTask<'_>, scratch: &mut Scratch) {
                        // SAFETY: guaranteed by the caller; this function enables the features of
                        // the unit.
                        unsafe {
                            $($(let _tiles = $tiles;)?)?
                            blocked_gemm::<$micro_kernel>(task, scratch);
                        }
                    }
                    of_unit
                },
                Some(candidate!(@skinny [$($feature),*], $micro_kernel, ($unit, $a, $b, $offset_a) $($(, $tiles)?)?)),
            ),
        }
    };
}

/// Builds a portable candidate that uses `$unit`.
macro_rules! plain {
    ($dtype:ident, $unit:ident, $packing:ident) => {{
        type Plain = VectorMicroKernel<simd::$unit, $packing, $packing, 4, 1, 8, false>;
        Candidate {
            dtype: Dtype::$dtype,
            set: "",
            is_available: || true,
            kernel: GemmKernel::new::<Plain>("native", blocked_gemm::<Plain>, None),
        }
    }};
}

/// Returns whether the CPU is made by Intel. On Sapphire Rapids VDPBF16PS was slower than products
/// widened to f32; on AMD CPUs it is twice as fast.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
}

/// All kernels in order of preference.
#[rustfmt::skip]
const ALL: &[Candidate] = &[
    #[cfg(target_arch = "x86_64")]
    candidate!("native-amx", Bf16, "amx", ["avx512f", "avx512bw", "avx512bf16"], amx::Bf16, skinny: (Bf16Avx512, Pairs, Pairs, false), where: amx::is_available(AmxType::Bf16), with: AmxTiles::new()),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-amx", F16, "amx", ["avx512f", "avx512bw", "f16c"], amx::F16, skinny: (F32Avx512, WidenF16, WidenF16, false), where: amx::is_available(AmxType::F16), with: AmxTiles::new()),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-amx", I8, "amx", ["avx512f", "avx512bw", "avx512vnni"], amx::I8, skinny: (Vnni512, OffsetQuads, Quads, true), where: amx::is_available(AmxType::I8), with: AmxTiles::new()),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx512bf16", Bf16, "avx512", ["avx512f", "avx512bw", "avx512bf16"], VectorMicroKernel<simd::Bf16Avx512, Pairs, Pairs, 6, 4, 64, false>, skinny: (Bf16Avx512, Pairs, Pairs, false), where: !is_intel()),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx512", Bf16, "avx512", ["avx512f", "avx512bw"], VectorMicroKernel<simd::F32Avx512, WidenBf16, WidenBf16, 6, 4, 64, false>, skinny: (F32Avx512, WidenBf16, WidenBf16, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx512", F16, "avx512", ["avx512f", "avx512bw", "f16c"], VectorMicroKernel<simd::F32Avx512, WidenF16, WidenF16, 6, 4, 64, false>, skinny: (F32Avx512, WidenF16, WidenF16, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx512", F32, "avx512", ["avx512f", "avx512bw"], VectorMicroKernel<simd::F32Avx512, F32, F32, 6, 4, 64, false>, skinny: (F32Avx512, F32, F32, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx512vnni", I8, "avx512", ["avx512f", "avx512bw", "avx512vnni"], VectorMicroKernel<simd::Vnni512, OffsetQuads, Quads, 6, 4, 64, true>, skinny: (Vnni512, OffsetQuads, Quads, true)),
    // Rounds partial sums to f16, so it is used only if requested by name.
    #[cfg(target_arch = "x86_64")]
    candidate!(F16_SUMS, F16, "avx512fp16", ["avx512f", "avx512bw", "avx512fp16", "f16c"], Fp16Avx512, skinny: (F32Avx512, WidenF16, WidenF16, false)).always_packed(),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avxvnni", I8, "avx2", ["avx2", "avxvnni"], VectorMicroKernel<simd::VnniAvx, OffsetQuads, Quads, 6, 2, 16, true>, skinny: (VnniAvx, OffsetQuads, Quads, true)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx2", I8, "avx2", ["avx2"], VectorMicroKernel<simd::PairsAvx2, PairsOfI8, PairsOfI8, 6, 2, 16, false>, skinny: (PairsAvx2, PairsOfI8, PairsOfI8, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx2", Bf16, "avx2", ["avx2", "fma"], VectorMicroKernel<simd::F32Fma, WidenBf16, WidenBf16, 6, 2, 16, false>, skinny: (F32Fma, WidenBf16, WidenBf16, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx2", F16, "avx2", ["avx2", "fma", "f16c"], VectorMicroKernel<simd::F32Fma, WidenF16, WidenF16, 6, 2, 16, false>, skinny: (F32Fma, WidenF16, WidenF16, false)),
    #[cfg(target_arch = "x86_64")]
    candidate!("native-avx2", F32, "avx2", ["avx2", "fma"], VectorMicroKernel<simd::F32Fma, F32, F32, 6, 2, 16, false>, skinny: (F32Fma, F32, F32, false)),
    plain!(I8, PairsPlain, PairsOfI8),
    plain!(Bf16, F32Plain, WidenBf16),
    plain!(F16, F32Plain, WidenF16),
    plain!(F32, F32Plain, F32),
];
