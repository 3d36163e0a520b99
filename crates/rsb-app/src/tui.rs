//! The terminal interface: the terminal, the threads and the store around `rsb-tui`, which knows
//! none of them.
//!
//! One thread reads keys, one what the program says, one does what is asked for, a run included;
//! this one draws. It draws when something has happened and never by a clock; of a run it draws
//! while the engine waits for it, so that no picture is made while a case is timed, unless somebody
//! presses a key.

mod jobs;
mod keys;
mod offers;
mod pace;
mod screen;
mod session;

pub use session::{PaletteChoice, SessionOptions, run};
