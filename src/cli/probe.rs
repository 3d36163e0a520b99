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
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Read DIR instead of /sys; the rest of the host is left out
    #[arg(long, value_name = "DIR")]
    pub sysfs_root: Option<PathBuf>,
    /// Measure bandwidth and peak rates, save and compare them as `installation`
    ///
    /// Takes less than a minute, compares with the values saved before the software changed, and exits as `run` does.
    #[arg(long, conflicts_with = "sysfs_root")]
    pub baseline: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places, with --baseline")]
    pub places: Places,
}
