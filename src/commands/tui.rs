//! The terminal interface: the terminal, the threads and the store around `rsb-tui`, which knows
//! none of them.
//!
//! One thread reads keys, one what the program says, one does what is asked for, a run included;
//! this one draws. It draws when something has happened and never by a clock; of a run it draws
//! while the engine waits for it, so that no picture is made while a case is timed, unless somebody
//! presses a key.

#[cfg(feature = "tui")]
mod jobs;
#[cfg(feature = "tui")]
mod keys;
#[cfg(feature = "tui")]
mod offers;
#[cfg(feature = "tui")]
mod pace;
#[cfg(feature = "tui")]
mod screen;
#[cfg(feature = "tui")]
mod session;

use rsb_report::Style;

use crate::cli::TuiArgs;
#[cfg(not(feature = "tui"))]
use crate::exit::CliError;
use crate::exit::CliResult;

/// The verb `tui`.
///
/// # Errors
/// When there is no terminal, or the settings are wrong.
#[cfg(feature = "tui")]
pub fn run(args: &TuiArgs, _: Style) -> CliResult {
    session::run(args)
}

/// The verb `tui`, which this build lacks.
///
/// # Errors
/// Always: it says what has it.
#[cfg(not(feature = "tui"))]
pub fn run(_: &TuiArgs, _: Style) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no terminal interface: `cargo install --path . --features tui` builds one \
         that has; \
         `rusty-stack-bench run`, `compare` and `trend` show the same"
    )))
}
