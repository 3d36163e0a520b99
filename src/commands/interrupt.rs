//! Ctrl-C requests the engine to stop; completed measurements are kept.

use rsb_engine::measure::interrupt;

/// Installs the handler. A second signal terminates the process immediately.
pub(super) fn listen() {
    let installed = ctrlc::set_handler(|| {
        if interrupt::ask() {
            std::process::exit(130);
        }
    });
    // If there already is another handler, as in a test harness, it receives Ctrl-C.
    if let Err(error) = installed {
        tracing::warn!("cannot install the Ctrl-C handler: {error}");
    }
}
