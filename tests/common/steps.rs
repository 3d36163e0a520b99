//! Test runner for test programs without a harness, which start themselves again as another
//! program.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

/// Handles the command line of a test runner: lists the tests, or runs the named ones.
pub fn run(steps: &[(&str, fn())]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let is_asked = |name: &str| {
        arguments.len() < 2 || arguments.iter().any(|argument| name.contains(argument.as_str()))
    };
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            for (name, _) in steps {
                println!("{name}: test");
            }
        }
        return ExitCode::SUCCESS;
    }
    steps.iter().filter(|(name, _)| is_asked(name)).for_each(|(_, step)| step());
    ExitCode::SUCCESS
}
