//! `doctor --baseline` with the real binary: its document matches the schema, and the baseline is
//! saved like any other.

use std::path::Path;

use serde_json::Value;

use crate::common::{Bench, says};
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
    let run_id = first["run_id"].as_str().unwrap();
    assert_eq!(first["baseline_run_id"], run_id);
    assert_eq!(first["software_changes"], serde_json::json!([]));
    before_an_update(&bench, &file);
    let reference = std::fs::read(&file).unwrap();
    let updated = bench.run("doctor --baseline").expect(0).stdout;
    let command = "`rusty-stack-bench baseline save installation --run ";
    says(&updated, &[run_id, "\n  python: 1.0.0 → ", "Without a pass", command]);
    assert_eq!(std::fs::read(&file).unwrap(), reference, "the earlier result must be kept");
}

/// Changes the baseline to one measured with an older Python, and with a case that no run has, so
/// that no later run passes.
fn before_an_update(bench: &Bench, file: &Path) {
    let mut baseline: Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    baseline["environment"]["python"] = "1.0.0".into();
    baseline["fingerprint"]["factors"]["python"] = "1.0".into();
    let cases = baseline["runs"][0]["benchmarks"].as_array_mut().unwrap();
    let case = cases.iter_mut().find(|case| case["outcome"] == "measured").unwrap();
    case["benchmark_id"] = "cpu_performance/memory-bandwidth/cpu:0/vanished".into();
    bench.write_sealed(file.to_str().unwrap(), &baseline);
}
