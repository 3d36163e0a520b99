//! The worker that typesets a report as PDF. The main program starts it and holds nothing of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    rsb_pdf::serve()
}
