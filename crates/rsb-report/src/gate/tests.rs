//! Properties of each format for any comparison: required parts, counts, and no injection through
//! strings.

use std::collections::HashSet;

use rsb_model::record::Comparison;
use rsb_model::{CaseId, ComparisonResult, ReasonCode, Verdict};
use serde_json::Value;

use super::{GateFormat, MARKER, write};
use crate::comparison::Detail;
use crate::sample;
use crate::style::Style;

const EVIL: &str =
    "\x1b[2J\"x' <b>&amp; ]]> 100 % a, b: c\r\n::error::|`{0} [y](z) @all \u{0}\u{ffff}\n# t -->";

fn brief(result: &ComparisonResult, format: GateFormat) -> String {
    write(result, format, Style::PLAIN, Detail::Brief).unwrap()
}

fn sarif(result: &ComparisonResult) -> Value {
    serde_json::from_str(&brief(result, GateFormat::Sarif)).unwrap()
}

fn id(text: &str) -> CaseId {
    CaseId::from_segments(&[text])
}

fn hostile() -> ComparisonResult {
    let mut result = sample::comparison();
    for (index, row) in result.comparisons.iter_mut().enumerate() {
        row.id = id(&format!("cpu_performance/gemm/cpu:0/{EVIL}{index}"));
        (row.metric, row.unit, row.reason) = (EVIL.into(), EVIL.into(), EVIL.into());
    }
    (result.missing, result.new) = (vec![id(EVIL)], vec![id(EVIL)]);
    (result.baseline_run_id, result.current_run_id) = (EVIL.into(), EVIL.into());
    result.comparison_id = format!("a/{EVIL}");
    for check in &mut result.threshold_checks {
        check.name = EVIL.into();
    }
    result
}

fn empty() -> ComparisonResult {
    let mut result = ComparisonResult { verdict: Verdict::Inconclusive, ..sample::comparison() };
    (result.comparisons, result.missing, result.new, result.threshold_checks) = Default::default();
    result
}

fn many(count: usize, row: &Comparison) -> Vec<Comparison> {
    let numbered = |index| Comparison {
        id: id(&format!("{}{index}", row.id)),
        reason: format!("{} {index}", row.reason),
        ..row.clone()
    };
    (0..count).map(numbered).collect()
}

/// An element of an XML document: its path, its attributes as written, and the text up to the next
/// tag.
struct Element {
    path: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Parses the XML of this crate, and panics at anything that an XML 1.0 parser would reject.
fn parse(xml: &str) -> Vec<Element> {
    let legal =
        |c| matches!(c, '\n' | '\t' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(legal), "the text must have no characters that XML forbids");
    let entities = ["amp;", "lt;", "gt;", "quot;"];
    assert!(
        xml.split('&').skip(1).all(|rest| entities.iter().any(|name| rest.starts_with(name))),
        "{xml}"
    );
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let (mut open, mut elements) = (Vec::<String>::new(), Vec::new());
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        open.push(name.to_owned());
        let mut attributes: Vec<(String, String)> = Vec::new();
        while !rest.is_empty() {
            let (key, after) = rest.split_once("=\"").unwrap();
            let (value, after) = after.split_once('"').unwrap();
            assert!(key.chars().all(|c| c.is_ascii_lowercase()), "{tag}");
            assert!(attributes.iter().all(|(known, _)| known != key), "{key} twice");
            attributes.push((key.to_owned(), value.to_owned()));
            rest = after.strip_prefix(' ').unwrap_or(after);
        }
        elements.push(Element { path: open.join("/"), attributes, text: text.to_owned() });
        if alone {
            open.pop();
        }
    }
    assert!(open.is_empty(), "{open:?}");
    elements
}

#[test]
fn each_form_as_it_looks() {
    let result = sample::comparison();
    insta::with_settings!({ filters => vec![(env!("CARGO_PKG_VERSION"), "VERSION")], omit_expression => true }, {
        insta::assert_snapshot!("junit", brief(&result, GateFormat::Junit));
        insta::assert_snapshot!("sarif", brief(&result, GateFormat::Sarif));
        insta::assert_snapshot!("github", brief(&result, GateFormat::Github));
        let full = write(&result, GateFormat::Markdown, Style::PLAIN, Detail::Full).unwrap();
        insta::assert_snapshot!("comment_full", full);
    });
}

#[test]
fn junit_holds_what_the_schemas_of_ant_and_surefire_require() {
    let suite =
        ["name", "timestamp", "hostname", "tests", "failures", "errors", "time", "package", "id"];
    let required: [(&str, &[&str]); 6] = [
        ("testsuites/testsuite", &suite),
        ("testsuites/testsuite/properties/property", &["name", "value"]),
        ("testsuites/testsuite/testcase", &["name", "classname", "time"]),
        ("testsuites/testsuite/testcase/failure", &["type"]),
        ("testsuites/testsuite/testcase/error", &["type"]),
        ("testsuites/testsuite/system-out", &[]),
    ];
    for result in [sample::comparison(), hostile()] {
        let elements = parse(&brief(&result, GateFormat::Junit));
        for (path, attributes) in required {
            let found: Vec<&Element> =
                elements.iter().filter(|element| element.path == path).collect();
            assert!(!found.is_empty(), "{path}");
            for name in attributes {
                assert!(
                    found.iter().all(|each| each.attribute(name).is_some_and(|v| !v.is_empty())),
                    "{path} {name}"
                );
            }
        }
        let order: Vec<&str> = elements
            .iter()
            .filter_map(|each| each.path.strip_prefix("testsuites/testsuite/"))
            .collect();
        assert_eq!((order.first(), order.last()), (Some(&"properties"), Some(&"system-err")));
        let suite = elements.iter().find(|element| element.path == "testsuites/testsuite").unwrap();
        let count = |end: &str| {
            elements.iter().filter(|element| element.path.ends_with(end)).count().to_string()
        };
        for (attribute, end) in
            [("tests", "/testcase"), ("failures", "/failure"), ("errors", "/error")]
        {
            assert_eq!(suite.attribute(attribute), Some(count(end).as_str()), "{attribute}");
        }
        assert_eq!(suite.attribute("timestamp"), Some("2026-11-21T09:03:12"));
        let seconds =
            |element: &Element| element.attribute("time").unwrap().parse::<f64>().unwrap();
        let cases = elements.iter().filter(|element| element.path.ends_with("/testcase"));
        assert!((cases.map(seconds).sum::<f64>() - seconds(suite)).abs() < 1e-3);
    }
}

#[test]
fn junit_names_the_case_the_figures_and_the_reason() {
    let elements = parse(&brief(&sample::comparison(), GateFormat::Junit));
    let failure = elements.iter().position(|element| element.path.ends_with("/failure")).unwrap();
    let case = &elements[failure - 1];
    assert_eq!(case.attribute("classname"), Some("gemm"));
    assert_eq!(case.attribute("name"), Some("cpu:0/f32/1024x1024x1024 time_ms"));
    assert_eq!(case.attribute("time"), Some("0.023875400"), "the current time, in seconds");
    assert!(elements[failure].attribute("message").unwrap().starts_with("15.9 % slower"));
    assert!(
        elements[failure].text.contains("20.6 ms before, 23.9 ms now, +15.9 %"),
        "{}",
        elements[failure].text
    );
    let mut foreign = sample::comparison();
    for (row, text) in foreign.comparisons.iter_mut().zip(["parser/large/10", "fib", "/x"]) {
        row.id = id(text);
    }
    let elements = parse(&brief(&foreign, GateFormat::Junit));
    let has = |class, name| {
        elements.iter().any(|each| {
            each.attribute("classname") == Some(class) && each.attribute("name") == Some(name)
        })
    };
    assert!(
        has("parser/large", "10 time_ms")
            && has("rusty-stack-bench", "fib time_ms")
            && has("rusty-stack-bench", "/x time_ms")
    );
}

/// Checks the properties that the schema of SARIF 2.1.0 requires of the objects used, and those
/// that code scanning requires in addition.
#[test]
fn sarif_holds_what_the_schema_and_code_scanning_require() {
    for result in [sample::comparison(), hostile(), empty()] {
        let log = sarif(&result);
        let need = |value: &Value, pointers: &[&str]| {
            for pointer in pointers {
                assert!(
                    value.pointer(pointer).is_some_and(|found| !found.is_null() && found != ""),
                    "{pointer}: {value:#}"
                );
            }
        };
        need(&log, &["/$schema", "/version", "/runs"]);
        assert_eq!(log["version"], "2.1.0");
        for run in log["runs"].as_array().unwrap() {
            need(
                run,
                &[
                    "/tool/driver/name",
                    "/tool/driver/version",
                    "/automationDetails/id",
                    "/columnKind",
                    "/results",
                ],
            );
            need(run, &["/invocations/0/executionSuccessful", "/invocations/0/endTimeUtc"]);
            let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
            for rule in rules {
                need(
                    rule,
                    &[
                        "/id",
                        "/name",
                        "/shortDescription/text",
                        "/fullDescription/text",
                        "/help/text",
                    ],
                );
                need(
                    rule,
                    &[
                        "/help/markdown",
                        "/defaultConfiguration/level",
                        "/properties/problem.severity",
                    ],
                );
            }
            for each in run["results"].as_array().unwrap() {
                need(
                    each,
                    &[
                        "/ruleId",
                        "/level",
                        "/message/text",
                        "/partialFingerprints/primaryLocationLineHash",
                    ],
                );
                need(each, &["/locations/0/physicalLocation/artifactLocation/uri"]);
                need(each, &["/locations/0/physicalLocation/region/startLine"]);
                let index = usize::try_from(each["ruleIndex"].as_u64().unwrap()).unwrap();
                assert_eq!(rules[index]["id"], each["ruleId"]);
                assert_eq!(rules[index]["defaultConfiguration"]["level"], each["level"]);
            }
        }
    }
}

#[test]
fn sarif_tells_the_tool_where_it_is_known() {
    let known = super::sarif::driver("https://example.org/tool");
    assert_eq!(known["informationUri"], "https://example.org/tool");
    assert!(
        super::sarif::driver("").get("informationUri").is_none(),
        "an empty address must be left out"
    );
}

#[test]
fn sarif_levels_and_fingerprints() {
    let mut result = sample::comparison();
    let missed = Comparison {
        verdict: Verdict::Regressed,
        reason_code: ReasonCode::TargetMissed,
        ..result.comparisons[0].clone()
    };
    result.comparisons.extend([missed.clone(), missed]);
    let log = sarif(&result);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let count = |key: &str, value: &str| results.iter().filter(|each| each[key] == value).count();
    assert_eq!(
        [count("level", "error"), count("level", "warning"), count("level", "note")],
        [3, 6, 1]
    );
    assert_eq!([count("ruleId", "target-missed"), count("ruleId", "missing")], [2, 1]);
    let print = |each: &Value| each["partialFingerprints"]["primaryLocationLineHash"].to_string();
    let unlike: HashSet<(String, String)> =
        results.iter().map(|each| (each["ruleId"].to_string(), print(each))).collect();
    assert_eq!(unlike.len(), results.len(), "two alerts must not become one");
    let gemm = results.iter().find(|each| each["ruleId"] == "regressed").unwrap();
    assert_eq!(
        print(gemm),
        "\"6a02d3494dd3682a:1\"",
        "the fingerprint must be stable: code scanning tracks alerts by it"
    );
    let logical = &gemm["locations"][0]["logicalLocations"][0];
    assert_eq!(logical["fullyQualifiedName"], "cpu_performance/gemm/cpu:0/f32/1024x1024x1024");
    assert_eq!(gemm["properties"]["difference_percent"], 15.9);
}

#[test]
fn annotations_are_commands_and_few() {
    let mut result = hostile();
    result.comparisons = result.comparisons.iter().flat_map(|row| many(30, row)).collect();
    for result in [&result, &hostile(), &sample::comparison(), &empty()] {
        let text = brief(result, GateFormat::Github);
        for line in text.split_terminator('\n') {
            let (head, rest) = line.strip_prefix("::").unwrap().split_once(" title=").unwrap();
            let (title, message) = rest.split_once("::").unwrap();
            assert!(
                ["error", "warning", "notice"].contains(&head)
                    && !title.is_empty()
                    && !message.is_empty(),
                "{line}"
            );
            assert!(!title.contains([':', ',']) && !line.chars().any(char::is_control), "{line}");
            let escapes = ["25", "0A", "0D", "3A", "2C"];
            assert!(
                line.split('%')
                    .skip(1)
                    .all(|rest| escapes.iter().any(|code| rest.starts_with(code))),
                "{line}"
            );
        }
        for level in ["::error ", "::warning ", "::notice "] {
            assert!(
                text.lines().filter(|line| line.starts_with(level)).count() <= 10,
                "{level}: {text}"
            );
        }
    }
    let last = brief(&result, GateFormat::Github);
    assert!(
        last.lines()
            .last()
            .is_some_and(|line| line.starts_with("::notice title=rusty-stack-bench::REGRESSED"))
    );
    // Findings that are not annotated: 20 of 30 regressed, 21 of 30 improved, and 141 of 150 + 1
    // without a verdict.
    assert!(last.contains("182 more are not annotated"), "{last}");
}

#[test]
fn what_has_no_verdict_for_one_reason_is_one_annotation() {
    let text = brief(&sample::comparison(), GateFormat::Github);
    assert!(
        text.contains("::warning title=NotComparable%3A 4 comparisons::the case was skipped"),
        "{text}"
    );
}

#[test]
fn the_comment_begins_with_its_marker_and_fits() {
    let mut result = hostile();
    result.comparisons = result.comparisons.iter().flat_map(|row| many(1000, row)).collect();
    result.new = (0..10_000).map(|index| id(&format!("{index}{}", "<&@".repeat(400)))).collect();
    result.threshold_checks = sample::checks().into_iter().cycle().take(2000).collect();
    for result in [&result, &hostile(), &sample::comparison(), &empty()] {
        for detail in [Detail::Brief, Detail::Full] {
            let text = write(result, GateFormat::Markdown, Style::PLAIN, detail).unwrap();
            assert!(text.len() < 65_536, "{}", text.len());
            assert!(text.lines().next() == Some(MARKER) && text.matches("<!--").count() == 1);
            assert!(
                text.lines().nth(1).is_some_and(|line| line.starts_with("**")),
                "the verdict comes first"
            );
            assert!(
                !text.contains("<b>")
                    && !text.contains("@all")
                    && !text.chars().any(|c| c.is_control() && c != '\n')
            );
            let rows = text.lines().filter(|line| line.starts_with('|'));
            let bars = rows.map(|row| row.replace("\\|", "").matches('|').count());
            assert!(bars.collect::<HashSet<_>>().is_subset(&HashSet::from([6, 5])), "{text}");
            assert_eq!(text.matches("<details").count(), text.matches("</details>").count());
        }
    }
    let text = brief(&result, GateFormat::Markdown);
    assert!(
        text.contains(" not shown: there is no room") && text.contains("and 9980 more"),
        "{text}"
    );
    assert!(text.contains("1000 of 2000 targets are met") && !text.contains("GFLOP"), "{text}");
}

#[test]
fn a_vanished_case_is_told_once() {
    let mut result = sample::comparison();
    let vanished = result.missing[0].clone();
    let count = |result: &ComparisonResult| {
        let in_sarif = sarif(result)["runs"][0]["results"].as_array().unwrap().len();
        (brief(result, GateFormat::Junit).matches("type=\"missing\"").count(), in_sarif)
    };
    let without_row = count(&result);
    let row = Comparison {
        id: vanished,
        verdict: Verdict::Inconclusive,
        reason_code: ReasonCode::Missing,
        ..result.comparisons[0].clone()
    };
    result.comparisons.push(row);
    assert_eq!((without_row.0, count(&result)), (1, without_row));
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "REGRESSED",
        _ => "NO VERDICT",
    }
}

#[test]
fn no_verdict_is_never_green_in_any_form() {
    let mut result = empty();
    for (verdict, mark, level) in [
        (Verdict::Inconclusive, "errors=\"1\"", "warning"),
        (Verdict::NotComparable, "errors=\"1\"", "warning"),
        (Verdict::Regressed, "failures=\"1\"", "error"),
    ] {
        result.verdict = verdict;
        let junit = brief(&result, GateFormat::Junit);
        assert!(junit.contains(mark) && junit.contains("time=\"0.000\""), "{junit}");
        assert_eq!(sarif(&result)["runs"][0]["results"][0]["level"], level, "{verdict}");
        assert!(
            brief(&result, GateFormat::Github).starts_with(&format!("::{level} ")),
            "{verdict}"
        );
        let comment = brief(&result, GateFormat::Markdown);
        assert!(comment.contains(&format!("\n**{}: ", word(verdict))), "{comment}");
    }
    let mut good = sample::comparison();
    good.comparisons.retain(|row| matches!(row.verdict, Verdict::Unchanged | Verdict::Improved));
    (good.verdict, good.missing) = (Verdict::Improved, Vec::new());
    let junit = brief(&good, GateFormat::Junit);
    assert!(
        junit.contains("failures=\"0\" errors=\"0\"")
            && !junit.contains("<error")
            && !junit.contains("<failure")
    );
    let github = brief(&good, GateFormat::Github);
    assert!(!github.contains("::error") && !github.contains("::warning"), "{github}");
}
