//! GPU performance: memory, transfers, arithmetic, products, launches, several GPUs, inference.
//! Without a GPU, every benchmark reports the missing requirement.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::GpuPerformance)
}
