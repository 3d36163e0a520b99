//! The hardware before any ML stack is installed, whatever of it is here.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::PreInstallation)
}
