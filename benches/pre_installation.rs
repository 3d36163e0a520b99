//! The hardware before any ML stack is installed: memory, latency, allocation, arithmetic.

fn main() -> std::process::ExitCode {
    let suite = rusty_stack_bench::suites::Suite::PreInstallation;
    rusty_stack_bench::measure::bench::main(&suite.benchmarks())
}
