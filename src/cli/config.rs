//! The words of `config`.

use std::path::PathBuf;

use clap::Subcommand;

/// Subcommands of `config`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigVerb {
    /// Write a file with every key, commented out
    Save {
        /// Use this file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
    /// Check a file; exit 2 and show the place of an error
    Check {
        /// Use this file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
}
