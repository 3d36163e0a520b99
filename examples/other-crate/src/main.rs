//! A benchmark of another crate, by the trait `CaseBenchmark`: `cargo run --release -p other-crate`.

use rusty_stack_bench::custom::{self, CaseBenchmark, Params, SetUp};

/// Counts the primes below a limit.
struct Primes;

impl CaseBenchmark for Primes {
    type Input = usize;
    type Output = usize;

    fn name(&self) -> &'static str {
        "primes"
    }

    fn about(&self) -> &'static str {
        "the number of primes below n"
    }

    fn axes(&self) -> Vec<(&'static str, Vec<String>)> {
        vec![("n", vec!["1000".to_owned(), "10000".to_owned()])]
    }

    fn set_up(&self, case: &Params) -> SetUp<usize> {
        Ok(case.get("n")?)
    }

    fn run(&self, limit: &mut usize) -> usize {
        let mut is_composite = vec![false; *limit];
        let mut count = 0;
        for number in 2..*limit {
            if !is_composite[number] {
                count += 1;
                for multiple in (number * number..*limit).step_by(number) {
                    is_composite[multiple] = true;
                }
            }
        }
        count
    }

    fn verify(&self, limit: &mut usize, count: usize) -> Result<(), String> {
        let known = if *limit == 1000 { 168 } else { 1229 };
        if count == known { Ok(()) } else { Err(format!("{count} primes, but {known} are known")) }
    }
}

fn main() -> std::process::ExitCode {
    custom::main([Primes.benchmark()])
}
