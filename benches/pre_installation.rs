//! The available hardware, before any ML stack is installed.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::PreInstallation)
}
