//! ML frameworks in the Python environment that is chosen; where one is missing, it says how to get
//! it.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::bench::suite(rsb_model::Suite::Component)
}
