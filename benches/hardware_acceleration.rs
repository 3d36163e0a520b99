//! The same cases on every backend of each GPU and of the CPU, to compare runtimes on the same
//! hardware.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::HardwareAcceleration)
}
