//! Peak rate of AMX: products of whole tiles with four accumulator tiles, as in
//! [`dots`](super::dots).
//!
//! A turn has two halves of four products, one per accumulator. With bf16 and f16, two of the four
//! operand tiles are the negatives of the other two, so that the second half cancels the first;
//! with i8, all four are random. In both cases the burst ends with an additional half turn.

use std::arch::asm;
use std::hint::black_box;
use std::sync::LazyLock;

use half::{bf16, f16};
use rsb_device::operation::PeakArithmetic;
use rsb_device::random::{Distribution, Values};
use rsb_gemm::amx::{self, AmxTiles, AmxType};
use rsb_model::Dtype;

use super::{BurstKernel, SEED, larger_error};

/// Number of [`PeakArithmetic::UNIT`]s that is a whole number of turns for every type.
const GRAIN: usize = 32;
/// Rows of a tile, and words per row.
const SIDE: usize = 16;
/// Number of accumulator tiles, and of operand tiles.
const TILES: usize = 4;

/// Returns the burst of `dtype`, if the CPU has tiles for it.
pub(super) fn burst(dtype: Dtype) -> Option<BurstKernel> {
    let (of, burst): (_, super::Burst) = match dtype {
        Dtype::Bf16 => (AmxType::Bf16, bf16_burst),
        Dtype::F16 => (AmxType::F16, f16_burst),
        Dtype::I8 => (AmxType::I8, i8_burst),
        _ => return None,
    };
    amx::is_available(of).then_some(BurstKernel { burst, name: "native-amx", grain: GRAIN })
}

/// Operand tiles of each product in the two halves of a turn. No instruction uses one tile twice.
const PRODUCTS: [[(usize, usize); TILES]; 2] =
    [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 3), (1, 2), (2, 1), (3, 0)]];

macro_rules! turns {
    ($name:ident, $instruction:literal) => {
        /// Executes `turns` turns and one half turn.
        ///
        /// # Safety
        /// `operands` is valid for reads of four tiles, and `sums` for writes of four tiles. The
        /// CPU has the unit, and this thread has configured its tiles.
        unsafe fn $name(turns: usize, operands: *const u32, sums: *mut u32) {
            // SAFETY: the assembly reads only the operands and writes only the sums, which the
            // caller guarantees to be valid.
            unsafe {
                asm!(
                    "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                    "tileloadd tmm4, [{operands} + {row} * 1]",
                    "tileloadd tmm5, [{operands} + {row} * 1 + 1024]",
                    "tileloadd tmm6, [{operands} + {row} * 1 + 2048]",
                    "tileloadd tmm7, [{operands} + {row} * 1 + 3072]",
                    "test {turns}, {turns}",
                    "jz 3f",
                    "2:",
                    concat!($instruction, " tmm0, tmm4, tmm5"),
                    concat!($instruction, " tmm1, tmm5, tmm4"),
                    concat!($instruction, " tmm2, tmm6, tmm7"),
                    concat!($instruction, " tmm3, tmm7, tmm6"),
                    concat!($instruction, " tmm0, tmm4, tmm7"),
                    concat!($instruction, " tmm1, tmm5, tmm6"),
                    concat!($instruction, " tmm2, tmm6, tmm5"),
                    concat!($instruction, " tmm3, tmm7, tmm4"),
                    "dec {turns}",
                    "jnz 2b",
                    concat!($instruction, " tmm0, tmm4, tmm5"),
                    concat!($instruction, " tmm1, tmm5, tmm4"),
                    concat!($instruction, " tmm2, tmm6, tmm7"),
                    concat!($instruction, " tmm3, tmm7, tmm6"),
                    "3:",
                    "tilestored [{sums} + {row} * 1], tmm0",
                    "tilestored [{sums} + {row} * 1 + 1024], tmm1",
                    "tilestored [{sums} + {row} * 1 + 2048], tmm2",
                    "tilestored [{sums} + {row} * 1 + 3072], tmm3",
                    turns = inout(reg) turns => _,
                    operands = in(reg) operands,
                    sums = in(reg) sums,
                    row = in(reg) 4 * SIDE,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}
turns!(bf16_turns, "tdpbf16ps");
turns!(f16_turns, "tdpfp16ps");
turns!(i8_turns, "tdpbssd");

/// Four operand tiles and the expected sums after each half of a turn. Computed once, since that
/// takes longer than a burst.
struct Operands {
    words: Vec<u32>,
    products: [Vec<f64>; 2],
}

impl Operands {
    /// Creates operands and their expected sums. `product` multiplies a word of A by one of B.
    fn new(words: Vec<u32>, product: impl Fn(u32, u32) -> f64) -> Self {
        let at =
            |tile: usize, row: usize, column: usize| words[(tile * SIDE + row) * SIDE + column];
        let products = PRODUCTS.map(|half| {
            let mut all = Vec::with_capacity(words.len());
            for (a, b) in half {
                for place in 0..SIDE * SIDE {
                    let (row, column) = (place / SIDE, place % SIDE);
                    all.push(
                        (0..SIDE).map(|word| product(at(a, row, word), at(b, word, column))).sum(),
                    );
                }
            }
            all
        });
        Self { words, products }
    }

    /// Executes `units` units with `in_word` numbers per word. Returns the number of turns and the
    /// sums.
    fn after(&self, units: usize, in_word: usize, work: Turns) -> (usize, Vec<u32>) {
        let of_turn = PRODUCTS.as_flattened().len() * 2 * SIDE * SIDE * SIDE * in_word;
        let turns = units * PeakArithmetic::UNIT as usize / of_turn;
        let mut sums = vec![0; self.words.len()];
        // SAFETY: `words` and `sums` have four tiles each; a burst is returned only if the CPU has
        // the unit, and this thread has no other tiles meanwhile.
        unsafe {
            let _tiles = AmxTiles::new();
            work(turns, black_box(self.words.as_ptr()), sums.as_mut_ptr());
        }
        (turns, sums)
    }
}

/// Function that executes `turns` turns with four operand tiles and writes the sums.
type Turns = unsafe fn(turns: usize, operands: *const u32, sums: *mut u32);

/// Returns `tiles` tiles of random words, each made from two numbers.
fn random(tiles: usize, distribution: Distribution, word: impl Fn(f64, f64) -> u32) -> Vec<u32> {
    let values = Values::new(SEED, 0, distribution);
    let number = |index: usize| values.wide(index as u64);
    (0..tiles * SIDE * SIDE).map(|index| word(number(2 * index), number(2 * index + 1))).collect()
}

/// Creates 16-bit operands from 1/2 to 1 with random signs.
fn of_halves(narrow: fn(f64) -> u16, wide: fn(u16) -> f64) -> Operands {
    /// Sign bits of both halves of a word.
    const SIGNS: u32 = 0x8000_8000;
    let half = |value: f64| u32::from(narrow(value / 2.0 + value.signum() / 2.0));
    let mut words =
        random(TILES / 2, Distribution::Signed, |low, high| half(low) | half(high) << 16);
    let less: Vec<u32> = words.iter().map(|word| word ^ SIGNS).collect();
    words.extend(less);
    let low = |a: u32, b: u32| wide(a as u16) * wide(b as u16);
    Operands::new(words, |a, b| low(a, b) + low(a >> 16, b >> 16))
}

/// Returns max|x − ref| / max|ref| after `units` units.
fn error_of_halves(operands: &Operands, units: usize, work: Turns) -> f64 {
    let (_, ends) = operands.after(units, 2, work);
    let (mut off, mut scale) = (0.0_f64, 0.0_f64);
    for (end, right) in ends.iter().zip(&operands.products[0]) {
        let difference = (f64::from(f32::from_bits(*end)) - right).abs();
        off = larger_error(off, difference);
        scale = scale.max(right.abs());
    }
    off / scale
}

fn bf16_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands> = LazyLock::new(|| {
        of_halves(|x| bf16::from_f64(x).to_bits(), |bits| bf16::from_bits(bits).to_f64())
    });
    error_of_halves(&OPERANDS, units, bf16_turns)
}

fn f16_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands> = LazyLock::new(|| {
        of_halves(|x| f16::from_f64(x).to_bits(), |bits| f16::from_bits(bits).to_f64())
    });
    error_of_halves(&OPERANDS, units, f16_turns)
}

fn i8_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands> = LazyLock::new(|| {
        let words = random(TILES, Distribution::Unit, |value, _| (value * 2_f64.powi(32)) as u32);
        let numbers = |word: u32| word.to_le_bytes().map(|byte| f64::from(byte.cast_signed()));
        Operands::new(words, |a, b| {
            numbers(a).into_iter().zip(numbers(b)).map(|(a, b)| a * b).sum()
        })
    });
    let (turns, ends) = OPERANDS.after(units, 4, i8_turns);
    let [first, second] = &OPERANDS.products;
    // Sums wrap modulo 2³². Before the multiplication they are far below the exact range of f64.
    let right = |(first, second): (&f64, &f64)| {
        ((first + second) as i64)
            .wrapping_mul((turns as u64).cast_signed())
            .wrapping_add(*first as i64) as u32
    };
    let is_right = ends.into_iter().eq(first.iter().zip(second).map(right));
    if turns > 0 && is_right { 0.0 } else { 1.0 }
}
