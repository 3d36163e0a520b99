//! The arguments of `python`.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Places;

/// Commands for Python environments.
#[derive(Debug, Subcommand)]
pub enum PythonVerb {
    /// Show the environment that frameworks are measured in, and the versions in it
    List(PythonArgs),
    /// Diagnose the environment: what each component lacks and the cure; exits 1 when the environment is broken
    Doctor(PythonArgs),
    /// Create an environment of its own and install components in it; yours is never touched
    Setup(SetupArgs),
}

/// Which environment.
#[derive(Debug, Clone, Args)]
pub struct PythonArgs {
    /// The interpreter [default: MLSTACK_BENCHMARK_PYTHON, MLSTACK_PYTHON_BIN, the active environment, UV_PYTHON, the environment made by `python setup`, PATH]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `components`.
#[derive(Debug, Clone, Args)]
pub struct ComponentsArgs {
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `python setup`.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// Components to install, such as pytorch, and what models run in: openvino, qnn [default: none, an empty environment]
    #[arg(value_name = "COMPONENT")]
    pub components: Vec<String>,
    /// The interpreter to create it with [default: the one on PATH]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Where to create it [default: ~/.local/share/rusty-stack-bench/python]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print the commands without running them
    #[arg(long)]
    pub dry_run: bool,
}
