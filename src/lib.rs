//! The application: command line, plan, suites, measuring engine. The benches are thin and live on this.

pub mod backends;
pub mod cli;
pub mod commands;
pub mod config;
pub mod exit;
pub mod frameworks;
pub mod measure;
mod memory_profile;
pub mod plan;
pub mod show;
pub mod suites;
pub mod sweep;
