//! `nvbandwidth`: a matrix for each test, GB/s between each row and column, or nanoseconds in its latency tests.

use rsb_model::Fields;

use super::Input;
use super::sink::{ImportedCase, Sink};

/// The test that the lines belong to.
#[derive(Default)]
struct Test<'a> {
    name: &'a str,
    /// The field of its figures, once the title has told the unit.
    field: Option<&'static str>,
    columns: Vec<&'a str>,
    cells: usize,
    is_ended: bool,
}

/// Adds each cell of each matrix, and the sum that closes it.
pub(super) fn read(input: &Input<'_>, sink: &mut Sink) {
    let mut test: Option<Test<'_>> = None;
    let mut waived = 0_usize;
    for line in input.text.lines().map(str::trim) {
        if let Some(name) = started(line) {
            close(test.take(), sink);
            test = Some(Test { name, ..Test::default() });
        } else if line.to_ascii_lowercase().starts_with("waived") {
            match test.take_if(|test| test.columns.is_empty()) {
                Some(test) => sink.skipped(test.name, "this machine cannot run it"),
                None => waived += 1,
            }
        } else if let Some(test) = test.as_mut().filter(|test| !test.is_ended) {
            test.take(line, sink);
        }
    }
    close(test, sink);
    if waived > 0 {
        sink.note(format!("nvbandwidth left out {waived} tests that this machine cannot run"));
    }
}

/// The name in `Running NAME.`
fn started(line: &str) -> Option<&str> {
    let name = line.strip_prefix("Running ").or_else(|| line.strip_prefix("running "))?;
    let name = name.trim().trim_end_matches('.');
    (!name.is_empty() && !name.contains(' ')).then_some(name)
}

/// Says what is missing of a test that did not come to its end.
fn close(test: Option<Test<'_>>, sink: &mut Sink) {
    let Some(test) = test.filter(|test| !test.is_ended) else { return };
    let problem = if test.cells == 0 {
        "the test has no figures: it failed, or the output was cut off"
    } else {
        "the test ends before its sum: the output was cut off, or is of a version before 0.4"
    };
    sink.unreadable(&format!("{}/sum", test.name), problem);
}

impl<'a> Test<'a> {
    fn take(&mut self, line: &'a str, sink: &mut Sink) {
        if line.contains("(row)") && line.contains("(column)") {
            self.field = unit(line);
            if self.field.is_none() {
                sink.unreadable(&format!("{}/unit", self.name), &format!("`{line}` has neither (GB/s) nor (ns)"));
            }
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["SUM", name, value] if *name == self.name => {
                self.is_ended = true;
                self.put("sum", value, sink);
            }
            [first, ..] if first.parse::<u32>().is_ok() && self.columns.is_empty() => self.columns = words,
            [row, cells @ ..] if !self.columns.is_empty() && row.parse::<u32>().is_ok() => {
                self.row(row, cells, sink);
            }
            _ => {}
        }
    }

    fn row(&mut self, row: &str, cells: &[&str], sink: &mut Sink) {
        if cells.len() != self.columns.len() {
            let problem = format!("row {row} has {} figures for {} columns", cells.len(), self.columns.len());
            return sink.unreadable(&format!("{}/{row}", self.name), &problem);
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            self.cells += 1;
            // A GPU does not copy to itself here.
            if !cell.eq_ignore_ascii_case("n/a") {
                self.put(&format!("{row}-{column}"), cell, sink);
            }
        }
    }

    fn put(&self, part: &str, text: &str, sink: &mut Sink) {
        // Without a unit the figure means nothing, and that is already said.
        let Some(field) = self.field else { return };
        let value = text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"));
        let found = value.map(|value| ImportedCase::of(Fields::new().with("operation", self.name).with(field, value)));
        sink.put(&format!("{}/{part}", self.name), found);
    }
}

/// The field for the unit that ends a title.
fn unit(title: &str) -> Option<&'static str> {
    if title.contains("(GB/s)") {
        Some("bandwidth_gb_s")
    } else if title.contains("(ns)") {
        Some("latency_ns")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn cells_and_sums_are_cases_in_the_unit_of_the_title() {
        let run = read(Format::Nvbandwidth, sample(Format::Nvbandwidth)).unwrap();
        let figures: Vec<(&str, Option<f64>, Option<f64>)> = run
            .benchmarks
            .iter()
            .map(|case| {
                let number = |name| case.fields().unwrap().number(name);
                let id = case.benchmark_id.as_str().strip_prefix("gpu_performance/nvbandwidth/").unwrap();
                (id, number("bandwidth_gb_s"), number("latency_ns"))
            })
            .collect();
        assert_eq!(
            figures,
            [
                ("host_to_device_memcpy_ce/0-0", Some(55.5), None),
                ("host_to_device_memcpy_ce/0-1", Some(54.5), None),
                ("host_to_device_memcpy_ce/sum", Some(110.0), None),
                ("device_latency_sm/0-1", None, Some(700.0)),
                ("device_latency_sm/1-0", None, Some(800.0)),
                ("device_latency_sm/sum", None, Some(1500.0)),
            ]
        );
        assert_eq!(run.notes[0].to_string(), "nvbandwidth left out 1 tests that this machine cannot run");
    }

    #[test]
    fn what_is_cut_or_has_no_unit_is_a_failure() {
        let text = sample(Format::Nvbandwidth);
        for (text, failed) in [
            (text.replace("SUM device_latency_sm 1500.0", ""), 1),
            (text.replace(" 0     55.5     54.5", " 0     55.5"), 1),
            (text.replace("(ns)", "(fortnights)"), 1),
            (text.replace("55.5", "nan"), 1),
            (text.replace("55.5", "-55.5"), 1),
        ] {
            let run = read(Format::Nvbandwidth, &text).unwrap();
            assert_eq!(run.counts().failed, failed, "{text}\n{run:?}");
        }
        let waived = "Running a.\nWaived: no\nRunning b.\nERROR: out of memory\n";
        let run = read(Format::Nvbandwidth, waived).unwrap();
        let outcomes: Vec<Outcome> = run.benchmarks.iter().map(|case| case.outcome).collect();
        assert_eq!(outcomes, [Outcome::Skipped, Outcome::Failed]);
    }
}
