//! The table of kernels, and which of them a provider selects on this CPU.

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

/// The provider that selects the widest units of this CPU.
const WIDEST: &str = "native";
/// The provider that sums up to 32 products in f16.
pub const F16_SUMS: &str = "native-avx512fp16";
/// The providers: the first selects the widest units of this CPU, the others those of one instruction
/// set.
pub const PROVIDERS: [&str; 5] = [WIDEST, "native-amx", F16_SUMS, "native-avx512", "native-avx2"];

/// Returns the kernel of `op` by provider `name`.
///
/// # Errors
/// If the provider has no kernel for the data type, the factors or the output of `op`, or this CPU
/// does not have its instructions.
pub(super) fn find(name: &str, op: &Gemm) -> Result<GemmKernel, Reason> {
    let what = format!("{} product by {name}", op.dtype);
    if op.dtype == Dtype::I8 && op.is_narrowed() {
        return Err(Reason::new(what, "its sums of i8 are of 32 bits", "choose output=wide"));
    }
    if op.dtype == Dtype::I8 && [op.alpha, op.beta].iter().any(|factor| factor.fract() != 0.0) {
        return Err(Reason::new(
            what,
            "its sums are whole numbers, and alpha or beta is not",
            "choose whole alpha and beta",
        ));
    }
    let of_type = || ALL.iter().filter(|candidate| candidate.dtype == op.dtype);
    if of_type().next().is_none() {
        return Err(Reason::new(
            what,
            "its types are f32, f16, bf16 and i8",
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
        format!("this CPU has no {set} for it, or Linux does not let this process use it")
    } else {
        format!("there are no products of {} by {set}", op.dtype)
    };
    Err(Reason::new(what, why, "choose provider=native, which takes the widest units here"))
}

/// Checks that provider `name` has a kernel for `op` on this CPU.
///
/// # Errors
/// If it has none: the reason names the data type, the factors or the instructions.
pub fn check(name: &str, op: &Gemm) -> Result<(), Reason> {
    find(name, op).map(drop)
}

/// Returns whether the widest units of this CPU compute `op`, a product of several rows, without
/// packing B, whose columns lie along the depth. False if `op` is so small that starting takes
/// longest.
pub fn reads_b_once(op: &Gemm) -> bool {
    let rows = op.m as usize;
    if !op.transpose_b || rows <= 1 || op.n * op.k < 1 << 16 {
        return false;
    }
    find(WIDEST, op)
        .is_ok_and(|kernel| kernel.skinny.is_some_and(|skinny| skinny.is_faster(rows, op)))
}

/// Returns every kernel that this CPU can run, with its data type.
#[cfg(test)]
pub(super) fn available() -> impl Iterator<Item = (GemmKernel, Dtype)> {
    ALL.iter()
        .filter(|candidate| (candidate.is_available)())
        .map(|candidate| (candidate.kernel, candidate.dtype))
}

/// A kernel, its data type, and the CPUs that can run it.
struct Candidate {
    dtype: Dtype,
    /// The instruction set that names ask for.
    set: &'static str,
    is_available: fn() -> bool,
    kernel: GemmKernel,
}

impl Candidate {
    /// Without a kernel for few rows, which would use other units than the name says.
    #[cfg(target_arch = "x86_64")]
    const fn always_packed(mut self) -> Self {
        self.kernel.skinny = None;
        self
    }
}

/// A candidate that needs `$feature`s and `$is_available`: its micro-kernel is `$micro_kernel`, few
/// rows use `$unit`, and more of them tiles.
macro_rules! candidate {
    (@skinny [$($feature:tt),*], $micro_kernel:ty, ($unit:ident, $a:ident, $b:ident, $offset_a:literal)) => {
        SkinnyGemm::of_vectors(
            {
                $(#[target_feature(enable = $feature)])*
                unsafe fn of_unit(task: &GemmTask<'_>, scratch: &mut Scratch) {
                    // SAFETY: by the promise of the caller; this function has what the unit needs.
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
                        // SAFETY: by the promise of the caller; this function has what the unit
                        // needs.
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

/// Plain code by `$unit`.
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

/// Returns whether the CPU is made by Intel. On theirs VDPBF16PS was slower than products widened to
/// f32 (Sapphire Rapids); on AMD's it is twice as fast.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
}

/// All kernels, the preferred ones first.
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
    // Its sums are rounded to f16 on the way, so that it is selected only by its name.
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
