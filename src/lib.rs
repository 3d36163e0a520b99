//! The application: the command line over the engine. The benches are thin and live on this.

pub mod bench;
pub mod cli;
pub mod commands;
pub mod console;
pub mod custom;
pub mod exit;
pub mod show;

pub use rsb_app::config;
