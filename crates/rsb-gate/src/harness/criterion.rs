//! Executables of Criterion: one case by its exact name, with short settings of ours, its samples
//! from a directory of its own. What the benchmark itself sets, such as `sample_size` of a group,
//! wins over the command line.

use std::path::Path;
use std::process::Command;

use rsb_model::{Outcome, Samples};
use rsb_store::read_criterion_dir;

use super::{MEASUREMENT, WARM_UP, volatile};

/// The name under which results are saved.
const RESULT: &str = "rsb";

/// The times that a version of Criterion takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriterionTimes {
    /// From 0.4: any.
    Short,
    /// From 0.4, of a benchmark that sets longer ones itself, as a group does with
    /// `measurement_time`: until the last two samples agree, which takes a tenth of a second.
    Quick,
    /// Before: whole seconds, so that a process takes more than two of them.
    WholeSeconds,
}

impl CriterionTimes {
    /// Arguments for how long to warm up and to measure.
    fn arguments(self) -> Vec<String> {
        let [warm_up, measurement] = match self {
            Self::Short => [WARM_UP, MEASUREMENT].map(|time| time.as_secs_f64().to_string()),
            Self::Quick => return vec!["--quick".to_owned()], // It takes no other sizes beside it.
            Self::WholeSeconds => [1, 1].map(|time: u32| time.to_string()),
        };
        ["--sample-size", "10", "--warm-up-time", &warm_up, "--measurement-time", &measurement]
            .map(str::to_owned)
            .into()
    }
}

/// Has `command` list its cases. It fails where its version does not take these `times`, or it is
/// no Criterion.
pub(super) fn ask_to_list(command: &mut Command, times: CriterionTimes) {
    command.args(["--list", "--noplot"]).args(times.arguments());
}

/// Has `command` measure the case that `filter` fits and leave its result in `home`.
pub(super) fn ask_for(command: &mut Command, filter: &str, times: CriterionTimes, home: &Path) {
    command
        .env("CRITERION_HOME", home)
        .env("RSB_RESULTS_DIR", home.join("runs")) // Benches that are made with this program keep runs besides.
        .args(["--noplot", "--color", "never", "--save-baseline", RESULT])
        .args(["--nresamples", "100"]) // Its own analysis is not used.
        .args(times.arguments())
        .args(["--", filter]);
}

/// The filter that `name` alone fits: a regular expression, since Criterion 0.4 has no `--exact`.
/// Anything fits the volatile parts of a name if it `is_volatile`.
pub(super) fn filter(name: &str, is_volatile: bool) -> String {
    let parts = if is_volatile { volatile::stable_parts(name) } else { vec![name] };
    let escaped: Vec<String> = parts.into_iter().map(regex::escape).collect();
    format!("^{}$", escaped.join(".+"))
}

/// The samples that it left in `home`.
pub(super) fn samples(home: &Path) -> Result<Samples, String> {
    let run = read_criterion_dir(home, RESULT)
        .map_err(|error| format!("Criterion kept no result: {error}"))?;
    let [result] = run.benchmarks.as_slice() else {
        return Err(format!("Criterion measured {} cases in place of one", run.benchmarks.len()));
    };
    match (result.outcome, result.samples.as_slice()) {
        (Outcome::Measured, [samples]) => Ok(samples.clone()),
        _ => Err(result
            .reason
            .as_ref()
            .map_or_else(|| "Criterion kept no samples".to_owned(), |why| why.why.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_fits_one_name_alone() {
        for name in
            ["fib 20", "parse/a.json", "sum (f32) [1+2]*", "Vec<u8>::push", r"a\b|c^d$ #&-~"]
        {
            let filter = regex::Regex::new(&filter(name, false)).unwrap();
            assert!(filter.is_match(name), "{filter}");
            assert!(!filter.is_match(&format!("{name} ")), "{filter}");
        }
        let filter = regex::Regex::new(&filter("at 2026-11-28/long", true)).unwrap();
        assert!(filter.is_match("at 2027-01-01/long") && !filter.is_match("at 2027-01-01/longer"));
    }
}
