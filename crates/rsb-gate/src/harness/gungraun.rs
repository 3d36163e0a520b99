//! Executables of gungraun and iai-callgrind. They start a runner program, which executes each case
//! once under Valgrind and prints its instructions. The harness measures no time.
//!
//! The terminal output is parsed, because its format is the same in all versions, unlike that of
//! the JSON output.

use std::path::Path;
use std::process::Command;

use rsb_model::Reason;

use super::counting::{CountedValues, find_program};
use super::metric::{ESTIMATED_CYCLES, INSTRUCTIONS};

/// Names of the runners. Every executable contains the name of the runner that it starts.
pub(super) const RUNNERS: [&str; 2] = ["gungraun-runner", "iai-callgrind-runner"];

/// Labels in a runner's output, and the fields of a result that contain their values.
const LABELS: [(&str, &str); 2] =
    [("Instructions", INSTRUCTIONS), ("Estimated Cycles", ESTIMATED_CYCLES)];

/// Reason why the harness cannot be timed.
pub(super) const NO_TIME: &str = "its harness counts instructions and measures no time";

/// Checks that Valgrind and `runner` are installed, which the executable `what` needs.
///
/// # Errors
/// If one of them is missing, with the command that installs it.
pub(super) fn check_installed(what: &str, runner: &str) -> Result<(), Reason> {
    // The path of the runner may be set when the executable is built.
    let variable = runner.to_uppercase().replace('-', "_");
    let (why, cure) = if find_program("valgrind").is_none() {
        let why = "it counts instructions with Valgrind, which is not in PATH".to_owned();
        (why, "install valgrind (`apt-get install valgrind`)".to_owned())
    } else if find_program(runner).is_none() && std::env::var_os(variable).is_none() {
        let cure = format!(
            "run `cargo install --locked {runner} --version VERSION` with the version of its \
             library in Cargo.lock"
        );
        (format!("it needs the program `{runner}`, which is not in PATH"), cure)
    } else {
        return Ok(());
    };
    Err(Reason::new(what, why, cure))
}

/// Returns how to see why the bench target `target` does not list its cases.
pub(super) fn cure(target: &str) -> String {
    format!(
        "run `cargo bench --bench {target} -- --list` to see more; gungraun and iai-callgrind list \
         cases from version 0.14.1 on"
    )
}

/// Makes `command` list its cases.
pub(super) fn ask_to_list(command: &mut Command) {
    print_plainly(command);
    command.arg("--list");
}

/// Makes `command` count every case, with its files in `home`. The runner prints no comparison if
/// `home` has no files of an earlier process.
pub(super) fn ask_for_counts(command: &mut Command, home: &Path) {
    print_plainly(command);
    command.arg("--home").arg(home);
}

fn print_plainly(command: &mut Command) {
    command.arg("--output-format=default");
    command.env("GUNGRAUN_COLOR", "never").env("IAI_CALLGRIND_COLOR", "never");
}

/// Returns the counts of the case `name` in the `output` of a runner: the last ones below its
/// heading, which are totals over threads. Without simulated caches, there are no cycles.
pub(super) fn counts(output: &str, name: &str) -> CountedValues {
    let mut is_own = false;
    let mut values = CountedValues::new();
    for line in output.lines() {
        let text = line.trim_start_matches([' ', '|', '-', '=']);
        if line.starts_with(char::is_alphabetic) {
            is_own = is_heading(line, name);
        } else if text.starts_with("Comparison with") {
            is_own = false;
        } else if let Some((label, counts)) = text.split_once(':').filter(|_| is_own) {
            let field = LABELS.iter().find(|(known, _)| *known == label).map(|(_, field)| *field);
            let new = counts.split('|').next().and_then(|new| new.trim().parse().ok());
            values.extend(field.zip(new));
        }
    }
    values
}

/// Returns whether `line` is the heading of the case `name`, listed as `file::group::function::id`:
/// `file::group::function id:arguments`. A case may have no id.
fn is_heading(line: &str, name: &str) -> bool {
    let (path, rest) = line.split_once(' ').unwrap_or((line, ""));
    let id = rest.split(':').next().unwrap_or_default();
    name.strip_prefix(path).is_some_and(|own| own.is_empty() || own.strip_prefix("::") == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of several versions: without and with an earlier run, a grid, threads, other tools.
    const OUTPUT: &str = "\
lib::group::parse short:\"a::b c\"
  Instructions:                1734|N/A             (*********)
  L1 Hits:                     2359|N/A             (*********)
  Estimated Cycles:            2494|N/A             (*********)
lib::group::parse long:read(\"file\")
  ======= CALLGRIND ==================================================
  Instructions:             26214735|26214734        (+0.00000%) [+1.00000x]
  Comparison with other long
  Instructions:                   9|10              (-10.0000%) [-1.11111x]
lib::group::threads
|======== CALLGRIND ===================================================
|-## pid: 1 thread: 1
| Instructions:                  100|N/A             (*********)
|-## Total
| Instructions:                  300|N/A             (*********)
lib::group::leaks
  ======= DHAT =======================================================
  Total bytes:                    64|N/A             (*********)

Gungraun result: Ok. 4 without regressions; 0 regressed; 4 benchmarks finished in 1.2s
";

    #[test]
    fn counts_are_read_by_the_name_of_the_list() {
        for (name, expected) in [
            ("lib::group::parse::short", &[(INSTRUCTIONS, 1734.0), (ESTIMATED_CYCLES, 2494.0)][..]),
            ("lib::group::parse::long", &[(INSTRUCTIONS, 26_214_735.0)]),
            ("lib::group::threads", &[(INSTRUCTIONS, 300.0)]),
            ("lib::group::leaks", &[]),
            ("lib::group::parse::other", &[]),
        ] {
            assert_eq!(counts(OUTPUT, name), expected.iter().copied().collect(), "{name}");
        }
    }
}
