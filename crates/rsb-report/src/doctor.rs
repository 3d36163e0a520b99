//! Findings of a machine check, each with how to fix it.

use itertools::Itertools as _;
use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::format::FORMAT_VERSION;

use crate::document::{ReportError, json as write};
use crate::number::format_count;
use crate::style::{Style, Tone};

/// Optional part of a build.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BuildPart {
    /// Name of its cargo feature.
    pub name: &'static str,
    /// Whether this build has it.
    pub is_present: bool,
    /// Command that adds it, if it is missing.
    pub cure: Option<String>,
}

/// Formats the parts of a build for a terminal: those that it has, and how to add the others.
fn build_text(version: &str, parts: &[BuildPart], style: Style) -> String {
    let names = |is_present: bool| {
        parts.iter().filter(|part| part.is_present == is_present).map(|part| part.name).join(",")
    };
    let (present, missing) = (names(true), names(false));
    let mut text =
        format!("rusty-stack-bench {version}, built with {}", present.replace(',', ", "));
    if !missing.is_empty() {
        text.push_str(&format!(
            "; not built in: {}; `cargo install --path . --features {missing}` adds them",
            missing.replace(',', ", ")
        ));
    }
    style.wrap(&text, 0)
}

/// Width in columns of the severity and the gap after it.
const INDENT: usize = 9;

/// Formats the findings for a terminal.
pub fn text(findings: &[Finding], style: Style) -> String {
    let mut out = String::new();
    for finding in findings {
        let severity =
            style.paint(tone(finding.severity), &format!("{:<7}", finding.severity.as_str()));
        out.push_str(&format!("{severity}  {}", style.wrap(&finding.what, INDENT).trim_start()));
        let why = style.wrap(&finding.why, INDENT);
        out.extend(why.lines().map(|line| style.paint(Tone::Dim, line) + "\n"));
        if let Some(cure) = &finding.cure {
            out.push_str(&style.wrap(&format!("cure: {cure}"), INDENT));
        }
    }
    if !findings.is_empty() {
        out.push('\n');
    }
    out + &summary(findings) + "\n"
}

/// Formats the findings for a terminal, like [`text`], with the version and the parts of the build
/// above the summary.
pub fn text_with_build(
    findings: &[Finding],
    version: &str,
    parts: &[BuildPart],
    style: Style,
) -> String {
    let text = text(findings, style);
    let summary = summary(findings) + "\n";
    let above = text.strip_suffix(&summary).unwrap_or_default();
    format!("{above}{}\n{summary}", build_text(version, parts, style))
}

/// Formats the findings as JSON, with the count of each severity and the parts of the build,
/// if there are any.
///
/// # Errors
/// As [`crate::json`].
pub fn json(findings: &[Finding], build: &[BuildPart]) -> Result<String, ReportError> {
    let counts: serde_json::Map<String, serde_json::Value> = SEVERITIES
        .iter()
        .map(|severity| (severity.as_str().to_owned(), count(findings, *severity).into()))
        .collect();
    let mut document = serde_json::json!({
        "format_version": FORMAT_VERSION,
        "findings": findings,
        "summary": counts,
    });
    if !build.is_empty() {
        document["build"] = serde_json::json!(build);
    }
    write(&document)
}

const SEVERITIES: [FindingSeverity; 4] =
    [FindingSeverity::Error, FindingSeverity::Warning, FindingSeverity::Note, FindingSeverity::Ok];

fn count(findings: &[Finding], severity: FindingSeverity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

/// Summarizes the findings in one sentence.
pub fn summary(findings: &[Finding]) -> String {
    let errors = count(findings, FindingSeverity::Error);
    let good = match count(findings, FindingSeverity::Ok) {
        0 => String::new(),
        good => format!(", {good} ok"),
    };
    let counted = [
        (errors, "error", "errors"),
        (count(findings, FindingSeverity::Warning), "warning", "warnings"),
        (count(findings, FindingSeverity::Note), "note", "notes"),
    ];
    let known = counted.into_iter().filter(|(count, ..)| *count > 0);
    let words = known.map(|(count, one, many)| format_count(count, one, many)).join(", ");
    if words.is_empty() {
        return format!("No problem found{good}.");
    }
    let lead = if errors == 0 { "No error: " } else { "" };
    format!("{lead}{words}{good}.")
}

/// Returns the color of a severity.
pub const fn tone(severity: FindingSeverity) -> Tone {
    match severity {
        FindingSeverity::Ok => Tone::Good,
        FindingSeverity::Note => Tone::Strong,
        FindingSeverity::Warning => Tone::Caution,
        FindingSeverity::Error => Tone::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_findings() -> Vec<Finding> {
        vec![
            Finding::new(
                FindingSeverity::Error,
                "ada may not use /dev/kfd",
                "its group is render, and this process may not read and write it",
                "sudo usermod -aG render ada, and log in again",
            ),
            Finding::new(
                FindingSeverity::Warning,
                "GPU 0 (AMD Radeon RX 7900 XTX): its link runs at 16 GT/s x4 (7.9 GB/s) of 16 GT/s \
                 x16 (31.5 GB/s)",
                "transfers between CPU and GPU are slower by the same factor",
                "check again under load; if it stays slow, reseat the GPU",
            ),
            Finding::ok(
                "GPU 0 (AMD Radeon RX 7900 XTX): amdgpu 6.12.1 is bound",
                "the GPU uses the kernel driver that compute needs",
            ),
        ]
    }

    #[test]
    fn the_page() {
        insta::assert_snapshot!(text(&sample_findings(), Style { width: 80, ..Style::PLAIN }), @r"
        error    ada may not use /dev/kfd
                 its group is render, and this process may not read and write it
                 cure: sudo usermod -aG render ada, and log in again
        warning  GPU 0 (AMD Radeon RX 7900 XTX): its link runs at 16 GT/s x4 (7.9 GB/s)
                 of 16 GT/s x16 (31.5 GB/s)
                 transfers between CPU and GPU are slower by the same factor
                 cure: check again under load; if it stays slow, reseat the GPU
        ok       GPU 0 (AMD Radeon RX 7900 XTX): amdgpu 6.12.1 is bound
                 the GPU uses the kernel driver that compute needs

        1 error, 1 warning, 1 ok.
        ");
    }

    fn sample_parts() -> Vec<BuildPart> {
        let part = |name: &'static str, is_present: bool| {
            let cure = (!is_present).then(|| format!("cargo install --path . --features {name}"));
            BuildPart { name, is_present, cure }
        };
        vec![part("rocm", true), part("pdf", false), part("serve", true), part("png", false)]
    }

    #[test]
    fn what_is_not_built_in_is_named_with_the_command_that_adds_it() {
        insta::assert_snapshot!(build_text("1.2.3", &sample_parts(), Style::PLAIN), @r"
        rusty-stack-bench 1.2.3, built with rocm, serve; not built in: pdf, png; `cargo install --path .
        --features pdf,png` adds them
        ");
        let whole = build_text("1.2.3", &sample_parts()[..1], Style::PLAIN);
        assert_eq!(whole.trim_end(), "rusty-stack-bench 1.2.3, built with rocm");
    }

    #[test]
    fn the_last_line_says_it_all() {
        assert_eq!(
            last_line(&sample_findings()[1..]).as_deref(),
            Some("No error: 1 warning, 1 ok.")
        );
        assert_eq!(last_line(&sample_findings()[2..]).as_deref(), Some("No problem found, 1 ok."));
        assert_eq!(last_line(&[]).as_deref(), Some("No problem found."));
    }

    fn last_line(findings: &[Finding]) -> Option<String> {
        text(findings, Style::PLAIN).lines().last().map(str::to_owned)
    }

    #[test]
    fn the_document_counts_each_severity() {
        let document: serde_json::Value =
            serde_json::from_str(&json(&sample_findings(), &sample_parts()).unwrap()).unwrap();
        assert_eq!(document["format_version"], 3);
        assert_eq!(
            document["summary"],
            serde_json::json!({ "error": 1, "warning": 1, "note": 0, "ok": 1 })
        );
        assert_eq!(document["findings"][0]["severity"], "error");
        assert!(document["findings"][2]["cure"].is_null());
        assert_eq!(document["build"][1]["cure"], "cargo install --path . --features pdf");
    }
}
