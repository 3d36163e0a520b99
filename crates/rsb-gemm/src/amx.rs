//! AMX: one instruction multiplies 16 rows of A by 16 columns of B, 16 words in depth.
//!
//! The standard library has no stable intrinsics for AMX, so the instructions are inline assembly.
//! No assembly block relies on values that another left in the tile registers.

mod pack;
mod skinny;

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ops::Range;
use std::sync::OnceLock;

use crate::micro_kernel::{MicroKernel, OutputTile};
use crate::pack::{PackSource, Packing, Pairs, Quads};
use pack::{pack_tiles, pack_words};
pub(super) use skinny::skinny_gemm;

/// Rows, columns and words in depth of a tile.
const SIDE: usize = 16;
/// Rows and columns of C that are computed at once, in four tiles.
const PANEL: usize = 2 * SIDE;

/// An element type supported by AMX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmxType {
    /// Pairs of bf16, accumulated in f32.
    Bf16,
    /// Pairs of f16, accumulated in f32.
    F16,
    /// Quads of i8, accumulated in 32 bits.
    I8,
}

/// Returns whether the CPU has AMX for element type `of` and Linux permits this process to use it.
/// The first call requests the permission.
pub fn is_available(of: AmxType) -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    let (leaf, highest) = (7, __cpuid(0).eax);
    if highest < leaf {
        return false;
    }
    let (first, second) = (__cpuid_count(leaf, 0), __cpuid_count(leaf, 1));
    let has_unit = match of {
        AmxType::Bf16 => has_bit(first.edx, 22),
        AmxType::I8 => has_bit(first.edx, 25),
        AmxType::F16 => has_bit(second.eax, 21),
    };
    has_bit(first.edx, 24) && has_unit && *ALLOWED.get_or_init(request_permission)
}

fn has_bit(register: u32, bit: u32) -> bool {
    register & (1 << bit) != 0
}

/// Asks Linux for permission to use the tile registers in this process (`arch_prctl(2)`).
#[cfg(target_os = "linux")]
fn request_permission() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn request_permission() -> bool {
    false
}

/// Tile registers of this thread: eight tiles of 16 rows of 64 bytes, released on drop.
pub struct AmxTiles(());

/// Memory operand of `ldtilecfg`.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_row: [u16; 16],
    rows: [u8; 16],
}

impl AmxTiles {
    /// Configures the tile registers of this thread.
    ///
    /// # Safety
    /// [`is_available`] returned true, and this thread has no other `AmxTiles`.
    #[inline]
    pub unsafe fn new() -> Self {
        let rows = std::array::from_fn(|tile| if tile < 8 { SIDE as u8 } else { 0 });
        let bytes_of_row = rows.map(|rows| 4 * u16::from(rows));
        let config = TileConfig { palette: 1, start_row: 0, reserved: [0; 14], bytes_of_row, rows };
        // SAFETY: the instruction reads a valid configuration; the caller guarantees that AMX is
        // available.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, preserves_flags, readonly));
        };
        Self(())
    }
}

impl Drop for AmxTiles {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread has configured tiles, and nothing uses their content anymore.
        unsafe { asm!("tilerelease", options(nostack, preserves_flags, nomem)) };
    }
}

/// Location of the rows of two tiles of A: the address of each tile, bytes between rows, and bytes
/// between steps.
#[derive(Clone, Copy)]
pub(super) struct TileRows {
    first: *const u8,
    second: *const u8,
    row: usize,
    step: usize,
}

/// An AMX instruction.
///
/// # Safety
/// As [`MicroKernel`].
pub(super) unsafe trait AmxUnit: MicroKernel {
    /// Computes [`MicroKernel::multiply`] with rows of A at any address.
    ///
    /// # Safety
    /// See [`MicroKernel::multiply`]; the rows have `words` words, in whole steps.
    unsafe fn tile(words: usize, rows: TileRows, b: *const u32, output: OutputTile);
}

/// Defines the microkernel for a 32 × 32 tile of C with `$instruction`, which needs [`AmxTiles`].
macro_rules! tiles {
    ($(#[$about:meta])* $name:ident, $packing:ident, $instruction:literal) => {
        $(#[$about])*
        pub(super) struct $name;

        // SAFETY: the kernel reads panels as packed, in whole steps, and writes only to the tile of
        // C.
        unsafe impl MicroKernel for $name {
            type A = $packing;
            type B = $packing;
            const MR: usize = PANEL;
            const NR: usize = PANEL;
            const KC: usize = 1024;
            /// Half a megabyte with `KC` words per row.
            const MC: usize = 128;
            const STEP: usize = SIDE;

            #[inline(always)]
            unsafe fn pack_a(
                source: PackSource<<$packing as Packing>::Element>,
                lanes: &Range<usize>,
                words: &Range<usize>,
                to: *mut u32,
            ) {
                // SAFETY: guaranteed by the caller, here and below.
                unsafe { pack_tiles::<$packing>(source, lanes, words, to) };
            }

            #[inline(always)]
            unsafe fn pack_b(
                source: PackSource<<$packing as Packing>::Element>,
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
                _initial: *const u32,
                output: OutputTile,
            ) {
                let first = a.cast::<u8>();
                // SAFETY: as above; each step has two consecutive tiles.
                unsafe {
                    let rows = TileRows { first, second: first.add(1024), row: 4 * SIDE, step: 2048 };
                    <Self as AmxUnit>::tile(words, rows, b, output);
                }
            }
        }

        // SAFETY: the assembly reads the rows, and otherwise only the memory that `MicroKernel`
        // allows.
        unsafe impl AmxUnit for $name {
            #[inline(always)]
            unsafe fn tile(words: usize, rows: TileRows, b: *const u32, output: OutputTile) {
                // SAFETY: guaranteed by the caller; tile registers are declared as clobbered,
                // though nothing else uses them.
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
    /// Pairs of bf16, accumulated in f32.
    Bf16,
    Pairs,
    "tdpbf16ps"
);
tiles!(
    /// Pairs of f16, accumulated in f32.
    F16,
    Pairs,
    "tdpfp16ps"
);
tiles!(
    /// Quads of i8, accumulated in 32 bits.
    I8,
    Quads,
    "tdpbssd"
);
