//! The catalogue of models without any Python: what there is, what one needs, and words that mean nothing.

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
