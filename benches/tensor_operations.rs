//! Matrix products, element-wise operations, reductions, normalizations and convolutions.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::main(&["gemm", "tensor-ops", "convolution"])
}
