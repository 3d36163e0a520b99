//! The words of what looks at the machine: `probe`, `doctor`, `gpu-capability`.

use std::path::PathBuf;

use clap::Args;

use super::Places;

/// Arguments of `probe` and `gpu-capability`.
#[derive(Debug, Clone, Args)]
pub struct ProbeArgs {
    /// Read DIR instead of /sys; the rest of the host is left out
    #[arg(long, value_name = "DIR")]
    pub sysfs_root: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Read DIR instead of /sys; the rest of the host is left out
    #[arg(long, value_name = "DIR")]
    pub sysfs_root: Option<PathBuf>,
    /// Measure bandwidth, peak rates and a product in less than a minute, save them as the baseline `installation`, and
    /// compare with the one saved before the software changed; exits as `run` does
    #[arg(long, conflicts_with = "sysfs_root")]
    pub baseline: bool,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places, with --baseline")]
    pub places: Places,
}
