//! Exit codes. They are a public interface: scripts and workflows branch on them.

pub use rsb_app::{AppError as CliError, EXIT_CODES as HELP, Exit};

/// The result of a subcommand.
pub type CliResult = Result<Exit, CliError>;
