//! The highest rate of AMX: products of whole tiles, in four sums, as in [`dots`](super::dots).
//!
//! Of four tiles of operands, with bf16 and f16 two are the others negated, so that every second product takes back the first;
//! with i8 all four are random. One more half of a turn stands at the end in both.

use std::arch::asm;
use std::hint::black_box;
use std::sync::LazyLock;

use half::{bf16, f16};
use rsb_device::operation::PeakArithmetic;
use rsb_device::random::{Distribution, Values};
use rsb_model::Dtype;

use super::{Found, SEED};
use crate::matrix::amx;

/// Units of [`PeakArithmetic::UNIT`] that are whole turns of every type.
const GRAIN: usize = 32;
/// Rows of a tile, and its words in a row.
const SIDE: usize = 16;
/// Sums, and tiles of operands.
const TILES: usize = 4;

/// A tile of words.
type Tile = [[u32; SIDE]; SIDE];

/// The burst of `dtype`, where the CPU has tiles for it.
pub(super) fn burst(dtype: Dtype) -> Option<Found> {
    let (of, burst): (_, super::Burst) = match dtype {
        Dtype::Bf16 => (amx::Type::Bf16, bf16_burst),
        Dtype::F16 => (amx::Type::F16, f16_burst),
        Dtype::I8 => (amx::Type::I8, i8_burst),
        _ => return None,
    };
    amx::is_here(of).then_some(Found { burst, name: "native-amx", grain: GRAIN })
}

/// Which tiles of operands make the product of each sum, in one half of a turn and in the other: no instruction takes one tile twice.
const PRODUCTS: [[(usize, usize); TILES]; 2] = [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 3), (1, 2), (2, 1), (3, 0)]];

macro_rules! turns {
    ($name:ident, $instruction:literal) => {
        /// So many turns and half of one.
        ///
        /// # Safety
        /// The CPU has the unit, and this thread its tiles.
        unsafe fn $name(turns: usize, operands: &[Tile; TILES], sums: &mut [Tile; TILES]) {
            // SAFETY: it reads the operands and writes the sums, which are whole tiles.
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
                    operands = in(reg) operands.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
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

/// Tiles of operands, and the product of each sum in both halves of a turn: made once, since that takes longer than a burst.
struct Operands<N> {
    tiles: [Tile; TILES],
    products: [[Numbers<N>; TILES]; 2],
}

/// A number for each word of a tile.
type Numbers<N> = [[N; SIDE]; SIDE];

impl<N: Copy> Operands<N> {
    /// `product` multiplies a word of A by one of B; `sum` adds what it gives.
    fn new(tiles: &[Tile; TILES], product: impl Fn(u32, u32) -> N, sum: impl Fn(N, N) -> N) -> Self {
        let dot = |a: &Tile, b: &Tile, row: usize, column: usize| {
            let products = a[row].iter().zip(b).map(|(a, b)| product(*a, b[column]));
            products.reduce(&sum)
        };
        let zero = product(0, 0);
        let of_tiles = |(a, b): (usize, usize)| {
            let at = |row, column| dot(&tiles[a], &tiles[b], row, column).unwrap_or(zero);
            std::array::from_fn(|row| std::array::from_fn(|column| at(row, column)))
        };
        Self { tiles: *tiles, products: PRODUCTS.map(|half| half.map(of_tiles)) }
    }

    /// Turns of so many units, whose words hold so many numbers, and the sums after them.
    fn after(&self, (units, in_word): (usize, usize), work: Turns) -> (usize, [Tile; TILES]) {
        let of_turn = PRODUCTS.as_flattened().len() * 2 * SIDE * SIDE * SIDE * in_word;
        let turns = units * PeakArithmetic::UNIT as usize / of_turn;
        let mut sums = [[[0; SIDE]; SIDE]; TILES];
        // SAFETY: no burst is found without the unit, and this thread has no tiles meanwhile.
        unsafe {
            let _tiles = amx::Tiles::new();
            work(turns, black_box(&self.tiles), &mut sums);
        }
        (turns, sums)
    }
}

/// So many turns with these operands.
type Turns = unsafe fn(usize, &[Tile; TILES], &mut [Tile; TILES]);

/// A tile of random words.
fn random(which: usize, distribution: Distribution, word: impl Fn([f64; 2]) -> u32) -> Tile {
    let values = Values::new(SEED, which, distribution);
    let at = |index: usize| word([2 * index, 2 * index + 1].map(|index| values.wide(index as u64)));
    std::array::from_fn(|row| std::array::from_fn(|column| at(row * SIDE + column)))
}

/// Operands of 16 bits, from 1/2 to 1 and of either sign.
fn of_halves(narrow: fn(f64) -> u16, wide: fn(u16) -> f64) -> Operands<f64> {
    /// The signs of both halves of a word.
    const SIGNS: u32 = 0x8000_8000;
    let pair = |values: [f64; 2]| {
        let [low, high] = values.map(|value| u32::from(narrow(value / 2.0 + value.signum() / 2.0)));
        low | high << 16
    };
    let [a, b] = [0, 1].map(|which| random(which, Distribution::Signed, pair));
    let less = |tile: &Tile| tile.map(|row| row.map(|word| word ^ SIGNS));
    let product = |a: u32, b: u32| wide(a as u16) * wide(b as u16) + wide((a >> 16) as u16) * wide((b >> 16) as u16);
    Operands::new(&[a, b, less(&a), less(&b)], product, |a, b| a + b)
}

/// max|x − ref| / max|ref| after so many units.
fn error_of_halves(operands: &Operands<f64>, units: usize, work: Turns) -> f64 {
    let (_, ends) = operands.after((units, 2), work);
    let (mut off, mut scale) = (0.0_f64, 0.0_f64);
    let pairs = ends.as_flattened().as_flattened().iter().zip(operands.products[0].as_flattened().as_flattened());
    for (end, right) in pairs {
        let difference = (f64::from(f32::from_bits(*end)) - right).abs();
        off = if difference <= off { off } else { difference };
        scale = scale.max(right.abs());
    }
    off / scale
}

fn bf16_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands<f64>> =
        LazyLock::new(|| of_halves(|x| bf16::from_f64(x).to_bits(), |bits| bf16::from_bits(bits).to_f64()));
    error_of_halves(&OPERANDS, units, bf16_turns)
}

fn f16_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands<f64>> =
        LazyLock::new(|| of_halves(|x| f16::from_f64(x).to_bits(), |bits| f16::from_bits(bits).to_f64()));
    error_of_halves(&OPERANDS, units, f16_turns)
}

fn i8_burst(units: usize) -> f64 {
    static OPERANDS: LazyLock<Operands<i32>> = LazyLock::new(|| {
        let word = |[value, _]: [f64; 2]| (value * 2_f64.powi(32)) as u32;
        let product = |a: u32, b: u32| {
            let numbers = |word: u32| word.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
            numbers(a).into_iter().zip(numbers(b)).map(|(a, b)| a * b).sum()
        };
        Operands::new(&[0, 1, 2, 3].map(|which| random(which, Distribution::Unit, word)), product, i32::wrapping_add)
    });
    let (turns, ends) = OPERANDS.after((units, 4), i8_turns);
    let modulo = (turns as u32).cast_signed();
    let [first, second] = OPERANDS.products.each_ref().map(|half| half.as_flattened().as_flattened());
    let pairs = ends.as_flattened().as_flattened().iter().zip(first.iter().zip(second));
    let wrong = pairs.filter(|(end, (first, second))| {
        end.cast_signed() != first.wrapping_add(**second).wrapping_mul(modulo).wrapping_add(**first)
    });
    if turns > 0 && wrong.count() == 0 { 0.0 } else { 1.0 }
}
