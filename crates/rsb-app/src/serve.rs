//! The dashboard: the store and the network around `rsb-web`, which uses neither.

mod campaigns;
mod connections;
mod deciding;
mod export;
mod guard;
mod journal_watch;
mod server;
mod source;
mod stored;

use std::net::SocketAddr;
use std::path::PathBuf;

use rsb_web::{Medium, Site};

pub use export::export;
pub use server::Server;
pub use stored::Stored;

/// Address and access of the dashboard.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The address; `None` for a free local port.
    pub listen: Option<SocketAddr>,
    /// File with the token that readers need.
    pub token_file: Option<PathBuf>,
    /// File with the token of users who record decisions; without it, nothing is written.
    pub write_token_file: Option<PathBuf>,
    /// Reason why no token is needed.
    pub no_token: Option<String>,
    /// Additional host names of the server.
    pub hosts: Vec<String>,
}

/// Returns the pages of `source`, with charts as PNG if this build can create them.
fn site(source: &source::StoreSource, medium: Medium) -> Site<'_> {
    with_pictures(
        Site::new(source, medium).with_names(source.names()).with_arguments(source.arguments()),
    )
}

#[cfg(feature = "png")]
fn with_pictures(site: Site<'_>) -> Site<'_> {
    fn picture(svg: &str) -> Option<Vec<u8>> {
        rsb_report::png(svg).inspect_err(|error| tracing::error!("{error}")).ok()
    }
    site.with_pictures(&picture)
}

#[cfg(not(feature = "png"))]
fn with_pictures(site: Site<'_>) -> Site<'_> {
    site
}
