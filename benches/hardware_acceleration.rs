//! The same points on every backend of each GPU, and of the CPU: what each runtime makes of one
//! hardware.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::HardwareAcceleration)
}
