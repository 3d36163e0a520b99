//! Matrix products, element-wise operations, reductions, normalisations and convolutions.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::measure::bench::main(&["gemm", "tensor-ops", "convolution"])
}
