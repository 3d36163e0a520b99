//! User-defined benchmarks in Rust: a file in `benches/` (with `harness = false`). They are listed,
//! measured, stored, gated and drawn like the built-in ones, because the resulting program is this
//! program with more benchmarks.
//!
//! ```no_run
//! use rusty_stack_bench::custom::{self, Benchmark};
//!
//! fn main() -> std::process::ExitCode {
//!     let sum = Benchmark::new("sum", "the sum of n numbers")
//!         .axis("n", ["1000", "100000"])
//!         .set_up(|case| Ok((0..case.get::<u64>("n")?).collect::<Vec<u64>>()))
//!         .figure("throughput_gb_s", |numbers, seconds| 8e-9 * numbers.len() as f64 / seconds)
//!         .below("time_ms", 5.0)
//!         .measure(
//!             |numbers| numbers.iter().sum::<u64>(),
//!             |numbers, sum| {
//!                 let n = numbers.len() as u64;
//!                 if sum == n * (n - 1) / 2 { Ok(()) } else { Err(format!("the sum is {sum}")) }
//!             },
//!         );
//!     custom::main([sum])
//! }
//! ```

use std::process::ExitCode;

pub use rsb_app::custom::{
    CaseBenchmark, CaseMetric, CustomBenchmark, CustomBenchmark as Benchmark, Failure,
    OwnBenchmark, Params, Reason, SetUp,
};
use rsb_engine::worker;

use crate::exit::{CliError, CliResult};
use crate::{bench, cli, commands, show};

/// Runs a bench target with these benchmarks: under Criterion, or as a subcommand of this program
/// if the first argument is one, as in `cargo bench --bench mine -- run`. `run` without names
/// measures these benchmarks.
pub fn main(benchmarks: impl IntoIterator<Item = OwnBenchmark>) -> ExitCode {
    let mut names = Vec::new();
    for benchmark in benchmarks {
        names.push(benchmark.name());
        if let Err(error) = benchmark.register() {
            return commands::finish(Err(CliError::usage(error)));
        }
    }
    if let Some(ended) = worker::as_child() {
        return ended;
    }
    // Cargo adds `--bench` to the arguments.
    let arguments: Vec<_> = std::env::args_os().filter(|argument| argument != "--bench").collect();
    let first = arguments.get(1).and_then(|first| first.to_str()).unwrap_or_default();
    match cli::command().find_subcommand(first) {
        Some(_) => commands::finish(verb(arguments)),
        None => bench::on_host(&names),
    }
}

fn verb(arguments: Vec<std::ffi::OsString>) -> CliResult {
    let cli = cli::parse(arguments);
    rsb_app::environment::check()?;
    commands::dispatch(cli.verb, show::style(cli.color))
}
