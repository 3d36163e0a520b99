//! The worker program that typesets a report, started by `rusty-stack-bench report --format pdf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rsb_pdf::serve()
}
