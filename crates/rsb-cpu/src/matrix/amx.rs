//! Products of whole tiles by AMX: sixteen rows of A by sixteen columns of B, sixteen words in
//! depth, in one instruction.
//!
//! The standard library has no functions for it yet, so the instructions are written here. Each
//! keeps its tiles to itself: what one leaves in them, no other relies on.

mod few;
mod pack;

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ops::Range;
use std::sync::OnceLock;

use super::block::Multiply;
use super::pack::{Fours, Packing, Pairs, Source};
use super::tile::OutputTile;
pub(super) use few::few;
use pack::{pack_tiles, pack_words};

/// Rows of a tile, columns, and words in its depth.
const SIDE: usize = 16;
/// Rows and columns of C that are multiplied at once, in four tiles.
const PANEL: usize = 2 * SIDE;

/// What an AMX unit multiplies.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    Bf16,
    F16,
    I8,
}

/// Whether the CPU has the unit, and Linux lets this process use it: it asks when first asked.
pub(crate) fn is_here(of: Type) -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    let (leaf, highest) = (7, __cpuid(0).eax);
    if highest < leaf {
        return false;
    }
    let (first, second) = (__cpuid_count(leaf, 0), __cpuid_count(leaf, 1));
    let has_unit = match of {
        Type::Bf16 => has_bit(first.edx, 22),
        Type::I8 => has_bit(first.edx, 25),
        Type::F16 => has_bit(second.eax, 21),
    };
    has_bit(first.edx, 24) && has_unit && *ALLOWED.get_or_init(ask)
}

fn has_bit(register: u32, bit: u32) -> bool {
    register & (1 << bit) != 0
}

/// Asks Linux for room for tiles among what it saves of each thread (`arch_prctl(2)`).
#[cfg(target_os = "linux")]
fn ask() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: it takes two numbers and touches no memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn ask() -> bool {
    false
}

/// While it lives, this thread has eight tiles of 16 rows of 64 bytes.
pub(crate) struct Tiles(());

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_row: [u16; 16],
    rows: [u8; 16],
}

impl Tiles {
    /// # Safety
    /// [`is_here`] said yes, and this thread has none yet.
    pub(crate) unsafe fn new() -> Self {
        let rows = std::array::from_fn(|tile| if tile < 8 { SIDE as u8 } else { 0 });
        let bytes_of_row = rows.map(|rows| 4 * u16::from(rows));
        let shape = Shape { palette: 1, start_row: 0, reserved: [0; 14], bytes_of_row, rows };
        // SAFETY: it reads the shape, which is a valid one; the unit is here, by the promise of the
        // caller.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const shape, options(nostack, preserves_flags, readonly));
        };
        Self(())
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: this thread has tiles; what is in them is nobody's any more.
        unsafe { asm!("tilerelease", options(nostack, preserves_flags, nomem)) };
    }
}

/// Rows of a panel of A, or of what takes its place: where those of the first tile begin, those of
/// the second, the bytes from row to row, and those from step to step.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    first: *const u8,
    second: *const u8,
    row: usize,
    step: usize,
}

/// An instruction of the unit.
///
/// # Safety
/// As [`Multiply`].
pub(super) unsafe trait Unit: Multiply {
    /// As [`Multiply::multiply`], of rows wherever they are.
    ///
    /// # Safety
    /// As there; the rows hold as many words, in whole steps.
    unsafe fn tile(words: usize, rows: Rows, b: *const u32, output: OutputTile);
}

/// A tile of C of 32 rows and columns by `$instruction`, for which [`Tiles`] must be there.
macro_rules! tiles {
    ($(#[$about:meta])* $name:ident, $packing:ident, $instruction:literal) => {
        $(#[$about])*
        pub(super) struct $name;

        // SAFETY: it reads panels as they are packed, whose steps are whole, and C where the trait
        // says.
        unsafe impl Multiply for $name {
            type A = $packing;
            type B = $packing;
            const ROWS: usize = PANEL;
            const COLUMNS: usize = PANEL;
            const DEPTH: usize = 1024;
            /// With `DEPTH` words in each, half a megabyte.
            const BLOCK: usize = 128;
            const STEP: usize = SIDE;

            #[inline(always)]
            unsafe fn pack_a(
                source: Source<<$packing as Packing>::Element>,
                lanes: &Range<usize>,
                words: &Range<usize>,
                to: *mut u32,
            ) {
                // SAFETY: by the promise of the caller, here and below.
                unsafe { pack_tiles::<$packing>(source, lanes, words, to) };
            }

            #[inline(always)]
            unsafe fn pack_b(
                source: Source<<$packing as Packing>::Element>,
                lanes: &Range<usize>,
                words: &Range<usize>,
                to: *mut u32,
            ) {
                // SAFETY: as above.
                unsafe { pack_words::<$packing>(source, lanes, words, to) };
            }

            #[inline(always)]
            unsafe fn multiply(
                words: usize,
                a: *const u32,
                b: *const u32,
                _begin: *const u32,
                output: OutputTile,
            ) {
                let first = a.cast::<u8>();
                // SAFETY: as above: two tiles follow one another, and then those of the next step.
                unsafe {
                    let rows = Rows { first, second: first.add(1024), row: 4 * SIDE, step: 2048 };
                    <Self as Unit>::tile(words, rows, b, output);
                }
            }
        }

        // SAFETY: it reads the rows, and else what `Multiply` says.
        unsafe impl Unit for $name {
            #[inline(always)]
            unsafe fn tile(words: usize, rows: Rows, b: *const u32, output: OutputTile) {
                // SAFETY: by the promise of the caller; tiles are named as clobbered, though
                // nothing else uses any.
                unsafe {
                    asm!(
                        "test {adds:e}, {adds:e}",
                        "jz 3f",
                        "tileloadd tmm0, [{c} + {stride} * 1]",
                        "tileloadd tmm1, [{c} + {stride} * 1 + 64]",
                        "tileloadd tmm2, [{below} + {stride} * 1]",
                        "tileloadd tmm3, [{below} + {stride} * 1 + 64]",
                        "jmp 2f",
                        "3:",
                        "tilezero tmm0",
                        "tilezero tmm1",
                        "tilezero tmm2",
                        "tilezero tmm3",
                        "2:",
                        "tileloadd tmm4, [{first} + {row} * 1]",
                        "tileloadd tmm6, [{b} + {row_of_b} * 1]",
                        "tileloadd tmm7, [{b} + {row_of_b} * 1 + 64]",
                        concat!($instruction, " tmm0, tmm4, tmm6"),
                        "tileloadd tmm5, [{second} + {row} * 1]",
                        concat!($instruction, " tmm1, tmm4, tmm7"),
                        concat!($instruction, " tmm2, tmm5, tmm6"),
                        concat!($instruction, " tmm3, tmm5, tmm7"),
                        "add {first}, {step}",
                        "add {second}, {step}",
                        "add {b}, 2048",
                        "dec {steps}",
                        "jnz 2b",
                        "tilestored [{c} + {stride} * 1], tmm0",
                        "tilestored [{c} + {stride} * 1 + 64], tmm1",
                        "tilestored [{below} + {stride} * 1], tmm2",
                        "tilestored [{below} + {stride} * 1 + 64], tmm3",
                        adds = in(reg) u32::from(output.accumulate),
                        c = in(reg) output.ptr,
                        below = in(reg) output.ptr.add(SIDE * output.stride),
                        stride = in(reg) 4 * output.stride,
                        first = inout(reg) rows.first => _,
                        second = inout(reg) rows.second => _,
                        row = in(reg) rows.row,
                        step = in(reg) rows.step,
                        b = inout(reg) b => _,
                        row_of_b = in(reg) 4 * PANEL,
                        steps = inout(reg) words / SIDE => _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack),
                    );
                }
            }
        }
    };
}

tiles!(
    /// Pairs of bf16, summed in f32.
    Bf16,
    Pairs,
    "tdpbf16ps"
);
tiles!(
    /// Pairs of f16, summed in f32.
    F16,
    Pairs,
    "tdpfp16ps"
);
tiles!(
    /// Fours of i8, summed in 32 bits.
    I8,
    Fours,
    "tdpbssd"
);
