//! What the hardware can do at most, and how near a matrix product comes to it.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::measure::bench::main(&["compute-peak", "memory-bandwidth", "gemm"])
}
