//! The dashboard: the store and the network around `rsb-web`, which knows neither.

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

/// Where the dashboard is served, and to whom.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The address, unless it is a free local port.
    pub listen: Option<SocketAddr>,
    /// The file of the token that readers need.
    pub token_file: Option<PathBuf>,
    /// Why no token is needed.
    pub no_token: Option<String>,
    /// Further names that the server is called.
    pub hosts: Vec<String>,
}

/// The pages of `source`, with charts as PNG where this build can make them.
fn site(source: &source::StoreSource, medium: Medium) -> Site<'_> {
    with_pictures(Site::new(source, medium))
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
