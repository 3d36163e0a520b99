//! A matrix of nvbandwidth, from text or JSON: GB/s between each row and column, or nanoseconds,
//! with their sum.

use rsb_model::Fields;

use super::sink::{ImportedCase, Sink};

/// One matrix of a test. A bidirectional test has three: each direction and the total.
#[derive(Debug, Default)]
pub(super) struct Matrix<'a> {
    pub(super) test: &'a str,
    /// Part of a bidirectional test, such as `read1`; empty if the test has one matrix.
    pub(super) part: String,
    /// Title above the matrix.
    pub(super) title: &'a str,
    pub(super) columns: Vec<String>,
    /// Label and cells of each row.
    pub(super) rows: Vec<(String, Vec<&'a str>)>,
    /// Printed sum. In JSON, only the last matrix of a test has it.
    pub(super) sum: Option<String>,
}

impl<'a> Matrix<'a> {
    /// Takes the test and the part from `name`, `TEST` or `TEST_PART`. If it is not of the current
    /// test, the line that begins its test is missing.
    pub(super) fn rename(&mut self, name: &'a str) {
        if name == self.test {
            self.part.clear();
        } else if let Some(part) =
            name.strip_prefix(self.test).and_then(|rest| rest.strip_prefix('_'))
        {
            part.clone_into(&mut self.part);
        } else {
            let test = name.strip_suffix(&self.part).and_then(|test| test.strip_suffix('_'));
            self.test = test.unwrap_or(name);
        }
    }

    pub(super) fn add(&self, sink: &mut Sink) {
        let Some(field) = unit(self.title) else {
            let problem = format!("`{}` has neither (GB/s) nor (ns)", self.title);
            return sink.unreadable(&self.name("unit"), &problem);
        };
        for (label, cells) in &self.rows {
            self.row(label, cells, field, sink);
        }
        if let Some(sum) = &self.sum {
            self.put("sum", sum, field, sink);
        }
    }

    fn row(&self, label: &str, cells: &[&str], field: &'static str, sink: &mut Sink) {
        if cells.len() != self.columns.len() {
            let (cells, columns) = (cells.len(), self.columns.len());
            let problem = format!("row {label} has {cells} values for {columns} columns");
            return sink.unreadable(&self.name(label), &problem);
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            let part = format!("{label}-{column}");
            let is_none = cell.eq_ignore_ascii_case("n/a");
            // A GPU does not copy to itself: versions before 0.4 print zero, later ones N/A.
            if self.is_between_gpus() && label == column && (is_none || cell.parse() == Ok(0.0)) {
                continue;
            }
            if is_none {
                let why = "nvbandwidth does not measure this pair";
                sink.put_skipped(&self.name(&part), why);
            } else {
                self.put(&part, cell, field, sink);
            }
        }
    }

    /// Returns whether rows and columns are the same devices. The test name is checked too, because
    /// some titles of multi-node tests name a CPU by mistake.
    fn is_between_gpus(&self) -> bool {
        self.test.contains("device_to_device")
            || self.title.contains("GPU(row)") && self.title.contains("GPU(column)")
    }

    fn put(&self, part: &str, text: &str, field: &'static str, sink: &mut Sink) {
        let value = text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"));
        let found = value.map(|value| {
            ImportedCase::of(Fields::new().with("operation", self.test).with(field, value))
        });
        sink.put(&self.name(part), found);
    }

    pub(super) fn name(&self, part: &str) -> String {
        let parts = [self.test, &self.part, part];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }
}

/// Returns the field for the unit in a title. One title ends with `BW`; the tool's source prints it
/// in GB/s like all bandwidths.
fn unit(title: &str) -> Option<&'static str> {
    if title.contains("(GB/s)") || title.ends_with(" BW") {
        Some("bandwidth_gb_s")
    } else if title.contains("(ns)") {
        Some("latency_ns")
    } else {
        None
    }
}
