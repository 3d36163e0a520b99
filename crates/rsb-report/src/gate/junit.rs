//! `JUnit` XML that conforms to the schemas of Ant and Surefire: one suite for the comparison, one
//! test per row. A regression is a failure; no verdict is an error. The time of a test is the
//! measured time, so that CI servers chart it. The crate quick-junit is not used: it truncates
//! times to milliseconds, and writes attributes that Ant's schema rejects.

use rsb_model::record::Comparison;
use rsb_model::{CaseId, ComparisonResult};

use super::finding::{FindingKind, GateFinding, findings};
use crate::comparison::verdict_sentence;
use crate::label::split_id;
use crate::markdown::escape_xml;
use crate::number::nanoseconds_in;

const SUITE: &str = "rusty-stack-bench";

pub(super) fn write(result: &ComparisonResult) -> String {
    let all = findings(result);
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    out.push_str(&suite(result, &all));
    out.push_str(&properties(result));
    out.extend(all.iter().map(case));
    // Both schemas require these two elements at the end, even if empty.
    out.push_str(&format!("    <system-out>{}</system-out>\n", escape(&summarize(result))));
    out.push_str("    <system-err></system-err>\n  </testsuite>\n</testsuites>\n");
    out
}

fn suite(result: &ComparisonResult, all: &[GateFinding<'_>]) -> String {
    // `sum` of nothing would be -0, which Surefire's schema rejects.
    let seconds =
        all.iter().filter_map(|finding| seconds(finding.row?)).fold(0.0, |sum, each| sum + each);
    let attributes = attributes(&[
        ("name", SUITE),
        ("package", SUITE),
        ("id", "0"),
        // UTC without a time zone suffix, which Ant's schema does not allow.
        ("timestamp", &result.timestamp.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
        // The value that Ant's schema prescribes for an unknown host. A comparison may involve two
        // hosts.
        ("hostname", "localhost"),
        ("tests", &all.len().to_string()),
        ("failures", &count_kind(all, FindingKind::Regressed).to_string()),
        ("errors", &count_kind(all, FindingKind::NoVerdict).to_string()),
        ("skipped", "0"),
        ("time", &format!("{seconds:.3}")),
    ]);
    format!("  <testsuite{attributes}>\n")
}

fn count_kind(findings: &[GateFinding<'_>], kind: FindingKind) -> usize {
    findings.iter().filter(|finding| finding.kind() == kind).count()
}

fn properties(result: &ComparisonResult) -> String {
    let all = [
        ("comparison_id", result.comparison_id.as_str()),
        ("baseline_run_id", &result.baseline_run_id),
        ("current_run_id", &result.current_run_id),
        ("threshold_percent", &result.threshold_percent.to_string()),
        ("verdict", result.verdict.as_str()),
    ];
    let mut inside = String::new();
    for (name, value) in all {
        let attributes = attributes(&[("name", name), ("value", value)]);
        inside.push_str(&format!("      <property{attributes}/>\n"));
    }
    format!("    <properties>\n{inside}    </properties>\n")
}

fn case(finding: &GateFinding<'_>) -> String {
    let (class, case) = place(finding);
    let name = finding.row.map_or_else(|| case.to_owned(), |row| format!("{case} {}", row.metric));
    let time = format!("{:.9}", finding.row.and_then(seconds).unwrap_or(0.0));
    let open = attributes(&[("classname", class), ("name", &name), ("time", &time)]);
    let element = match finding.kind() {
        FindingKind::Regressed => "failure",
        FindingKind::NoVerdict => "error",
        FindingKind::Improved | FindingKind::Unchanged => {
            return format!("    <testcase{open}/>\n");
        }
    };
    let why = attributes(&[("type", finding.code.as_str()), ("message", &finding.reason)]);
    let (id, figures) = (finding.id.map_or("", |id| id.as_str()), finding.figures());
    let body = escape([id, &figures].join(": ").trim_matches([':', ' ']));
    format!("    <testcase{open}>\n      <{element}{why}>{body}</{element}>\n    </testcase>\n")
}

/// Returns the benchmark and the rest of the id. Ids in another format are split at the last slash.
fn place<'a>(finding: &GateFinding<'a>) -> (&'a str, &'a str) {
    let Some(id) = finding.id else { return (SUITE, "verdict") };
    match split_id(id) {
        ("", text) => {
            text.rsplit_once('/').filter(|(class, _)| !class.is_empty()).unwrap_or((SUITE, text))
        }
        ours => ours,
    }
}

/// Returns the current time of one iteration in seconds; `None` if the metric is not a time.
fn seconds(row: &Comparison) -> Option<f64> {
    let is_time = matches!(row.unit.as_str(), "ns" | "µs" | "us" | "ms" | "s");
    let seconds = row.current_value? * nanoseconds_in(&row.unit) / 1e9;
    (is_time && seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

fn summarize(result: &ComparisonResult) -> String {
    let new: Vec<&str> = result.new.iter().map(CaseId::as_str).collect();
    let mut lines = vec![verdict_sentence(result).1];
    if !new.is_empty() {
        lines.push(format!("New, without a baseline: {}.", new.join(", ")));
    }
    lines.extend(result.notes.iter().map(|note| format!("Note: {}.", note.text)));
    lines.join(" ")
}

fn attributes(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape(value))).collect()
}

/// Escapes `text` for XML 1.0, which also forbids two characters that are not control characters.
fn escape(text: &str) -> String {
    escape_xml(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
