//! Executables of Divan: runs one case by its exact path for a short time, and reads the printed
//! table. Divan has no machine-readable output. Per process, it prints four significant digits of
//! the fastest sample and of the median.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rsb_model::Samples;

use super::MEASUREMENT;
use super::clock::{self, ClockRate};

/// Makes `command` measure the case `name`.
pub(super) fn ask_for(command: &mut Command, name: &str) {
    limit(command, MEASUREMENT);
    command.args(["--exact", name]);
}

/// Step of the clock while iterations are counted. Divan first measures the precision of the clock
/// and its own overhead, which takes the same number of instructions each time.
const CLOCK_STEP: Duration = Duration::from_nanos(100);

/// Makes `command` execute the case `name`, `iterations` times. Returns false if the clock cannot
/// be preloaded.
pub(super) fn ask_to_execute(
    command: &mut Command,
    name: &str,
    iterations: u64,
    home: &Path,
) -> bool {
    command.args(["--color", "never", "--sample-count", "1", "--exact", name]);
    command.args(["--sample-size", &iterations.to_string()]);
    clock::preload(command, ClockRate::Steps(CLOCK_STEP), home)
}

/// Makes `command` run every case once, because `--list` leaves out the arguments of functions.
pub(super) fn ask_to_list(command: &mut Command) {
    limit(command, Duration::from_millis(1));
    command.args(["--sample-count", "1", "--sample-size", "1"]);
}

fn limit(command: &mut Command, time: Duration) {
    command.args(["--color", "never", "--max-time", &time.as_secs_f64().to_string()]);
}

/// Returns the samples of the only case in the `table`.
pub(super) fn samples(table: &str) -> Result<Samples, String> {
    let mut cases = parse_table(table);
    match (cases.pop(), cases.len()) {
        (Some((_, samples)), 0) => Ok(samples),
        (_, others) => Err(format!("Divan measured {others} cases instead of one")),
    }
}

/// Parses the cases in the `table`: the path `crate::module::function::argument` of each, and its
/// fastest and median time.
pub(super) fn parse_table(table: &str) -> Vec<(String, Samples)> {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    for line in table.lines() {
        let Some((depth, rest)) = branch(line) else {
            // The line above the branches has the executable's crate and the names of the columns.
            if line.contains("fastest") && line.contains("median") {
                path = line.split_whitespace().take(1).collect();
            }
            continue;
        };
        let mut columns = rest.split('│').map(str::trim);
        let (Some(first), Some(median)) = (columns.next(), columns.nth(1)) else { continue };
        path.truncate(depth + 1);
        let Some(median) = nanoseconds(median) else {
            path.push(first);
            continue;
        };
        // The first column has the name followed by the fastest time.
        let mut words = first.rsplitn(3, char::is_whitespace);
        let (unit, number, name) =
            (words.next(), words.next(), words.next().unwrap_or_default().trim());
        let fastest =
            number.zip(unit).and_then(|(number, unit)| nanoseconds(&format!("{number} {unit}")));
        let mut samples = Samples::new(0);
        for time in fastest.into_iter().chain([median]) {
            samples.push(1, time);
        }
        found.push((path.iter().chain([&name]).copied().collect::<Vec<_>>().join("::"), samples));
    }
    found
}

/// Returns the depth of the branch in `line` below the executable, and the text after it.
fn branch(line: &str) -> Option<(usize, &str)> {
    let mut rest = line;
    let mut depth = 0;
    loop {
        if let Some(own) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
            return Some((depth, own));
        }
        rest = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   "))?;
        depth += 1;
    }
}

/// Parses a time such as `318.2 ns`, `1.5 µs`, `2 ms` or `3.1 s`, in nanoseconds.
fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_branches() {
        let table = "\
Timer precision: 20 ns
sorting        fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ fib                       │               │               │               │         │
│  ├─ 10       318.2 ns      │ 1.5 µs        │ 320.1 ns      │ 330 ns        │ 100     │ 800
│  ╰─ two words  2 ms        │ 3 ms          │ 2.5 ms        │ 2.4 ms        │ 100     │ 100
├─ plain       1.2 s         │ 1.3 s         │ 1.25 s        │ 1.25 s        │ 1       │ 1
│              8.1 Mitem/s   │ 8 Mitem/s     │ 8 Mitem/s     │ 8 Mitem/s     │         │
├─ left_out    (ignored)     │               │               │               │         │
╰─ inner                     │               │               │               │         │
   ╰─ made                   │               │               │               │         │
      ╰─ u32   0.25 ns       │ 1 ns          │ 0.5 ns        │ 0.6 ns        │ 100     │ 409600
";
        let found: Vec<(String, Vec<f64>)> =
            parse_table(table).into_iter().map(|(id, samples)| (id, samples.times_ns)).collect();
        let expected = [
            ("sorting::fib::10", [318.2, 320.1]),
            ("sorting::fib::two words", [2e6, 2.5e6]),
            ("sorting::plain", [1.2e9, 1.25e9]),
            ("sorting::inner::made::u32", [0.25, 0.5]),
        ];
        assert_eq!(found, expected.map(|(id, times)| (id.to_owned(), times.to_vec())));
    }
}
