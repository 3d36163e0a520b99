//! A request to stop: the measuring loop ends after the present sample, and what was measured is
//! kept.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks to stop. Whether somebody had asked before.
pub fn ask() -> bool {
    ASKED.swap(true, Ordering::SeqCst)
}

/// Whether somebody asked to stop.
pub fn is_requested() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Forgets that somebody asked: the next run of this process begins as the first did.
pub fn forget() {
    ASKED.store(false, Ordering::SeqCst);
}
