//! The engine: what is here, measuring what was planned, judging it.
//!
//! Every surface drives it (the command line, the bench targets, Python): values and errors come
//! out, and while it works it tells what happens as [`Event`]s.
//!
//! **Invariant:** no command line, no terminal. It prints nothing and asks nobody.

pub mod directories;
mod error;
pub mod first_day;
pub mod gate;
pub mod harness;
mod judged;
pub mod machine;
pub mod machine_lock;
pub mod measure;
mod memory_profile;
pub mod policy;
pub mod python_worker;
pub mod recorder;
pub mod revisions;
pub mod run;
pub mod worker;
pub mod worker_command;

pub use directories::Directories;
pub use error::{EngineError, ErrorKind};
pub use rsb_model::Event;
pub use worker_command::WorkerCommand;

/// Whoever follows what happens: a progress bar, a journal, a page. It is called between samples,
/// never during one.
pub type Listener<'a> = dyn FnMut(&Event) + 'a;
