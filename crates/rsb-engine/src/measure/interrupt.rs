//! A request to stop: the measuring loop ends after the current sample and keeps the results.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Requests a stop. Returns whether one was already requested.
pub fn ask() -> bool {
    ASKED.swap(true, Ordering::SeqCst)
}

/// Returns whether a stop was requested.
pub fn is_requested() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Clears the request, so that the next run of this process starts normally.
pub fn forget() {
    ASKED.store(false, Ordering::SeqCst);
}
