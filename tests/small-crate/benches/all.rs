//! Every function under Criterion. `SLOWER=name=1.2` multiplies the problem size of one function by
//! 1.2; `WITHOUT=name` omits one.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use small_crate::{collatz, crc, distance, fib, fnv, found, joined, long_words, primes, product, sorted, tree};

fn all(criterion: &mut Criterion) {
    let slower = std::env::var("SLOWER").unwrap_or_default();
    let without = std::env::var("WITHOUT").unwrap_or_default();
    let size = |name: &str, usual: usize| {
        let factor = slower.split_once('=').filter(|(slowed, _)| *slowed == name);
        factor.map_or(usual, |(_, factor)| (usual as f64 * factor.parse::<f64>().unwrap()) as usize)
    };
    let bytes = vec![7_u8; 1 << 16];
    let text = "the quick brown fox jumps over the lazy dog ".repeat(400);
    let numbers = sorted(4096);
    let mut group = criterion.benchmark_group("small");
    let mut bench = |name: &str, usual: usize, work: &dyn Fn(usize) -> u64| {
        if without != name {
            let size = size(name, usual);
            group.bench_function(name, |bencher| bencher.iter(|| work(black_box(size))));
        }
    };
    bench("fnv", 8192, &|n| fnv(&bytes[..n]));
    bench("sorted", 1000, &|n| sorted(n as u64)[0]);
    bench("joined", 200, &|n| joined(n as u64).len() as u64);
    bench("fib", 16, &|n| fib(n as u32));
    bench("primes", 20_000, &|n| primes(n) as u64);
    bench("product", 48, &|n| product(n) as u64);
    bench("crc", 2000, &|n| u64::from(crc(&bytes[..n])));
    bench("distance", 100, &|n| distance(&text[..n], &text[50..150]) as u64);
    bench("tree", 500, &|n| tree(n as u64) as u64);
    bench("found", 500, &|n| found(&numbers, n as u64) as u64);
    bench("long_words", 8000, &|n| long_words(&text[..n]) as u64);
    bench("collatz", 300, &|n| collatz(n as u64));
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
