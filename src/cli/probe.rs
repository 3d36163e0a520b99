//! Arguments of `probe`, `doctor` and `gpu-capability`.

use std::path::PathBuf;

use clap::Args;
use rsb_engine::first_day::CHECKS;
use rsb_probe::ProbeOptions;

use super::Places;

/// The text below the help of `doctor`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  no error; with --first-day no check failed; with --baseline a case was
     measured and none failed, whatever the verdict
  1  an error; with --first-day a check failed; with --baseline a case failed
  2  invalid usage or configuration, or a directory cannot be written
  5  with --baseline nothing could run here
  130  interrupted; with --first-day the finished checks are kept";

/// Arguments of `probe` and `gpu-capability`.
#[derive(Debug, Clone, Args)]
pub struct ProbeArgs {
    /// Read DIR instead of /sys, and show nothing else of this machine
    #[arg(long, value_name = "DIR")]
    pub sysfs_root: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl ProbeArgs {
    /// Returns the options of the probe.
    pub fn options(&self) -> ProbeOptions {
        ProbeOptions { sysfs_root: self.sysfs_root.clone() }
    }
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Read DIR instead of /sys, and show nothing else of this machine
    #[arg(long, value_name = "DIR")]
    pub sysfs_root: Option<PathBuf>,
    /// Measure bandwidth and peak rates; run again after an installation to compare
    ///
    /// Saves the values as the baseline `installation`. Later calls compare with that baseline,
    /// list the changed software, and replace the baseline only if a major or minor version changed
    /// and the verdict is a pass. Takes less than a minute. Exit codes are those of `run`, whatever
    /// the verdict.
    #[arg(long, conflicts_with = "sysfs_root")]
    pub baseline: bool,
    /// Run 16 checks of a new GPU and write the results to a directory
    ///
    /// Shows each value with its expected range. Takes up to 30 minutes with a GPU and 5 minutes
    /// without. Exits 1 if a check failed; a value outside its range is not a failure.
    #[arg(long, conflicts_with_all = ["sysfs_root", "baseline"])]
    pub first_day: bool,
    /// Run only check N of --first-day, from 1 to 16
    #[arg(long, value_name = "N", requires = "first_day", value_parser = parse_check)]
    pub check: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths, with --baseline or --first-day")]
    pub places: Places,
}

/// Parses the number of a first-day check.
fn parse_check(text: &str) -> Result<u8, String> {
    let number =
        text.parse().ok().filter(|number| CHECKS.iter().any(|check| check.number == *number));
    number.ok_or_else(|| {
        let names: Vec<String> =
            CHECKS.iter().map(|check| format!("{} {}", check.number, check.name)).collect();
        format!("unknown check; the checks are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_number_of_the_list() {
        assert_eq!((parse_check("1"), parse_check("16")), (Ok(1), Ok(16)));
        for wrong in ["0", "17", "x", "-1", "1.5", "", "256"] {
            let why = parse_check(wrong).unwrap_err();
            assert!(
                why.contains("1 inventory") && why.contains("16 repeatability"),
                "{wrong}: {why}"
            );
        }
    }
}
