//! The terminal interface: the terminal, the threads and the store around `rsb-tui`, which uses
//! none of them.
//!
//! One thread reads keys, one reads the output of the program, and one runs jobs, including
//! benchmark runs; the calling thread draws, and only when something has happened. During a run it
//! draws while the engine waits for it, so that no frame is drawn while a case is timed, unless the
//! user presses a key.

mod abort;
mod jobs;
mod keys;
mod offers;
mod pace;
mod screen;
mod session;

pub use session::{PaletteChoice, SessionOptions, run};
