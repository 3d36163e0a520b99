//! vLLM with its real engine, if an environment has it. Separate because it is large.

use super::common::{Bench, words};
use super::{FEW, assert_no_process_left, check, find};

/// Returns the results of `arguments`, or prints why there are none.
fn vllm(arguments: &[&str]) -> Option<serde_json::Value> {
    let bench = Bench::new();
    let doctor = bench.run("python doctor --json").expect(0).json();
    let row = doctor["components"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["component_id"] == "vllm")
        .unwrap()
        .clone();
    if row["runnable"] != true {
        assert!(
            row["cure"].as_str().is_some_and(|cure| cure.contains("python setup vllm")),
            "{row}"
        );
        test_needs::missing("vllm", &format!("{}: {}; {}", row["what"], row["why"], row["cure"]));
        return None;
    }
    let few = ["--backend", "cpu", "--json", "--timeout", "900"];
    let is_long = arguments.iter().any(|word| word.starts_with("prompt_length"));
    let short: &[&str] = if is_long { &[] } else { &["--axis", "prompt_length=16"] };
    let small = [short, &["--axis", "output_length=4"]].concat();
    let document =
        bench.run(&[&["vllm"], arguments, &few, &small, FEW.as_slice()].concat()).expect(0).json();
    assert_no_process_left(&bench); // Its engine may be a process of its own.
    Some(document)
}

#[test]
fn generation_is_measured() {
    let axes = ["--axis", "workload=generation", "--axis", "num_prompts=2"];
    let Some(document) = vllm(&axes) else { return };
    check(document["benchmarks"].as_array().unwrap(), 1);
    let fields = &find(&document, "/generation")["results"][0];
    let rates =
        ["tokens_per_second", "requests_per_second", "ttft_ms", "tpot_ms", "total_latency_ms"];
    let batch =
        ["batch_size", "total_tokens", "time_total_seconds", "p50_latency_ms", "p99_latency_ms"];
    assert_eq!(fields["model_name"], "random llama");
    for name in rates.into_iter().chain(batch) {
        assert!(fields[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {fields}");
    }
}

#[test]
fn requests_at_a_rate_have_percentiles_and_goodput() {
    let axes = words(
        "--axis workload=serve --axis request_rate=4 --axis num_requests=4 \
         --axis ttft_limit=600000 --axis tpot_limit=600000",
    );
    let Some(document) = vllm(&axes) else { return };
    check(document["benchmarks"].as_array().unwrap(), 1);
    let fields = &find(&document, "/serve")["results"][0];
    let number =
        |name: &str| fields[name].as_f64().unwrap_or_else(|| panic!("no {name}: {fields}"));
    assert!(number("failed_requests") < 0.5, "{fields}");
    assert!(
        (number("goodput_requests_per_second") - number("requests_per_second")).abs() < 1e-9,
        "goodput must equal throughput if no limit was missed"
    );
    assert!(number("p50_latency_ms") <= number("p99_latency_ms"), "{fields}");
    for name in ["ttft", "tpot", "itl"] {
        assert!(number(&format!("{name}_ms")) <= number(&format!("{name}_p99_ms")), "{name}");
    }
}

#[test]
fn a_prefix_cache_finds_the_beginning_that_prompts_share() {
    let axes = words("--axis workload=generation --axis num_prompts=2 --axis prefix_cache=on");
    let shared = ["--axis", "shared_prefix=32", "--axis", "prompt_length=48"];
    let Some(document) = vllm(&[&axes[..], &shared].concat()) else { return };
    let hits =
        find(&document, "/generation")["results"][0]["prefix_cache_hit_percent"].as_f64().unwrap();
    assert!(hits > 50.0, "the shared 32 of 48 tokens must be cache hits: {hits}");
}
