//! The command line as users and scripts see it: text, streams, exit codes.

use crate::common::{Bench, SMALL, says, words};

fn small<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().chain(SMALL).collect()
}

const TINY_GEMM: [&str; 5] = ["gemm", "--axis", "shape=32x32x32", "--axis", "dtype=f32"];

#[test]
fn json_is_one_document_and_nothing_else_reaches_standard_output() {
    let bench = Bench::new();
    let ended = bench.run(&small(&[&TINY_GEMM[..], &["--json"]].concat())).expect(0);
    let document = ended.json();
    assert_eq!(document["format_version"], 3);
    let case = &document["benchmarks"][0];
    assert_eq!(case["outcome"], "measured");
    assert_eq!(case["benchmark_type"], "cpu_performance");
    assert!(case["results"][0]["gflops"].as_f64().unwrap() > 0.0);
    assert!(case["samples"][0]["iters"].as_array().unwrap().len() >= 10);
    assert_eq!(bench.run_files().len(), 1);
}

#[test]
fn a_run_is_stored_and_found_again() {
    let bench = Bench::new();
    let ended = bench.run(&small(&TINY_GEMM)).expect(0);
    assert!(ended.stdout.contains("gemm"), "{}", ended.stdout);
    let history = bench.run("history --json").expect(0).json();
    assert_eq!(history["runs"].as_array().unwrap().len(), 1);
    let values = bench.run("history --case gemm --json").expect(0).json();
    assert!(values["history"].as_array().unwrap().iter().any(|row| row["metric"] == "gflops"));
    let part = bench.run("history --case gemm*32x32 --json").expect(0).json();
    assert_eq!(part["history"], values["history"], "a pattern must match anywhere in an id");
    let csv = bench.run("export").expect(0).stdout;
    assert!(csv.lines().any(|line| line.contains("gflops")), "{csv}");
    bench.run("report").expect(0);
    let reports = std::fs::read_dir(bench.path("benchmark_results")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("benchmark_report_")
    });
    assert_eq!(reports.count(), 1);
    assert!(bench.path("benchmark_results/logs").read_dir().unwrap().count() == 1);
}

#[test]
fn wrong_words_are_exit_2_with_the_cure() {
    let bench = Bench::new();
    for (arguments, expected) in [
        (vec!["run", "gem"], "did you mean `gemm`"),
        (vec!["frobnicate"], "unrecognized subcommand"),
        (vec!["run", "--suite", "fast"], "pre-installation"),
        (vec!["run", "gemm", "--axis", "color=red"], "shape"),
        (vec!["run", "gemm", "--axis", "dtype=f33"], "f33"),
        (vec!["run", "gemm", "--axis", "dtype"], "NAME=V1,V2"),
        (vec!["run", "gemm", "--backend", "metal"], "rocm, cuda, vulkan"),
        (vec!["run", "gemm", "--runs", "3"], "10"),
        (vec!["run", "gemm", "--device", "9"], "cpu:0"),
        (vec!["run", "--suite", "custom"], "[[custom]]"),
        (vec!["run", "--config", "missing.toml"], "missing.toml"),
        (vec!["gate", "--baseline", "nonexistent.json"], "nonexistent.json"),
        (vec!["trend", "--input", "nonexistent.csv"], "nonexistent.csv"),
        (vec!["gate", "--threshold", "nan"], "--threshold"),
        (vec!["history", "--limit", "0"], "--limit"),
        (vec!["report"], "measure one with"),
        (vec!["baseline", "save"], "measure one with"),
        (vec!["schema", "frob"], "benchmark-result"),
        (vec!["probe", "--sysfs-root", "/nonexistent"], "/nonexistent"),
        (vec!["report", "20990101"], "20990101"),
    ] {
        let ended = bench.run(&arguments).expect(2);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
    assert!(
        !bench.path("benchmark_results").exists(),
        "a usage error must not create a results directory"
    );
}

#[test]
fn a_wrong_file_or_variable_is_exit_2_and_says_where() {
    let bench = Bench::new();
    bench.write("rusty-stack-bench.toml", "[run]\nrunz = 5\n");
    for verb in [&TINY_GEMM[..], &["list"]] {
        let ended = bench.run(verb).expect(2);
        for part in ["rusty-stack-bench.toml", "line 2", "runz", "`runs`"] {
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
        }
    }
    let ended = Bench::new().set("RSB_RUNZ", "5").run(&TINY_GEMM).expect(2);
    assert!(ended.stderr.contains("RSB_RUNS"), "{}", ended.stderr);
}

#[test]
fn settings_come_from_the_file_then_the_environment_then_flags() {
    let samples = |bench: &Bench, extra: &[&str]| {
        let arguments = [&TINY_GEMM[..], &["--json", "--replicates", "1"], extra].concat();
        let document = bench.run(&arguments).expect(0).json();
        document["benchmarks"][0]["samples"][0]["iters"].as_array().unwrap().len()
    };
    let file = "[run]\nruns = 11\n";
    let plain = Bench::new();
    plain.write("rusty-stack-bench.toml", file);
    assert_eq!(samples(&plain, &[]) % 11, 0);
    let environment = Bench::new().set("RSB_RUNS", "13");
    environment.write("rusty-stack-bench.toml", file);
    assert_eq!(samples(&environment, &[]) % 13, 0);
    assert_eq!(samples(&environment, &["--runs", "17"]) % 17, 0);
}

#[test]
fn what_cannot_run_here_is_skipped_with_the_reason_and_exit_5() {
    let bench = Bench::new();
    let ended = bench.run("run --suite gpu-performance --backend rocm --json").expect(5);
    let document = ended.json();
    let cases = document["benchmarks"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        assert_eq!(case["outcome"], "skipped");
        for field in ["what", "why", "cure"] {
            assert!(!case[field].as_str().unwrap().is_empty());
        }
    }
    // vLLM may have a separate environment in the user's data directory.
    let without_python = bench
        .set("MLSTACK_BENCHMARK_PYTHON", "/nonexistent/python")
        .set("XDG_DATA_HOME", "/nonexistent/data");
    without_python.run("run --suite component").expect(5);
}

#[test]
fn a_size_that_does_not_fit_is_skipped_not_tried() {
    let bench = Bench::new();
    let ended = bench
        .run(&small(&[
            "memory-bandwidth",
            "--axis",
            "size=4096GiB",
            "--axis",
            "operation=copy",
            "--json",
        ]))
        .expect(5);
    let case = &ended.json()["benchmarks"][0];
    assert_eq!(case["outcome"], "skipped");
    assert!(case["cure"].as_str().unwrap().len() > 5);
}

#[test]
fn a_case_over_its_time_limit_fails_and_the_rest_goes_on() {
    let bench = Bench::new();
    let arguments = words(
        "run gemm --axis shape=16x16x16,9000x9000x9000 --axis dtype=f64 --timeout 3 \
         --json",
    );
    let document = bench.run(&small(&arguments)).expect(1).json();
    let outcome = |size: &str| {
        let cases = document["benchmarks"].as_array().unwrap();
        cases
            .iter()
            .find(|case| case["benchmark_id"].as_str().unwrap().contains(size))
            .unwrap()
            .clone()
    };
    assert_eq!(outcome("16x16x16")["outcome"], "measured");
    let slow = outcome("9000x9000x9000");
    assert_eq!(slow["outcome"], "failed");
    assert!(slow["why"].as_str().unwrap().contains("3 s"), "{slow}");
    assert!(slow["cure"].as_str().unwrap().contains("--timeout"));
}

#[test]
fn help_names_every_benchmark_and_the_exit_codes() {
    let help = Bench::new().run("--help").expect(0).stdout;
    for benchmark in rsb_workloads::all() {
        assert!(help.contains(benchmark.name()), "{}", benchmark.name());
    }
    assert!(help.contains("3 regression"));
    for shell in ["bash", "zsh", "fish"] {
        says(&Bench::new().run(&["completions", shell]).expect(0).stdout, &["memory-bandwidth"]);
    }
    assert!(Bench::new().run("man").expect(0).stdout.contains(".TH"));
}

#[test]
fn colors_are_for_terminals_alone() {
    let bench = Bench::new();
    assert!(!bench.run("list").expect(0).stdout.contains('\u{1b}'));
    assert!(bench.run("list --color always").expect(0).stdout.contains('\u{1b}'));
}

#[test]
fn list_names_what_each_backend_lacks() {
    let document = Bench::new().run("list --json").expect(0).json();
    let rows = document["benchmarks"].as_array().unwrap();
    for backend in ["rocm", "cuda", "vulkan", "opencl", "oneapi"] {
        let row = rows
            .iter()
            .find(|row| row["backend"] == backend && row["benchmark"] == "gemm")
            .unwrap();
        assert!(row["runnable"].is_boolean());
        if row["runnable"] == false {
            assert!(row["what"].is_string() && row["why"].is_string() && row["cure"].is_string());
        }
    }
    assert!(rows.iter().any(|row| row["backend"] == "cpu"
        && row["benchmark"] == "gemm"
        && row["runnable"] == true));
}

#[test]
fn probe_is_one_document_with_the_promised_keys() {
    let document = Bench::new().run("probe --json").expect(0).json();
    for key in [
        "format_version",
        "os",
        "kernel",
        "cpu",
        "memory_gb",
        "gpus",
        "rocm",
        "python",
        "frameworks",
    ] {
        assert!(document.get(key).is_some(), "{key}");
    }
    assert!(document["memory_gb"].as_f64().unwrap() > 0.1);
}

#[test]
fn a_trend_of_a_file_follows_what_is_asked_for() {
    let bench = Bench::new();
    let rows =
        "timestamp,value,id\n1700000000,1.0,gemm a\n1700086400,1.1,gemm a\n1700000000,2.0,copy b\n";
    bench.write("series.csv", rows);
    let series = |more: &[&str]| {
        let ended =
            bench.run(&[&["trend", "--input", "series.csv", "--json"], more].concat()).expect(0);
        ended.json()["series"].as_array().unwrap().len()
    };
    assert_eq!((series(&[]), series(&["--case", "gemm"]), series(&["--case", "g*a"])), (2, 1, 1));
    assert_eq!(series(&["--metric", "value"]), 2);
    let nothing = bench.run("trend --input series.csv --case triad").expect(2);
    assert!(
        nothing.stderr.contains("gemm a"),
        "the error must list the existing series: {}",
        nothing.stderr
    );
    let page = bench.run("trend --input series.csv --case copy").expect(0).stdout;
    assert!(page.contains("1 with one run and no trend yet"), "{page}");
    bench.write("empty.csv", "timestamp,value\n");
    let empty = bench.run("trend --input empty.csv").expect(2);
    assert!(empty.stderr.contains("empty.csv"), "{}", empty.stderr);
    let seconds: Vec<String> =
        (0..9).map(|second| format!("17000000{second:02},{}", 10 + second)).collect();
    bench.write("short.csv", &format!("timestamp,value\n{}\n", seconds.join("\n")));
    let page = bench.run("trend --input short.csv").expect(0).stdout;
    assert!(page.contains("increasing") && page.contains("less than a day"), "{page}");
}

#[test]
fn a_directory_of_baselines_that_cannot_be_written_is_named_by_its_own_flag() {
    let bench = Bench::new();
    bench.run(&[&TINY_GEMM[..], &["--replicates", "1"]].concat()).expect(0);
    bench.write("in-the-way", "a file");
    let ended = bench.run("baseline save --baselines-dir in-the-way").expect(2);
    assert!(ended.stderr.contains("--baselines-dir"), "{}", ended.stderr);
    bench.run("baseline save").expect(0);
    let listed = bench.run("baseline list --json").expect(0).json();
    assert_eq!(
        (&listed["baselines"][0]["cases"], &listed["baselines"][0]["replicates"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_narrow_page_is_not_exceeded_by_its_tables() {
    let bench = Bench::new().set("COLUMNS", "60");
    for line in bench.run("list").expect(0).stdout.lines() {
        assert!(line.chars().count() <= 60 || !line.contains("  "), "{line}");
    }
}

#[test]
fn a_factor_that_is_none_is_a_mistake() {
    let ended = Bench::new().run("gate --across rcom").expect(2);
    assert!(ended.stderr.contains("did you mean rocm?"), "{}", ended.stderr);
}

#[test]
fn a_dry_run_measures_nothing_and_ends_like_the_run_it_plans() {
    let bench = Bench::new().set("RSB_HIP_LIBRARY", "/nonexistent/libamdhip64.so");
    for planned in [
        "run tensor-ops --backend cpu --dry-run",
        "tensor-ops --backend cpu --dry-run",
        "all --backend cpu --dry-run",
    ] {
        let ended = bench.run(planned).expect(0);
        says(&ended.stdout, &["cpu_performance/tensor-ops/cpu:0/"]);
        assert!(!ended.stderr.contains("nothing can run here"), "{}", ended.stderr);
    }
    for skipped in ["memory-transfer --backend rocm", "run gemm --backend rocm"] {
        let planned = bench.run(&[&words(skipped)[..], &["--dry-run"]].concat()).expect(5);
        says(&planned.stdout, &["/rocm: skipped: "]);
        says(&planned.stderr, &["nothing can run here"]);
        bench.run(skipped).expect(5);
    }
    assert_eq!(bench.run_files().len(), 2, "only the runs without --dry-run are stored");
}

#[test]
fn health_misses_no_case_that_was_never_requested() {
    let bench = Bench::new();
    let missing = || bench.run("health --json").expect(0).json()["missing"].clone();
    bench.run(&small(&TINY_GEMM)).expect(0);
    let other = ["gemm", "--axis", "shape=32x32x32,48x48x48", "--axis", "dtype=f32"];
    let wider = bench.run(&small(&[&other[..], &["--json"]].concat())).expect(0).json();
    assert_eq!(
        wider["selection"]["axes"],
        serde_json::json!({ "dtype": ["f32"], "shape": ["32x32x32", "48x48x48"] })
    );
    bench.run(&small(&TINY_GEMM)).expect(0);
    assert_eq!(missing(), serde_json::json!([]));
}
