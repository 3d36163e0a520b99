//! Models with the real worker: two families measured and verified, reported per model, with errors
//! for invalid combinations.

use super::{FEW, assert_no_process_left, bench_with};
use crate::common::words;

#[test]
fn two_families_are_measured_verified_and_told_model_by_model() {
    let Some(bench) = bench_with("transformers") else { return };
    let words =
        words("models --model bert-tiny,mixtral-tiny --sequence 16 --precision f32,f64 --json");
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
        assert_eq!(
            told,
            [&serde_json::json!(name), &serde_json::json!(family), &serde_json::json!(parameters)]
        );
        let figures = &model["batch_results"]["b1_s16_fp32"];
        for figure in ["inference_time_ms", "latency_p99_ms", "tokens_per_second", "memory_peak_mb"]
        {
            assert!(figures[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {model}");
        }
        let error = figures["accuracy_error"].as_f64().unwrap();
        assert!(
            error > 0.0 && error < 1e-4,
            "the result must be close to that of another precision: {error}"
        );
        let missing = &model["batch_results"]["b1_s16_f64"]["missing"][0];
        assert!(missing["cure"].as_str().unwrap().contains("--precision f32"), "{model}");
        assert_eq!(model["summary"]["best_latency_batch"], "b1_s16_fp32");
    }
    let balance =
        models[1]["batch_results"]["b1_s16_fp32"]["expert_balance_percent"].as_f64().unwrap();
    assert!((50.0..=100.0).contains(&balance), "{balance}");
    assert_eq!(bench.run("models results --json").expect(0).json(), document, "the run was stored");
}

#[test]
fn tokens_by_openvino_are_told_beside_those_of_pytorch() {
    let Some(bench) = bench_with("transformers") else { return };
    let words = words("models --model stories-15m,mamba-tiny --sequence 16 --workload generate");
    let arguments = [&words[..], &["--backend", "cpu,openvino", "--json"], &FEW].concat();
    let document = bench.run(&arguments).expect(0).json();
    assert_no_process_left(&bench);
    let models = document["models"].as_array().unwrap();
    for backend in ["pytorch", "openvino"] {
        let is_it = |model: &&serde_json::Value| {
            model["model_id"] == "stories-15m" && model["backend"] == backend
        };
        let model = models.iter().find(is_it).unwrap_or_else(|| panic!("{backend}: {document}"));
        let figures = &model["batch_results"]["b1_s16_fp32"];
        let number = |figure: &str| figures[figure].as_f64();
        assert!(number("tokens_per_second").is_some_and(|rate| rate > 0.0), "{backend}: {model}");
        // Both are null if the machine is too busy to distinguish the time of the first token from
        // the total.
        let is_told = match (number("ttft_ms"), number("tpot_ms")) {
            (Some(first), Some(later)) => first > 0.0 && later > 0.0,
            (first, later) => first.is_none() && later.is_none(),
        };
        assert!(is_told, "{backend}: {model}");
    }
    let refused = document.to_string();
    assert!(
        refused.contains("openvino generates tokens only for decoder-only, encoder-decoder"),
        "{document}"
    );
}

#[test]
fn a_dry_run_names_cases_and_skips_and_measures_nothing() {
    let Some(bench) = bench_with("transformers") else { return };
    let words = words("models --model gpt2,bert-tny --sequence 16,4096 --backend cpu --dry-run");
    let text = bench.run(&words).expect(0).stdout;
    for told in ["/forward/", "skipped: ", "gpt2 supports at most 1024", "did you mean `bert-tiny`"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    let plan = bench.run(&[&words[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(
        (plan["cases"].as_array().unwrap().len(), plan["skipped"].as_array().unwrap().len()),
        (1, 2),
        "{plan}"
    );
    assert!(bench.run_files().is_empty(), "nothing was measured");
}

#[test]
fn a_wrong_name_is_skipped_beside_others_and_a_mistake_alone() {
    let Some(bench) = bench_with("transformers") else { return };
    let asked = |names: &str| {
        bench.run(
            &[
                &["models", "--model", names, "--backend", "cpu", "--sequence", "16", "--json"],
                &FEW[..],
            ]
            .concat(),
        )
    };
    let document = asked("bert-tiny,bert-tny,org/absent").expect(0).json();
    assert_eq!(document["models"][0]["summary"]["measured"], 1, "{document}");
    let cures: Vec<&str> = document["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["cure"].as_str().unwrap())
        .collect();
    assert_eq!(cures.len(), 2, "{document}");
    assert!(
        cures[0].contains("did you mean `bert-tiny`")
            && cures[1].contains("hf download org/absent"),
        "{cures:?}"
    );
    assert!(asked("bert-tny").expect(2).stderr.contains("did you mean `bert-tiny`"));
    assert!(asked("bert-tny,org/absent").expect(2).stderr.contains("bert-tiny"));
    // In a file too, one wrong scenario does not affect the others.
    let scenario = |model: &str| {
        format!(
            "[[scenario]]\nbenchmark = \"models\"\nworkload = \"forward\"\naxes = \
             {{ model = \"{model}\" }}\n"
        )
    };
    let planned = |text: &str| {
        bench.write("sweep.toml", text);
        bench.run("run --sweep sweep.toml --backend cpu --dry-run --json")
    };
    let both = planned(&(scenario("bert-tny") + &scenario("bert-tiny"))).expect(0).json();
    assert_eq!(
        (both["cases"].as_array().unwrap().len(), both["skipped"].as_array().unwrap().len()),
        (1, 1),
        "{both}"
    );
    assert!(planned(&scenario("bert-tny")).expect(2).stderr.contains("did you mean `bert-tiny`"));
}

#[test]
fn a_model_of_ones_own_writes_tokens_and_takes_the_inputs_that_it_lists() {
    let Some(bench) = bench_with("transformers") else { return };
    let small = "hidden_size = 32, num_hidden_layers = 2, num_attention_heads = 2, \
                 intermediate_size = 64, vocab_size = 100";
    let row = |name: &str, family: &str, class: &str, more: &str| {
        format!(
            "[[model]]\nname = \"{name}\"\nfamily = \"{family}\"\nclass = \"{class}\"\nconfig = \
             {{ {small} }}\n{more}\n"
        )
    };
    let inputs = "inputs = { input_ids = { kind = \"tokens\", shape = [\"batch\", 4] }, attention_mask = { kind = \"ones\", shape = [\"batch\", 4] } }";
    let file = row("writes", "decoder-only", "LlamaForCausalLM", "")
        + &row("masked", "encoder-only", "BertModel", inputs);
    bench.write("mine.toml", &file);
    let words =
        words("models --catalogue mine.toml --workload forward,generate --sequence 16 --json");
    let document = bench.run(&[&words[..], &["--backend", "cpu"], &FEW].concat()).expect(0).json();
    let figures = |at: usize| &document["models"][at]["batch_results"]["b1_s16_fp32"];
    assert!(
        figures(0)["tpot_ms"].as_f64() > Some(0.0)
            && figures(0)["inference_time_ms"].as_f64() > Some(0.0),
        "{document}"
    );
    assert!(figures(1)["inference_time_ms"].as_f64() > Some(0.0), "{document}");
    assert!(document["models"][0]["parameter_count"].as_u64() > Some(0), "{document}");
}
