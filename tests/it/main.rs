//! All tests that run the real binary, in one program, so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;

#[path = "../../crates/rsb-notify/tests/common/servers.rs"]
mod alert_servers;

#[cfg(feature = "postgres")]
#[path = "../../crates/rsb-store/tests/common/postgres_server.rs"]
mod postgres_server;

mod against;
mod against_history;
#[cfg(any(feature = "vulkan", feature = "opencl"))]
mod backends;
mod baseline_verbs;
mod bisect;
mod browser;
mod charts;
mod cli;
mod committed_baseline;
mod contributing;
mod cpu_power;
mod documented_commands;
#[cfg(feature = "rocm")]
mod fake_gpu;
mod first_day;
mod first_screen;
mod fleet;
mod fleet_faults;
mod fleet_kubernetes;
#[cfg(feature = "serve")]
mod fleet_pages;
mod fleet_ssh;
#[cfg(feature = "postgres")]
mod fleet_store;
mod gate;
mod gate_beside;
mod generated;
mod hostile_changes;
mod installation;
mod instructions;
mod kernel_compilation;
mod machine_faults;
mod metrics;
mod models;
mod notify;
#[cfg(feature = "opencl")]
mod opencl;
mod other_projects;
mod outputs;
mod probe_trees;
mod reliability;
mod report_page;
mod report_pdf;
mod resilience;
mod run_events;
mod schemas;
mod scripts;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod serve_decisions;
mod stored_runs;
mod tracked_changes;
mod trend;
#[cfg(feature = "tui")]
mod tui;
mod verdict_text;
#[cfg(feature = "vulkan")]
mod vulkan;
mod which_run;
mod workload_table;
