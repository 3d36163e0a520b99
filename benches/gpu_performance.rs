//! Graphics cards: memory, transfers, arithmetic, products, launches, several cards, inference. Where there is none,
//! every benchmark says what it lacks.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::measure::bench::suite(rusty_stack_bench::suites::Suite::GpuPerformance)
}
