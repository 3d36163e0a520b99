//! The benchmarks that can run on this machine and their backends, and why other benchmarks cannot
//! run.

use itertools::Itertools as _;
use rsb_model::Reason;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::comparison::Detail;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::unmeasured::ALL_BENCHMARKS;

/// The cases of a benchmark on one backend, and whether they can run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseRow {
    /// Benchmark name.
    pub benchmark: String,
    /// One-line description.
    pub about: String,
    /// Whether it is the user's own; its description is never shortened.
    pub is_own: bool,
    /// Backend name.
    pub backend: String,
    /// Names of the backend's devices on this machine.
    pub devices: Vec<String>,
    /// Number of cases at the requested breadth.
    pub cases: usize,
    /// Reason why the cases cannot run here; `None` if they can.
    pub missing: Option<Reason>,
}

impl Serialize for CaseRow {
    /// Serializes `runnable`; if the cases cannot run, also `what`, `why` and `cure`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("CaseRow", 9)?;
        row.serialize_field("benchmark", &self.benchmark)?;
        row.serialize_field("about", &self.about)?;
        row.serialize_field("backend", &self.backend)?;
        row.serialize_field("devices", &self.devices)?;
        row.serialize_field("cases", &self.cases)?;
        row.serialize_field("runnable", &self.missing.is_none())?;
        if let Some(Reason { what, why, cure, .. }) = &self.missing {
            row.serialize_field("what", what)?;
            row.serialize_field("why", why)?;
            row.serialize_field("cure", cure)?;
        }
        row.end()
    }
}

/// Backend name for benchmarks that are not tied to a backend, such as those of a framework.
const ANY: &str = "any";

const MORE: &str = "--verbose shows how to add missing backends, and the axes of each benchmark.";

/// Formats the list for a terminal: benchmarks that run here with their backends, then missing
/// backends, then benchmarks that cannot run and why. [`Detail::Full`] adds how to fix each
/// problem.
pub fn text(rows: &[CaseRow], style: Style, detail: Detail) -> String {
    if rows.is_empty() {
        return "No benchmark matches.\n".to_owned();
    }
    let (of_models, native): (Vec<&CaseRow>, Vec<&CaseRow>) =
        rows.iter().partition(|row| row.benchmark == ALL_BENCHMARKS);
    let (present, absent): (Vec<&str>, Vec<&str>) = distinct(&native, |row| &row.backend)
        .into_iter()
        .filter(|backend| *backend != ANY)
        .partition(|backend| native.iter().any(|row| row.backend == *backend && runs(row)));
    let parts = [
        runnable(&native, detail).text(style),
        missing_backends(&absent, &native, detail).text(style),
        not_runnable(&present, &native, detail).text(style),
        models_only(&of_models, style),
        if detail == Detail::Brief { style.wrap(MORE, 0) } else { String::new() },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).join("\n")
}

fn runs(row: &CaseRow) -> bool {
    row.missing.is_none() && row.cases > 0
}

fn distinct<'a>(rows: &[&'a CaseRow], of: fn(&'a CaseRow) -> &'a str) -> Vec<&'a str> {
    rows.iter().map(|row| of(row)).unique().collect()
}

/// Returns a row for each benchmark that runs here, with its backends.
fn runnable(rows: &[&CaseRow], detail: Detail) -> Table {
    let mut table =
        Table::new([Column::left("runs here"), Column::left("on"), Column::wrapped("measures")]);
    for benchmark in distinct(rows, |row| &row.benchmark) {
        let running: Vec<&CaseRow> =
            rows.iter().copied().filter(|row| row.benchmark == benchmark && runs(row)).collect();
        if let Some(first) = running.first() {
            let is_whole = detail == Detail::Full || first.is_own;
            let about = if is_whole { &first.about } else { gist(&first.about) };
            let backends =
                distinct(&running, |row| if row.backend == ANY { "python" } else { &row.backend });
            table.push([
                Cell::from(benchmark),
                Cell::with_tone(backends.join(" "), Tone::Good),
                Cell::from(about),
            ]);
        }
    }
    table
}

fn gist(about: &str) -> &str {
    about.split([':', ';', ',']).next().unwrap_or(about)
}

/// Returns a row for each backend on which nothing runs, with the missing library or device.
fn missing_backends(absent: &[&str], rows: &[&CaseRow], detail: Detail) -> Table {
    let mut table = Table::new([Column::left("missing backend"), Column::wrapped("needs")]);
    for backend in absent {
        let reasons: Vec<&Reason> = rows
            .iter()
            .filter(|row| row.backend == *backend)
            .filter_map(|row| row.missing.as_ref())
            .collect();
        // The most common reason is that the backend is missing. Benchmarks that it never supports
        // have other reasons.
        let most_common = reasons
            .iter()
            .rev()
            .max_by_key(|reason| reasons.iter().filter(|other| *other == *reason).count());
        let Some(reason) = most_common else { continue };
        table.push([Cell::with_tone(backend, Tone::Caution), Cell::from(&reason.what)]);
        if detail == Detail::Full {
            table.note(format!("{}; {}", reason.why, reason.cure));
        }
    }
    table
}

/// Returns a row for each reason why benchmarks cannot run on any backend here. [`Detail::Full`]
/// also includes reasons why they do not run on a backend that is `present`.
fn not_runnable(present: &[&str], rows: &[&CaseRow], detail: Detail) -> Table {
    let mut groups: Vec<(String, &str, Vec<String>)> = Vec::new();
    for benchmark in distinct(rows, |row| &row.benchmark) {
        let of_benchmark: Vec<&CaseRow> =
            rows.iter().copied().filter(|row| row.benchmark == benchmark).collect();
        let runs_somewhere = of_benchmark.iter().any(|row| runs(row));
        let mut stopped = of_benchmark;
        stopped.retain(|row| row.backend == ANY || present.contains(&row.backend.as_str()));
        stopped.retain(|row| !runs(row));
        // Report that a backend never supports a benchmark only if there is no other reason.
        if runs_somewhere || stopped.iter().any(|row| !is_unfit(row)) {
            stopped.retain(|row| !is_unfit(row));
        }
        if detail == Detail::Brief {
            stopped.truncate(usize::from(!runs_somewhere));
        }
        for row in stopped {
            let name = if runs_somewhere {
                format!("{benchmark} on {}", row.backend)
            } else {
                benchmark.to_owned()
            };
            let (why, cure) = why_and_cure(row);
            match groups.iter_mut().find(|(known, of_known, _)| *known == why && *of_known == cure)
            {
                Some((.., names)) if names.contains(&name) => {}
                Some((.., names)) => names.push(name),
                None => groups.push((why, cure, vec![name])),
            }
        }
    }
    let mut table = Table::new([Column::wrapped("cannot run here"), Column::wrapped("because")]);
    for (why, cure, names) in groups {
        table.push([Cell::from(names.join(", ")), Cell::from(why)]);
        if detail == Detail::Full {
            table.note(cure);
        }
    }
    table
}

fn why_and_cure(row: &CaseRow) -> (String, &str) {
    match &row.missing {
        None => ("none of its cases fits the device".to_owned(), ""),
        Some(reason) if is_unfit(row) || row.backend == ANY => (reason.why.clone(), &reason.cure),
        Some(reason) => (format!("{}: {}", reason.what, reason.why), &reason.cure),
    }
}

/// Returns whether the backend can never run the benchmark, whatever is installed.
fn is_unfit(row: &CaseRow) -> bool {
    let unfit = format!("{} on {}", row.benchmark, row.backend);
    row.missing.as_ref().is_some_and(|reason| reason.what == unfit)
}

/// Lists the backends that only run models.
fn models_only(rows: &[&CaseRow], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let backends = distinct(rows, |row| &row.backend).join(", ");
    style.wrap(&format!("`rusty-stack-bench models --backend NAME` also takes {backends}."), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_the_user_is_shown_whole() {
        let row = |is_own| CaseRow {
            benchmark: "count".to_owned(),
            about: "lines of a file, counted".to_owned(),
            is_own,
            backend: "cpu".to_owned(),
            devices: vec!["CPU".to_owned()],
            cases: 2,
            missing: None,
        };
        for (is_own, is_whole) in [(true, true), (false, false)] {
            let text = text(&[row(is_own)], Style::PLAIN, Detail::Brief);
            assert_eq!(text.contains("lines of a file, counted"), is_whole, "{text}");
        }
    }
}
