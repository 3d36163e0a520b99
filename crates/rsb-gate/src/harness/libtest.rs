//! Executables of the test harness (`#[bench]`) and of the crate `bencher`, whose output looks the
//! same: of each case and process the median, in nanoseconds.

use std::process::Command;

use rsb_model::Samples;

/// Has `command` list its cases. A bencher cannot list them, and measures each instead.
pub(super) fn ask_to_list(command: &mut Command) {
    command.arg("--list");
}

/// Has `command` measure the case called `name`.
pub(super) fn ask_for(command: &mut Command, name: &str) {
    command.args(["--exact", name, "--color", "never"]);
}

/// Has a bencher measure the cases whose names contain `name`.
pub(super) fn ask_bencher_for(command: &mut Command, name: &str) {
    command.arg(name);
}

/// The names of the cases measured in `output`.
pub(super) fn measured_names(output: &str) -> Vec<String> {
    measurements(output).map(|(name, _)| name.to_owned()).collect()
}

/// The median of the case called `name` in `output`, as one sample.
pub(super) fn samples(output: &str, name: &str) -> Result<Samples, String> {
    let found = measurements(output).find(|(measured, _)| *measured == name);
    let (_, time) = found.ok_or_else(|| "it printed no time of the case".to_owned())?;
    let mut samples = Samples::new(0);
    samples.push(1, time);
    Ok(samples)
}

/// Lines such as `test parse::long ... bench:       1,234.56 ns/iter (+/- 78)`.
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
            assert_eq!(samples(OUTPUT, name).unwrap().times_ns, [time]);
        }
        assert!(samples(OUTPUT, "checks").is_err());
    }
}
