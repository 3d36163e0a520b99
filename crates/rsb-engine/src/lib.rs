//! The engine: detects devices and measures planned benchmarks.
//!
//! The command line, the bench targets and the Python package all call it. It returns values and
//! errors, and reports progress as [`Event`]s.
//!
//! **Invariant:** no command line, no terminal. It never prints or prompts.

mod error;
pub mod first_day;
pub mod judged;
pub mod machine;
pub mod machine_lock;
pub mod measure;
mod memory_profile;
pub mod python_worker;
pub mod recorder;
pub mod run;
pub mod worker;
pub mod worker_command;

pub use error::{EngineError, ErrorKind};
pub use rsb_model::Event;
pub use worker_command::WorkerCommand;

/// Receiver of progress events, such as a progress bar, a journal or a web page. Called between
/// samples, never during one.
pub type Listener<'a> = dyn FnMut(&Event) + 'a;
