//! The highest rate of AMX: products of whole tiles, in four sums, as in [`dots`](super::dots).
//!
//! Of four tiles of operands, with bf16 and f16 two are the others negated, so that every second
//! product takes back the first; with i8 all four are random. One more half of a turn stands at the
//! end in both.

use std::arch::asm;
use std::hint::black_box;
use std::sync::LazyLock;

use half::{bf16, f16};
use rsb_device::operation::PeakArithmetic;
use rsb_device::random::{Distribution, Values};
use rsb_gemm::amx::{self, AmxTiles, AmxType};
use rsb_model::Dtype;

use super::{BurstKernel, SEED};

/// Units of [`PeakArithmetic::UNIT`] that are whole turns of every type.
const GRAIN: usize = 32;
/// Rows of a tile, and its words in a row.
const SIDE: usize = 16;
/// Sums, and tiles of operands.
const TILES: usize = 4;

/// The burst of `dtype`, where the CPU has tiles for it.
pub(super) fn burst(dtype: Dtype) -> Option<BurstKernel> {
    let (of, burst): (_, super::Burst) = match dtype {
        Dtype::Bf16 => (AmxType::Bf16, bf16_burst),
        Dtype::F16 => (AmxType::F16, f16_burst),
        Dtype::I8 => (AmxType::I8, i8_burst),
        _ => return None,
    };
    amx::is_available(of).then_some(BurstKernel { burst, name: "native-amx", grain: GRAIN })
}

/// Which tiles of operands make the product of each sum, in one half of a turn and in the other: no
/// instruction takes one tile twice.
const PRODUCTS: [[(usize, usize); TILES]; 2] =
    [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 3), (1, 2), (2, 1), (3, 0)]];

macro_rules! turns {
    ($name:ident, $instruction:literal) => {
        /// So many turns and half of one.
        ///
        /// # Safety
        /// The operands are four tiles, the sums another four; the CPU has the unit, and this
        /// thread its tiles.
        unsafe fn $name(turns: usize, operands: *const u32, sums: *mut u32) {
            // SAFETY: it reads the operands and writes the sums, by the promise of the caller.
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

/// Four tiles of operands, and where the sums come to by either half of a turn: made once, since
/// that takes longer than a burst.
struct Operands {
    words: Vec<u32>,
    products: [Vec<f64>; 2],
}

impl Operands {
    /// `product` multiplies a word of A by one of B.
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

    /// Turns of so many units, whose words hold so many numbers, and the sums after them.
    fn after(&self, units: usize, in_word: usize, work: Turns) -> (usize, Vec<u32>) {
        let of_turn = PRODUCTS.as_flattened().len() * 2 * SIDE * SIDE * SIDE * in_word;
        let turns = units * PeakArithmetic::UNIT as usize / of_turn;
        let mut sums = vec![0; self.words.len()];
        // SAFETY: both are four tiles; no burst is found without the unit, and this thread has no
        // tiles meanwhile.
        unsafe {
            let _tiles = AmxTiles::new();
            work(turns, black_box(self.words.as_ptr()), sums.as_mut_ptr());
        }
        (turns, sums)
    }
}

/// So many turns of four tiles of operands, and where their sums go.
type Turns = unsafe fn(turns: usize, operands: *const u32, sums: *mut u32);

/// So many tiles of random words, each made of two numbers.
fn random(tiles: usize, distribution: Distribution, word: impl Fn(f64, f64) -> u32) -> Vec<u32> {
    let values = Values::new(SEED, 0, distribution);
    let number = |index: usize| values.wide(index as u64);
    (0..tiles * SIDE * SIDE).map(|index| word(number(2 * index), number(2 * index + 1))).collect()
}

/// Operands of 16 bits, from 1/2 to 1 and of either sign.
fn of_halves(narrow: fn(f64) -> u16, wide: fn(u16) -> f64) -> Operands {
    /// The signs of both halves of a word.
    const SIGNS: u32 = 0x8000_8000;
    let half = |value: f64| u32::from(narrow(value / 2.0 + value.signum() / 2.0));
    let mut words =
        random(TILES / 2, Distribution::Signed, |low, high| half(low) | half(high) << 16);
    let less: Vec<u32> = words.iter().map(|word| word ^ SIGNS).collect();
    words.extend(less);
    let low = |a: u32, b: u32| wide(a as u16) * wide(b as u16);
    Operands::new(words, |a, b| low(a, b) + low(a >> 16, b >> 16))
}

/// max|x − ref| / max|ref| after so many units.
fn error_of_halves(operands: &Operands, units: usize, work: Turns) -> f64 {
    let (_, ends) = operands.after(units, 2, work);
    let (mut off, mut scale) = (0.0_f64, 0.0_f64);
    for (end, right) in ends.iter().zip(&operands.products[0]) {
        let difference = (f64::from(f32::from_bits(*end)) - right).abs();
        off = if difference <= off { off } else { difference };
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
    // Modulo 2³², and far below what an f64 holds exactly before it is multiplied.
    let right = |(first, second): (&f64, &f64)| {
        ((first + second) as i64)
            .wrapping_mul((turns as u64).cast_signed())
            .wrapping_add(*first as i64) as u32
    };
    let is_right = ends.into_iter().eq(first.iter().zip(second).map(right));
    if turns > 0 && is_right { 0.0 } else { 1.0 }
}
