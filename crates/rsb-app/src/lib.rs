//! The application: opens a project (configuration, directories, store), selects runs, and serves
//! the command line, the terminal interface and the dashboard.
//!
//! Functions take plain values and return typed results or texts. Messages in between go to a
//! [`Listener`](rsb_engine::Listener).
//!
//! **Invariant:** this crate reads no command line and prints nothing. Only `tui` uses a terminal,
//! and only `serve` a socket.

pub mod after_run;
pub mod baseline;
pub mod bisect;
pub mod built_in;
pub mod chart;
pub mod choices;
pub mod compare;
pub mod components;
pub mod config;
pub mod custom;
pub mod decision;
pub mod environment;
mod error;
mod exit;
pub mod export;
mod filter;
pub mod first_day;
pub mod fleet;
pub mod gpu_capability;
pub mod health;
pub mod history;
pub mod import;
pub mod init;
pub mod installation;
pub mod judge;
pub mod list;
pub mod log;
pub mod measure;
pub mod metrics;
pub mod models;
pub mod next_step;
pub mod notify;
pub mod project;
pub mod python;
pub mod python_setup;
pub mod query;
pub mod recommend;
pub mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod store_copy;
pub mod trend;
#[cfg(feature = "tui")]
pub mod tui;
pub mod watch;

pub use error::{
    AppError, alert_error, error_chain, named_file, output_error, sql_error, without_feature,
};
pub use exit::{EXIT_CODES, Exit};
pub use filter::CaseFilter;
pub use project::{ProjectContext, ProjectPaths};
