//! `serve`: serves the dashboard, or writes it as files.

#[cfg(feature = "serve")]
use std::path::Path;
#[cfg(feature = "serve")]
use std::sync::Arc;

#[cfg(feature = "serve")]
use rsb_app::serve::{self, ServeOptions, Server, Stored};
use rsb_report::Style;
#[cfg(feature = "serve")]
use rsb_report::number::format_count;

use crate::cli::ServeArgs;
use crate::exit::{CliError, CliResult};
#[cfg(feature = "serve")]
use crate::{console, exit::Exit, show};

/// Runs the subcommand `serve`.
///
/// # Errors
/// If the results cannot be read, the address cannot be bound, or it requires a token or a reason
/// for serving without one.
#[cfg(feature = "serve")]
pub fn run(args: &ServeArgs, _: Style) -> CliResult {
    let stored = Stored::new(&args.places.paths_to_read()?, console::tell)?;
    let stored = Arc::new(stored.with_simulated(args.simulated));
    if let Some(dir) = &args.export {
        return export(&stored, dir);
    }
    let options = ServeOptions {
        listen: args.listen,
        token_file: args.token_file.clone(),
        write_token_file: args.write_token_file.clone(),
        no_token: args.no_token.clone(),
        hosts: args.host.clone(),
    };
    let server = Server::bind(&stored, &options)?;
    announce(args, &server)?;
    server.run()?;
    Ok(Exit::Pass)
}

#[cfg(feature = "serve")]
fn export(stored: &Arc<Stored>, dir: &Path) -> CliResult {
    let count = serve::export(stored, dir)?;
    show::text(&format!(
        "{} in {}; start with index.html",
        format_count(count, "file", "files"),
        dir.display()
    ))?;
    Ok(Exit::Pass)
}

/// Prints the address of the pages, and a warning if other machines can reach them.
#[cfg(feature = "serve")]
fn announce(args: &ServeArgs, server: &Server) -> Result<(), CliError> {
    let address = server.address();
    if !address.ip().is_loopback() {
        console::say(&match &args.no_token {
            Some(why) => {
                format!(
                    "warning: everyone who can reach {address} can read the results; reason given: \
                     {why}"
                )
            }
            None => format!(
                "warning: other machines can reach {address}, and HTTP encrypts neither the token \
                 nor the results"
            ),
        });
    }
    let host = if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    };
    let token =
        if server.has_token() { "?token=TOKEN (TOKEN is the line in the token file)" } else { "" };
    show::text(&format!("http://{host}/{token}"))?;
    console::say(if server.has_writing() {
        "users with the write token can acknowledge and dismiss changes; press Ctrl-C to stop"
    } else {
        "read-only; press Ctrl-C to stop"
    });
    Ok(())
}

/// Rejects the subcommand `serve`, which this build lacks.
///
/// # Errors
/// Always, with the build command that includes it.
#[cfg(not(feature = "serve"))]
pub fn run(_: &ServeArgs, _: Style) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no dashboard; rebuild with `cargo install --path . --features serve`, or \
         use `rusty-stack-bench report --format html`, `compare`, `trend` or `health`"
    )))
}
