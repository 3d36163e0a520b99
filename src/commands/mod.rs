//! One verb, one file: load, call something pure, write.

pub mod baseline;
pub mod bisect;
pub mod chart;
pub mod compare;
pub mod completions;
pub mod components;
pub mod doctor;
pub mod environment;
pub mod export;
pub mod gate;
pub mod gpu_capability;
pub mod health;
pub mod history;
pub mod import;
pub mod init;
pub mod list;
pub mod man;
pub mod models;
pub mod probe;
pub mod prune;
pub mod python;
pub mod query;
pub mod recommend;
pub mod report;
pub mod run;
pub mod schema;
pub mod store;
pub mod trend;
pub mod tui;
pub mod watch;

mod interrupt;
mod judge;
mod log;
mod progress;
pub(crate) mod settings;
mod shared;
