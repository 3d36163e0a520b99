//! Every workload that a CPU can run is measured, verified and stored; the rest says why not.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::common::Bench;
use super::{FEW, check, find, python, why, with};

#[test]
fn pytorch_is_measured_verified_and_stored() {
    let Some((bench, results)) = with("torch", &["pytorch", "--backend", "cpu"]) else { return };
    check(&results, 4);
    let matmul = find(&serde_json::json!({ "benchmarks": results }), "/matmul/");
    let fields = &matmul["results"][0];
    for name in ["tflops", "memory_read_gb", "memory_write_gb", "utilization_percent", "memory_used_mb"] {
        assert!(fields[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {matmul}");
    }
    assert!(fields["accuracy_error"].as_f64().unwrap() < 2e-5);
    assert_eq!(bench.run_files().len(), 1);
    let transfer = find(&serde_json::json!({ "benchmarks": results }), "/memory-transfer/");
    assert_eq!(transfer["outcome"], "skipped", "a CPU has nothing to copy to");
}

#[test]
fn onnxruntime_is_measured_on_the_provider_that_was_asserted() {
    let Some((_, results)) = with("onnxruntime", &["onnxruntime", "--backend", "cpu"]) else { return };
    check(&results, 3);
    let document = serde_json::json!({ "benchmarks": results });
    let inference = find(&document, "/inference");
    assert_eq!(inference["results"][0]["provider"], "CPUExecutionProvider");
    assert!(inference["results"][0]["node_profile"].as_str().unwrap().contains("us"), "{inference}");
    let nodes = |level: &str| {
        let fields = &find(&document, &format!("/graph-optimization/{level}"))["results"][0];
        (fields["original_nodes"].as_f64().unwrap(), fields["optimized_nodes"].as_f64().unwrap())
    };
    assert_eq!(nodes("disabled"), (32.0, 32.0));
    assert!(nodes("all").1 < 32.0);
}

#[test]
fn a_provider_that_is_not_there_is_a_skip_and_never_the_cpu() {
    let bench = Bench::new();
    let arguments = [&["onnxruntime", "--backend", "rocm", "--json"], FEW.as_slice()].concat();
    let document = bench.run(&arguments).expect(5).json();
    let result = &document["benchmarks"][0];
    assert_eq!(result["outcome"], "skipped", "{result}");
    assert!(result["cure"].as_str().is_some_and(|cure| !cure.is_empty()));
}

#[test]
fn a_provider_that_falls_back_silently_is_refused() {
    let listed = Bench::new().run(&["python", "list", "--json"]).expect(0).json();
    if listed["packages"]["onnxruntime"].is_null() {
        test_needs::missing(
            "frameworks",
            &format!("onnxruntime is not in {}: name another with MLSTACK_BENCHMARK_PYTHON", listed["program"]),
        );
        return;
    }
    // A build for CPUs that says it has CUDA's provider: the session is made, on the CPU.
    let script = "
import onnxruntime
from rsb_workloads import core, onnxruntime as workload
onnxruntime.get_available_providers = lambda: ['CUDAExecutionProvider', 'CPUExecutionProvider']
params = {'batch_size': '2', 'width': '16', 'num_layers': '1'}
try:
    workload.inference(core.Case('onnxruntime', 'inference', 'cuda:0', params))
except core.Failure as failure:
    print(failure.why)
";
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python");
    let output = Command::new(python()).args(["-c", script]).env("PYTHONPATH", sources).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("fell back to CPUExecutionProvider"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn flash_attention_proves_its_kernel() {
    let Some((_, results)) = with("torch", &["flash-attention", "--backend", "cpu"]) else { return };
    check(&results, 2);
    for result in &results {
        let fields = &result["results"][0];
        assert!(fields["kernel_used"].as_str().unwrap().contains("flash_attention"), "{result}");
        assert!(fields["savings_percent"].as_f64().unwrap() > 0.0, "{result}");
    }
}

#[test]
fn triton_compiles_for_gpus_that_are_not_here_and_never_times_its_interpreter() {
    let Some((_, results)) = with("triton", &["triton", "--backend", "cpu"]) else { return };
    check(&results, 2);
    let document = serde_json::json!({ "benchmarks": results });
    for target in ["gfx90a", "gfx1100"] {
        let fields = &find(&document, target)["results"][0];
        assert!(fields["registers"].as_f64().unwrap() > 0.0 && fields["code_object_bytes"].as_f64().unwrap() > 1e3);
    }
    let interpreted = find(&document, "/operation/");
    assert_eq!(interpreted["outcome"], "skipped");
    assert!(why(&interpreted).contains("computes it rightly"), "{interpreted}");
}

#[test]
fn deepspeed_trains_as_one_process_would() {
    let Some((_, results)) = with("deepspeed", &["deepspeed", "--backend", "cpu"]) else { return };
    check(&results, 1);
    let fields = &results[0]["results"][0];
    assert!(fields["accuracy_error"].as_f64().unwrap() < 1e-3, "its losses are those of one process");
    for name in ["optimizer_step_time_ms", "memory_saved_gb", "communication_overhead_percent"] {
        assert!(fields[name].is_number(), "{name}: {fields}");
    }
}

fn document(results: &[Value]) -> Value {
    serde_json::json!({ "benchmarks": results })
}

/// The number called `name` of the case that holds `part`.
fn number(results: &[Value], part: &str, name: &str) -> f64 {
    let result = find(&document(results), part);
    result["results"][0][name].as_f64().unwrap_or_else(|| panic!("{part}: no {name}: {result}"))
}

#[test]
fn a_transformer_prefills_and_decodes_with_and_without_its_cache() {
    // Each case is a process that loads PyTorch and Transformers.
    let scenario = |axes: &str| {
        format!(
            "[[scenario]]\nbenchmark = \"pytorch\"\nworkload = \"transformer\"\nprecision = \"f32\"\nbatch_size = 1\n\
             sequence_length = 32\naxes = {{ {axes}, output_length = 4, num_layers = 2 }}\n"
        )
    };
    let prefill = scenario("operation = \"prefill\", use_cache = \"yes\"");
    let decode = scenario("operation = \"decode\", use_cache = [\"yes\", \"no\"]");
    let Some((_, results)) = super::swept("transformers", &[prefill, decode].concat()) else { return };
    check(&results, 3);
    assert!(number(&results, "/prefill/", "forward_time_ms") > 0.0);
    assert!(number(&results, "/prefill/", "total_time_ms") > 0.0);
    for name in ["ttft_ms", "tpot_ms", "total_time_ms", "tokens_per_second", "memory_used_mb"] {
        assert!(number(&results, "/decode/", name) >= 0.0);
    }
    let shape = |part: &str| find(&document(&results), part)["results"][0]["output_shape"].clone();
    assert_eq!((shape("/prefill/"), shape("/decode/")), ("1x32x1000".into(), "1x36".into()));
    assert_eq!(find(&document(&results), "use_cache=no")["results"][0]["input_shape"], "1x32");
}

#[test]
fn a_transformer_of_a_local_directory_is_measured() {
    let Some(bench) = super::bench_with("transformers") else { return };
    let script = "import sys, torch, transformers
config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64)
transformers.GPT2LMHeadModel(config).save_pretrained(sys.argv[1])";
    let model = bench.path("model");
    let output = Command::new(python()).args(["-c", script]).arg(&model).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let model = format!("model={}", model.display());
    let axes = [
        "workload=transformer",
        "dtype=f32",
        "operation=decode",
        "prompt_length=8",
        "output_length=4",
        "batch_size=1",
        "use_cache=yes",
        &model,
    ];
    let axes: Vec<&str> = axes.iter().flat_map(|axis| ["--axis", *axis]).collect();
    let arguments = [&["pytorch", "--backend", "cpu", "--json"], FEW.as_slice(), &axes].concat();
    let results = bench.run(&arguments).expect(0).json()["benchmarks"].as_array().unwrap().clone();
    check(&results, 1);
    assert_eq!(results[0]["results"][0]["num_layers"], 2, "the directory's, not the axis's: {}", results[0]);
}

#[test]
fn the_rest_of_pytorch_runs_as_one_sweep() {
    let text = r#"
[[scenario]]
benchmark = "pytorch"
workload = "convolution"
precision = "bf16"
axes = { input = "2x8x16x16", weight = ["8x8x3x3", "8x1x3x3"], padding = 1, groups = [1, 8] }

[[scenario]]
benchmark = "pytorch"
workload = "autograd"
precision = "f32"
batch_size = 8
axes = { operation = "backward", width = 32, num_layers = 2 }

[[scenario]]
benchmark = "pytorch"
workload = "torch-compile"
precision = "f32"
axes = { compilation = ["warm", "cold"], rows = "16x64" }

[[scenario]]
benchmark = "pytorch"
workload = "attention"
precision = "bf16"
batch_size = 2
sequence_length = 64
axes = { causal = "yes", num_heads = 2 }
"#;
    let Some((bench, results)) = super::swept("torch", text) else { return };
    check(&results, 5);
    let skipped: Vec<&Value> = results.iter().filter(|result| result["outcome"] == "skipped").collect();
    // Of four combinations of weights and groups two are impossible.
    assert_eq!(skipped.iter().filter(|result| why(result).contains("groups")).count(), 2, "{skipped:?}");
    assert!(number(&results, "/backward", "gradient_norm") > 0.0);
    assert!(number(&results, "/backward", "memory_allocated_mb") > 0.0);
    if skipped.len() == 2 {
        assert!(number(&results, "/torch-compile/f32/cold", "compile_time_ms") > number(&results, "/warm", "time_ms"));
        assert!(number(&results, "/torch-compile/f32/warm", "speedup") > 0.0);
    }
    assert_eq!(bench.run_files().len(), 1, "it is stored");
}

#[test]
fn flash_attention_goes_backward_and_looks_only_back() {
    let text = r#"
[[scenario]]
benchmark = "flash-attention"
precision = "f32"
sequence_length = 128
axes = { operation = ["forward", "backward"], causal = "yes", num_heads = 2 }

[[scenario]]
benchmark = "flash-attention"
precision = "bf16"
sequence_length = 128
axes = { operation = "backward", causal = "no", num_heads = 2 }
"#;
    let Some((_, results)) = super::swept("torch", text) else { return };
    check(&results, 3);
    for result in &results {
        let fields = &result["results"][0];
        for name in ["tflops", "tokens_per_second", "memory_used_mb", "speedup", "accuracy_error"] {
            assert!(fields[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {result}");
        }
    }
}

#[test]
fn triton_says_what_a_kernel_needs_of_each_target() {
    let text = r#"
[[scenario]]
benchmark = "triton"
workload = "compile"
precision = "f16"
axes = { kernel = "matmul", target = ["gfx942", "gfx1201", "sm_90"], num_warps = [4], num_stages = 2 }
"#;
    let Some((_, results)) = super::swept("triton", text) else { return };
    check(&results, 3);
    for target in ["gfx942", "gfx1201", "sm_90"] {
        for (name, least) in
            [("registers", 1.0), ("spills", 0.0), ("shared_mem_bytes", 1.0), ("num_warps", 4.0), ("num_stages", 2.0)]
        {
            assert!(number(&results, target, name) >= least, "{target} {name}");
        }
        let occupancy = number(&results, target, "occupancy_percent");
        assert!(occupancy > 0.0 && occupancy <= 100.0, "{target}: {occupancy}");
    }
}

#[test]
fn triton_s_kernels_are_right_on_a_cpu() {
    let axis = "kernel=vector-add,layer-norm,matmul,attention";
    let Some(bench) = super::bench_with("triton") else { return };
    let axes = ["--axis", "workload=operation", "--axis", axis, "--axis", "dtype=f32", "--backend", "cpu", "--json"];
    let results = bench.run(&[&["triton"], axes.as_slice()].concat()).expect(5).json();
    let results = results["benchmarks"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert!(why(result).contains("computes it rightly"), "{result}");
    }
}

#[test]
fn deepspeed_shares_more_at_each_stage_and_cuts_layers_among_ranks() {
    let text = r#"
[[scenario]]
benchmark = "deepspeed"
workload = "zero"
axes = { zero_stage = [0, 3, 4], width = 64, num_layers = 2 }

[[scenario]]
benchmark = "deepspeed"
workload = "tensor-parallel"
axes = { num_ranks = [2, 3], width = 64, num_layers = 1 }
"#;
    let Some((_, results)) = super::swept("deepspeed", text) else { return };
    check(&results, 3);
    let saved = |stage: u32| number(&results, &format!("/zero/{stage}"), "memory_saved_gb");
    assert!(saved(3) > saved(0), "{} {}", saved(3), saved(0));
    let document = document(&results);
    assert!(why(&find(&document, "/zero/4")).contains("stages 0 to 3"));
    assert!(why(&find(&document, "num_ranks=3")).contains("no multiple"));
    for name in ["forward_time_ms", "backward_time_ms", "speedup", "efficiency"] {
        assert!(number(&results, "/tensor-parallel", name) > 0.0, "{name}");
    }
}
