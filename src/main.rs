//! Parses the command line, runs the subcommand and returns its exit code. The subcommands are in
//! `commands::dispatch`, which bench targets of other projects use too.

use std::process::ExitCode;

use rusty_stack_bench::{cli, commands, show};

fn main() -> ExitCode {
    if let Some(ended) = rsb_engine::worker::as_child() {
        return ended;
    }
    let cli = cli::parse(std::env::args_os());
    commands::finish(
        rsb_app::environment::check()
            .and_then(|()| commands::dispatch(cli.verb, show::style(cli.color))),
    )
}
