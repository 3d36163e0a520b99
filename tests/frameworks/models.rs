//! Models by the real worker: two families measured and verified, told model by model, and what cannot be beside them.

use super::{FEW, assert_no_process_left, bench_with};

#[test]
fn two_families_are_measured_verified_and_told_model_by_model() {
    let Some(bench) = bench_with("transformers") else { return };
    let words = ["models", "--model", "bert-tiny,mixtral-tiny", "--sequence", "16", "--precision", "f32,f64", "--json"];
    let arguments = [words.as_slice(), &["--backend", "cpu"], &FEW].concat();
    let document = bench.run(&arguments).expect(0).json();
    assert_no_process_left(&bench);
    let models = document["models"].as_array().unwrap();
    assert_eq!(models.len(), 2, "{document}");
    for (model, name, family, parameters) in [
        (&models[0], "bert-tiny", "encoder-only", 4_416_698),
        (&models[1], "mixtral-tiny", "mixture-of-experts", 9_865_856),
    ] {
        let told = [&model["model_id"], &model["architecture_type"], &model["parameter_count"]];
        assert_eq!(told, [&serde_json::json!(name), &serde_json::json!(family), &serde_json::json!(parameters)]);
        let figures = &model["batch_results"]["b1_s16_fp32"];
        for figure in ["inference_time_ms", "latency_p99_ms", "tokens_per_second", "memory_peak_mb"] {
            assert!(figures[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {model}");
        }
        let error = figures["accuracy_error"].as_f64().unwrap();
        assert!(error > 0.0 && error < 1e-4, "compared with another precision, and equal to it: {error}");
        let missing = &model["batch_results"]["b1_s16_f64"]["missing"][0];
        assert!(missing["cure"].as_str().unwrap().contains("--precision f32"), "{model}");
        assert_eq!(model["summary"]["best_latency_batch"], "b1_s16_fp32");
    }
    let balance = models[1]["batch_results"]["b1_s16_fp32"]["expert_balance_percent"].as_f64().unwrap();
    assert!((50.0..=100.0).contains(&balance), "{balance}");
    assert_eq!(bench.run(&["models", "results", "--json"]).expect(0).json(), document, "the run was stored");
}
