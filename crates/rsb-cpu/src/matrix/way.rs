//! Which unit makes which product, and how a part of C is cut into blocks and tiles for it.

use rsb_device::operation::Gemm;
use rsb_model::{Dtype, Reason};

use super::few::few;
use super::pack::{F32, Fours, FoursFrom128, Packing, Pairs, PairsOfI8, WidenBf16, WidenF16, pack};
use super::tile::{less_128_of_b, tile};
use super::unit::{self, Unit};
use super::{Room, Task, is_direct};

/// Words in depth of a block. A panel of B is then in the second cache, not in the first, which costs nothing: it is read in a
/// row. What costs is C, which every block in depth reads and writes again.
pub(super) const DEPTH: usize = 1024;
/// Rows of a block of A: with `DEPTH` words in each, 2 MB.
pub(super) const ROWS: usize = 480;
/// Columns of a block of B: 8 MB.
pub(super) const COLUMNS: usize = 2048;

/// What providers of our own are called: the widest units that are here, and no wider ones than these.
const WIDEST: &str = "native";
/// As [`WIDEST`].
pub(crate) const NAMES: [&str; 3] = [WIDEST, "native-avx512", "native-avx2"];

/// A way to make products.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Which units do it.
    pub(super) name: &'static str,
    /// The sums of a part of C.
    pub(super) block: unsafe fn(&Task<'_>, &mut Room),
    /// The same of few rows, where the CPU has vectors for it.
    pub(super) few: Option<unsafe fn(&Task<'_>, &mut Room)>,
    /// Rows and columns of a tile.
    pub(super) tile: (usize, usize),
    /// Elements of A in a word.
    pub(super) group: usize,
}

/// Finds the way of a product by a provider of our own.
pub(super) fn find(name: &str, op: &Gemm) -> Result<Way, Reason> {
    let lacks = |why: String, cure: &str| Err(Reason::new(format!("{} product by {name}", op.dtype), why, cure));
    if op.dtype == Dtype::I8 && op.is_narrowed() {
        return lacks("its sums of i8 are of 32 bits".to_owned(), "choose output=wide");
    }
    let of_type = || ALL.iter().filter(|candidate| candidate.dtypes.contains(&op.dtype));
    if of_type().next().is_none() {
        return lacks("its types are f32, f16, bf16 and i8".to_owned(), "choose one of these, or another provider");
    }
    let set = name.strip_prefix(WIDEST).map_or(name, |set| set.trim_start_matches('-'));
    let found = of_type().find(|candidate| (set.is_empty() || candidate.set == set) && (candidate.is_here)());
    match found {
        Some(candidate) => Ok(candidate.way),
        None => {
            lacks(format!("this CPU has no {set} for it"), "choose provider=native, which takes the widest units here")
        }
    }
}

/// Whether a provider of our own can do it here.
pub(crate) fn check(name: &str, op: &Gemm) -> Result<(), Reason> {
    find(name, op).map(drop)
}

/// Every way that this CPU has, and for which types, be there wider ones.
#[cfg(test)]
pub(super) fn here() -> impl Iterator<Item = (Way, &'static [Dtype])> {
    ALL.iter().filter(|candidate| (candidate.is_here)()).map(|candidate| (candidate.way, candidate.dtypes))
}

/// A way, for which types, and where.
struct Candidate {
    dtypes: &'static [Dtype],
    /// The instruction set that names ask for.
    set: &'static str,
    is_here: fn() -> bool,
    way: Way,
}

/// What has `$features` as ways by `$unit`, tiles of `$rows` rows and `$vectors` vectors, `$columns` columns.
macro_rules! way {
    ($name:literal, $dtypes:expr, $set:literal, [$($feature:tt),*], $unit:ident, $a:ident, $b:ident,
     $rows:literal x $vectors:literal = $columns:literal, from_128: $from_128:literal) => {
        Candidate {
            dtypes: $dtypes,
            set: $set,
            is_here: || true $(&& std::arch::is_x86_feature_detected!($feature))*,
            way: Way {
                name: $name,
                block: {
                    $(#[target_feature(enable = $feature)])*
                    unsafe fn of_unit(task: &Task<'_>, room: &mut Room) {
                        // SAFETY: by the promise of the caller; this function has what the unit needs.
                        unsafe { block::<unit::$unit, $a, $b, $rows, $vectors, $columns, $from_128>(task, room) }
                    }
                    of_unit
                },
                few: Some({
                    $(#[target_feature(enable = $feature)])*
                    unsafe fn of_unit(task: &Task<'_>, room: &mut Room) {
                        // SAFETY: as above.
                        unsafe { few::<unit::$unit, $a, $b, 4, $from_128>(task, room) }
                    }
                    of_unit
                }),
                tile: ($rows, $columns),
                group: <$a as Packing>::GROUP,
            },
        }
    };
}

/// In the order in which they are preferred.
#[rustfmt::skip]
const ALL: &[Candidate] = &[
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512bf16", &[Dtype::Bf16], "avx512", ["avx512f", "avx512bw", "avx512bf16"], Bf16Avx512, Pairs, Pairs, 6 x 4 = 64, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", &[Dtype::Bf16], "avx512", ["avx512f", "avx512bw"], F32Avx512, WidenBf16, WidenBf16, 6 x 4 = 64, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", &[Dtype::F16], "avx512", ["avx512f", "avx512bw", "f16c"], F32Avx512, WidenF16, WidenF16, 6 x 4 = 64, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512", &[Dtype::F32], "avx512", ["avx512f", "avx512bw"], F32Avx512, F32, F32, 6 x 4 = 64, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx512vnni", &[Dtype::I8], "avx512", ["avx512f", "avx512bw", "avx512vnni"], Vnni512, FoursFrom128, Fours, 6 x 4 = 64, from_128: true),
    #[cfg(target_arch = "x86_64")]
    way!("native-avxvnni", &[Dtype::I8], "avx2", ["avx2", "avxvnni"], VnniAvx, FoursFrom128, Fours, 6 x 2 = 16, from_128: true),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", &[Dtype::I8], "avx2", ["avx2"], PairsAvx2, PairsOfI8, PairsOfI8, 6 x 2 = 16, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", &[Dtype::Bf16], "avx2", ["avx2", "fma"], F32Fma, WidenBf16, WidenBf16, 6 x 2 = 16, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", &[Dtype::F16], "avx2", ["avx2", "fma", "f16c"], F32Fma, WidenF16, WidenF16, 6 x 2 = 16, from_128: false),
    #[cfg(target_arch = "x86_64")]
    way!("native-avx2", &[Dtype::F32], "avx2", ["avx2", "fma"], F32Fma, F32, F32, 6 x 2 = 16, from_128: false),
    Candidate { dtypes: &[Dtype::I8], set: "", is_here: || true, way: Way { name: "native", block: block::<unit::PairsPlain, PairsOfI8, PairsOfI8, 4, 1, 8, false>, few: None, tile: (4, 8), group: 2 } },
    Candidate { dtypes: &[Dtype::Bf16], set: "", is_here: || true, way: Way { name: "native", block: block::<unit::F32Plain, WidenBf16, WidenBf16, 4, 1, 8, false>, few: None, tile: (4, 8), group: 1 } },
    Candidate { dtypes: &[Dtype::F16], set: "", is_here: || true, way: Way { name: "native", block: block::<unit::F32Plain, WidenF16, WidenF16, 4, 1, 8, false>, few: None, tile: (4, 8), group: 1 } },
    Candidate { dtypes: &[Dtype::F32], set: "", is_here: || true, way: Way { name: "native", block: block::<unit::F32Plain, F32, F32, 4, 1, 8, false>, few: None, tile: (4, 8), group: 1 } },
];

/// The sums of a part of C by `U`, in tiles of `R` rows and `V` vectors, which are `W` columns. Where `FROM_128`, A is 128 too
/// much.
///
/// # Safety
/// As [`super::Ready::run`], on a CPU that has the unit, in a function that is compiled for it; the room is for this part.
#[inline(always)]
unsafe fn block<U, A, B, const R: usize, const V: usize, const W: usize, const FROM_128: bool>(
    task: &Task<'_>,
    room: &mut Room,
) where
    U: Unit,
    A: Packing,
    B: Packing,
{
    let (rows, columns) = (&task.part.rows, &task.part.columns);
    let (a, b) = (task.a::<A::Element>(), task.b::<B::Element>());
    let (packed_a, packed_b) = (room.a.as_mut_ptr().cast::<u32>(), room.b.as_mut_ptr().cast::<u32>());
    let begin = room.begin.as_mut_ptr().cast::<u32>();
    let own = (room.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if is_direct(&task.op) { (task.c, task.stride) } else { own };
    let all = a.depth.div_ceil(A::GROUP);
    for j in (0..columns.len()).step_by(COLUMNS) {
        let width = COLUMNS.min(columns.len() - j);
        for word in (0..all).step_by(DEPTH) {
            let words = word..all.min(word + DEPTH);
            // SAFETY: rows, columns and words of the matrices, in a room for as many; tiles within this part of C.
            unsafe {
                pack::<B, W>(b, (columns.start + j, width), &words, packed_b);
                for i in (0..rows.len()).step_by(ROWS) {
                    let height = ROWS.min(rows.len() - i);
                    pack::<A, R>(a, (rows.start + i, height), &words, packed_a);
                    for column in (0..width).step_by(W) {
                        let panel = packed_b.add(column * words.len());
                        if FROM_128 {
                            less_128_of_b::<U, V>(words.len(), panel, begin);
                        }
                        for row in (0..height).step_by(R) {
                            let panels = (packed_a.add(row * words.len()).cast_const(), panel.cast_const());
                            let to = c.add((i + row) * stride + j + column);
                            let there = (R.min(height - row), W.min(width - column));
                            let is_whole = there == (R, W);
                            let edge = (room.tile.as_mut_ptr().cast::<u32>(), W);
                            let (at, step) = if is_whole { (to, stride) } else { edge };
                            if !is_whole {
                                copy((to, stride), edge, there);
                            }
                            tile::<U, R, V>(words.len(), panels, begin, (at, step, word > 0));
                            if !is_whole {
                                copy(edge, (to, stride), there);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Copies so many rows and columns of words between places whose rows begin at such distances.
///
/// # Safety
/// Both places have them and do not overlap.
unsafe fn copy((from, step): (*mut u32, usize), (to, stride): (*mut u32, usize), (rows, columns): (usize, usize)) {
    for row in 0..rows {
        // SAFETY: by the promise of the caller.
        unsafe { to.add(row * stride).copy_from_nonoverlapping(from.add(row * step), columns) };
    }
}
