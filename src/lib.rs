//! The application: the command line on top of the engine. The bench targets are thin wrappers
//! around it.

pub mod bench;
pub mod cli;
pub mod commands;
pub mod console;
pub mod custom;
pub mod exit;
pub mod show;

pub use rsb_app::config;
