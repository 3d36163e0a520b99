//! The hardware before any ML stack is installed, whatever of it is here.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::measure::bench::suite(rusty_stack_bench::suites::Suite::PreInstallation)
}
