//! The catalogue of models without Python: its contents, the requirements of a model, and invalid
//! names.

use serde_json::{Value, json};

use crate::common::{Bench, says};

#[test]
fn the_catalogue_is_listed_and_a_model_says_what_it_needs() {
    let bench = Bench::new();
    let listed = bench.run("models list --json").expect(0).json();
    let models = listed["models"].as_array().unwrap();
    let families: std::collections::BTreeSet<&str> =
        models.iter().map(|model| model["family"].as_str().unwrap()).collect();
    assert_eq!(families.len(), 11, "{families:?}");
    let text = bench.run("models list").expect(0).stdout;
    says(&text, &["none published (rag xxl): searched 20", "falcon-h1-34b", "voxtral-small-24b"]);
    let shown = bench.run("models show llama-2-7b --sequence 4096 --json").expect(0).json();
    let model = &shown["model"];
    assert_eq!(
        (&model["size"], &model["parameters"]),
        (&"large".into(), &6_738_415_616_u64.into())
    );
    assert_eq!(model["memory"]["f16"]["cache_bytes"], 2_147_483_648_u64);
    let text = bench.run("models show mixtral-8x7b").expect(0).stdout;
    assert!(text.contains("46.70 B") && text.contains("12.88 B"), "{text}");
}

#[test]
fn models_that_are_none_are_named_with_what_is_near() {
    let bench = Bench::new();
    bench.write("mine.toml", "[[model]]\nname = \"mine\"\nfamily = \"decoder\"\nclass = \"X\"\n");
    bench.write(
        "taken.toml",
        "[[model]]\nname = \"bert-tiny\"\nfamily = \"decoder-only\"\nclass = \"X\"\n",
    );
    for (arguments, expected) in [
        (&["models", "show", "bert-bas"][..], "did you mean `bert-base`"),
        (&["models", "encoder"], "encoder-only"),
        (&["models", "--model", "/nonexistent/model"], "no directory"),
        (&["models", "--model", "/nonexistent/model,bert-bas"], "no directory"),
        (&["models", "show", "org/other"], "hf download org/other"),
        (&["models", "--catalogue", "mine.toml"], "decoder-only"),
        (&["models", "--catalogue", "taken.toml"], "`bert-tiny` is a model of the catalogue"),
        (
            &["models", "--model", "gpt2", "--rate", "2", "--workload", "forward"],
            "only to the workload `load`",
        ),
        (&["models", "--backend", "cpu,auto"], "name several backends"),
        (&["models", "results"], "no run"),
        // Mistakes are reported before missing requirements.
        (
            &["models", "--model", "gpt2", "--rate=-1"],
            "`-1` is not a value of the axis `request_rate`",
        ),
        (&["models", "--batch", "0"], "`0` is not a value of the axis `batch_size`"),
        (&["models", "--workload", "write"], "one of forward, generate, load"),
        (&["models", "show", "gpt2", "--precision", "f64"], "f32, f16, bf16, i8"),
    ] {
        let said = bench.run(arguments).expect(2).stderr;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn why_nothing_can_be_recommended_is_told() {
    let bench = Bench::new();
    let said = bench.run("recommend").expect(2).stderr;
    assert!(said.contains("measured any model") && said.contains("--results-dir"), "{said}");
    let mut run: Value =
        serde_json::from_str(include_str!("../../docs/gallery/models.json")).unwrap();
    for result in run["benchmarks"].as_array_mut().unwrap() {
        result["metadata"]["parameters"]["workload"] = "generate".into();
    }
    bench.write_sealed("benchmark_results/runs/models.json", &run);
    let said = bench.run("recommend").expect(2).stderr;
    assert!(said.contains("single passes"), "{said}");
    let said = bench.run("recommend gpt2").expect(0).stdout;
    says(&said, &["unknown: no stored run", "`models` measures some"]);
}

#[test]
fn runs_that_another_one_disturbed_come_last_and_are_warned_of() {
    let bench = Bench::new();
    let mut run: Value =
        serde_json::from_str(include_str!("../../docs/gallery/models.json")).unwrap();
    bench.write_sealed("benchmark_results/runs/calm.json", &run);
    run["run_id"] = "20991231T000000Z_nogit".into();
    run["notes"] = json!([{ "code": "shared", "text": "another run of this program was measuring \
                                                       at the same time: the two runs disturbed \
                                                       each other" }]);
    bench.write_sealed("benchmark_results/runs/20991231T000000Z_nogit.json", &run);
    let said = bench.run("recommend bert-tiny").expect(0);
    assert!(
        !said.stderr.contains("another run"),
        "the newer, disturbed run must not be used: {}",
        said.stderr
    );
    let bench = Bench::new();
    bench.write_sealed("benchmark_results/runs/20991231T000000Z_nogit.json", &run);
    let said = bench.run("recommend bert-tiny").expect(0);
    says(&said.stderr, &["20991231T000000Z_nogit: another run of this program was measuring"]);
    assert!(
        said.stdout.contains(" ms to ") || said.stdout.contains(" s to "),
        "an interval must have a unit: {}",
        said.stdout
    );
}

#[test]
fn a_model_is_shown_in_the_precisions_asked_for_and_says_which_positions_it_takes() {
    let bench = Bench::new();
    let show = |more: &[&str]| bench.run(&[&["models", "show"], more].concat()).expect(0);
    let long = ["gpt2", "--sequence", "4096", "--precision", "bf16,fp32"];
    let text = show(&long).stdout;
    assert!(text.contains("\nbf16 ") && !text.contains("\nf16 "), "{text}");
    says(&text, &["gpt2 supports at most 1024", "--sequence 1024 or less"]);
    let model = &show(&[&long[..], &["--json"]].concat()).json()["model"];
    let precisions: Vec<&String> = model["memory"].as_object().unwrap().keys().collect();
    assert_eq!(precisions, ["bf16", "f32"]);
    assert_eq!(
        (&model["sequence_length"], &model["sequence_refused"]["why"]),
        (&4096.into(), &"gpt2 supports at most 1024".into())
    );
    let fitting = show(&["gpt2", "--sequence", "1024", "--json"]).json();
    assert_eq!(fitting["model"]["sequence_refused"], Value::Null);
    let fixed = show(&["vit-base", "--sequence", "4096"]).stdout;
    assert!(fixed.contains("vit-base has a fixed length"), "{fixed}");
}

#[test]
fn a_dry_run_tells_what_would_be_measured_and_measures_nothing() {
    let bench = Bench::new();
    let asked = ["models", "--model", "gpt2,bert-bas", "--dry-run"];
    let text = bench.run(&asked).stdout;
    assert!(text.contains("component_specific/models"), "{text}");
    let plan = bench.run(&[&asked[..], &["--json"]].concat()).json();
    let all = plan["cases"].as_array().unwrap().len() + plan["skipped"].as_array().unwrap().len();
    assert!(all > 0, "{plan}");
    assert!(bench.run_files().is_empty(), "nothing was measured");
}

/// Returns a safetensors file whose tensors have these shapes, without their data.
fn safetensors(shapes: &[&[u64]]) -> Vec<u8> {
    let tensor =
        |(at, shape): (usize, &&[u64])| (format!("t{at}"), json!({"dtype": "F32", "shape": shape}));
    let mut header: serde_json::Map<String, Value> =
        shapes.iter().enumerate().map(tensor).collect();
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let header = Value::from(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
}

#[test]
fn a_directory_is_a_model_and_its_files_say_how_many_weights_it_has() {
    let bench = Bench::new();
    let config = r#"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4}"#;
    bench.write("mine/config.json", config);
    std::fs::write(bench.path("mine/model.safetensors"), safetensors(&[&[1000, 64], &[64]]))
        .unwrap();
    for name in ["mine", "./mine", "mine/"] {
        let shown = bench.run(&["models", "show", name, "--json"]).expect(0).json();
        let model = &shown["model"];
        assert_eq!(
            (&model["parameters"], &model["name"]),
            (&json!(64_064), &json!("mine")),
            "{name}"
        );
        assert_eq!(model["memory"]["f32"]["weights_bytes"], 256_256);
    }
    bench.write("bare/config.json", config);
    let text = bench.run("models show bare").expect(0).stdout;
    assert!(text.contains("unknown") && !text.contains("0 B"), "{text}");
    // A model whose files show that it is too large for any machine; this is reported before
    // loading.
    bench.write("huge/config.json", config);
    let index = json!({"weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}});
    bench.write("huge/model.safetensors.index.json", &index.to_string());
    for part in ["one", "two"] {
        let path = bench.path(&format!("huge/{part}.safetensors"));
        std::fs::write(path, safetensors(&[&[5_000_000, 1_000_000]])).unwrap();
    }
    let shown = bench.run("models show huge --json").expect(0).json();
    assert_eq!(
        (&shown["model"]["parameters"], &shown["model"]["size"]),
        (&json!(10_000_000_000_000_u64), &json!("xxl"))
    );
    // A pipeline is represented by its UNet; one without a UNet is rejected.
    bench.write("pipeline/model_index.json", r#"{"_class_name": "StableDiffusionPipeline"}"#);
    let said = bench.run("models show pipeline").expect(2).stderr;
    assert!(said.contains("without a UNet"), "{said}");
    bench.write(
        "pipeline/unet/config.json",
        r#"{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.42"}"#,
    );
    let shown = bench.run("models show pipeline --json").expect(0).json();
    assert_eq!(
        (&shown["model"]["library"], &shown["model"]["family"]),
        (&json!("diffusers"), &json!("diffusion"))
    );
}

#[test]
fn the_example_of_a_row_is_read_and_what_nobody_counted_is_unknown() {
    let bench = Bench::new();
    let page = include_str!("../../docs/models.md");
    let (_, example) = page.split_once("```toml\n").unwrap();
    bench.write("mine.toml", example.split_once("```").unwrap().0);
    let show = ["models", "show", "mine", "--catalogue", "mine.toml"];
    let text = bench.run(&show).expect(0).stdout;
    assert!(text.contains("parameters   unknown") && !text.contains("tiny"), "{text}");
    let model = &bench.run(&[&show[..], &["--json"]].concat()).expect(0).json()["model"];
    assert_eq!(
        (&model["parameters"], &model["memory"]["f32"]["weights_bytes"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        model["memory"]["f32"]["cache_bytes"],
        4 * 128 * 2 * 4 * 256,
        "the cache size must follow from the configuration"
    );
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
    assert_eq!(
        (&best["basis"], &best["rests_on"][0]["run_id"]),
        (&"predicted".into(), &run["run_id"])
    );
    assert!(number(&interval[0]) < time && time < number(&interval[1]), "{best}");
    // At 3.6 per hour, a second costs a thousandth: a million items of 1 ms cost 1.
    assert!((number(&best["cost_per_million_items"]) - time).abs() < 1e-6 * time, "{best}");
    let text = bench.run(&asked).expect(0).stdout;
    says(&text, &[", predicted", "from component_specific/models"]);
    for (arguments, expected) in [
        (&["recommend", "--for", "cost"][..], "--prices"),
        (&["recommend", "bert-bas"], "did you mean `bert-base`?"),
        (&["recommend", "--prices", "absent.toml"], "prices of absent.toml"),
    ] {
        let said = bench.run(arguments).expect(2).stderr;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn the_list_shows_which_sizes_each_family_has() {
    let text = Bench::new().run("models list").expect(0).stdout;
    let classes = text.split("\n\n").find(|part| part.contains("xxl\n")).unwrap();
    let row = |family: &str| classes.lines().find(|line| line.starts_with(family)).unwrap();
    assert_eq!(classes.lines().count(), 2 + 11, "a head, and a row for each family: {classes}");
    for model in ["diffusion-tiny", "ldm-celebahq", "bk-sdm-base", "stable-diffusion-1.5"] {
        assert!(row("diffusion").contains(model), "{classes}");
    }
    assert!(row("rag").ends_with("none published"), "{classes}");
    assert_eq!(classes.matches("none").count(), 1, "{classes}");
}
