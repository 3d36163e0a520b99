//! `nvbandwidth`: one matrix per test, with GB/s between each row and column, or nanoseconds in its
//! latency tests. A bidirectional test prints three matrices, each with its own sum: `…_read1`,
//! `…_read2`, `…_total`.

use rsb_model::{BenchmarkType, DeviceType};
use serde_json::Value;

use super::error::Problem;
use super::json;
use super::nvbandwidth_matrix::Matrix;
use super::sink::Sink;
use super::{Importer, Input};

pub(super) const IMPORTER: Importer = Importer {
    name: "nvbandwidth",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    is_document: |document| json::has_keys(document, &["nvbandwidth"]),
    keys: &["/nvbandwidth"],
    marks: &["gpu(column)"],
    read,
};

/// Adds each cell of each matrix, and the sum of the matrix.
fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    if input.text.trim_start().starts_with('{') {
        return read_json(input.text, sink);
    }
    let mut test: Option<Test<'_>> = None;
    let mut waived = 0_usize;
    for line in input.text.lines().map(str::trim) {
        if let Some(name) = after(line, &["Running ", "running "]) {
            close(test.take(), sink);
            test = Some(Test { name, ..Test::default() });
        } else if let Some(name) = after(line, &["Waiving "]) {
            // Versions before 0.5 name the tests that they skip.
            sink.put_skipped(name, CANNOT_RUN);
        } else if line.to_ascii_lowercase().starts_with("waived") {
            match test.take_if(|test| test.matrices.is_empty()) {
                Some(test) => sink.put_skipped(test.name, CANNOT_RUN),
                None => waived += 1,
            }
        } else if test.is_some() || line.contains("(column)") {
            // Excerpts may lack the line that names the test; its sum names it, too.
            let unnamed = || Test { name: "unnamed", ..Test::default() };
            test.get_or_insert_with(unnamed).take(line);
        }
    }
    close(test, sink);
    tell_waived(waived, sink);
    Ok(())
}

const CANNOT_RUN: &str = "this machine cannot run it";

fn tell_waived(waived: usize, sink: &mut Sink) {
    if waived > 0 {
        sink.note(format!("nvbandwidth skipped {waived} tests that this machine cannot run"));
    }
}

/// Returns the name after one of the prefixes `words`, as in `Running NAME.`
fn after<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let name = words.iter().find_map(|word| line.strip_prefix(word))?;
    let name = name.trim().trim_end_matches('.');
    (!name.is_empty() && !name.contains(' ')).then_some(name)
}

#[derive(Default)]
struct Test<'a> {
    name: &'a str,
    matrices: Vec<Matrix<'a>>,
    error: Option<&'a str>,
}

/// Adds the results of a test, and reports missing ones if it did not finish.
fn close(test: Option<Test<'_>>, sink: &mut Sink) {
    let Some(test) = test else { return };
    for matrix in &test.matrices {
        matrix.add(sink);
        if matrix.sum.is_none() && !matrix.rows.is_empty() {
            sink.unreadable(
                &matrix.name("sum"),
                "the test ends before its sum: the output was cut off",
            );
        }
    }
    match test.error {
        Some(error) => sink.put_failed(test.name, error),
        None if test.matrices.iter().all(|matrix| matrix.rows.is_empty()) => {
            let problem = "the test has no values: it failed, or the output was cut off";
            sink.unreadable(&format!("{}/sum", test.name), problem);
        }
        None => {}
    }
}

impl<'a> Test<'a> {
    fn take(&mut self, line: &'a str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((name, sum)) = sum(&words) {
            // Lines after a sum belong to the next matrix of the test.
            if let Some(matrix) = self.matrices.last_mut().filter(|matrix| matrix.sum.is_none()) {
                matrix.rename(name);
                matrix.sum = Some(sum.to_owned());
            }
        } else if is_title(line) {
            let part = part_of(line);
            self.matrices.push(Matrix { test: self.name, part, title: line, ..Matrix::default() });
        } else if let Some(error) = error(line) {
            self.error = self.error.or(Some(error));
        } else if let Some(matrix) = self.matrices.last_mut().filter(|matrix| matrix.sum.is_none())
        {
            if matrix.columns.is_empty() {
                let is_columns = words.first().is_some_and(|word| is_number(word));
                matrix.columns =
                    words.iter().filter(|_| is_columns).map(|&word| word.to_owned()).collect();
            } else if let [label, cells @ ..] = words.as_slice()
                && (is_number(label) || is_row(cells, matrix.columns.len()))
            {
                matrix.rows.push(((*label).to_owned(), cells.to_vec()));
            }
        }
    }
}

/// Returns the message of a line such as `ERROR: …`, `NVML_ERROR: [name] …`, or `[CUDA_ERROR_…] …
/// in expression …`.
fn error(line: &str) -> Option<&str> {
    if ["[CUDA_ERROR_", "[cudaError", "ASSERT in "].iter().any(|start| line.starts_with(start)) {
        return Some(line);
    }
    let (word, error) = line.split_once(':')?;
    let is_error = ["error", "nvml_error"].iter().any(|own| word.eq_ignore_ascii_case(own));
    is_error.then_some(if error.trim().is_empty() { "no message" } else { error.trim() })
}

/// Parses the name and the sum of a matrix: `SUM NAME_PART 1.5`, or `&&&& PERF NAME_PART 1.5 GB/s`.
fn sum<'w>(words: &[&'w str]) -> Option<(&'w str, &'w str)> {
    let (["SUM", name, sum] | ["&&&&", "PERF", name, sum, ..]) = words else { return None };
    // The unit may directly follow the number.
    Some((name, sum.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '/')))
}

fn is_number(word: &str) -> bool {
    word.parse::<u32>().is_ok()
}

/// Returns whether `cells` consist of a row label and a value for each of `columns`. The label is
/// not always a number: `0->1`.
fn is_row(cells: &[&str], columns: usize) -> bool {
    cells.len() == columns
        && cells.iter().all(|cell| cell.parse::<f64>().is_ok() || cell.eq_ignore_ascii_case("n/a"))
}

fn is_title(line: &str) -> bool {
    line.contains("(row)")
        || line.contains("(column)")
        || line.contains("(GB/s)")
        || line.ends_with(" BW")
}

/// Returns the part named in a title such as `… Read1 bandwidth (GB/s)`. If the line of the sum
/// names a part, that part is used instead.
fn part_of(title: &str) -> String {
    let before = title
        .split_whitespace()
        .rev()
        .skip_while(|word| *word != "bandwidth")
        .nth(1)
        .unwrap_or_default();
    let is_part = ["Read1", "Read2", "Write1", "Write2", "Total"].contains(&before);
    if is_part { before.to_ascii_lowercase() } else { String::new() }
}

fn read_json(text: &str, sink: &mut Sink) -> Result<(), Problem> {
    for document in json::documents(text)? {
        let document =
            document.get("nvbandwidth").ok_or_else(|| Problem::shape("it has no `nvbandwidth`"))?;
        let error = json::text(document, "error");
        match (json::list(document, "testcases"), error) {
            (Ok(tests), _) => tests.iter().for_each(|test| add(test, sink)),
            (Err(_), Some(error)) => {
                let cure = "fix the reported error, and run it again";
                return Err(Problem::refusal(
                    format!("nvbandwidth reports an error: {error}"),
                    cure,
                ));
            }
            (Err(problem), None) => return Err(problem),
        }
        // JSON has the error of a test next to the list of tests, without the name of the test.
        if let Some(error) = error {
            sink.put_failed("error", error);
        }
    }
    Ok(())
}

fn add(test: &Value, sink: &mut Sink) {
    let name = json::text(test, "name").unwrap_or("unnamed");
    let status = json::text(test, "status").unwrap_or_default();
    match (status.to_ascii_lowercase().as_str(), json::text(test, "error")) {
        ("waived", _) => sink.put_skipped(name, CANNOT_RUN),
        ("passed", None) => match matrices(name, test) {
            Ok(matrices) => matrices.iter().for_each(|matrix| matrix.add(sink)),
            Err(problem) => sink.unreadable(name, &problem),
        },
        (_, error) => {
            sink.put_failed(
                name,
                error.unwrap_or(if status.is_empty() { "it has no status" } else { status }),
            );
        }
    }
}

/// Parses the matrices of a test. In JSON the three matrices of a bidirectional test are
/// concatenated in one list, and the title and the sum are those of the last one, the total.
fn matrices<'a>(name: &'a str, test: &'a Value) -> Result<Vec<Matrix<'a>>, String> {
    let rows = test
        .get("bandwidth_matrix")
        .and_then(Value::as_array)
        .ok_or("it has no list `bandwidth_matrix`")?;
    let title = json::text(test, "bandwidth_description").unwrap_or_default().trim();
    let rows: Vec<Vec<&str>> = rows.iter().map(cells).collect::<Result<_, _>>()?;
    let columns = rows.first().map_or(0, Vec::len);
    let parts = match (part_of(title).is_empty(), name.contains("_write_")) {
        (true, _) => vec![""],
        (false, true) => vec!["write1", "write2", "total"],
        (false, false) => vec!["read1", "read2", "total"],
    };
    if rows.is_empty()
        || !rows.len().is_multiple_of(parts.len())
        || rows.iter().any(|row| row.len() != columns)
    {
        let (rows, parts) = (rows.len(), parts.len());
        return Err(format!("its {rows} rows do not form {parts} complete matrices"));
    }
    let each = rows.len() / parts.len();
    let mut matrices = Vec::with_capacity(parts.len());
    for (part, rows) in parts.into_iter().zip(rows.chunks(each)) {
        let sum = test.get("sum").filter(|_| ["", "total"].contains(&part));
        let labelled = rows.iter().enumerate().map(|(label, row)| (label.to_string(), row.clone()));
        matrices.push(Matrix {
            test: name,
            part: part.to_owned(),
            title,
            columns: (0..columns).map(|column| column.to_string()).collect(),
            rows: labelled.collect(),
            sum: sum.map(Value::to_string),
        });
    }
    Ok(matrices)
}

fn cells(row: &Value) -> Result<Vec<&str>, String> {
    let cells = row
        .as_array()
        .ok_or_else(|| format!("`bandwidth_matrix` contains {row}, which is not a list"))?;
    cells
        .iter()
        .map(|cell| {
            cell.as_str()
                .ok_or_else(|| format!("`bandwidth_matrix` contains {cell}, which is not a string"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rsb_model::{Outcome, Run};

    use crate::import::mutations::{read, sample};
    use crate::import::{Format, detect};

    /// Returns each measured case: the end of its id, GB/s and nanoseconds.
    fn figures(run: &Run) -> Vec<(&str, Option<f64>, Option<f64>)> {
        let measured = run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured);
        measured
            .map(|case| {
                let fields = case.fields().unwrap();
                let id = case
                    .benchmark_id
                    .as_str()
                    .strip_prefix("gpu_performance/nvbandwidth/")
                    .unwrap();
                (id, fields.number("bandwidth_gb_s"), fields.number("latency_ns"))
            })
            .collect()
    }

    fn text(body: &str) -> Run {
        read(Format::Nvbandwidth, &format!("nvbandwidth Version: v0.8\n\n{body}")).unwrap()
    }

    #[test]
    fn cells_and_sums_are_cases_in_the_unit_of_the_title() {
        let run = read(Format::Nvbandwidth, sample(Format::Nvbandwidth)).unwrap();
        assert_eq!(
            figures(&run),
            [
                ("host_to_device_memcpy_ce/0-0", Some(55.5), None),
                ("host_to_device_memcpy_ce/0-1", Some(54.5), None),
                ("host_to_device_memcpy_ce/sum", Some(110.0), None),
                ("device_latency_sm/0-1", None, Some(700.0)),
                ("device_latency_sm/1-0", None, Some(800.0)),
                ("device_latency_sm/sum", None, Some(1500.0)),
            ]
        );
        assert_eq!(
            run.notes[0].to_string(),
            "nvbandwidth skipped 1 tests that this machine cannot run"
        );
    }

    /// Returns the text of a matrix of a bidirectional test.
    fn direction(part: &str, figures: [f64; 2]) -> String {
        let sum: f64 = figures.iter().sum();
        format!(
            "memcpy CE GPU(row) <-> GPU(column) {part} bandwidth (GB/s)\n           0         1\n \
             0       N/A     {}\n \
             1     {}       N/A\n\nSUM device_to_device_bidirectional_memcpy_read_ce_{} \
             {sum}\nCOEFFICIENT_OF_VARIATION \
             device_to_device_bidirectional_memcpy_read_ce_read1 0.01\nMIN x 1.00\n\n",
            figures[0],
            figures[1],
            part.to_lowercase()
        )
    }

    fn both_directions() -> String {
        let each = [("Read1", [10.5, 11.5]), ("Read2", [20.5, 21.5]), ("Total", [31.0, 33.0])];
        let matrices: String =
            each.into_iter().map(|(part, figures)| direction(part, figures)).collect();
        format!("Running device_to_device_bidirectional_memcpy_read_ce.\n{matrices}")
    }

    #[test]
    fn a_test_of_both_directions_has_three_matrices_each_with_its_sum() {
        let run = text(&both_directions());
        let head = "device_to_device_bidirectional_memcpy_read_ce";
        let expected = [
            ("read1", [10.5, 11.5, 22.0]),
            ("read2", [20.5, 21.5, 42.0]),
            ("total", [31.0, 33.0, 64.0]),
        ];
        let each = expected.iter().flat_map(|(part, figures)| {
            ["0-1", "1-0", "sum"]
                .iter()
                .zip(figures)
                .map(move |(cell, figure)| (format!("{head}/{part}/{cell}"), *figure))
        });
        let found =
            figures(&run).into_iter().map(|(id, figure, _)| (id.to_owned(), figure.unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), each.collect::<Vec<_>>());
        assert_eq!(run.benchmarks.len(), 9, "cells on the diagonal are not cases");
        // Cut off within the second matrix: the results before the cut are kept, and the missing
        // sum is a failure.
        let cut = text(
            both_directions()
                .split("SUM device_to_device_bidirectional_memcpy_read_ce_read2")
                .next()
                .unwrap(),
        );
        assert_eq!((cut.counts().measured, cut.counts().failed), (5, 1));
        assert!(cut.benchmarks[5].benchmark_id.as_str().ends_with("/read2/sum"), "{cut:?}");
    }

    #[test]
    fn the_sum_names_a_test_whose_first_line_is_missing() {
        let whole = sample(Format::Nvbandwidth);
        let cut = whole.replace("Running host_to_device_memcpy_ce.\n", "");
        let second = whole.replace("Waived: \nRunning device_latency_sm.\n", "Waived: \n");
        for text in [&cut, &second] {
            assert_eq!(detect(Path::new("out.txt"), text), Some(Format::Nvbandwidth));
            let run = read(Format::Nvbandwidth, text).unwrap();
            assert_eq!(figures(&run), figures(&read(Format::Nvbandwidth, whole).unwrap()));
        }
        let both = both_directions();
        let head = "device_to_device_bidirectional_memcpy_read_ce";
        let run = text(both.strip_prefix(&format!("Running {head}.\n")).unwrap());
        assert_eq!(figures(&run), figures(&text(&both)));
        let nameless = text(both.split("\n\nSUM").next().unwrap().split_once('\n').unwrap().1);
        assert!(
            nameless.benchmarks[0].benchmark_id.as_str().ends_with("nvbandwidth/unnamed/read1/0-1")
        );
        assert_eq!((nameless.counts().measured, nameless.counts().failed), (2, 1));
    }

    #[test]
    fn diagonals_are_no_results_and_other_zeros_are_failures() {
        let matrix =
            "\n           0         1\n 0      0.00     54.5\n 1       N/A      0.00\n\nSUM";
        let title = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)";
        let run = text(&format!("Running all_pairs.\n{title}{matrix} all_pairs 54.5\n"));
        assert_eq!(
            figures(&run),
            [("all_pairs/0-1", Some(54.5), None), ("all_pairs/sum", Some(54.5), None)]
        );
        assert_eq!(
            (run.counts().skipped, run.counts().failed),
            (1, 0),
            "two GPUs without peer access are a skipped case"
        );
        let title = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)";
        let run = text(&format!("Running host_to_device.\n{title}{matrix} host_to_device 54.5\n"));
        assert_eq!(
            (run.counts().skipped, run.counts().failed),
            (1, 2),
            "CPU 0 and GPU 0 are not the same device"
        );
    }

    #[test]
    fn titles_and_labels_of_every_kind_are_read() {
        let local = "Running device_local_copy.\nmemcpy local GPU(column) bandwidth \
                     (GB/s)\n           0\n 0    850.50\n\n\
                     &&&& PERF device_local_copy 850.50 GB/s\n";
        let bisect = "Running multinode_bisect_write_ce.\nBisect benchmarking, simultaneous write \
                      CE BW\n              0\n0->1    \
                      90.5\n1->0    91.5\n\nSUM multinode_bisect_write_ce 182.0\n";
        let run = text(&format!("Waiving all_to_one_read_ce.\n\n{local}{bisect}"));
        assert_eq!(
            figures(&run),
            [
                ("device_local_copy/0-0", Some(850.5), None),
                ("device_local_copy/sum", Some(850.5), None),
                ("multinode_bisect_write_ce/0->1-0", Some(90.5), None),
                ("multinode_bisect_write_ce/1->0-0", Some(91.5), None),
                ("multinode_bisect_write_ce/sum", Some(182.0), None),
            ]
        );
        assert_eq!((run.counts().skipped, run.counts().failed), (1, 0));
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
            (text.replace("SUM device_latency_sm", "Error: no peers\nSUM device_latency_sm"), 1),
        ] {
            let run = read(Format::Nvbandwidth, &text).unwrap();
            assert_eq!(run.counts().failed, failed, "{text}\n{run:?}");
        }
        let waived = "Running a.\nWaived: no\nRunning b.\nERROR: out of memory\nRunning c.\n\
                      [CUDA_ERROR_OUT_OF_MEMORY] out of memory in expression f() in main()\n\
                      Running d.\nNVML_ERROR: [Unknown] in expression g()\n";
        let run = read(Format::Nvbandwidth, waived).unwrap();
        let outcomes: Vec<Outcome> = run.benchmarks.iter().map(|case| case.outcome).collect();
        let failed = Outcome::Failed;
        assert_eq!(outcomes, [Outcome::Skipped, failed, failed, failed]);
        let whys = [1, 2, 3].map(|at| run.benchmarks[at].reason.as_ref().unwrap().why.as_str());
        assert_eq!(whys[0], "out of memory");
        assert!(whys[1].starts_with("[CUDA_ERROR_OUT_OF_MEMORY]"), "{whys:?}");
        assert!(whys[2].starts_with("[Unknown]"), "{whys:?}");
    }

    const JSON: &str = r#"{"nvbandwidth": {"version": "v0.8", "testcases": [
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "sum": 110.0, "bandwidth_matrix": [["55.5", "54.5"]],
         "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"},
        {"name": "all_to_one_write_ce", "status": "Waived"},
        {"name": "device_to_device_bidirectional_memcpy_read_ce", "status": "Passed", "sum": 64.0,
         "bandwidth_description": "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s) ", "bandwidth_matrix":
         [["N/A", "10.5"], ["11.5", "N/A"], ["N/A", "20.5"], ["21.5", "N/A"], ["N/A", "31"], ["33", "N/A"]]}]}}"#;

    #[test]
    fn json_has_the_cases_of_the_text() {
        assert_eq!(detect(Path::new("out.json"), JSON), Some(Format::Nvbandwidth));
        let run = read(Format::Nvbandwidth, JSON).unwrap();
        let host = sample(Format::Nvbandwidth).split("Waived").next().unwrap().to_owned();
        let printed = text(&format!("{host}{}", both_directions()));
        let no_sum =
            |(id, ..): &(&str, _, _)| !(id.ends_with("read1/sum") || id.ends_with("read2/sum"));
        assert_eq!(figures(&run), figures(&printed).into_iter().filter(no_sum).collect::<Vec<_>>());
        assert_eq!((run.counts().skipped, run.counts().failed), (1, 0));
    }

    #[test]
    fn what_is_wrong_in_json_costs_its_own_case_or_is_refused_by_name() {
        for (from, to, measured, failed) in [
            ("[\"55.5\", \"54.5\"]", "[55.5, \"54.5\"]", 7, 1),
            ("\"N/A\", \"10.5\"], [", "\"N/A\"], [", 3, 1),
            ("[\"11.5\", \"N/A\"], ", "", 3, 1),
            ("\"54.5\"", "\"0\"", 9, 1),
            ("\"Waived\"", "\"Error\"", 10, 1),
            ("\"version\": \"v0.8\"", "\"error\": \"invalid device\"", 10, 1),
        ] {
            let run = read(Format::Nvbandwidth, &JSON.replacen(from, to, 1)).unwrap();
            assert_eq!(
                (run.counts().measured, run.counts().failed),
                (measured, failed),
                "{to}: {run:?}"
            );
        }
        let error = read(Format::Nvbandwidth, r#"{"nvbandwidth": {"error": "no driver"}}"#)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("refused") && error.contains("no driver") && error.contains("again"),
            "{error}"
        );
    }
}
