//! Tests that replace the texts of a run, a comparison and a trend, one at a time, by text that
//! tries to move the cursor, reverse the text direction, start a new line, or be a formula. This
//! text must have no effect in any document format.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gate::GateFormat;
use crate::style::{Color, Style, is_disguise};
use crate::{
    Detail, PageLook, Report, comparison, environment, gate, html, presentable, report, run,
    sample, targets, trend, unmeasured,
};

const HOSTILE: &str = "x\u{1b}]0;title\u{7}\u{202e}\u{2066}\u{9b}31m\r\nFORGED\u{2028}";
const FORMULA: &str = "=1+cmd|' /C calc'!A0";

/// Returns copies of `value`, each with one of its texts replaced by `hostile`: one copy per kind
/// of text. Omits copies that no longer deserialize.
pub(crate) fn hostile<T: Serialize + DeserializeOwned>(value: &T, hostile: &str) -> Vec<T> {
    let document = serde_json::to_value(value).unwrap();
    let mut paths = Vec::new();
    collect(&document, &mut Vec::new(), &mut paths);
    // In a list, only the first element that has such a text is changed.
    let mut known = HashSet::new();
    paths.retain(|path| {
        let mut shape = path.clone();
        shape.retain(|part| part[1..].parse::<usize>().is_err());
        known.insert(shape)
    });
    let mut values = Vec::new();
    for path in &paths {
        let mut document = document.clone();
        *document.pointer_mut(&path.concat()).unwrap() = hostile.into();
        if let Ok(value) = serde_json::from_value(document) {
            values.push(value);
        }
    }
    values
}

fn collect(value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                collect_below(name, value, path, paths);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect_below(&index.to_string(), value, path, paths);
            }
        }
        Value::String(_) => paths.push(path.clone()),
        _ => {}
    }
}

fn collect_below(part: &str, value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    path.push(format!("/{}", part.replace('~', "~0").replace('/', "~1")));
    collect(value, path, paths);
    path.pop();
}

#[track_caller]
fn check(form: &str, text: &str) {
    let obeyed = text.chars().find(|c| is_disguise(*c) && *c != '\n');
    assert_eq!(obeyed, None, "{form}: {text:?}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FORGED")), "{form}: {text}");
}

#[test]
fn no_text_of_a_run_is_obeyed_by_a_terminal() {
    let runs = hostile(&sample::run(), HOSTILE);
    assert!(runs.len() > 30, "{}", runs.len());
    for run in &runs {
        let report = Report::new(run);
        check("text", &report::text(&report, "", Style::PLAIN));
        check("markdown", &report::markdown(&report, &[]));
        check("html", &html::page(&report, &PageLook::default()));
        check("csv", &report::csv(&report).unwrap());
        check("json", &report::json(&report).unwrap());
        check("environment", &environment::text(&run.environment, Style::PLAIN));
        check("unmeasured", &unmeasured::text(run, Style::PLAIN));
        let colored = run::text(run, Style { color: Color::Always, width: 100 });
        assert_eq!(presentable(&colored), colored);
    }
}

#[test]
fn no_text_of_a_comparison_is_obeyed_by_a_terminal() {
    let run = sample::run();
    let results = hostile(&sample::comparison(), HOSTILE);
    assert!(results.len() > 8, "{}", results.len());
    for result in &results {
        for format in GateFormat::ALL {
            for detail in [Detail::Brief, Detail::Full] {
                check(format.as_str(), &gate::write(result, format, Style::PLAIN, detail).unwrap());
            }
        }
        check(
            "html",
            &html::page(&Report::new(&run).with_comparison(result), &PageLook::default()),
        );
        check("csv", &comparison::csv_rows(result).unwrap());
        check("targets", &targets::text(&result.threshold_checks, Style::PLAIN));
    }
    for document in hostile(&sample::trends(), HOSTILE) {
        check("trend", &trend::text(&document, None, Style::PLAIN));
        check("trend as markdown", &trend::markdown(&document));
        check("trend as csv", &trend::csv_rows(&document).unwrap());
    }
}

#[test]
fn no_cell_of_a_csv_is_a_formula() {
    let runs = hostile(&sample::run(), FORMULA).into_iter().map(|run| run::csv_rows(&run).unwrap());
    let results = hostile(&sample::comparison(), FORMULA)
        .into_iter()
        .map(|result| comparison::csv_rows(&result).unwrap());
    let trends = hostile(&sample::trends(), FORMULA)
        .into_iter()
        .map(|trend| trend::csv_rows(&trend).unwrap());
    let mut met = 0;
    for text in runs.chain(results).chain(trends) {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for cell in reader
            .records()
            .flat_map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let is_number = cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
            met += usize::from(cell.contains(FORMULA));
        }
    }
    assert!(met > 5, "{met}");
}
