//! The project's development tasks, which run locally as in CI.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

mod circles;
mod links;
mod names;
mod reliability;
mod steps;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

  ci       run lint, tidy and test, which a pull request must pass
  lint     check formatting, clippy, shell scripts and workflows
  tidy     check the rules of ARCHITECTURE.md (crate edges, circles of files, unsafe code, file sizes) and the links
           of the documents
  test     run every test, and check that generated files are up to date; ARGUMENTS go to the test runner, as in
           `test -- gate::`; --slow runs the tests that are too slow for every change, and `test reliability`
           those of docs/reliability.md
  fuzz     feed every reader with mutated inputs; `fuzz --help` shows its flags
  codegen  rewrite generated files: schemas/, docs/glossary.md, docs/benchmarks.md, the Vulkan shaders
  shaders  rewrite only the Vulkan shaders
  speed    measure the values of docs/speed.md here; with WORDS, only the lines that contain them
  gate-study  measure the error rates of docs/gate-study.md: record processes of two builds here, and judge them
           as the gate does
  store-study  measure the values of docs/store-study.md: create, query and delete a history of ten million values;
           with DIR pages, times of pages, an export and a printed report
  trend-study  measure the values of docs/trend-study.md: false change points, power, agreement with people, time
  fleet-study  print the tables of docs/fleet-study.md: false and missed calls of nodes in simulated fleets; with
           --scale, time and memory of a campaign of 10,000 nodes";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("ci") => steps::lint().and_then(|()| tidy::run()).and_then(|()| steps::test(&[])),
        Some("lint") => steps::lint(),
        Some("tidy") => tidy::run(),
        Some("test") if arguments.get(1).is_some_and(|argument| argument == "--slow") => {
            steps::slow_tests()
        }
        Some("test") if arguments.get(1).is_some_and(|argument| argument == "reliability") => {
            reliability::test()
        }
        Some("test") => steps::test(&arguments[1..]),
        Some("fuzz") => steps::fuzz(&arguments[1..]),
        Some("codegen") => steps::study(&["shaders".to_owned()]).and_then(|()| steps::codegen()),
        Some(
            "shaders" | "speed" | "gate-study" | "store-study" | "trend-study" | "fleet-study",
        ) => steps::study(&arguments),
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
