//! Ctrl-C asks the engine to stop; what was measured is kept.

use rsb_engine::measure::interrupt;

/// Begins to listen. A second signal ends the process at once.
pub(super) fn listen() {
    let installed = ctrlc::set_handler(|| {
        if interrupt::ask() {
            std::process::exit(130);
        }
    });
    // Another handler (a test harness) may be there already: then Ctrl-C is theirs.
    if let Err(error) = installed {
        tracing::warn!("cannot install the Ctrl-C handler: {error}");
    }
}
