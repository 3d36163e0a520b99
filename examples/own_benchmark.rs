//! A user-defined benchmark: `cargo run --release --example own_benchmark -- run`.
//! docs/extending.md explains it, and `tests/extending.rs` follows it.

use rusty_stack_bench::custom::{self, Benchmark};

/// Written as in a file in `benches/`.
pub fn main() -> std::process::ExitCode {
    let sum = Benchmark::new("sum", "the sum of n numbers")
        .axis("n", ["1000", "100000"])
        .set_up(|case| Ok((0..case.get::<u64>("n")?).collect::<Vec<u64>>()))
        .figure("throughput_gb_s", |numbers, seconds| 8e-9 * numbers.len() as f64 / seconds)
        .below("time_ms", 5.0)
        .measure(
            |numbers| numbers.iter().sum::<u64>(),
            |numbers, sum| {
                let n = numbers.len() as u64;
                if sum == n * (n - 1) / 2 { Ok(()) } else { Err(format!("the sum is {sum}")) }
            },
        );
    custom::main([sum])
}
