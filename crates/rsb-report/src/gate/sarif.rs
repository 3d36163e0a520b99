//! SARIF 2.1.0 for code scanning: one result for each finding except Unchanged ones. Code scanning
//! rejects results without a file, so each refers to the policy file; the case is its logical
//! location. The crate serde-sarif is not used: its build script generates the types, with regex,
//! schemafy and a third version of syn.

use std::collections::HashMap;

use rsb_model::{ComparisonResult, ReasonCode, Verdict};
use serde_json::{Value, json};

use super::finding::{FindingKind, GateFinding, findings};
use crate::label::Shortener;
use crate::style::clean;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Default path of the policy, relative to the root of the repository.
const POLICY: &str = "baselines/policy.toml";
/// URL of the tool's repository. Omitted if the manifest has none.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

struct Rule {
    id: &'static str,
    name: &'static str,
    level: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
}

const RULES: [Rule; 6] = [
    Rule {
        id: "regressed",
        name: "Regressed",
        level: "error",
        short: "A benchmark got worse.",
        full: "The metric is worse than the baseline by the threshold or more, and its interval \
               agrees.",
        help: "Find the change that made it slower. If it is intended, save a new baseline with \
               the reason in the commit.",
    },
    Rule {
        id: "target-missed",
        name: "TargetMissed",
        level: "error",
        short: "A target is missed.",
        full: "The metric does not reach an absolute target that the policy sets to fail.",
        help: "Make it reach the target, or change the target in the policy.",
    },
    Rule {
        id: "inconclusive",
        name: "Inconclusive",
        level: "warning",
        short: "The measurements are inconclusive.",
        full: "The metric may have got worse: its interval is too wide, or the case was not \
               measured.",
        help: "Measure more replicates (`--replicates`, or `gate --budget 3m`) on a quiet machine, \
               and fix what failed or was skipped.",
    },
    Rule {
        id: "not-comparable",
        name: "NotComparable",
        level: "warning",
        short: "The two sides are not comparable.",
        full: "Hardware, a software factor or a unit differs between the baseline and the run, or \
               a side is a fake GPU.",
        help: "Save a baseline on this machine, or allow the difference with `--across` to measure \
               its effect.",
    },
    Rule {
        id: "missing",
        name: "Missing",
        level: "warning",
        short: "A case is missing.",
        full: "The run has no value for a case of the baseline or for a target of the policy.",
        help: "Run the case, or save a new baseline if it is gone for good.",
    },
    Rule {
        id: "improved",
        name: "Improved",
        level: "note",
        short: "A benchmark got better.",
        full: "The metric is better than the baseline by the threshold or more, and its interval \
               agrees.",
        help: "No action is needed. Save a new baseline so that losing this gain later counts as a regression.",
    },
];

pub(super) fn log(result: &ComparisonResult) -> Value {
    let ended = result.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver(REPOSITORY) },
            "automationDetails": {
                // The part before the last slash is the category: a later upload with the same
                // category replaces this one.
                "id": format!("rusty-stack-bench/gate/{}", clean(&result.comparison_id).replace('/', "_")),
            },
            "invocations": [{ "executionSuccessful": true, "endTimeUtc": ended }],
            "columnKind": "unicodeCodePoints",
            "results": results(result),
            "properties": {
                "baseline_run_id": result.baseline_run_id,
                "current_run_id": result.current_run_id,
                "verdict": result.verdict,
                "threshold_percent": result.threshold_percent,
            },
        }],
    })
}

pub(super) fn driver(repository: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let mut driver =
        json!({ "name": "rusty-stack-bench", "version": version, "semanticVersion": version });
    if !repository.is_empty() {
        driver["informationUri"] = repository.into();
    }
    driver["rules"] = RULES.iter().map(descriptor).collect();
    driver
}

fn descriptor(rule: &Rule) -> Value {
    let problem = if rule.level == "note" { "recommendation" } else { rule.level };
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": rule.full },
        "help": { "text": rule.help.replace('`', ""), "markdown": rule.help },
        "defaultConfiguration": { "level": rule.level },
        "properties": { "tags": ["performance"], "problem.severity": problem },
    })
}

fn rule_of(finding: &GateFinding<'_>) -> &'static str {
    match (finding.verdict, finding.code) {
        (Verdict::Regressed, ReasonCode::TargetMissed) => "target-missed",
        (Verdict::Regressed, _) => "regressed",
        (Verdict::Inconclusive | Verdict::NotComparable, ReasonCode::Missing) => "missing",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::NotComparable, _) => "not-comparable",
        (Verdict::Improved | Verdict::Unchanged, _) => "improved",
    }
}

fn results(result: &ComparisonResult) -> Vec<Value> {
    let all = findings(result);
    let mut seen: HashMap<(&str, String), usize> = HashMap::new();
    let reported = all.iter().filter(|finding| finding.kind() != FindingKind::Unchanged);
    reported.filter_map(|finding| {
        let index = RULES.iter().position(|rule| rule.id == rule_of(finding))?;
        let rule = RULES.get(index)?;
        let print = fingerprint(finding);
        let nth = seen.entry((rule.id, print.clone())).or_default();
        *nth += 1;
        Some(json!({
            "ruleId": rule.id,
            "ruleIndex": index,
            "level": rule.level,
            "message": { "text": message(finding) },
            "locations": [location(finding)],
            // Code scanning identifies results by `primaryLocationLineHash`. Without it, all
            // results at one line of a file would be treated as one.
            "partialFingerprints": { "primaryLocationLineHash": format!("{print}:{nth}"), "caseAndMetric/v1": print },
            "properties": figures(finding),
        }))
    })
    .collect()
}

fn location(finding: &GateFinding<'_>) -> Value {
    let mut location = json!({
        "physicalLocation": { "artifactLocation": { "uri": POLICY }, "region": { "startLine": 1 } },
    });
    if let Some(id) = finding.id {
        let name = id.as_str().rsplit('/').next().unwrap_or_default();
        location["logicalLocations"] =
            json!([{ "name": name, "fullyQualifiedName": id, "kind": "benchmark" }]);
    }
    location
}

fn figures(finding: &GateFinding<'_>) -> Value {
    let mut figures = json!({ "verdict": finding.verdict, "reason_code": finding.code });
    if let Some(row) = finding.row {
        figures["metric"] = row.metric.as_str().into();
        figures["unit"] = row.unit.as_str().into();
        figures["baseline_value"] = row.baseline_value.into();
        figures["current_value"] = row.current_value.into();
        figures["difference_percent"] = row.difference_percent.into();
        figures["confidence_interval"] = json!(row.confidence_interval);
        figures["threshold_percent"] = row.threshold_percent.into();
    }
    figures
}

/// Formats the message, with escapes for text that SARIF would interpret as a placeholder or link.
fn message(finding: &GateFinding<'_>) -> String {
    let text = clean(&format!("{}: {}", finding.name(&Shortener::default()), finding.reason));
    let text = text.replace('{', "{{").replace('}', "}}");
    if text.contains("](") {
        return text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    }
    text
}

/// Returns the FNV-1a hash of the case and the metric. Unlike the hashes of the standard library,
/// it is the same in every version.
fn fingerprint(finding: &GateFinding<'_>) -> String {
    let id = finding.id.map_or("", |id| id.as_str());
    let metric = finding.row.map_or("", |row| row.metric.as_str());
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.bytes().chain([0]).chain(metric.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}
