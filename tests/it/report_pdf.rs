//! `report --format pdf`: with the real worker, if it was built, and with programs that replace it
//! and fail in each way.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::made_up::with_baseline;
use crate::common::{Bench, says};

/// Returns the worker that was built for the tests.
fn worker() -> Option<PathBuf> {
    let named = std::env::var_os("RSB_PDF_WORKER").map(PathBuf::from).filter(|path| path.is_file());
    let why = "cargo build --package rsb-pdf --features pdf, and name target/debug/rsb-pdf in \
               RSB_PDF_WORKER";
    if named.is_none() {
        test_needs::missing("pdf", why);
    }
    named
}

/// Returns the output of `program` for `file`; `None` if it is not installed.
fn asked(program: &str, arguments: &[&str], file: &Path) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).arg(file).arg("-").output() else {
        test_needs::missing("pdf", &format!("install the package that has {program}"));
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_pdf_is_whole_accessible_and_says_what_the_report_says() {
    let Some(worker) = worker() else { return };
    let (bench, _) = with_baseline(Bench::new().set("RSB_PDF_WORKER", worker.to_str().unwrap()));
    let title = "#read(\\\"/etc/passwd\\\") $x$ *a* @b `c` <d>";
    bench.write("rusty-stack-bench.toml", &format!("[report]\ntitle = \"{title}\"\n"));
    bench.run("report made-up.json --format pdf --output page.pdf").expect(0);
    let file = bench.path("page.pdf");
    let (Some(parts), Some(text)) =
        (asked("qpdf", &["--qdf"], &file), asked("pdftotext", &[], &file))
    else {
        return;
    };
    for part in [
        "<pdfuaid:part>1",
        "/Lang (en)",
        "/DisplayDocTitle true",
        "/Scope /Row",
        "/Scope /Column",
        "/Summary ",
    ] {
        assert!(parts.contains(part), "{part}");
    }
    let count = |part: &str| parts.matches(part).count();
    assert!(
        count("/S /Figure") > 0 && count("/S /Figure") == count("/Alt "),
        "each chart must have a text alternative"
    );
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in\n{text}"));
    let title = at("#read(\"/etc/passwd\") $x$ *a* @b `c` <d>");
    let verdict = at("Not compared with a baseline: the run ");
    assert!(title < verdict && verdict < at("Key results") && text.contains("1 of "), "{text}");
}

/// Returns a bench in which a program that runs `script` replaces the worker.
fn in_its_place(bench: Bench, script: &str) -> Bench {
    let path = bench.write("worker", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    bench.set("RSB_PDF_WORKER", path.to_str().unwrap())
}

#[test]
fn without_a_worker_and_when_it_fails_there_is_no_file_and_a_cure() {
    let (mut bench, run) = with_baseline(Bench::new().set("RSB_PDF_WORKER", "/nowhere/worker"));
    let stored = bench.run_files().len();
    let said = bench.run("report made-up.json --format pdf").expect(2).stderr;
    says(&said, &["RSB_PDF_WORKER names /nowhere/worker", "unset it"]);
    // Reported before anything is measured.
    let said = bench.run("run gemm --reports html,pdf").expect(2).stderr;
    assert!(said.contains("RSB_PDF_WORKER names") && bench.run_files().len() == stored, "{said}");
    for (script, expected) in [
        (
            "cat >/dev/null; echo 'cannot typeset the document: x' >&2; exit 1",
            "failed: cannot typeset the document: x",
        ),
        (
            "echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$",
            "signal 6 (memory allocation of 9 bytes failed)",
        ),
        ("exit 3", "failed: no output"),
    ] {
        bench = in_its_place(bench, script);
        let said = bench.run("report made-up.json --format pdf --output page.pdf").expect(1).stderr;
        assert!(said.contains(expected) && said.contains("--format html"), "{script}: {said}");
        assert!(!bench.path("page.pdf").exists(), "{script}");
    }
    // With `cat` as the worker, the file contains the worker's input.
    bench = in_its_place(bench, "cat");
    bench.run("report made-up.json --format pdf --output -").expect(2);
    let given = |name: &str| {
        bench.run(&["report", "made-up.json", "--format", "pdf", "--output", name]).expect(0);
        std::fs::read(bench.path(name)).unwrap()
    };
    let report = given("page.pdf");
    assert!(report == given("again.pdf"), "the same report must give the same document");
    let given: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!((&given["id"], &given["sections"][0]["id"]), (&run["run_id"], &"verdict".into()));
}
