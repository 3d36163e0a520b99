//! The project's own chores: what CI runs, anybody can run.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

mod circles;
mod links;
mod names;
mod steps;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

  ci       everything below, in this order: what a pull request must pass
  lint     format, clippy, shell scripts, workflows
  tidy     the rules of ARCHITECTURE.md: crate edges, circles of files, unsafe code, file sizes; links of the
           documents
  test     every test, and that generated files are up to date; ARGUMENTS go to the test runner: `test -- gate::`;
           --slow runs those that are too slow for every change
  codegen  rewrite what is generated: schemas/, docs/glossary.md, docs/benchmarks.md, the Vulkan shaders
  shaders  rewrite the Vulkan shaders alone
  speed    the figures of docs/speed.md, measured here; with WORDS those lines alone that have them
  gate-study  the error rates of docs/gate-study.md: record processes of two builds here, judge them as the gate would
  store-study  the figures of docs/store-study.md: a history of ten million values is made, asked and removed
  trend-study  the figures of docs/trend-study.md: false change points, power, agreement with people, time";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("ci") => steps::lint().and_then(|()| tidy::run()).and_then(|()| steps::test(&[])),
        Some("lint") => steps::lint(),
        Some("tidy") => tidy::run(),
        Some("test") if arguments.get(1).is_some_and(|argument| argument == "--slow") => {
            steps::slow_tests()
        }
        Some("test") => steps::test(&arguments[1..]),
        Some("codegen") => steps::study(&["shaders".to_owned()]).and_then(|()| steps::codegen()),
        Some("shaders" | "speed" | "gate-study" | "store-study" | "trend-study") => {
            steps::study(&arguments)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
