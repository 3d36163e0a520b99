//! Which unit makes which product.

use rsb_device::operation::Gemm;
use rsb_model::{Dtype, Reason};

#[cfg(target_arch = "x86_64")]
use super::amx;
use super::block::{Multiply, Vectors, block};
use super::few::{LEAST_OF_TILES, SkinnyGemm, few};
#[cfg(target_arch = "x86_64")]
use super::fp16::Fp16Avx512;
use super::pack::{F32, Fours, FoursFrom128, Packing, Pairs, PairsOfI8, WidenBf16, WidenF16};
use super::unit;
use super::{Scratch, Task};

/// What providers of our own are called: the widest units that are here, and no wider ones than
/// these.
const WIDEST: &str = "native";
/// The provider that sums up to 32 products in f16.
pub(crate) const SHORT_SUMS: &str = "native-avx512fp16";
/// As [`WIDEST`].
pub(crate) const NAMES: [&str; 5] =
    [WIDEST, "native-amx", SHORT_SUMS, "native-avx512", "native-avx2"];

/// The sums of a part of C.
pub(super) type TileFn = unsafe fn(&Task<'_>, &mut Scratch);

/// A way to make products.
#[derive(Clone, Copy)]
pub(super) struct GemmKernel {
    /// Which units do it.
    pub(super) name: &'static str,
    pub(super) block: TileFn,
    /// The same of few rows, where the CPU has vectors for it.
    pub(super) few: Option<SkinnyGemm>,
    /// Rows and columns of a tile.
    pub(super) tile: (usize, usize),
    /// Rows of a block of A.
    pub(super) rows: usize,
    /// Words in depth of a block.
    pub(super) depth: usize,
    /// Elements of A in a word.
    group: usize,
    /// Words that are multiplied at once.
    step: usize,
}

impl GemmKernel {
    const fn new<M: Multiply>(name: &'static str, block: TileFn, few: Option<SkinnyGemm>) -> Self {
        let (tile, group) = ((M::ROWS, M::COLUMNS), <M::A as Packing>::GROUP);
        Self { name, block, few, tile, rows: M::BLOCK, depth: M::DEPTH, group, step: M::STEP }
    }

    /// Words of so many elements in depth.
    pub(super) fn words(&self, depth: usize) -> usize {
        depth.div_ceil(self.group).next_multiple_of(self.step)
    }
}

/// Finds the way of a product by a provider of our own.
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
        .find(|candidate| (set.is_empty() || candidate.set == set) && (candidate.is_here)());
    if let Some(candidate) = found {
        return Ok(candidate.way);
    }
    let is_for_it = of_type().any(|candidate| candidate.set == set);
    let why = if is_for_it {
        format!("this CPU has no {set} for it, or Linux does not let this process use it")
    } else {
        format!("there are no products of {} by {set}", op.dtype)
    };
    Err(Reason::new(what, why, "choose provider=native, which takes the widest units here"))
}

/// Whether a provider of our own can do it here.
pub(crate) fn check(name: &str, op: &Gemm) -> Result<(), Reason> {
    find(name, op).map(drop)
}

/// Every way that this CPU has, and for which type, be there wider ones.
#[cfg(test)]
pub(super) fn here() -> impl Iterator<Item = (GemmKernel, Dtype)> {
    ALL.iter()
        .filter(|candidate| (candidate.is_here)())
        .map(|candidate| (candidate.way, candidate.dtype))
}

/// A way, for which type, and where.
struct Candidate {
    dtype: Dtype,
    /// The instruction set that names ask for.
    set: &'static str,
    is_here: fn() -> bool,
    way: GemmKernel,
}

impl Candidate {
    /// Without another way of few rows, which would be by other units than the name says.
    #[cfg(target_arch = "x86_64")]
    const fn always_packed(mut self) -> Self {
        self.way.few = None;
        self
    }
}

/// What has `$features`, and is there `$where` it says so, as a way by `$multiply`; few rows by
/// `$unit`, and more of them by tiles.
macro_rules! way {
    (@few [$($feature:tt),*], $multiply:ty, ($unit:ident, $a:ident, $b:ident, $from_128:literal)) => {
        SkinnyGemm::of_vectors(
            {
                $(#[target_feature(enable = $feature)])*
                unsafe fn of_unit(task: &Task<'_>, room: &mut Scratch) {
                    // SAFETY: by the promise of the caller; this function has what the unit needs.
                    unsafe { few::<unit::$unit, $a, $b, 4, $from_128>(task, room) }
                }
                of_unit
            },
            <$a as Packing>::GROUP,
        )
    };
    (@few [$($feature:tt),*], $multiply:ty, ($unit:ident, $a:ident, $b:ident, $from_128:literal), $tiles:expr) => {
        SkinnyGemm::of_tiles(
            {
                $(#[target_feature(enable = $feature)])*
                unsafe fn of_unit(task: &Task<'_>, room: &mut Scratch) {
                    // SAFETY: as above.
                    unsafe {
                        if task.op.transpose_b && task.part.rows.len() >= LEAST_OF_TILES {
                            let _tiles = $tiles;
                            amx::few::<$multiply>(task, room);
                        } else {
                            few::<unit::$unit, $a, $b, 4, $from_128>(task, room);
                        }
                    }
                }
                of_unit
            },
            <$a as Packing>::GROUP,
        )
    };
    ($name:expr, $dtype:ident, $set:literal, [$($feature:tt),*], $multiply:ty, few: ($unit:ident, $a:ident, $b:ident, $from_128:literal)
     $(, where: $is_here:expr $(, with: $tiles:expr)?)?) => {
        Candidate {
            dtype: Dtype::$dtype,
            set: $set,
            is_here: || true $(&& std::arch::is_x86_feature_detected!($feature))* $(&& $is_here)?,
            way: GemmKernel::new::<$multiply>(
                $name,
                {
                    $(#[target_feature(enable = $feature)])*
                    unsafe fn of_unit(task: &Task<'_>, room: &mut Scratch) {
                        // SAFETY: by the promise of the caller; this function has what the unit
                        // needs.
                        unsafe {
                            $($(let _tiles = $tiles;)?)?
                            block::<$multiply>(task, room);
                        }
                    }
                    of_unit
                },
                Some(way!(@few [$($feature),*], $multiply, ($unit, $a, $b, $from_128) $($(, $tiles)?)?)),
            ),
        }
    };
}

/// Plain code by `$unit`.
macro_rules! plain {
    ($dtype:ident, $unit:ident, $packing:ident) => {{
        type Plain = Vectors<unit::$unit, $packing, $packing, 4, 1, 8, false>;
        Candidate {
            dtype: Dtype::$dtype,
            set: "",
            is_here: || true,
            way: GemmKernel::new::<Plain>("native", block::<Plain>, None),
        }
    }};
}

/// On Intel's CPUs VDPBF16PS was slower than what is widened to f32 (Sapphire Rapids); on AMD's it
/// is twice as fast.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
}

/// In the order in which they are preferred.
#[rustfmt::skip]
const ALL: &[Candidate] = &[
    #[cfg(target_arch = "x86_64")]
    way!("native-amx", Bf16, "amx", ["avx512f", "avx512bw", "avx512bf16"], amx::Bf16, few: (Bf16Avx512, Pairs, Pairs, false), where: amx::is_here(amx::Type::Bf16), with: amx::Tiles::new()),
    #[cfg(target_arch = "x86_64")]
    way!("native-amx", F16, "amx", ["avx512f", "avx512bw", "f16c"], amx::F16, few: (F32Avx512, WidenF16, WidenF16, false), where: amx::is_here(amx::Type::F16), with: amx::Tiles::new()),
    #[cfg(target_arch = "x86_64")]
    way!("native-amx", I8, "amx", ["avx512f", "avx512bw", "avx512vnni"], amx::I8, few: (Vnni512, FoursFrom128, Fours, true), where: amx::is_here(amx::Type::I8), with: amx::Tiles::new()),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512bf16", Bf16, "avx512", ["avx512f", "avx512bw", "avx512bf16"], Vectors<unit::Bf16Avx512, Pairs, Pairs, 6, 4, 64, false>, few: (Bf16Avx512, Pairs, Pairs, false), where: !is_intel()),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", Bf16, "avx512", ["avx512f", "avx512bw"], Vectors<unit::F32Avx512, WidenBf16, WidenBf16, 6, 4, 64, false>, few: (F32Avx512, WidenBf16, WidenBf16, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", F16, "avx512", ["avx512f", "avx512bw", "f16c"], Vectors<unit::F32Avx512, WidenF16, WidenF16, 6, 4, 64, false>, few: (F32Avx512, WidenF16, WidenF16, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", F32, "avx512", ["avx512f", "avx512bw"], Vectors<unit::F32Avx512, F32, F32, 6, 4, 64, false>, few: (F32Avx512, F32, F32, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512vnni", I8, "avx512", ["avx512f", "avx512bw", "avx512vnni"], Vectors<unit::Vnni512, FoursFrom128, Fours, 6, 4, 64, true>, few: (Vnni512, FoursFrom128, Fours, true)),
    // Its sums are rounded to f16 on the way, so that it is taken only by its name.
    #[cfg(target_arch = "x86_64")]
    way!(SHORT_SUMS, F16, "avx512fp16", ["avx512f", "avx512bw", "avx512fp16", "f16c"], Fp16Avx512, few: (F32Avx512, WidenF16, WidenF16, false)).always_packed(),
    #[cfg(target_arch = "x86_64")]
    way!("native-avxvnni", I8, "avx2", ["avx2", "avxvnni"], Vectors<unit::VnniAvx, FoursFrom128, Fours, 6, 2, 16, true>, few: (VnniAvx, FoursFrom128, Fours, true)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", I8, "avx2", ["avx2"], Vectors<unit::PairsAvx2, PairsOfI8, PairsOfI8, 6, 2, 16, false>, few: (PairsAvx2, PairsOfI8, PairsOfI8, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", Bf16, "avx2", ["avx2", "fma"], Vectors<unit::F32Fma, WidenBf16, WidenBf16, 6, 2, 16, false>, few: (F32Fma, WidenBf16, WidenBf16, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", F16, "avx2", ["avx2", "fma", "f16c"], Vectors<unit::F32Fma, WidenF16, WidenF16, 6, 2, 16, false>, few: (F32Fma, WidenF16, WidenF16, false)),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", F32, "avx2", ["avx2", "fma"], Vectors<unit::F32Fma, F32, F32, 6, 2, 16, false>, few: (F32Fma, F32, F32, false)),
    plain!(I8, PairsPlain, PairsOfI8),
    plain!(Bf16, F32Plain, WidenBf16),
    plain!(F16, F32Plain, WidenF16),
    plain!(F32, F32Plain, F32),
];
