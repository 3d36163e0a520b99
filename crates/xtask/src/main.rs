//! The project's own chores: what CI runs, anybody can run.

mod speed;
mod steps;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

  ci       everything below, in this order: what a pull request must pass
  lint     format, clippy, shell scripts, workflows
  tidy     the rules of ARCHITECTURE.md: crate edges, unsafe code, file sizes
  test     every test, and that generated files are up to date
  codegen  rewrite what is generated: schemas/, docs/glossary.md, tables of the README
  speed    the figures of docs/speed.md, measured here";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let done = match chore.as_deref() {
        Some("ci") => steps::lint().and_then(|()| tidy::run()).and_then(|()| steps::test()),
        Some("lint") => steps::lint(),
        Some("tidy") => tidy::run(),
        Some("test") => steps::test(),
        Some("codegen") => steps::codegen(),
        Some("speed") => speed::run(),
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
