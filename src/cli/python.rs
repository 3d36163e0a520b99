//! Arguments of `python` and `components`.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Places;

/// Commands for Python environments.
#[derive(Debug, Subcommand)]
pub enum PythonVerb {
    /// Show the environment of the frameworks and the installed versions
    List(PythonArgs),
    /// Diagnose the environment; exit 1 when it is broken
    Doctor(PythonArgs),
    /// Create a separate environment and install components in it
    Setup(SetupArgs),
}

/// Which environment.
#[derive(Debug, Clone, Args)]
pub struct PythonArgs {
    /// Use this interpreter
    ///
    /// The default is the first of MLSTACK_BENCHMARK_PYTHON, MLSTACK_PYTHON_BIN, the active
    /// environment, UV_PYTHON, the environment made by `python setup`, and PATH.
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `components`.
#[derive(Debug, Clone, Args)]
pub struct ComponentsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `python setup`.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// Install these components, such as pytorch or openvino [default: none]
    #[arg(value_name = "COMPONENT")]
    pub components: Vec<String>,
    /// Create it with this interpreter [default: the one on PATH]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Create it in DIR [default: ~/.local/share/rusty-stack-bench/python]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print the commands without running them
    #[arg(long)]
    pub dry_run: bool,
}
