//! Arguments of `config`.

use std::path::PathBuf;

use clap::Subcommand;

/// Subcommands of `config`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigVerb {
    /// Write a file with every key, commented out
    Save {
        /// Write this file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
    /// Check a file; exit 2 and show the position of an error
    Check {
        /// Check this file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
}
