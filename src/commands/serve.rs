//! The dashboard: the store and the network around `rsb-web`, which knows neither.

#[cfg(feature = "serve")]
mod export;
#[cfg(feature = "serve")]
mod guard;
#[cfg(feature = "serve")]
mod journal_watch;
#[cfg(feature = "serve")]
mod server;
#[cfg(feature = "serve")]
mod source;
#[cfg(feature = "serve")]
mod stored;

use rsb_report::Style;
#[cfg(feature = "serve")]
use rsb_web::{Medium, Site};

use crate::cli::ServeArgs;
#[cfg(not(feature = "serve"))]
use crate::exit::CliError;
use crate::exit::CliResult;

/// The verb `serve`.
///
/// # Errors
/// When the results cannot be read, the address cannot be listened at, or nobody says why it may be
/// without a token.
#[cfg(feature = "serve")]
pub fn run(args: &ServeArgs, _: Style) -> CliResult {
    let stored = std::sync::Arc::new(stored::Stored::new(&args.places)?);
    match &args.export {
        Some(dir) => export::run(&stored, dir),
        None => server::run(&stored, args),
    }
}

/// The pages of `source`, with charts as PNG where this build can make them.
#[cfg(feature = "serve")]
fn site(source: &source::StoreSource, medium: Medium) -> Site<'_> {
    with_pictures(Site::new(source, medium))
}

#[cfg(all(feature = "serve", feature = "png"))]
fn with_pictures(site: Site<'_>) -> Site<'_> {
    fn picture(svg: &str) -> Option<Vec<u8>> {
        rsb_report::png(svg).inspect_err(|error| tracing::error!("{error}")).ok()
    }
    site.with_pictures(&picture)
}

#[cfg(all(feature = "serve", not(feature = "png")))]
fn with_pictures(site: Site<'_>) -> Site<'_> {
    site
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
