//! Outputs: the files of a verdict, unwritable standard error and standard output, and links in the
//! way.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::{Bench, SMALL, says};

/// Returns a bench with a baseline and two runs to judge: one that passes, and one with a regressed
/// case, whose id is returned.
fn judged() -> (Bench, String) {
    let (bench, run) = with_baseline(Bench::new());
    bench.write_sealed("same.json", &again(&run, "same"));
    let mut run = again(&run, "slower");
    scale(&mut run["benchmarks"][2], 1.3);
    bench.write_sealed("slower.json", &run);
    let id = run["benchmarks"][2]["benchmark_id"].as_str().unwrap().to_owned();
    (bench, id)
}

fn gate<'a>(run: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["gate", "--baseline", "tensor-ops", "--current", run][..], more].concat()
}

#[test]
fn every_form_is_of_one_judgment() {
    let (bench, id) = judged();
    let case = id.rsplit('/').next().unwrap();
    let forms = [
        "junit=j.xml",
        "sarif=s.sarif",
        "markdown=m.md",
        "json=o.json",
        "github=g",
        "text=sub/../t.txt",
    ];
    std::fs::create_dir(bench.path("sub")).unwrap();
    let outputs: Vec<&str> = forms.iter().flat_map(|form| ["--output", form]).collect();
    let ended = bench.run(&gate("slower.json", &outputs)).expect(3);
    assert!(ended.stdout.contains(case) && ended.stdout.contains("REGRESSED"), "{}", ended.stdout);
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    for file in ["j.xml", "s.sarif", "m.md", "o.json", "g", "t.txt"] {
        assert!(read(file).contains(case) && read(file).ends_with('\n'), "{file}");
    }
    let document: Value = serde_json::from_str(&read("o.json")).unwrap();
    assert!(
        read("j.xml").contains(document["comparison_id"].as_str().unwrap()),
        "all files must have the same comparison id"
    );
    // `compare` also writes these files, even if the sides cannot be compared.
    bench.run("compare tensor-ops slower.json --output json=c.json").expect(0);
    assert!(read("c.json").contains("\"statistics\""));
    std::fs::remove_dir_all(bench.path("baselines")).unwrap();
    bench.run("gate --output junit=none.xml").expect(4);
    assert!(read("none.xml").contains("<error"));
}

#[test]
fn a_file_that_cannot_be_meant_is_exit_2_before_anything_is_judged() {
    let (bench, _) = judged();
    symlink("target", bench.path("link")).unwrap();
    for (outputs, expected) in [
        (&["html=a"][..], "sarif"),
        (&["a.xml"], "FORM=FILE"),
        (&["json=-"], "--format"),
        (&["json=a", "junit=./a"], "given twice"),
        (&["json=absent/a"], "the directory absent does not exist"),
        (&["json=link"], "symbolic link"),
    ] {
        let outputs: Vec<&str> = outputs.iter().flat_map(|output| ["--output", output]).collect();
        let ended = bench.run(&gate("slower.json", &outputs)).expect(2);
        assert!(
            ended.stderr.contains(expected) && ended.stdout.is_empty(),
            "{outputs:?}: {}",
            ended.stderr
        );
    }
    assert!(!bench.path("a").exists() && !bench.path("target").exists());
}

#[test]
fn what_cannot_be_written_fails_a_pass_and_changes_no_verdict() {
    let (bench, _) = judged();
    std::fs::create_dir_all(bench.path("nowhere/a.json")).unwrap();
    for (run, code) in [("same.json", 1), ("slower.json", 3)] {
        let ended = bench
            .run(&gate(run, &["--output", "json=nowhere/a.json", "--output", "junit=b.xml"]))
            .expect(code);
        assert!(ended.stderr.contains("error: cannot write nowhere/a.json"), "{}", ended.stderr);
        assert!(!ended.stdout.is_empty());
        std::fs::remove_file(bench.path("b.xml")).unwrap();
    }
    std::fs::remove_dir_all(bench.path("baselines")).unwrap();
    let optional = ["gate", "--baseline-optional", "--output"];
    bench.run(&[&optional[..], &["json=nowhere/a.json"]].concat()).expect(1);
    bench.run(&[&optional[..], &["json=a.json"]].concat()).expect(0);
}

/// Runs the program with redirected streams and returns its exit code.
fn redirected(bench: &Bench, redirection: &str, words: &[&str]) -> Option<i32> {
    let own = bench.command(words);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec \"$@\" {redirection}"), "sh"])
        .arg(own.get_program())
        .args(own.get_args());
    shell
        .current_dir(bench.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.status().unwrap().code()
}

#[test]
fn standard_error_that_takes_nothing_stops_nothing() {
    if File::options().write(true).open("/dev/full").is_err() {
        return;
    }
    let (bench, _) = judged();
    let measured = bench.run_files().len();
    let tiny =
        [&["run", "gemm", "--axis", "shape=16x16x16", "--axis", "dtype=f32"][..], &SMALL].concat();
    for (done, redirection) in ["2>&-", "2>/dev/full"].into_iter().enumerate() {
        assert_eq!(redirected(&bench, redirection, &tiny), Some(0), "{redirection}");
        assert_eq!(bench.run_files().len(), measured + done + 1, "{redirection}");
        for (words, code) in [
            (gate("slower.json", &[]), 3),
            (gate("no-such-run", &[]), 2),
            (
                vec![
                    "gate",
                    "--baseline",
                    "tensor-ops",
                    "--current",
                    "same.json",
                    "--format",
                    "json",
                ],
                0,
            ),
            (vec!["baseline", "save"], 0),
            (vec!["history", "--limit", "1"], 0),
            (vec!["--no-such-flag"], 2),
        ] {
            assert_eq!(
                redirected(&bench, redirection, &words),
                Some(code),
                "{words:?} {redirection}"
            );
        }
    }
}

#[test]
fn standard_output_that_takes_nothing_fails_a_pass_and_changes_no_verdict() {
    if File::options().write(true).open("/dev/full").is_err() {
        return;
    }
    let (bench, _) = judged();
    for (words, full, closed) in [
        (gate("same.json", &["--json"]), 1, 0),
        (gate("slower.json", &["--json"]), 3, 3),
        (vec!["history", "--json"], 1, 0),
        (vec!["export"], 1, 0),
        (vec!["report", "--format", "csv"], 1, 0),
    ] {
        assert_eq!(redirected(&bench, ">/dev/full", &words), Some(full), "{words:?}");
        assert_eq!(
            redirected(&bench, ">&-", &words),
            Some(closed),
            "{words:?}: a closed standard output must not change the exit code"
        );
    }
}

#[test]
fn no_output_follows_a_link() {
    let (bench, _) = judged();
    let theirs = bench.write("theirs/file", "theirs");
    symlink(&theirs, bench.path("link")).unwrap();
    symlink(bench.path("theirs"), bench.path("dir")).unwrap();
    symlink(bench.path("nowhere"), bench.path("dangling")).unwrap();
    for words in [
        &["report", "--output", "link"][..],
        &["report", "--format", "csv", "--output", "dangling"],
        &["report", "--format", "svg", "--output", "dir"],
        &["export", "--output", "link"],
        &["schema", "--dir", "dir"],
    ] {
        let ended = bench.run(words).expect(2);
        says(&ended.stderr, &["symbolic link", "remove the link"]);
    }
    // Links in place of the files next to the results, and of the results themselves.
    let results = bench.path("benchmark_results");
    std::fs::remove_dir_all(results.join("logs")).unwrap();
    std::fs::remove_file(results.join("benchmarks.db")).unwrap();
    for (at, name) in
        [("dir", "logs"), ("dir", "charts"), ("dir", "comparisons"), ("dangling", "benchmarks.db")]
    {
        let _ = std::fs::remove_dir_all(results.join(name));
        symlink(bench.path(at), results.join(name)).unwrap();
    }
    let tiny =
        [&["run", "gemm", "--axis", "shape=16x16x16", "--axis", "dtype=f32"][..], &SMALL].concat();
    assert!(bench.run(&tiny).expect(0).stderr.contains("cannot write the log"));
    bench.run("report").expect(2);
    says(
        &bench.run(&gate("slower.json", &[])).expect(3).stderr,
        &["the comparison was not stored"],
    );
    std::fs::remove_dir_all(results.join("runs")).unwrap();
    symlink(bench.path("theirs"), results.join("runs")).unwrap();
    assert!(bench.run(&tiny).expect(2).stderr.contains("symbolic link"));
    let left: Vec<_> = std::fs::read_dir(bench.path("theirs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["file"]);
    assert_eq!(std::fs::read_to_string(theirs).unwrap(), "theirs");
    assert!(!bench.path("nowhere").exists());
}

#[test]
fn standard_output_can_be_named() {
    let (bench, _) = judged();
    let plain = bench.run("export").expect(0).stdout;
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        assert_eq!(bench.run(&["export", "--output", name]).expect(0).stdout, plain, "{name}");
        assert!(
            !bench
                .run(&["report", "--format", "csv", "--output", name])
                .expect(0)
                .stdout
                .is_empty(),
            "{name}"
        );
    }
}

#[test]
fn nothing_that_a_file_says_is_obeyed_by_a_terminal() {
    const HOSTILE: &str = "x\u{1b}]0;title\u{7}\u{202e}\u{2066}\u{9b}31m\nFORGED";
    let (bench, mut run) = with_baseline(Bench::new());
    run["run_id"] = "slower".into();
    scale(&mut run["benchmarks"][2], 1.3);
    let whole = run.clone();
    for (name, pointer) in [
        ("id.json", "/run_id"),
        ("case.json", "/benchmarks/0/benchmark_id"),
        ("model.json", "/environment/cpu/model"),
        ("system.json", "/environment/os"),
        ("suite.json", "/suite"),
        ("outcome.json", "/benchmarks/0/outcome"),
        ("started.json", "/started"),
    ] {
        run = whole.clone();
        *run.pointer_mut(pointer).unwrap() = HOSTILE.into();
        bench.write(name, &run.to_string());
    }
    bench.write("broken.json", &format!("{{\"run_id\": {HOSTILE}"));
    bench.write(
        "policy.toml",
        &format!("thresold = \"{}\"\n", HOSTILE.replace('\n', "\\n").replace('\u{7}', "")),
    );
    bench.write("series.csv", &format!("timestamp,value\n0,\"{HOSTILE}\"\n"));
    let files = ["id", "case", "model", "system", "suite", "outcome", "started", "broken"]
        .map(|name| format!("{name}.json"));
    let mut calls: Vec<Vec<&str>> = vec![
        vec!["gate", "--policy", "policy.toml"],
        vec!["trend", "--input", "series.csv"],
        vec!["gate", "--baseline", HOSTILE],
        vec!["baseline", "save", HOSTILE, "--run", "id.json"],
        vec!["baseline", "list"],
    ];
    for file in &files {
        calls.push(gate(file, &["--verbose"]));
        calls.push(gate(file, &["--json"]));
        calls.push(gate(file, &["--format", "github"]));
        calls.push(vec!["report", file, "--format", "text"]);
        calls.push(vec!["report", file, "--format", "csv"]);
        calls.push(vec!["baseline", "save", "mine", "--run", file]);
        calls.push(vec!["baseline", "show", "mine"]);
    }
    for words in calls {
        let ended = bench.run(&words);
        assert!(ended.code >= 0 && ended.code < 101, "{words:?}: {}", ended.stderr);
        for text in [ended.stdout, ended.stderr] {
            let obeyed = text.chars().find(|c| *c != '\n' && rsb_model::shown::is_disguise(*c));
            assert_eq!(obeyed, None, "{words:?}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{words:?}: {text}");
        }
    }
}
