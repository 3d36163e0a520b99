//! ML frameworks in the Python environment that is chosen; where one is missing, it says how to get it.

fn main() -> std::process::ExitCode {
    rusty_stack_bench::measure::bench::suite(rusty_stack_bench::suites::Suite::Component)
}
