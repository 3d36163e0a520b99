//! The worker that typesets a report, as a program of its own: `rusty-stack-bench report --format
//! pdf` starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    rsb_pdf::serve()
}
