//! Exit codes are an interface: scripts and workflows branch on them.

pub use rsb_app::{AppError as CliError, EXIT_CODES as HELP, Exit};

/// What a verb returns.
pub type CliResult = Result<Exit, CliError>;
