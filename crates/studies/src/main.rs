//! Tasks of `cargo xtask` with dependencies that xtask itself does not have: recorded and replayed
//! studies, comparisons with other tools, and compiled shaders.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

mod dashboard;
mod fleet_study;
mod gate_study;
mod history_study;
mod project_study;
mod public_study;
mod shaders;
mod speed;
mod store_study;
mod trend_study;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("shaders") => shaders::write(),
        Some("speed") => speed::run(arguments.get(1..).unwrap_or_default()),
        Some("store-study") => store_study::run(&arguments[1..]),
        Some("gate-study") => gate_study::run(&arguments[1..]),
        Some("trend-study") => trend_study::run(&arguments[1..]),
        Some("fleet-study") => fleet_study::run(&arguments[1..]),
        _ => {
            eprintln!(
                "Usage: cargo xtask shaders | speed [WORDS] | gate-study … | store-study … | \
                 trend-study … | fleet-study …"
            );
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
