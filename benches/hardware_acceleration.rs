//! The same points on every backend of each card, and of the processor: what each run time makes of one hardware.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::HardwareAcceleration)
}
