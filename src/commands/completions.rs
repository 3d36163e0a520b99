//! `completions`: shell completions.

use crate::exit::{CliResult, Exit};
use crate::{cli, show};

/// Prints the completions for `shell`.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(shell: clap_complete::Shell) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "rusty-stack-bench", &mut script);
    show::text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Pass)
}
