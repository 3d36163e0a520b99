//! Graphics GPUs: memory, transfers, arithmetic, products, launches, several GPUs, inference. Where
//! there is none, every benchmark says what it lacks.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::GpuPerformance)
}
