//! The engine: what is here, and measuring what was planned.
//!
//! Every surface drives it (the command line, the bench targets, Python): values and errors come
//! out, and while it works it tells what happens as [`Event`]s.
//!
//! **Invariant:** no command line, no terminal. It prints nothing and asks nobody.

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

/// Whoever follows what happens: a progress bar, a journal, a page. It is called between samples,
/// never during one.
pub type Listener<'a> = dyn FnMut(&Event) + 'a;
