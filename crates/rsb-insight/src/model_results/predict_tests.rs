use serde_json::{Value, json};

use super::*;

/// Returns the seconds of a pass under a simple law: 40 GFLOP/s for every family.
fn law(model: &str, batch: u64, length: u64, slower: f64) -> f64 {
    let [fixed, each, pair] = find(model, &[]).unwrap().work.unwrap().flops;
    batch as f64 * (fixed + each * length as f64 + pair * (length * length) as f64) / 40e9 * slower
}

fn passed(model: &str, batch: u64, slower: f64) -> Value {
    let parameters = json!({"workload": "forward", "model": model, "runtime": "pytorch", "dtype": "f32",
        "batch_size": batch.to_string(), "sequence_length": "128"});
    let time_ms = law(model, batch, 128, slower) * 1e3;
    result(
        "models",
        &format!("component_specific/models/cpu:0/forward/{model}/b{batch}"),
        &parameters,
        &json!({"time_ms": time_ms, "threads": 1}),
    )
}

fn result(category: &str, id: &str, parameters: &Value, fields: &Value) -> Value {
    json!({"benchmark_id": id, "timestamp": "2026-11-23T00:00:00Z", "benchmark_type": "component_specific",
        "category": category, "outcome": "measured", "environment": {"system_memory_gb": 24.0}, "results": [fields],
        "metadata": {"parameters": parameters}})
}

fn peaks() -> Vec<Value> {
    let parameters = json!({"threads": "1", "dtype": "f32"});
    vec![
        result(
            "compute-peak",
            "cpu_performance/compute-peak/cpu:0/f32",
            &parameters,
            &json!({"gflops": 80.0}),
        ),
        result(
            "memory-bandwidth",
            "cpu_performance/memory-bandwidth/cpu:0/read/f32/128MiB",
            &parameters,
            &json!({"bandwidth_gb_s": 20.0, "size_bytes": 128_000_000}),
        ),
    ]
}

fn run(machine: &str, benchmarks: &[Value]) -> Run {
    let environment = json!({"cpu": {"model": machine}});
    let run = json!({"format_version": 3, "run_id": format!("of-{machine}"), "started": "2026-11-23T00:00:00Z",
        "suite": "models", "profile": "quick", "environment": environment, "benchmarks": benchmarks});
    serde_json::from_value(run).unwrap()
}

const SMALL: [&str; 4] = ["bert-tiny", "bert-small", "distilgpt2", "t5-small"];

/// Returns the results of the machine with measurements of the small models.
fn measured() -> Vec<Value> {
    SMALL
        .iter()
        .flat_map(|model| [passed(model, 1, 1.0), passed(model, 4, 1.0)])
        .chain(peaks())
        .collect()
}

fn ask(predictor: &Predictor, machine: &str, model: &str) -> Result<ModelCandidate, Reason> {
    let place = predictor.places().iter().find(|place| place.machine.contains(machine)).unwrap();
    predictor.predict(find(model, &[]).unwrap(), place, 1, 128)
}

#[test]
fn a_model_that_was_not_measured_follows_from_those_that_were() {
    let predictor = Predictor::of(&[run("one", &measured())]);
    let found = ask(&predictor, "one", "bert-base").unwrap();
    let exact = law("bert-base", 1, 128, 1.0) * 1e3;
    let [low, high] = found.time_per_item_interval_ms;
    assert!(low < exact && exact < high, "{exact} must be in the interval of {found:?}");
    assert!(
        (found.time_per_item_ms / exact - 1.0).abs() < 0.25,
        "{} and {exact}",
        found.time_per_item_ms
    );
    assert_eq!((found.basis, found.rests_on.len()), (ModelBasis::Predicted, NAMED + 2));
    assert!(found.rests_on[0].benchmark_id.contains("bert-small"), "{:?}", found.rests_on);
}

#[test]
fn the_peak_of_another_type_is_no_roof() {
    let parameters = json!({"threads": "1", "dtype": "i8"});
    let whole = result(
        "compute-peak",
        "cpu_performance/compute-peak/cpu:0/i8",
        &parameters,
        &json!({"gflops": 5000.0}),
    );
    let of = |benchmarks: &[Value]| {
        ask(&Predictor::of(&[run("one", benchmarks)]), "one", "bert-base").unwrap()
    };
    let (with, without) = (of(&[measured(), vec![whole]].concat()), of(&measured()));
    assert!((with.time_per_item_ms / without.time_per_item_ms - 1.0).abs() < 1e-9, "{with:?}");
    assert!(
        with.rests_on.iter().all(|one| !one.benchmark_id.contains("/i8")),
        "{:?}",
        with.rests_on
    );
}

#[test]
fn what_lies_in_a_large_cache_is_no_bandwidth_of_memory() {
    let parameters = json!({"threads": "1"});
    let moved = |size: f64, rate: f64| {
        let fields = json!({"bandwidth_gb_s": rate, "size_bytes": size});
        result(
            "memory-bandwidth",
            &format!("cpu_performance/memory-bandwidth/cpu:0/copy/{rate}"),
            &parameters,
            &fields,
        )
    };
    let mut both = run("one", &[measured(), vec![moved(256e6, 900.0), moved(2e9, 300.0)]].concat());
    let roof = |run: &Run| {
        let found =
            ask(&Predictor::of(std::slice::from_ref(run)), "one", "bert-base").unwrap().rests_on;
        found.into_iter().find(|one| one.field == "bandwidth_gb_s").unwrap().value
    };
    both.environment.cpu.as_mut().unwrap().caches.clear();
    assert!(roof(&both) > 800.0);
    let third = rsb_model::environment::Cache { level: 3, size_bytes: 500 << 20, shared_by: None };
    both.environment.cpu.as_mut().unwrap().caches.push(third);
    assert!(
        roof(&both) < 400.0,
        "256 MB fit in 500 MiB of cache, so their bandwidth must not count"
    );
}

#[test]
fn a_figure_that_stands_for_pass_and_roof_is_named_once() {
    // Without measured peaks, the roof consists of the rates that passes reached.
    let benchmarks: Vec<Value> = SMALL.iter().map(|model| passed(model, 1, 1.0)).collect();
    let predictor = Predictor::of(&[run("one", &benchmarks)]);
    let found = ask(&predictor, "one", "bert-base").unwrap().rests_on;
    let is_twice = |one: &ModelEvidence| found.iter().filter(|other| *other == one).count() > 1;
    assert!(!found.iter().any(is_twice) && found.len() >= NAMED, "{found:?}");
}

#[test]
fn another_machine_is_predicted_from_its_peaks_and_better_once_it_measured_anything() {
    let slow = || vec![passed("bert-tiny", 1, 1.5), passed("distilgpt2", 1, 1.5)];
    let spread = |of_two: Vec<Value>| {
        let benchmarks: Vec<Value> = peaks().into_iter().chain(of_two).collect();
        let predictor = Predictor::of(&[run("two", &benchmarks), run("one", &measured())]);
        let found = ask(&predictor, "two", "bert-base").unwrap();
        (found.time_per_item_interval_ms[1] / found.time_per_item_ms, found.time_per_item_ms)
    };
    let ((by_peaks, alike), (by_passes, slower)) = (spread(Vec::new()), spread(slow()));
    assert!(by_passes < by_peaks && slower > alike, "{by_peaks} {by_passes} {alike} {slower}");
}

#[test]
fn a_machine_without_peaks_says_nothing_of_one_with_peaks_alone() {
    let passes: Vec<Value> = SMALL.iter().map(|model| passed(model, 1, 1.0)).collect();
    let of_two = |more: Vec<Value>| {
        let benchmarks: Vec<Value> = peaks().into_iter().chain(more).collect();
        ask(&Predictor::of(&[run("two", &benchmarks), run("one", &passes)]), "two", "bert-base")
    };
    let reason = of_two(Vec::new()).unwrap_err();
    assert!(reason.cure.contains("compute-peak"), "{reason}");
    assert!(
        of_two(vec![passed("bert-small", 1, 1.0), passed("t5-small", 1, 1.0)]).is_ok(),
        "passes measured on the same machine are enough"
    );
}

#[test]
fn nothing_is_told_without_calibration_and_of_what_does_not_fit() {
    assert!(
        Predictor::of(&[run("one", &peaks())]).places().is_empty(),
        "no predictions if no model was measured"
    );
    let predictor = Predictor::of(&[run("one", &measured())]);
    let reason = ask(&predictor, "one", "llama-2-70b").unwrap_err();
    assert!(reason.why.contains("of memory"), "{reason}");
    let uncounted = ModelRow { work: None, ..find("gpt2", &[]).unwrap().clone() };
    let reason = predictor.predict(&uncounted, &predictor.places()[0], 1, 128).unwrap_err();
    assert!(reason.why.contains("operations of this model"), "{reason}");
}

#[test]
fn weights_solve_the_covariance() {
    // Cholesky factor of [[4, 2], [2, 5]].
    let factor = [vec![2.0], vec![1.0, 2.0]];
    let found = solve(&factor, &[8.0, 12.0]);
    assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12, "{found:?}");
}
