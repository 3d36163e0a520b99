//! `doctor --baseline` with the real binary: its document matches the schema, and the baseline is
//! saved like any other.

use crate::common::Bench;
use crate::schemas::check;

#[test]
fn an_installation_is_measured_saved_and_compared_with_the_one_before() {
    let bench = Bench::new();
    // One process per case: times do not matter here.
    bench.write(
        "rusty-stack-bench.toml",
        "[run]\nreplicates = 1\nruns = 10\nwarmup = 1\nbackend = \"cpu\"\n",
    );
    let first = bench.run("doctor --baseline --json").expect(0).json();
    check("performance-baseline", &first);
    assert!(first["comparison"].is_null() && first["device"] == "cpu:0", "{first:#}");
    assert!(first["peak_memory_bandwidth_gb_s"].as_f64().unwrap() > 0.0, "{first:#}");
    assert!(first["peak_compute_tflops_fp32"].as_f64().unwrap() > 0.0, "{first:#}");
    for (name, value) in first.as_object().unwrap().iter().filter(|(name, _)| *name != "comparison")
    {
        assert!(
            !value.is_null() || first["unknown"][name].is_string(),
            "{name} is null without a reason"
        );
    }
    let file = bench.path(first["baseline_file"].as_str().unwrap());
    assert!(file.ends_with("installation.json") && file.is_file());
    let again = bench.run("doctor --baseline").expect(0).stdout;
    for word in
        ["memory bandwidth", "memory-bandwidth", "gemm f32", "The software is unchanged since"]
    {
        assert!(again.contains(word), "{word}: {again}");
    }
    // A table may shorten the name of the triad, which depends on the CPU's store types; the run
    // has the full name.
    let run = std::fs::read_to_string(bench.run_files().pop().unwrap()).unwrap();
    assert!(run.contains("/memory-bandwidth/cpu:0/triad/"), "{run}");
    let kept = bench.run("baseline list --json").expect(0).json();
    assert_eq!(kept["baselines"].as_array().unwrap().len(), 1, "one baseline must be stored");
}
