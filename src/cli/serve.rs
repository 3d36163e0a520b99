//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::Places;

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Listen on ADDRESS [default: 127.0.0.1:0, a free local port]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Require the token in FILE, a line of at least 16 characters
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub token_file: Option<PathBuf>,
    /// Let users with the token in FILE acknowledge and dismiss changes
    #[arg(long, value_name = "FILE")]
    pub write_token_file: Option<PathBuf>,
    /// Serve without a token, and show this reason, such as "closed network"
    #[arg(long, value_name = "WHY")]
    pub no_token: Option<String>,
    /// Also accept this host name, as behind a proxy; repeatable
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Write the pages as files into DIR and exit
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "token_file", "write_token_file", "no_token", "host"])]
    pub export: Option<PathBuf>,
    /// Draw simulated results, too, marked as such
    #[arg(long)]
    pub simulated: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}
