//! The worker that typesets a report as PDF: a separate program, so that the main program does not
//! contain the typesetter.

use std::process::ExitCode;

fn main() -> ExitCode {
    rsb_pdf::serve()
}
