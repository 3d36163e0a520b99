//! Tests of the policy file: valid content, and the error for each mistake.

use rsb_stats::policy::DEFAULT_THRESHOLD_PERCENT;
use rsb_stats::{Policy, PolicyFile};

const EXAMPLE: &str = r#"
threshold_percent = 8.0
alpha = 0.01
critical_factor = 3.0

[ignore]
cases = ["*/allocation/*"]
metrics = ["cache_hit_percent"]

[[threshold]]
id = "*/gemm/*"
percent = 5.0

[[threshold]]
metric = "memory_used_mb"
percent = 25.0

[[threshold]]
id = "*/gemm/*/f16/*"
metric = "time_ms"
percent = 7.0

[floors]
accuracy_error = 1e-5

[[target]]
id = "*/gemm/cpu:0/f32/1024x1024x1024*"
metric = "gflops"
above = 100.0

[[target]]
id = "*/fragmentation/*"
metric = "memory_fragmentation_percent"
below = 5.0
fail = true
"#;

fn read(text: &str) -> Result<Policy, String> {
    let file: PolicyFile = toml::from_str(text).map_err(|error| error.to_string())?;
    Policy::try_from(file).map_err(|error| error.to_string())
}

#[test]
fn the_last_entry_that_fits_decides() {
    let policy = read(EXAMPLE).unwrap();
    for (id, metric, percent) in [
        ("cpu/copy/cpu:0", "time_ms", 8.0),
        ("cpu/gemm/cpu:0/f32/64", "time_ms", 5.0),
        ("cpu/gemm/cpu:0/f16/64", "time_ms", 7.0),
        ("cpu/gemm/cpu:0/f16/64", "memory_used_mb", 25.0),
        ("cpu/gemm/cpu:0/f16/64", "instructions", 2.0),
    ] {
        assert!(
            (policy.threshold_percent_for(id, metric) - percent).abs() < 1e-12,
            "{id} {metric}"
        );
    }
    assert!(policy.ignores_case("cpu/allocation/cpu:0") && !policy.ignores_case("cpu/gemm/cpu:0"));
    assert!(policy.ignores_metric("cache_hit_percent") && !policy.ignores_metric("time_ms"));
    assert!((policy.floor("accuracy_error") - 1e-5).abs() < 1e-15);
    assert!(policy.floor("memory_used_mb") > 0.0, "other floors keep their defaults");
    assert_eq!(policy.targets().len(), 2);
    assert!(
        (policy.alpha() - 0.01).abs() < 1e-12 && (policy.critical_factor() - 3.0).abs() < 1e-12
    );
}

#[test]
fn a_metric_may_have_its_other_name() {
    let text = "[ignore]\nmetrics = [\"throughput_tflops\"]\n[floors]\ntime_forward_ms = 2.0";
    let policy = read(text).unwrap();
    assert!(policy.ignores_metric("tflops"));
    assert!((policy.floor("forward_time_ms") - 2.0).abs() < 1e-12);
}

#[test]
fn settings_outside_the_policy_only_fill_gaps() {
    let percent =
        |policy: &Policy, id: &str| policy.threshold_percent_for(id, "time_ms").to_string();
    let given = read(EXAMPLE).unwrap();
    let given = given
        .or_benchmark_threshold("gemm", 40.0)
        .unwrap()
        .or_benchmark_threshold("softmax", 30.0)
        .unwrap();
    assert_eq!(percent(&given, "cpu/copy/cpu:0"), "8");
    assert_eq!(percent(&given, "cpu/gemm/cpu:0/f32/64"), "5");
    assert_eq!(percent(&given, "cpu/softmax/cpu:0"), "30");
    let empty = read("").unwrap();
    assert_eq!(empty, Policy::default());
    assert_eq!(percent(&empty, "cpu/copy/cpu:0"), DEFAULT_THRESHOLD_PERCENT.to_string());
    assert!(Policy::default().or_benchmark_threshold("gemm", -1.0).is_err());
}

#[test]
fn every_mistake_is_named() {
    for (text, said) in [
        ("treshold_percent = 5.0", "unknown field `treshold_percent`"),
        (
            "threshold_percent = 0.0",
            "`threshold_percent` is 0, but must be a finite percentage above 0",
        ),
        ("threshold_percent = -3.0", "is -3, but must be"),
        ("threshold_percent = nan", "is NaN, but must be"),
        ("threshold_percent = inf", "is inf, but must be"),
        ("threshold_percent = \"ten\"", "invalid type"),
        ("alpha = 0.5", "`alpha` is 0.5, but must be from 0.0001 to 0.2"),
        ("critical_factor = 0.5", "`critical_factor` is 0.5"),
        ("[[threshold]]\npercent = 5.0", "`threshold[0]` has neither `id` nor `metric`"),
        ("[[threshold]]\nid = \" \"\npercent = 5.0", "`threshold[0].id` is empty"),
        ("[[threshold]]\nid = \"*\"\npercent = 0.0", "`threshold[0].percent` is 0"),
        ("[[threshold]]\nid = \"*\"", "missing field `percent`"),
        (
            "[[threshold]]\nmetric = \"time_s\"\npercent = 5.0",
            "unknown metric `time_s` (similar: time_ms, time_us, time_per_step_ms)",
        ),
        ("[[threshold]]\nmetric = \"m\"\npercent = 5.0", "names the unknown metric `m`"),
        ("[floors]\naccuracy_error = -1.0", "`floors.accuracy_error` is -1"),
        ("[floors]\nnothing = 1.0", "`floors.nothing` names the unknown metric `nothing`;"),
        (
            "[ignore]\nmetrics = [\"tims_ms\"]",
            "`ignore.metrics[0]` names the unknown metric \
                                               `tims_ms`",
        ),
        ("[ignore]\ncases = [\"\"]", "`ignore.cases[0]` is empty"),
        ("[ignore]\ncase = []", "unknown field `case`"),
        (
            "[[target]]\nid = \"*\"\nmetric = \"gflops\"",
            "`target[0]` must have exactly one of `above` and `below`",
        ),
        ("[[target]]\nid = \"*\"\nmetric = \"gflops\"\nabove = 1.0\nbelow = 2.0", "exactly one of"),
        (
            "[[target]]\nid = \"*\"\nmetric = \"gflops\"\nabove = inf",
            "`target[0]` is inf, but must be a finite number",
        ),
        ("[[weight]]\nweight = 2.0", "`weight[0]` needs either `id`"),
        ("[[weight]]\nmetric = \"speed\"\nweight = 2.0", "unknown metric `speed`"),
        ("[[weight]]\nmetric = \"tflops\"\nweight = -2.0", "`weight[0].weight` is -2"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_file_survives_a_round_trip_through_json() {
    let file: PolicyFile = toml::from_str(EXAMPLE).unwrap();
    let json = serde_json::to_string(&file).unwrap();
    assert_eq!(serde_json::from_str::<PolicyFile>(&json).unwrap(), file);
    assert_eq!(
        serde_json::from_str::<PolicyFile>(r#"{"threshold_percent": 5}"#)
            .unwrap()
            .threshold_percent,
        Some(5.0)
    );
}
