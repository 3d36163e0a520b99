//! Every kind of work at four problem sizes.

use criterion::Criterion;
use made_project::{KINDS, next_rounds, work};

const SIZES: [usize; 4] = [1, 8, 64, 512];

fn main() {
    let buffer: Vec<u64> = (0..8 * 512).collect();
    let mut criterion = Criterion::default().configure_from_args();
    for (name, kind) in KINDS {
        for size in SIZES {
            criterion.bench_function(&format!("{name}/{size}"), |bencher| {
                // Called once per sample.
                let rounds = next_rounds();
                bencher.iter(|| work(kind, size, rounds, &buffer));
            });
        }
    }
    criterion.final_summary();
}
