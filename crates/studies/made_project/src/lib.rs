//! Work whose time is proportional to its number of rounds, for a study of the gate. A side is made
//! slower only by giving its samples more rounds.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rounds of a sample without a slowdown.
pub const ROUNDS: usize = 100;

/// Extra rounds of successive samples; the list is repeated. The study replaces it to make one side
/// slower.
pub const EXTRA_ROUNDS: &[usize] = &[0];

/// Size in bytes of an unused static array; also added to a sum. The study replaces it to get
/// different machine code that does the same work.
pub const PADDING: usize = 0;

#[used]
static SPACE: [u8; PADDING] = [1; PADDING];

static SAMPLE: AtomicUsize = AtomicUsize::new(0);

/// Returns the rounds of the next sample.
pub fn next_rounds() -> usize {
    let sample = SAMPLE.fetch_add(1, Ordering::Relaxed);
    black_box(ROUNDS + EXTRA_ROUNDS[sample % EXTRA_ROUNDS.len()])
}

/// A kind of work; `size` is the amount of work per round.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A chain of multiplications of integers.
    Integers,
    /// A chain of multiplications and additions of floating-point numbers.
    Floats,
    /// Sums over a buffer of `size` × 64 bytes.
    Memory,
    /// Sorts `size` numbers.
    Sort,
    /// Allocates, fills and frees `size` × 16 bytes.
    Allocation,
}

/// Every kind of work with its name.
pub const KINDS: [(&str, Kind); 5] = [
    ("integers", Kind::Integers),
    ("floats", Kind::Floats),
    ("memory", Kind::Memory),
    ("sort", Kind::Sort),
    ("allocation", Kind::Allocation),
];

/// Performs `rounds` rounds of work of `kind`.
pub fn work(kind: Kind, size: usize, rounds: usize, buffer: &[u64]) -> u64 {
    let mut sum = black_box(PADDING) as u64;
    for round in 0..rounds {
        sum = sum.wrapping_add(match kind {
            Kind::Integers => integers(size, round as u64),
            Kind::Floats => floats(size, round as f64),
            Kind::Memory => buffer[..size * 8].iter().fold(0, |all, each| all ^ black_box(*each)),
            Kind::Sort => sort(size, round as u64),
            Kind::Allocation => black_box(vec![round as u64; size * 2])[size],
        });
    }
    sum
}

fn integers(size: usize, seed: u64) -> u64 {
    (0..size * 4).fold(seed, |state, _| black_box(state).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

fn floats(size: usize, seed: f64) -> u64 {
    (0..size * 4).fold(seed, |state, _| black_box(state).mul_add(0.999_9, 0.5)).to_bits()
}

fn sort(size: usize, seed: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..size as u64).map(|at| (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    numbers.sort_unstable();
    numbers[size / 2]
}
