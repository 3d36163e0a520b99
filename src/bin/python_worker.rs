//! The worker of framework cases, with Python in it. The main program starts it and never links
//! Python itself.

use std::process::ExitCode;

use rsb_model::CaseId;
use rsb_model::protocol::{SLOWDOWN, apply_slowdown};

fn main() -> ExitCode {
    rsb_python::serve(adjust)
}

/// The time of a sample; made longer where a test of the gate asks for it, in builds for such tests
/// alone.
fn adjust(id: &CaseId, time_ns: f64) -> f64 {
    if !cfg!(feature = "fault-injection") {
        return time_ns;
    }
    std::env::var(SLOWDOWN).map_or(time_ns, |said| apply_slowdown(id, time_ns, &said))
}
