//! Ctrl-C asks the measuring loop to stop after the present sample; what was measured is kept.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Begins to listen. A second signal ends the process at once.
pub fn listen() {
    let heard = || {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    };
    // Another handler (a test harness) may be there already: then Ctrl-C is theirs.
    if let Err(error) = ctrlc::set_handler(heard) {
        tracing::warn!("Ctrl-C cannot be handled: {error}");
    }
}

/// Whether somebody asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
