//! The worker of framework cases, with Python in it. The main program starts it and never links Python itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    rsb_python::serve()
}
