//! `help`: shows the help of the program, of one command, or of all.

use anyhow::anyhow;
use rsb_report::Style;

use crate::cli::{self, HelpArgs};
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Runs the subcommand `help`.
///
/// # Errors
/// If the command does not exist, or standard output cannot be written.
pub fn run(args: &HelpArgs, style: Style) -> CliResult {
    if args.all {
        show::text(&cli::everything(style))?;
        return Ok(Exit::Pass);
    }
    let mut command = cli::command();
    command.build();
    let mut shown = &mut command;
    for name in &args.command {
        shown = shown.find_subcommand_mut(name).ok_or_else(|| {
            CliError::usage(anyhow!(
                "unknown command `{name}`; `rusty-stack-bench --help` lists all"
            ))
        })?;
    }
    shown.print_long_help()?;
    Ok(Exit::Pass)
}
