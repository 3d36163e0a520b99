//! Scenarios from a file, and components in a user-defined suite.

use super::common::Bench;
use super::why;

#[test]
fn a_mistake_in_a_sweep_is_named_with_its_line_and_measures_nothing() {
    let bench = Bench::new();
    for (text, expected) in [
        ("[[scenario]\n", "line 1"),
        ("[[scenario]]\nbenchmark = \"pytorch\"\nprecison = \"f32\"\n", "precision"),
        (
            "[[scenario]]\nbenchmark = \"pytorc\"\n",
            "line 2: there is no benchmark `pytorc`, did you mean `pytorch`?",
        ),
        ("[[scenario]]\nbenchmark = \"pytorch\"\nprecision = \"f31\"\n", "line 3"),
        ("", "[[scenario]]"),
    ] {
        bench.write("sweep.toml", text);
        let ended = bench.run("run --sweep sweep.toml").expect(2);
        assert!(
            ended.stderr.contains("sweep.toml") && ended.stderr.contains(expected),
            "{text}\n{}",
            ended.stderr
        );
    }
    let missing = bench.run("run --sweep none.toml").expect(2);
    assert!(missing.stderr.contains("none.toml"), "{}", missing.stderr);
    assert!(bench.run_files().is_empty());
}

#[test]
fn a_sweep_is_every_combination_of_the_benchmarks_asked_for() {
    let bench = Bench::new();
    bench.write(
        "sweep.toml",
        "[[scenario]]\nbenchmark = \"gemm\"\nprecision = [\"f32\", \"f64\"]\naxes = \
         { shape = [\"8x8x8\", \"16x16x16\"] }\n\n\
         [[scenario]]\nbenchmark = \"memory-latency\"\naxes = { size = \"64KiB\" }\n",
    );
    let planned = |arguments: &[&str]| {
        let document = bench
            .run(&[arguments, &["--sweep", "sweep.toml", "--dry-run", "--json"]].concat())
            .expect(0)
            .json();
        document["cases"].as_array().unwrap().len()
    };
    assert_eq!(planned(&["run", "--backend", "cpu"]), 5);
    assert_eq!(planned(&["run", "gemm", "--backend", "cpu"]), 4);
    let none = bench.run("run precision --sweep sweep.toml").expect(2);
    assert!(none.stderr.contains("no scenario of precision"), "{}", none.stderr);
}

#[test]
fn an_impossible_combination_is_skipped_with_its_reason() {
    let text = "[[scenario]]\nbenchmark = \"pytorch\"\nworkload = \"attention\"\nsequence_length = \
                32\n\
                precision = \"f32\"\nbatch_size = [1, 1000000000]\n";
    let Some((_, results)) = super::swept("torch", text) else { return };
    let skipped: Vec<_> = results.iter().filter(|result| result["outcome"] == "skipped").collect();
    assert_eq!((results.len(), skipped.len()), (2, 1), "{results:?}");
    assert!(skipped.iter().any(|result| why(result).contains("GB are free")), "{skipped:?}");
    assert!(
        skipped.iter().all(|result| result["cure"].as_str().is_some_and(|cure| !cure.is_empty()))
    );
}

#[test]
fn a_suite_of_ones_own_may_hold_components() {
    let bench = Bench::new();
    let custom = |axes: &str| {
        let text = format!(
            "[[custom]]\nbenchmark = \"python-faults\"\naxes = \
             {{ {axes} }}\n\n[[custom]]\nbenchmark = \"gemm\"\naxes = \
             {{ shape = [\"8x8x8\"], dtype = [\"f32\"] }}\n"
        );
        bench.write("rusty-stack-bench.toml", &text);
    };
    custom("fault = [\"none\"]");
    let arguments = ["run", "--suite", "custom", "--backend", "cpu", "--dry-run", "--json"];
    let document = bench.run(&arguments).expect(0).json();
    let mut cases: Vec<&str> = document["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["benchmark"].as_str().unwrap())
        .collect();
    cases.dedup();
    assert_eq!(cases, ["gemm", "python-faults"]);
    custom("color = [\"red\"]");
    let wrong = bench.run(&arguments).expect(2);
    assert!(wrong.stderr.contains("`python-faults` has no axis `color`"), "{}", wrong.stderr);
}
