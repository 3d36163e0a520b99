//! The dashboard: served, or written as files.

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

/// The verb `serve`.
///
/// # Errors
/// When the results cannot be read, the address cannot be listened at, or nobody says why it may be
/// without a token.
#[cfg(feature = "serve")]
pub fn run(args: &ServeArgs, _: Style) -> CliResult {
    let stored = Arc::new(Stored::new(&args.places.paths(), console::tell)?);
    if let Some(dir) = &args.export {
        return export(&stored, dir);
    }
    let options = ServeOptions {
        listen: args.listen,
        token_file: args.token_file.clone(),
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
        "{} in {}: begin at index.html",
        format_count(count, "file", "files"),
        dir.display()
    ))?;
    Ok(Exit::Pass)
}

/// Says where the pages are, and who can read them.
#[cfg(feature = "serve")]
fn announce(args: &ServeArgs, server: &Server) -> Result<(), CliError> {
    let address = server.address();
    if !address.ip().is_loopback() {
        console::say(&match &args.no_token {
            Some(why) => {
                format!(
                    "warning: everybody who reaches {address} can read the results; given as the \
                     reason: {why}"
                )
            }
            None => format!(
                "warning: {address} can be reached from other machines; HTTP hides neither the \
                 token nor the results on the way"
            ),
        });
    }
    let host = if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    };
    let token = if server.has_token() { "?token=TOKEN, the line in the token file" } else { "" };
    show::text(&format!("http://{host}/{token}"))?;
    console::say("read only; Ctrl-C ends it");
    Ok(())
}

/// The verb `serve`, which this build lacks.
///
/// # Errors
/// Always: it says what has it.
#[cfg(not(feature = "serve"))]
pub fn run(_: &ServeArgs, _: Style) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no dashboard: `cargo install --path . --features serve` builds one that \
         has; \
         `rusty-stack-bench report --format html`, `compare`, `trend` and `health` show the same"
    )))
}
