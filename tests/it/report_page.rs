//! The HTML page of a report: it contains its run, every reader of runs can read it, and a modified
//! page is rejected.

use serde_json::Value;

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::{Bench, SMALL, words};

/// Returns the comparison of `run` as written by `gate`, without fields that always differ.
fn judged(bench: &Bench, run: &str, code: i32) -> Value {
    let words = ["gate", "--baseline", "tensor-ops", "--current", run, "--json"];
    let mut document = bench.run(&words).expect(code).json();
    for name in ["comparison_id", "timestamp", "notes"] {
        document.as_object_mut().unwrap().remove(name);
    }
    document
}

#[test]
fn a_page_is_judged_as_the_run_in_it() {
    let (bench, run) = with_baseline(Bench::new());
    let mut slower = again(&run, "slower");
    scale(&mut slower["benchmarks"][2], 1.3);
    bench.write_sealed("slower.json", &slower);
    bench.write(
        "rusty-stack-bench.toml",
        "[report]\ntitle = \"Night <1>\"\ntheme = \"dark\"\nparts = [\"comparison\"]\n",
    );
    bench.run("report slower.json --format html --output page.html").expect(0);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(
        page.contains("<h1>Night &lt;1&gt;</h1>")
            && page.contains("Regressed: 1<")
            && !page.contains("<svg")
    );
    std::fs::remove_file(bench.path("rusty-stack-bench.toml")).unwrap();
    let gated = judged(&bench, "page.html", 3);
    assert_eq!(gated, judged(&bench, "slower.json", 3));
    assert_eq!(gated["summary"]["total_degraded"], 1);
    // `compare` and `report` read the page as a run, on either side; as both sides, it is the same
    // run twice.
    bench.run("compare page.html made-up.json --check").expect(0);
    bench.run("compare slower.json page.html").expect(2);
    let csv = |file: &str| bench.run(&["report", file, "--format", "csv"]).expect(0).stdout;
    assert_eq!(csv("page.html"), csv("slower.json"));
}

#[test]
fn a_page_that_was_touched_or_holds_no_run_is_refused_with_a_cure() {
    let (bench, _) = with_baseline(Bench::new());
    bench.run("report made-up.json --format html --output page.html").expect(0);
    bench.run("report made-up.json --format html --no-data --output empty.html").expect(0);
    bench.run("report made-up.json --format csv --no-data").expect(2);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    let data = page.find("<template").unwrap();
    let (head, rest) = page.split_at(data + 200);
    let flipped = if rest.starts_with('A') { "B" } else { "A" };
    for (name, text, expected) in [
        ("cut.html", head.to_owned(), "cut off"),
        ("mutated.html", format!("{head}{flipped}{}", &rest[1..]), "was changed"),
        ("twice.html", page.replace("</body>", &page[data..]), "twice"),
        ("empty.html", std::fs::read_to_string(bench.path("empty.html")).unwrap(), "--no-data"),
        // A page with a valid element that contains a run with a wrong checksum.
        (
            "resealed.html",
            format!("{}{}", &page[..data], tampered(&bench)),
            "its checksum does not match",
        ),
    ] {
        bench.write(name, &text);
        let said =
            bench.run(&["gate", "--baseline", "tensor-ops", "--current", name]).expect(2).stderr;
        assert!(said.contains(expected) && said.contains(name), "{name}: {said}");
    }
}

/// Returns the page element of a run that was changed without its checksum.
fn tampered(bench: &Bench) -> String {
    let run = std::fs::read_to_string(bench.path("made-up.json")).unwrap();
    let changed = run.replacen("\"suite\": \"tensor-ops\"", "\"suite\": \"tensor-opt\"", 1);
    assert_ne!(run, changed);
    rsb_store::page::data_element(&changed)
}

#[test]
fn a_run_writes_the_reports_that_were_asked_for() {
    let bench = Bench::new();
    let words = words("run gemm --axis shape=16x16x16 --axis dtype=f32,f64 --reports all --json");
    let ended = bench.run(&[&words[..], &SMALL].concat()).expect(0);
    let id = ended.json()["run_id"].as_str().unwrap().to_owned();
    // Builds with the feature `pdf` have the PDF worker; others report that it is missing.
    let with_pdf = !ended.stderr.contains("note: no report as PDF: ");
    let written = ended.stderr.lines().filter(|line| line.starts_with("report: ")).count();
    assert_eq!(written, 6 + usize::from(with_pdf), "{}", ended.stderr);
    let reports = std::fs::read_dir(bench.path("benchmark_results")).unwrap().flatten();
    let mut endings: Vec<String> = reports
        .filter_map(|file| {
            file.file_name()
                .to_str()?
                .strip_prefix("benchmark_report_")?
                .split_once('.')
                .map(|(_, end)| end.to_owned())
        })
        .collect();
    endings.retain(|ending| !(with_pdf && ending == "pdf"));
    endings.sort();
    assert_eq!(endings, ["csv", "html", "json", "md", "txt"]);
    assert!(bench.path("benchmark_results").join("charts").join(&id).is_dir());
}
