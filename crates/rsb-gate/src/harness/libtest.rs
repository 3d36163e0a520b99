//! Executables of the test harness (`#[bench]`) and of the crate `bencher`, which print the same
//! format: the median of each case and process, in nanoseconds.
//!
//! Both measure a case for 0.1 to 3 s. Their clock is accelerated, so that this takes a twentieth
//! of the time.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rsb_model::Samples;

use super::clock::{self, ClockRate};

/// How many times as fast the clock runs.
const CLOCK_SCALE: u32 = 20;

/// Step of the clock while cases are listed: both harnesses then stop a case after 301 iterations.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Makes `command` list its cases.
pub(super) fn ask_to_list(command: &mut Command) {
    command.arg("--list");
}

/// Makes a bencher executable, which cannot list its cases, measure each of them briefly.
pub(super) fn ask_bencher_to_list(command: &mut Command, home: &Path) {
    clock::preload(command, ClockRate::Steps(CLOCK_STEP), home);
}

/// Makes `command` measure the case `name`.
pub(super) fn ask_for(command: &mut Command, name: &str, home: &Path) {
    command.args(["--exact", name, "--color", "never"]);
    clock::preload(command, ClockRate::Faster(CLOCK_SCALE), home);
}

/// Makes a bencher executable measure the cases whose names contain `name`.
pub(super) fn ask_bencher_for(command: &mut Command, name: &str, home: &Path) {
    command.arg(name);
    clock::preload(command, ClockRate::Faster(CLOCK_SCALE), home);
}

/// Returns the names of the cases measured in `output`.
pub(super) fn measured_names(output: &str) -> Vec<String> {
    measurements(output).map(|(name, _)| name.to_owned()).collect()
}

/// Returns the median of the case `name` in `output`, as one sample. The process has its files in
/// `home`.
pub(super) fn samples(output: &str, name: &str, home: &Path) -> Result<Samples, String> {
    let found = measurements(output).find(|(measured, _)| *measured == name);
    let (_, time) = found.ok_or_else(|| "it printed no time of the case".to_owned())?;
    let scale = if clock::reads(home).is_some() { f64::from(CLOCK_SCALE) } else { 1.0 };
    let mut samples = Samples::new(0);
    samples.push(1, time / scale);
    Ok(samples)
}

/// Parses lines such as `test parse::long ... bench:       1,234.56 ns/iter (+/- 78)`.
fn measurements(output: &str) -> impl Iterator<Item = (&str, f64)> {
    output.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("test ")?.split_once(" ... bench:")?;
        let (time, _) = rest.split_once(" ns/iter")?;
        let time: f64 = time.trim().replace(',', "").parse().ok()?;
        Some((name.trim(), time))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\nrunning 3 tests\n\
        test parse::long     ... bench:   1,234,567.25 ns/iter (+/- 78.90) = 12 MB/s\n\
        test parse::long_url ... bench:          17 ns/iter (+/- 1)\n\
        test checks          ... ok\n\n\
        test result: ok. 0 passed; 0 failed; 1 ignored; 2 measured\n";

    #[test]
    fn medians_are_read_by_the_exact_name() {
        assert_eq!(measured_names(OUTPUT), ["parse::long", "parse::long_url"]);
        for (name, time) in [("parse::long", 1_234_567.25), ("parse::long_url", 17.0)] {
            assert_eq!(samples(OUTPUT, name, Path::new("/none")).unwrap().times_ns, [time]);
        }
        assert!(samples(OUTPUT, "checks", Path::new("/none")).is_err());
    }
}
