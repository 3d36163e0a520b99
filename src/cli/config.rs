//! The words of `config`.

use std::path::PathBuf;

use clap::Subcommand;

/// What is done with a configuration file.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigVerb {
    /// Write a file with every key, commented out
    Save {
        /// The file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
    /// Check that a file can be used; exits 2 and names the place where it cannot
    Check {
        /// The file [default: rusty-stack-bench.toml]
        file: Option<PathBuf>,
    },
}
