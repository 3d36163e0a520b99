//! Every workload that a CPU can run is measured, verified and stored; all others are skipped with
//! a reason.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::common::{Bench, says, words};
use super::one_worker::answered;
use super::{FEW, check, find, python, why, with};

#[test]
fn pytorch_is_measured_verified_and_stored() {
    let words = ["pytorch", "--backend", "cpu", "--axis", "workload=matmul,memory-transfer"];
    let Some((bench, results)) = with("torch", &words) else { return };
    check(&results, 1);
    let matmul = find(&document(&results), "/matmul/");
    let fields = &matmul["results"][0];
    for name in
        ["tflops", "memory_read_gb", "memory_write_gb", "utilization_percent", "memory_used_mb"]
    {
        assert!(fields[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {matmul}");
    }
    assert!(fields["accuracy_error"].as_f64().unwrap() < 2e-5);
    assert_eq!(bench.run_files().len(), 1);
    let transfer = find(&document(&results), "/memory-transfer/");
    assert_eq!(transfer["outcome"], "skipped", "a transfer must be skipped on a CPU");
}

#[test]
fn onnxruntime_is_measured_on_the_provider_that_was_asserted() {
    let Some((_, results)) = with("onnxruntime", &["onnxruntime", "--backend", "cpu"]) else {
        return;
    };
    check(&results, 4);
    let document = serde_json::json!({ "benchmarks": results });
    let inference = find(&document, "/inference");
    let encoder = &find(&document, "/network=encoder")["results"][0];
    for name in [
        "execution_time_ms",
        "inference_time_ms",
        "compilation_time_ms",
        "memory_footprint_mb",
        "model_size_gb",
    ] {
        assert!(encoder[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {encoder}");
    }
    assert_eq!(encoder["optimization_level"], "ORT_ENABLE_ALL");
    assert!(
        encoder["optimized_graph_nodes"].as_f64() < encoder["original_nodes"].as_f64(),
        "{encoder}"
    );
    assert_eq!(inference["results"][0]["provider"], "CPUExecutionProvider");
    says(inference["results"][0]["node_profile"].as_str().unwrap(), &["us"]);
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
    let listed = Bench::new().run("python list --json").expect(0).json();
    if listed["packages"]["onnxruntime"].is_null() {
        test_needs::missing(
            "frameworks",
            &format!(
                "onnxruntime is not in {}: name another with MLSTACK_BENCHMARK_PYTHON",
                listed["program"]
            ),
        );
        return;
    }
    // Simulate a CPU build that claims to have CUDA's provider, so that the session falls back to
    // the CPU.
    let script = "
import onnxruntime
from rusty_stack_bench.workloads import core, onnxruntime as workload
onnxruntime.get_available_providers = lambda: ['CUDAExecutionProvider', 'CPUExecutionProvider']
params = {'batch_size': '2', 'width': '16', 'num_layers': '1', 'network': 'mlp', 'dtype': 'f32'}
try:
    workload.inference(core.Case('onnxruntime', 'inference', 'cuda:0', params))
except core.Failure as failure:
    print(failure.why)
";
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python");
    let output =
        Command::new(python()).args(["-c", script]).env("PYTHONPATH", sources).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("fell back to CPUExecutionProvider"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn triton_compiles_for_gpus_that_are_not_here_and_never_times_its_interpreter() {
    let words = ["triton", "--backend", "cpu", "--axis", "target=gfx90a"];
    let Some((_, results)) = with("triton", &words) else { return };
    check(&results, 1);
    let document = document(&results);
    let fields = &find(&document, "gfx90a")["results"][0];
    assert!(
        fields["registers"].as_f64().unwrap() > 0.0
            && fields["code_object_bytes"].as_f64().unwrap() > 1e3
    );
    let interpreted = find(&document, "/operation/");
    assert_eq!(interpreted["outcome"], "skipped");
    assert!(why(&interpreted).contains("computes it correctly"), "{interpreted}");
}

#[test]
fn deepspeed_trains_as_one_process_would() {
    let words = words("deepspeed --backend cpu --axis zero_stage=3 --axis num_layers=1");
    let Some((_, results)) = with("deepspeed", &words) else { return };
    check(&results, 1);
    let fields = &results[0]["results"][0];
    assert!(
        fields["accuracy_error"].as_f64().unwrap() < 1e-3,
        "gradients must match those of one process"
    );
    for name in [
        "forward_time_ms",
        "backward_time_ms",
        "optimizer_step_time_ms",
        "communication_overhead_ms",
        "communication_overhead_percent",
        "memory_used_mb",
        "model_size_gb",
    ] {
        assert!(fields[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {fields}");
    }
    // f32 weights and the two moments of Adam; each of the two ranks holds half of them.
    let whole = 12.0 * fields["parameter_count"].as_f64().unwrap() / 1e9;
    let saved = fields["memory_saved_gb"].as_f64().unwrap() / whole;
    assert!((0.4..=0.6).contains(&saved), "{saved} of {whole} GB: {fields}");
}

fn document(results: &[Value]) -> Value {
    serde_json::json!({ "benchmarks": results })
}

/// Returns the value `name` of the case whose id contains `part`.
fn number(results: &[Value], part: &str, name: &str) -> f64 {
    let result = find(&document(results), part);
    result["results"][0][name].as_f64().unwrap_or_else(|| panic!("{part}: no {name}: {result}"))
}

#[test]
fn a_transformer_prefills_and_decodes_with_and_without_its_cache_and_may_be_a_local_one() {
    let Some(bench) = super::bench_with("transformers") else { return };
    let model = bench.path("model");
    let output = Command::new(python()).args(["-c", MODEL]).arg(&model).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let transformer = "pytorch workload=transformer dtype=f32 batch_size=1";
    let small = format!("{transformer} prompt_length=32 output_length=4 num_layers=2");
    let grids = [
        format!("{small} operation=prefill use_cache=yes"),
        format!("{small} operation=decode use_cache=yes,no"),
        format!(
            "{transformer} prompt_length=8 output_length=4 operation=decode use_cache=yes model={}",
            model.display()
        ),
    ];
    let Some(results) = answered("transformers", &grids.each_ref().map(String::as_str)) else {
        return;
    };
    check(&results, 4);
    assert!(number(&results, "/prefill/", "forward_time_ms") > 0.0);
    assert!(number(&results, "/prefill/", "total_time_ms") > 0.0);
    for name in ["total_time_ms", "tokens_per_second", "memory_used_mb"] {
        assert!(number(&results, "/decode/", name) >= 0.0);
    }
    // If the machine is too busy to distinguish the first token from the total, neither is
    // reported.
    let decoded = find(&document(&results), "/decode/")["results"][0].clone();
    match (decoded["ttft_ms"].as_f64(), decoded["tpot_ms"].as_f64()) {
        (Some(first), Some(each)) => assert!(first > 0.0 && each > 0.0, "{decoded}"),
        (None, None) => assert!(decoded.get("ttft_ms").is_some_and(Value::is_null), "{decoded}"),
        _ => panic!("ttft_ms and tpot_ms must both be set or both be null: {decoded}"),
    }
    let shape = |part: &str| find(&document(&results), part)["results"][0]["output_shape"].clone();
    assert_eq!((shape("/prefill/"), shape("/decode/")), ("1x32x1000".into(), "1x36".into()));
    assert_eq!(find(&document(&results), "use_cache=no")["results"][0]["input_shape"], "1x32");
    let local = find(&document(&results), "/model=");
    assert_eq!(
        local["results"][0]["num_layers"], 1,
        "num_layers must come from the model directory, not the axis: {local}"
    );
    // Token and position embeddings, four matrices with biases, and three norms; the output
    // embedding is shared with the token embedding.
    let weights = (100 + 64) * 32 + 12 * 32 * 32 + 9 * 32 + 3 * 2 * 32;
    assert_eq!(local["results"][0]["parameter_count"], weights, "{local}");
    assert_eq!(local["results"][0]["architecture_type"], "gpt2");
}

/// Saves a model of one layer in the format of its library, which would take seconds to load.
const MODEL: &str = r#"
import json, os, sys
import numpy
from safetensors.numpy import save_file
width, positions, words = 32, 64, 100
shapes = {"wte.weight": (words, width), "wpe.weight": (positions, width)}
for name, *shape in (
    ("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width), ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)
):
    shapes |= {f"h.0.{name}.weight": shape, f"h.0.{name}.bias": shape[1:]}
for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
    shapes |= {f"{name}.{part}": (width,) for part in ("weight", "bias")}
draw = numpy.random.default_rng(20_231)
tensors = {f"transformer.{name}": draw.standard_normal(shape, dtype=numpy.float32) / 8 for name, shape in shapes.items()}
os.mkdir(sys.argv[1])
save_file(tensors, os.path.join(sys.argv[1], "model.safetensors"), {"format": "pt"})
config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": width}
with open(os.path.join(sys.argv[1], "config.json"), "w", encoding="utf-8") as file:
    json.dump(config | {"vocab_size": words, "n_positions": positions}, file)
"#;

#[test]
fn the_rest_of_pytorch_is_right() {
    let grids = [
        "pytorch workload=convolution dtype=f32",
        "pytorch workload=convolution dtype=bf16 input=2x8x16x16 weight=8x8x3x3,8x1x3x3 padding=1 \
         groups=1,8",
        "pytorch workload=layer-norm dtype=f32,bf16 rows=16x64",
        "pytorch workload=attention dtype=f32,i4 sequence_length=32",
        "pytorch workload=attention dtype=bf16 batch_size=2 sequence_length=64 causal=yes \
         num_heads=2",
        "pytorch workload=autograd dtype=f32 operation=forward,backward batch_size=8 width=32 \
         num_layers=2",
        "pytorch workload=torch-compile dtype=f32 compilation=warm,cold rows=16x64",
        "pytorch workload=execution dtype=f32 execution=eager,graph width=64 sequence_length=8 \
         num_layers=1",
    ];
    let Some(results) = answered("torch", &grids) else { return };
    check(&results, 10);
    let skipped: Vec<&Value> =
        results.iter().filter(|result| result["outcome"] == "skipped").collect();
    // Two of the four combinations of weights and groups are impossible.
    assert_eq!(
        skipped.iter().filter(|result| why(result).contains("groups")).count(),
        2,
        "{skipped:?}"
    );
    assert!(
        skipped.iter().any(|result| result["what"].as_str().unwrap().contains("i4")),
        "{skipped:?}"
    );
    assert!(number(&results, "/backward", "gradient_norm") > 0.0);
    assert!(number(&results, "/backward", "memory_allocated_mb") > 0.0);
    assert!(
        why(&find(&document(&results), "/graph")).contains("only GPUs can replay"),
        "{skipped:?}"
    );
    // Without a C++ compiler, two more are skipped.
    if skipped.len() == 4 {
        assert!(
            number(&results, "/torch-compile/f32/cold", "compile_time_ms")
                > number(&results, "/warm", "time_ms")
        );
        assert!(number(&results, "/torch-compile/f32/warm", "speedup") > 0.0);
    }
}

#[test]
fn flash_attention_proves_its_kernel_forward_and_backward() {
    let grids = [
        "flash-attention workload=flash dtype=f32 operation=forward sequence_length=512 \
         causal=no,yes",
        "flash-attention workload=flash dtype=f32 operation=backward sequence_length=128 \
         causal=yes num_heads=2 num_kv_heads=1",
        "flash-attention workload=flash dtype=bf16 operation=backward sequence_length=128 \
         causal=no num_heads=2",
    ];
    let Some(results) = answered("torch", &grids) else { return };
    check(&results, 4);
    for result in &results {
        let fields = &result["results"][0];
        for name in ["tflops", "tokens_per_second", "flash_memory_mb", "speedup", "accuracy_error"]
        {
            assert!(fields[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {result}");
        }
        assert!(fields["kernel_used"].as_str().unwrap().contains("flash_attention"), "{result}");
        assert!(
            fields["standard_memory_mb"].as_f64() > fields["flash_memory_mb"].as_f64(),
            "{result}"
        );
    }
}

#[test]
fn triton_says_what_a_kernel_needs_of_each_target() {
    const TARGETS: [&str; 7] =
        ["gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201", "sm_90", "sm_100"];
    let grid = format!(
        "triton workload=compile dtype=f16 kernel=matmul target={} num_warps=4 num_stages=2",
        TARGETS.join(",")
    );
    let Some(results) = answered("triton", &[&grid]) else { return };
    check(&results, TARGETS.len());
    for target in TARGETS {
        for (name, least) in [
            ("registers", 1.0),
            ("spills", 0.0),
            ("shared_mem_bytes", 1.0),
            ("num_warps", 4.0),
            ("num_stages", 2.0),
        ] {
            assert!(number(&results, target, name) >= least, "{target} {name}");
        }
        let occupancy = number(&results, target, "occupancy_percent");
        assert!(occupancy > 0.0 && occupancy <= 100.0, "{target}: {occupancy}");
    }
    let grid = "triton workload=compile dtype=f16 kernel=softmax target=gfx1030";
    let Some(results) = answered("triton", &[grid]) else { return };
    assert!(why(&results[0]).contains("does not compile for it"), "{results:?}");
}

#[test]
fn triton_s_kernels_are_right_on_a_cpu() {
    let grid = "triton workload=operation dtype=f32 kernel=vector-add,layer-norm,matmul,attention";
    let Some(results) = answered("triton", &[grid]) else { return };
    assert_eq!(results.len(), 4);
    for result in &results {
        assert!(why(result).contains("computes it correctly"), "{result}");
    }
}

#[test]
fn deepspeed_cuts_layers_among_ranks_and_refuses_what_cannot_be_shared() {
    let grids = [
        "deepspeed workload=zero zero_stage=0,4 num_ranks=1 width=64 num_layers=2",
        "deepspeed workload=tensor-parallel num_ranks=2,3 width=128 num_layers=1",
    ];
    let Some(results) = answered("deepspeed", &grids) else { return };
    check(&results, 2);
    assert!(
        number(&results, "/zero/0", "memory_saved_gb") <= 0.0,
        "a single rank must not save memory"
    );
    assert!(why(&find(&document(&results), "/zero/4")).contains("stages 0 to 3"));
    assert!(why(&find(&document(&results), "num_ranks=3")).contains("not a multiple"));
    for name in [
        "forward_time_ms",
        "backward_time_ms",
        "communication_overhead_ms",
        "speedup",
        "efficiency",
    ] {
        assert!(number(&results, "/tensor-parallel", name) > 0.0, "{name}");
    }
}
