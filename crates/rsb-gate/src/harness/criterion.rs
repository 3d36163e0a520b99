//! Executables of Criterion: runs one case by its exact name with short times, and reads its
//! samples from a separate directory. Settings of the benchmark itself, such as the `sample_size`
//! of a group, override the command line.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rsb_model::{Outcome, Samples};
use rsb_store::read_criterion_dir;

use super::clock::{self, ClockRate};
use super::{MEASUREMENT, Pace, WARM_UP, volatile};

/// Name under which results are saved.
const RESULT: &str = "rsb";

/// Measuring times that a version of Criterion accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriterionTimes {
    /// Any time, from version 0.4 on.
    Short,
    /// Until the last two samples agree, with a clock that runs `QUICK_CLOCK_SCALE` times as fast.
    /// For benchmarks that set longer times themselves, as a group does with `measurement_time`;
    /// from version 0.4 on.
    FastQuick,
    /// Like `FastQuick`, but with the real clock, for benchmarks that wait for it. Takes half a
    /// second.
    Quick,
    /// Whole seconds, as versions before 0.4 require, with a clock that runs `SECONDS_CLOCK_SCALE`
    /// times as fast.
    FastSeconds,
    /// Whole seconds of the real clock, for benchmarks that take long even with the fast clock, for
    /// example because they wait until a time of the real clock.
    WholeSeconds,
}

/// Clock scale for versions of Criterion that accept only whole seconds. They then measure for 20
/// ms, like other versions.
const SECONDS_CLOCK_SCALE: u32 = 50;

/// Clock scale for measuring until the last two samples agree. Each sample then takes some
/// milliseconds, like the longest ones of other benchmarks.
const QUICK_CLOCK_SCALE: u32 = 100;

/// Step of the clock that makes a benchmark [execute a number of iterations](ask_to_execute).
/// Timing one iteration takes three steps, which is more than the second for which Criterion warms
/// up.
const CLOCK_STEP: Duration = Duration::from_millis(500);

impl CriterionTimes {
    /// Returns the times for a case at this `pace`.
    pub(super) const fn at(self, pace: Pace) -> Self {
        match (self, pace) {
            (_, Pace::Asked) => self,
            (Self::FastSeconds | Self::WholeSeconds, _) => Self::WholeSeconds,
            (_, Pace::Quick) => Self::FastQuick,
            (_, Pace::RealClock) => Self::Quick,
        }
    }

    /// Returns how many times as fast the clock runs.
    const fn clock_scale(self) -> u32 {
        match self {
            Self::FastQuick => QUICK_CLOCK_SCALE,
            Self::FastSeconds => SECONDS_CLOCK_SCALE,
            Self::Short | Self::Quick | Self::WholeSeconds => 1,
        }
    }

    /// Returns the arguments for the warm-up and measuring times.
    fn arguments(self) -> Vec<String> {
        let [warm_up, measurement] = match self {
            Self::Short => [WARM_UP, MEASUREMENT].map(|time| time.as_secs_f64().to_string()),
            // With `--quick`, Criterion ignores the other sizes.
            Self::FastQuick | Self::Quick => return vec!["--quick".to_owned()],
            Self::FastSeconds | Self::WholeSeconds => [1, 1].map(|time: u32| time.to_string()),
        };
        ["--sample-size", "10", "--warm-up-time", &warm_up, "--measurement-time", &measurement]
            .map(str::to_owned)
            .into()
    }
}

/// Makes `command` list its cases. The command fails if its version of Criterion does not accept
/// these `times`, or if it does not use Criterion.
pub(super) fn ask_to_list(command: &mut Command, times: CriterionTimes) {
    command.args(["--list", "--noplot"]).args(times.arguments());
}

/// Makes `command` measure the case that matches `filter` and store its result in `home`.
pub(super) fn ask_for(command: &mut Command, filter: &str, times: CriterionTimes, home: &Path) {
    command
        .env("CRITERION_HOME", home)
        .env("RSB_RESULTS_DIR", home.join("runs")) // Benches that are made with this program keep runs besides.
        .args(["--noplot", "--color", "never", "--save-baseline", RESULT])
        .args(["--nresamples", "100"]) // Its own analysis is not used.
        .args(times.arguments())
        .args(["--", filter]);
    if times.clock_scale() > 1 {
        clock::preload(command, ClockRate::Faster(times.clock_scale()), home);
    }
}

/// Makes `command` execute the case that matches `filter` `iterations` times, after one warm-up
/// iteration. `iterations` must be odd. Returns false if the clock cannot be preloaded.
pub(super) fn ask_to_execute(
    command: &mut Command,
    filter: &str,
    iterations: u64,
    home: &Path,
) -> bool {
    // With this clock, any iteration takes 1.5 s. Half an iteration is added, because fractions are
    // truncated. Before 0.4, Criterion accepts only whole seconds.
    let seconds = 3 * iterations.div_ceil(2) + 1;
    command.env("CRITERION_HOME", home).env("RSB_RESULTS_DIR", home.join("runs"));
    command.args(["--noplot", "--color", "never", "--profile-time"]);
    command.args([&seconds.to_string(), "--", filter]);
    clock::preload(command, ClockRate::Steps(CLOCK_STEP), home)
}

/// Returns a filter that only `name` matches: a regular expression, since Criterion 0.4 has no
/// `--exact`. If the name `is_volatile`, any text matches its volatile parts.
pub(super) fn filter(name: &str, is_volatile: bool) -> String {
    let parts = if is_volatile { volatile::stable_parts(name) } else { vec![name] };
    let escaped: Vec<String> = parts.into_iter().map(regex::escape).collect();
    format!("^{}$", escaped.join(".+"))
}

/// Returns the unit of the result in `printed`, unless it is a unit of time. Benchmarks may measure
/// cycles or bytes.
pub(super) fn other_unit(printed: &str) -> Option<&str> {
    const TIMES: [&str; 6] = ["ps", "ns", "µs", "us", "ms", "s"];
    let (_, interval) = printed.split_once("time:")?;
    let unit = interval.trim_start().strip_prefix('[')?.split_whitespace().nth(1)?;
    (!TIMES.contains(&unit)).then_some(unit)
}

/// Reads the samples that a process with these `times` stored in `home`.
pub(super) fn samples(home: &Path, times: CriterionTimes) -> Result<Samples, String> {
    let run = read_criterion_dir(home, RESULT)
        .map_err(|error| format!("Criterion stored no result: {error}"))?;
    let [result] = run.benchmarks.as_slice() else {
        return Err(format!("Criterion measured {} cases instead of one", run.benchmarks.len()));
    };
    match (result.outcome, result.samples.as_slice()) {
        (Outcome::Measured, [samples]) => {
            let mut samples = samples.clone();
            if clock::reads(home).is_some() {
                let scale = f64::from(times.clock_scale());
                samples.times_ns.iter_mut().for_each(|time| *time /= scale);
            }
            Ok(samples)
        }
        _ => Err(result
            .reason
            .as_ref()
            .map_or_else(|| "Criterion stored no samples".to_owned(), |why| why.why.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that runs for 0.1 s by the time of day sees the monotonic clock advance faster.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_preloaded_clock_runs_faster_by_its_scale() {
        const PROGRAM: &str = "import time\nbegin, day = time.monotonic(), time.time()\n\
            while time.time() - day < 0.1: pass\nprint(time.monotonic() - begin)";
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new("python3");
        ask_for(&mut command, "x", CriterionTimes::FastSeconds, home.path());
        let mut python = Command::new("python3");
        python.args(["-c", PROGRAM]);
        python.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let Ok(output) = python.output() else { return };
        let passed: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(passed >= 0.1 * f64::from(SECONDS_CLOCK_SCALE), "{passed} s");
        assert!(clock::reads(home.path()).is_some());
    }

    #[test]
    fn a_unit_that_is_no_time_is_read_from_the_result() {
        for (printed, expected) in [
            ("fib 20    time:   [25.918 µs 25.986 µs 26.067 µs]\n", None),
            ("fib 20\n          time:   [1.2 Kcycles 1.3 Kcycles 1.4 Kcycles]\n", Some("Kcycles")),
            ("Benchmarking fib 20: Warming up\n", None),
        ] {
            assert_eq!(other_unit(printed), expected, "{printed}");
        }
    }

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
