//! Measures the time to typeset a report, the size of the result, and the peak memory, for
//! different numbers of rows in its longest table: `figures REPORT.json 30 1000 6000`. REPORT.json
//! is the input of a worker. To obtain it, set `RSB_PDF_WORKER` to a script that runs `cat`.
#![allow(clippy::unwrap_used)] // A tool for whoever works on this: its messages may end it.

use std::time::Instant;

use serde_json::Value;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: figures REPORT.json ROWS…");
    let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    println!("| rows of the longest table | time | size | peak memory |\n|--:|--:|--:|--:|");
    for rows in arguments {
        let mut report = report.clone();
        stretch(longest(&mut report).expect("the report has no table"), rows.parse().unwrap());
        let began = Instant::now();
        let file = rsb_pdf::pdf(report.to_string().as_bytes()).unwrap();
        let (seconds, kilobytes) = (began.elapsed().as_secs_f64(), file.len() as f64 / 1e3);
        println!("| {rows} | {seconds:.2} s | {kilobytes:.0} kB | {} |", most_memory());
    }
}

/// Returns the rows of the longest table.
fn longest(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Array(items) => items.iter_mut().filter_map(longest).max_by_key(|rows| rows.len()),
        Value::Object(entries) => {
            let tables = entries.iter_mut().filter_map(|(name, entry)| {
                if name == "rows" { entry.as_array_mut() } else { longest(entry) }
            });
            tables.max_by_key(|rows| rows.len())
        }
        _ => None,
    }
}

/// Returns `count` rows by repeating `rows`.
fn stretch(rows: &mut Vec<Value>, count: usize) {
    let once = rows.clone();
    *rows = once.into_iter().cycle().take(count).collect();
}

fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kilobytes.map_or_else(
        || "unknown".to_owned(),
        |kilobytes| format!("{:.0} MB", kilobytes * 1.024 / 1e3),
    )
}
