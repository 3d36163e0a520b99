//! The catalogue of models without any Python: what there is, what one needs, and words that mean nothing.

use serde_json::Value;

use crate::common::Bench;

#[test]
fn the_catalogue_is_listed_and_a_model_says_what_it_needs() {
    let bench = Bench::new();
    let listed = bench.run(&["models", "list", "--json"]).expect(0).json();
    let models = listed["models"].as_array().unwrap();
    let families: std::collections::BTreeSet<&str> =
        models.iter().map(|model| model["family"].as_str().unwrap()).collect();
    assert_eq!(families.len(), 11, "{families:?}");
    let shown = bench.run(&["models", "show", "llama-2-7b", "--sequence", "4096", "--json"]).expect(0).json();
    let model = &shown["model"];
    assert_eq!((&model["size"], &model["parameters"]), (&"large".into(), &6_738_415_616_u64.into()));
    assert_eq!(model["memory"]["f16"]["cache_bytes"], 2_147_483_648_u64);
    let text = bench.run(&["models", "show", "mixtral-8x7b"]).expect(0).stdout;
    assert!(text.contains("46.70 B") && text.contains("12.88 B"), "{text}");
}

#[test]
fn models_that_are_none_are_named_with_what_is_near() {
    let bench = Bench::new();
    bench.write("mine.toml", "[[model]]\nname = \"mine\"\nfamily = \"decoder\"\nclass = \"X\"\n");
    for (arguments, expected) in [
        (&["models", "show", "bert-bas"][..], "did you mean `bert-base`?"),
        (&["models", "encoder"], "encoder-only"),
        (&["models", "--model", "/nonexistent/model"], "no directory"),
        (&["models", "--catalogue", "mine.toml"], "decoder-only"),
        (&["models", "--backend", "cpu,rocm"], "name one of them"),
        (&["models", "results"], "no run"),
    ] {
        let said = bench.run(arguments).expect(2).stderr;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_model_that_nobody_measured_is_predicted_and_says_what_it_rests_on() {
    let bench = Bench::new();
    let run: Value = serde_json::from_str(include_str!("../../docs/gallery/models.json")).unwrap();
    bench.write_sealed("benchmark_results/runs/models.json", &run);
    bench.write("prices.toml", "currency = \"EUR\"\n[[price]]\nper_hour = 3.6\n");
    let asked = ["recommend", "bert-small", "--for", "cost", "--prices", "prices.toml"];
    let said = bench.run(&[&asked[..], &["--json"]].concat()).expect(0).json();
    let best = &said["models"][0]["candidates"][0];
    let number = |value: &Value| value.as_f64().unwrap();
    let (time, interval) = (number(&best["time_per_item_ms"]), &best["time_per_item_interval_ms"]);
    assert_eq!((&best["basis"], &best["rests_on"][0]["run_id"]), (&"predicted".into(), &run["run_id"]));
    assert!(number(&interval[0]) < time && time < number(&interval[1]), "{best}");
    // An hour of 3.6 is a thousandth of it a second: a million items of a millisecond cost one.
    assert!((number(&best["cost_per_million_items"]) - time).abs() < 1e-6 * time, "{best}");
    let text = bench.run(&asked).expect(0).stdout;
    assert!(text.contains(", predicted") && text.contains("from component_specific/models"), "{text}");
    for (arguments, expected) in [
        (&["recommend", "--for", "cost"][..], "--prices"),
        (&["recommend", "bert-bas"], "did you mean `bert-base`?"),
        (&["recommend", "--prices", "absent.toml"], "prices of absent.toml"),
    ] {
        let said = bench.run(arguments).expect(2).stderr;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
