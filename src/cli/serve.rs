//! Flags of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::Places;

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Listen there instead of at a free port of this machine alone [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Only answer who knows the token in FILE: a line of at least 16 characters
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub token_file: Option<PathBuf>,
    /// Answer whoever can reach the address, and say why that is right here: "the network is closed"
    #[arg(long, value_name = "WHY")]
    pub no_token: Option<String>,
    /// Also answer to this name, as behind a proxy; may be repeated
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Write the pages as files into DIR, for any web host, and end
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "token_file", "no_token", "host"])]
    pub export: Option<PathBuf>,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
