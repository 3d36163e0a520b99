//! A matrix of nvbandwidth, printed or in JSON: GB/s between each row and column, or nanoseconds,
//! with the sum of all.

use rsb_model::Fields;

use super::sink::{ImportedCase, Sink};

/// One matrix of a test. A test of two directions has three: each direction and both together.
#[derive(Debug, Default)]
pub(super) struct Matrix<'a> {
    pub(super) test: &'a str,
    /// Which of the three it is, as in `read1`; nothing where a test has one.
    pub(super) part: String,
    /// What stands above it.
    pub(super) title: &'a str,
    pub(super) columns: Vec<String>,
    /// The label and the cells of each.
    pub(super) rows: Vec<(String, Vec<&'a str>)>,
    /// JSON has it for the last matrix of a test alone.
    pub(super) sum: Option<String>,
}

impl Matrix<'_> {
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
            let problem = format!("row {label} has {cells} figures for {columns} columns");
            return sink.unreadable(&self.name(label), &problem);
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            let part = format!("{label}-{column}");
            let is_none = cell.eq_ignore_ascii_case("n/a");
            // A GPU does not copy to itself here: versions before 0.4 print a zero, later ones N/A.
            if self.is_between_gpus() && label == column && (is_none || cell.parse() == Ok(0.0)) {
                continue;
            }
            if is_none {
                let why = "nvbandwidth does not measure between these two";
                sink.put_skipped(&self.name(&part), why);
            } else {
                self.put(&part, cell, field, sink);
            }
        }
    }

    /// Whether rows and columns are the same devices. Some titles of tests between nodes name a CPU
    /// by mistake.
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

/// The field for the unit in a title. One title ends with `BW`, which the source prints in GB/s
/// like every bandwidth.
fn unit(title: &str) -> Option<&'static str> {
    if title.contains("(GB/s)") || title.ends_with(" BW") {
        Some("bandwidth_gb_s")
    } else if title.contains("(ns)") {
        Some("latency_ns")
    } else {
        None
    }
}
