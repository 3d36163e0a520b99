//! ML frameworks in the selected Python environment. Missing frameworks are reported with how to
//! install them.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::Component)
}
