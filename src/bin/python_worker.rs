//! The worker for framework cases, which embeds Python. The main program starts it and never links
//! Python itself.

use std::process::ExitCode;

use rsb_model::CaseId;
use rsb_model::protocol::{SLOWDOWN, apply_slowdown};

fn main() -> ExitCode {
    rsb_python::serve(adjust)
}

/// Returns the time of a sample. In builds with `fault-injection`, an environment variable can make
/// it longer, to test the gate.
fn adjust(id: &CaseId, time_ns: f64) -> f64 {
    if !cfg!(feature = "fault-injection") {
        return time_ns;
    }
    std::env::var(SLOWDOWN).map_or(time_ns, |rule| apply_slowdown(id, time_ns, &rule))
}
