"""Functions and result types under the names that users of other benchmark suites know, and their behavior."""

import dataclasses
import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

import rusty_stack_bench
from rusty_stack_bench import ProgramError, cases, gpu, measuring, native, results, rocm
from rusty_stack_bench.measuring import Settings
from rusty_stack_bench.results import Outcome, Reason, Result, typed

ONCE = Settings(replicates=1, runs=2, timeout=120)
NEEDED = inspect.Parameter.empty
WORKLOADS = Path(__file__).parents[2] / "crates/rsb-catalog/src/frameworks/workloads.toml"

# Parameters of each function in order, with their defaults.
FUNCTIONS = {
    "benchmark_memory_bandwidth": {
        "sizes_mb": NEEDED,
        "dtypes": ["float32", "float16"],
        "operations": None,
        "num_runs": 100,
        "warmup_runs": 10,
        "device": "cuda",
    },
    "measure_sequential_read": {"tensor": NEEDED, "num_iterations": 1000},
    "measure_sequential_write": {"tensor": NEEDED, "num_iterations": 1000},
    "measure_memory_copy": {"src": NEEDED, "dst": NEEDED, "num_iterations": 1000},
    "detect_tensor_cores": {"gpu_name": None, "architecture": None},
    "get_architecture_capabilities": {"arch": NEEDED},
    "benchmark_tensor_core_op": {"dtype": NEEDED, "matrix_size": NEEDED, "num_iterations": 100},
    "benchmark_precision": {"precision": NEEDED, "operation": "matmul", "sizes": None, "num_warmup": 10, "num_runs": 100},
    "compare_precision": {
        "precision_a": NEEDED,
        "precision_b": NEEDED,
        "operation": "matmul",
        "size": [4096, 4096, 4096],
    },
    "measure_accuracy": {"precision": NEEDED, "expected_output": NEEDED, "actual_output": NEEDED},
    "benchmark_model": {
        "model_id": NEEDED,
        "device": NEEDED,
        "batch_sizes": NEEDED,
        "sequence_lengths": NEEDED,
        "precision_modes": NEEDED,
        "iterations": 10,
    },
    "run_basic_inference_test": {
        "model_name": "meta-llama/Llama-2-7b-hf",
        "batch_sizes": [1, 2, 4],
        "sequence_lengths": [128, 512, 2048],
        "num_warmup": 3,
        "num_runs": 10,
        "use_cache": True,
    },
    "benchmark_simple_matmul": {"size": NEEDED, "dtype": "float16", "num_runs": 100},
    "benchmark_elementwise_ops": {
        "size": NEEDED,
        "ops": ["add", "multiply", "relu", "gelu"],
        "dtype": "float16",
        "num_runs": 100,
    },
    "get_rocm_driver_info": {},
    "get_rocm_smi_info": {},
    "establish_performance_baseline": {"use_pytorch": True, "use_rocm_tools": True},
    "verify_rocm_installation": {"verbose": True},
    "collect_rocm_smi_metrics": {"duration_seconds": 60, "sample_interval_ms": 1000},
    "benchmark_hip_kernel_compilation": {"kernel_type": "vector_add", "optimization_level": 3},
    "run_rocm_profile": {"workload": NEEDED, "duration_seconds": 30},
    "benchmark_matmul": {
        "sizes": None,
        "dtypes": ["float32", "float16", "bf16"],
        "transposes": None,
        "num_warmup": 10,
        "num_runs": 100,
        "use_tensor_cores": True,
    },
    "benchmark_convolution": {
        "input_shapes": None,
        "kernel_sizes": None,
        "strides": None,
        "paddings": None,
        "dtypes": ["float32", "float16"],
        "num_warmup": 10,
        "num_runs": 100,
    },
    "benchmark_memory_transfers": {"sizes_bytes": None, "directions": None, "num_warmup": 10, "num_runs": 100},
    "benchmark_autograd": {"operations": None, "input_shapes": None, "num_warmup": 10, "num_runs": 100},
    "benchmark_triton_compilation": {"kernel_configs": None, "num_warmup": 3, "num_runs": 10},
    "benchmark_triton_ops": {"operations": None, "input_shapes": None, "num_warmup": 10, "num_runs": 100},
    "benchmark_zero_overhead": {
        "model_sizes": None,
        "stages": [1, 2, 3],
        "batch_size": 1,
        "num_warmup": 3,
        "num_runs": 10,
    },
    "benchmark_tensor_parallel": {"model_sizes": None, "gpu_counts": None, "num_warmup": 3, "num_runs": 10},
    "benchmark_attention": {
        "batch_sizes": None,
        "num_heads": None,
        "head_dims": None,
        "sequence_lengths": None,
        "causal": True,
        "num_warmup": 10,
        "num_runs": 100,
    },
    "benchmark_memory_savings": {
        "batch_sizes": None,
        "sequence_lengths": None,
        "head_dims": None,
        "num_warmup": 5,
        "num_runs": 50,
    },
    "benchmark_vllm_throughput": {
        "model_name": NEEDED,
        "batch_sizes": None,
        "num_prompts": None,
        "max_tokens": 256,
        "num_warmup": 3,
        "num_runs": 5,
    },
    "benchmark_vllm_latency": {
        "model_name": NEEDED,
        "batch_sizes": None,
        "prompt_lengths": None,
        "output_lengths": None,
        "num_warmup": 10,
        "num_runs": 100,
    },
    "benchmark_vllm_batching": {
        "model_name": NEEDED,
        "batch_sizes": None,
        "num_requests": None,
        "max_tokens": 128,
        "num_warmup": 3,
        "num_runs": 5,
    },
    "benchmark_onnx_optimization": {
        "models": None,
        "optimization_levels": ["basic", "all"],
        "num_warmup": 3,
        "num_runs": 10,
    },
    "benchmark_onnx_inference": {
        "models": None,
        "batch_sizes": None,
        "input_shapes": None,
        "num_warmup": 10,
        "num_runs": 100,
    },
    "benchmark_migraphx_compilation": {
        "models": None,
        "input_shapes": None,
        "optimization_level": "auto",
        "num_warmup": 3,
        "num_runs": 10,
    },
    "benchmark_migraphx_inference": {
        "models": None,
        "batch_sizes": None,
        "input_shapes": None,
        "num_warmup": 10,
        "num_runs": 100,
    },
    "benchmark_hbm_bandwidth": {"sizes_bytes": None, "num_runs": 100},
    "benchmark_system_ram_bandwidth": {"sizes_bytes": None, "num_runs": 100},
    "compare_memory_tiers": {"sizes_bytes": None},
    "benchmark_tensor_ops": {"operations": None, "precisions": None, "input_shapes": None, "num_runs": 100},
    "benchmark_gemm": {
        "sizes": None,
        "transa": False,
        "transb": False,
        "alpha": 1.0,
        "beta": 0.0,
        "num_runs": 100,
    },
    "benchmark_gemm_strided": {
        "m": NEEDED,
        "n": NEEDED,
        "k": NEEDED,
        "strides_a": NEEDED,
        "strides_b": NEEDED,
        "strides_c": NEEDED,
        "num_runs": 100,
    },
    "benchmark_multi_gpu_scaling": {
        "model_sizes": None,
        "gpu_counts": None,
        "batch_sizes": None,
        "communication_backend": "nccl",
        "num_runs": 10,
    },
    "benchmark_all_reduce": {"tensor_sizes": None, "gpu_counts": None, "algorithms": None, "num_runs": 100},
    "analyze_compute_utilization": {"workload": NEEDED, "num_samples": 100},
    "benchmark_kernel_occupancy": {"kernel_config": NEEDED, "max_threads_per_block": 1024, "num_blocks_per_sm": 32},
}

# Functions that measure no device, or whose device follows from their arguments.
WITHOUT_DEVICE = {
    "measure_sequential_read",
    "measure_sequential_write",
    "measure_memory_copy",
    "measure_accuracy",
    "get_architecture_capabilities",
    "get_rocm_driver_info",
    "establish_performance_baseline",
    "verify_rocm_installation",
}

# Fields of the result types. If a result has aliases of a field, each is an attribute.
TYPES = {
    "MemoryBandwidthResult": "operation size_bytes bandwidth_gb_s latency_us num_runs warmup_runs std_dev timestamp device",
    "TensorCoreInfo": "available architecture supported_dtypes matrix_size peak_tflops_fp16 peak_tflops_bf16 "
    "peak_tflops_tf32 wmma_version",
    "PrecisionBenchmarkResult": "precision operation matrix_size time_ms throughput_tflops memory_bandwidth_gb_s "
    "utilization_percent accuracy_error",
    "InferenceResult": "model_name batch_size sequence_length input_shape output_shape forward_time_ms total_time_ms "
    "memory_used_mb tokens_per_second",
    "ROCmDriverInfo": "version installed_path build_date commit_hash platforms components supported_gpus "
    "compiler_version HSA_VERSION ROCM_SMI_VERSION",
    "PerformanceBaseline": "device_info peak_memory_bandwidth_gb_s peak_compute_tflops_fp32 peak_compute_tflops_fp16 "
    "cache_size_l1 cache_size_l2 cache_size_hbm clock_rate_mhz num_compute_units timestamp",
    "ROCmSMIMetrics": "timestamp gpu_temperature_c gpu_power_w gpu_memory_used_mb gpu_memory_total_mb "
    "gpu_utilization_percent compute_utilization_percent num_gpus",
    "MatmulResult": "m n k dtype time_ms tflops memory_read_gb memory_write_gb utilization_percent",
    "ConvolutionResult": "input_shape weight_shape stride padding dilation groups dtype time_ms tflops",
    "MemoryTransferResult": "size_bytes direction time_ms bandwidth_gb_s",
    "AutogradResult": "operation input_shape time_forward_ms time_backward_ms memory_allocated_mb gradient_norm",
    "TritonCompilationResult": "kernel_name compile_time_ms num_stages num_warps shared_mem_bytes occupancy_percent",
    "TritonOpResult": "operation input_shapes output_shapes time_ms throughput_gb_s comparison_to_pytorch",
    "ZeROResult": "stage model_size_gb optimizer_step_time_ms memory_saved_gb communication_overhead_percent",
    "TensorParallelResult": "num_gpus model_size_gb forward_time_ms backward_time_ms communication_overhead_ms speedup "
    "efficiency",
    "AttentionResult": "batch_size num_heads head_dim sequence_length causal time_ms memory_used_mb tokens_per_second",
    "MemorySavingsResult": "batch_size sequence_length head_dim standard_memory_mb flash_memory_mb savings_percent",
    "vLLMThroughputResult": "model_name batch_size num_prompts total_tokens time_total_seconds tokens_per_second "
    "requests_per_second",
    "vLLMLatencyResult": "model_name batch_size prompt_length output_length ttft_ms tpot_ms total_latency_ms",
    "vLLMBatchResult": "batch_size num_requests max_tokens time_total_seconds tokens_per_second gpu_memory_peak_mb "
    "p50_latency_ms p99_latency_ms",
    "ONNXOptimizationResult": "model_name original_nodes optimized_nodes optimization_time_ms memory_savings_mb speedup",
    "ONNXInferenceResult": "model_name batch_size input_shape execution_time_ms throughput_samples_per_second "
    "latency_p50_ms latency_p99_ms",
    "MIGraphXCompilationResult": "model_name input_shape compilation_time_ms optimized_graph_nodes memory_footprint_mb",
    "MIGraphXInferenceResult": "model_name batch_size input_shape inference_time_ms throughput_samples_per_second "
    "gpu_utilization_percent",
    "HBMBandwidthResult": "size_bytes read_bandwidth_gb_s write_bandwidth_gb_s copy_bandwidth_gb_s latency_us",
    "TensorOpResult": "operation precision input_shape output_shape time_ms throughput utilization_percent",
    "GEMMResult": "m n k time_ms tflops arithmetic_intensity roofline_performance",
    "MultiGPUResult": "num_gpus model_size_gb batch_size time_per_step_ms speedup efficiency communication_overhead_ms "
    "memory_utilization_percent",
    "ComputeUtilizationResult": "operation grid_size block_size occupancy_percent sm_efficiency_percent "
    "warp_efficiency_percent global_memory_efficiency_percent",
}

WORDS = {
    "MemoryOperation": {"READ": "read", "WRITE": "write", "COPY": "copy", "READ_WRITE": "read_write"},
    "PrecisionType": {"FP32": "fp32", "FP16": "fp16", "BF16": "bf16", "TF32": "tf32"},
    "TensorPrecision": {
        "FP32": "fp32",
        "FP16": "fp16",
        "BF16": "bf16",
        "TF32": "tf32",
        "INT8": "int8",
        "INT4": "int4",
    },
}

# Values for parameters without a default.
GIVEN = {
    "sizes_mb": [1],
    "tensor": None,
    "src": None,
    "dst": None,
    "arch": "gfx942",
    "dtype": "f32",
    "matrix_size": 8,
    "precision": "f32",
    "precision_a": "f16",
    "precision_b": "f32",
    "expected_output": [1.0],
    "actual_output": [1.0],
    "size": 8,
    "workload": "triad",
    "model_name": "random",
    "model_id": "bert-tiny",
    "device": "cpu",
    "batch_sizes": 1,
    "sequence_lengths": 128,
    "precision_modes": "fp16",
    "m": 8,
    "n": 8,
    "k": 8,
    "strides_a": (8, 1),
    "strides_b": (8, 1),
    "strides_c": (8, 1),
    "kernel_config": {"operation": "triad"},
}


def function(name):
    """Returns the function and values for its required parameters."""
    wanted = [parameter for parameter, default in FUNCTIONS[name].items() if default is NEEDED]
    return getattr(rusty_stack_bench, name), {parameter: GIVEN[parameter] for parameter in wanted}


def needs_torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_its_parameters_in_order_with_their_defaults(name):
    own = list(inspect.signature(getattr(rusty_stack_bench, name)).parameters.values())
    assert name in rusty_stack_bench.__all__
    assert len(own) >= len(FUNCTIONS[name])
    for parameter, (wanted, default) in zip(own, FUNCTIONS[name].items()):
        assert (parameter.name, parameter.kind) == (wanted, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        found = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        assert found == default, wanted
    for parameter in own[len(FUNCTIONS[name]) :]:
        assert parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD), parameter


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_accepts_a_device_and_both_names_of_the_warm_up(name):
    own = inspect.signature(getattr(rusty_stack_bench, name)).parameters
    assert ("device" in own) == (name not in WITHOUT_DEVICE)
    assert ("num_warmup" in own) == ("warmup_runs" in own)
    text = inspect.getdoc(getattr(rusty_stack_bench, name))
    for title in (["Args:"] if own else []) + ["Returns:", "Raises:"]:
        assert title in text or title == "Returns:" and "Returns" in text, title
    assert all(f"    {parameter}: " in text for parameter in own), name


@pytest.mark.parametrize("name", TYPES)
def test_a_result_has_its_fields(name):
    kind = getattr(rusty_stack_bench, name)
    own = {field.name for field in dataclasses.fields(kind)}
    own |= {other for other in dir(kind) if isinstance(getattr(kind, other, None), property)}
    assert set(TYPES[name].split()) - own == set()


@pytest.mark.parametrize("name", WORDS)
def test_an_enumeration_has_its_members(name):
    assert {member.name: member.value for member in getattr(rusty_stack_bench, name)} == WORDS[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_keyword_is_a_type_error(name):
    called, given = function(name)
    # Functions that take every axis of a workload name the axes, the others their parameters.
    own = list(inspect.signature(called).parameters)
    accepted = f"use .*{own[0]}" if own else "it has no parameter"
    with pytest.raises(TypeError, match=f"'color'; ({accepted}|.* has the axes )"):
        called(**given, color="red")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in WITHOUT_DEVICE])
def test_two_names_of_one_number_are_refused(name):
    called, given = function(name)
    own = inspect.signature(called).parameters
    if "num_warmup" not in own:
        pytest.skip("it has no warm-up")
    with pytest.raises(TypeError, match="num_warmup and warmup_runs"):
        called(**given, num_warmup=3, warmup_runs=3)
    # Passed explicitly, although equal to the default.
    first, *_ = [parameter for parameter in ("warmup_runs", "num_warmup") if own[parameter].default is not None]
    with pytest.raises(TypeError, match=f"settings and {'num_warmup' if first == 'num_warmup' else 'num_'}"):
        called(**given, settings=ONCE, **{first: int(own[first].default)})


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("benchmark_convolution", {"strides": [1], "stride": [1]}),
        ("benchmark_convolution", {"input_shapes": [(1, 1, 8, 8)], "inputs": [(1, 1, 8, 8)]}),
        ("benchmark_convolution", {"kernel_sizes": [3], "weights": [(1, 1, 3, 3)]}),
        ("benchmark_attention", {"head_dims": [8], "head_dim": [8]}),
        ("benchmark_autograd", {"input_shapes": [(8, 8)], "width": [8]}),
        ("benchmark_tensor_parallel", {"gpu_counts": [1], "ranks": [1]}),
        ("benchmark_tensor_parallel", {"model_sizes": [0.1], "width": [64]}),
        ("benchmark_vllm_throughput", {"batch_sizes": [1], "num_prompts": [1]}),
        ("benchmark_vllm_batching", {"batch_sizes": [1], "num_requests": [1]}),
        ("benchmark_onnx_inference", {"input_shapes": [(8,)], "width": [8]}),
        ("benchmark_triton_compilation", {"kernel_configs": {"kernel": "matmul", "kernel_name": "matmul"}}),
    ],
)
def test_two_names_of_one_parameter_are_refused(name, names):
    called, given = function(name)
    expected = ["kernel", "kernel_name"] if "kernel_configs" in names else list(names)
    with pytest.raises(TypeError, match=" and ".join(expected)):
        called(**given, **names)


@pytest.fixture
def planned():
    """Replaces measuring: collects the cases and returns skipped results."""
    seen = []

    def measure(kind, cases, settings):
        seen.extend(cases)
        planned.settings = settings
        return [typed(kind, skipped(case)) for case in cases]

    planned = SimpleNamespace(cases=seen, settings=None)
    here = mock.patch("rusty_stack_bench.measuring.measure", measure)
    with here, mock.patch("rusty_stack_bench.measuring.require_torch"):
        yield planned


def skipped(case):
    """Returns the result of a case that was not measured."""
    return Result(
        benchmark_id=case.id,
        outcome=Outcome.SKIPPED,
        reason=Reason("case", "it is a test", "do not measure"),
        device_type=None,
        parameters={"workload": case.workload, **case.params},
        samples=[],
        fields={},
        timestamp="2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        *(("float32", "f32"), ("fp32", "f32"), ("f32", "f32"), ("float16", "f16"), ("fp16", "f16"), ("f16", "f16")),
        *(("bfloat16", "bf16"), ("bf16", "bf16"), ("tf32", "tf32"), ("int8", "i8"), ("torch.bfloat16", "bf16")),
        (results.PrecisionType.FP16, "f16"),
        (results.TensorPrecision.INT4, "i4"),
    ],
)
def test_a_data_type_has_several_spellings(planned, spelling, name):
    rusty_stack_bench.benchmark_matmul([(8, 8, 8)], [spelling], device="cpu")
    assert [case.params["dtype"] for case in planned.cases] == [name]


@pytest.mark.parametrize(
    ("name", "wrong", "accepted"),
    [
        ("benchmark_matmul", {"dtypes": ["float17"]}, "bfloat16"),
        ("benchmark_matmul", {"sizes": [(8, 8)]}, "3 integers"),
        ("benchmark_matmul", {"sizes": [(8, 8, 0)]}, "at least 1"),
        ("benchmark_matmul", {"transposes": ["xx"]}, "nn, tn, nt, tt"),
        ("benchmark_matmul", {"num_runs": 0}, "at least 1"),
        ("benchmark_convolution", {"dtypes": ["int3"]}, "float16"),
        ("benchmark_convolution", {"input_shapes": [(8, 8)]}, "4 integers"),
        ("benchmark_convolution", {"strides": [0]}, "at least 1"),
        ("benchmark_memory_transfers", {"directions": ["sideways"]}, "gpu_to_cpu"),
        ("benchmark_memory_transfers", {"sizes_bytes": [0]}, "above zero"),
        ("benchmark_autograd", {"operations": ["sideways"]}, "forward, backward"),
        ("benchmark_attention", {"sequence_lengths": [0]}, "at least 1"),
        ("benchmark_triton_ops", {"operations": ["addition"]}, "vector-add"),
        ("benchmark_triton_ops", {"input_shapes": [(8, 16)]}, "one size"),
        ("benchmark_zero_overhead", {"model_sizes": [0]}, "above zero"),
        ("benchmark_onnx_inference", {"models": ["gpt"]}, "decoder-step"),
        ("benchmark_onnx_inference", {"input_shapes": [(8, 8)]}, "1 integers"),
        ("benchmark_onnx_optimization", {"optimization_levels": ["most"]}, "disabled, basic, extended, all"),
        ("benchmark_migraphx_compilation", {"optimization_level": "most"}, "auto"),
        ("benchmark_memory_bandwidth", {"dtypes": ["float17"]}, "bfloat16"),
        ("benchmark_memory_bandwidth", {"sizes_mb": [-1]}, "above zero"),
        ("benchmark_memory_bandwidth", {"device": "tpu"}, "use auto"),
        ("benchmark_precision", {"sizes": [(8, 16, 32)]}, "benchmark_gemm"),
        ("benchmark_gemm", {"sizes": ["8x8"]}, "3 integers"),
        ("benchmark_gemm_strided", {"strides_a": (4, 2)}, "must be 1"),
        ("benchmark_gemm_strided", {"strides_c": (1, 8)}, "strides_c"),
        ("benchmark_multi_gpu_scaling", {"communication_backend": "mpi"}, "nccl, rccl"),
        ("benchmark_kernel_occupancy", {"kernel_config": {"operation": "triad", "block_size": 2048}}, "1 to 1024"),
        ("benchmark_kernel_occupancy", {"kernel_config": {"kernel": "triad"}}, "block_size"),
        ("benchmark_hip_kernel_compilation", {"optimization_level": 4}, "0, 1, 2, 3"),
        ("analyze_compute_utilization", {"workload": "mystery"}, "softmax"),
        ("collect_rocm_smi_metrics", {"duration_seconds": -1}, "at least 0"),
    ],
)
def test_a_wrong_value_is_a_value_error_with_accepted_ones(planned, name, wrong, accepted):
    called, given = function(name)
    program = mock.patch("rusty_stack_bench.native.answer", side_effect=AssertionError("the program is not asked"))
    with program, pytest.raises(ValueError, match=re.escape(accepted)):
        called(**{**given, **wrong})
    assert planned.cases == []


@pytest.mark.parametrize("name", ["benchmark_matmul", "benchmark_attention", "benchmark_zero_overhead", "measure_accuracy"])
def test_without_pytorch_the_install_command_is_named(name):
    called, given = function(name)
    torch = mock.patch("rusty_stack_bench.measuring.importlib.util.find_spec", return_value=None)
    with torch, pytest.raises(ImportError, match="pip install torch"):
        called(**given)


def test_a_wrong_index_is_a_runtime_error_with_the_command_that_lists_devices(planned):
    with mock.patch("rusty_stack_bench.measuring._gpus_of_torch", return_value=("cuda", 2)):
        for wrong in ("cuda:2", "cpu:1"):
            with pytest.raises(RuntimeError, match="rusty-stack-bench probe"):
                rusty_stack_bench.benchmark_matmul([(8, 8, 8)], device=wrong)
        found = [measuring.chosen(device) for device in ("auto", "cuda", "cuda:1", "cpu")]
        assert found == ["cuda:0", "cuda:0", "cuda:1", "cpu:0"]
        # PyTorch was not built for this backend, so its cases are skipped.
        assert measuring.chosen("rocm:7") == "rocm:7"
    with mock.patch("rusty_stack_bench.measuring._gpus_of_torch", return_value=("rocm", 1)):
        assert measuring.chosen("cuda") == "rocm:0", "as PyTorch names it"
    with mock.patch("rusty_stack_bench.measuring._gpus_of_torch", return_value=("", 0)):
        assert [measuring.chosen(device) for device in ("auto", "cuda:3")] == ["cpu:0", "cuda:3"]


def test_the_number_of_runs_is_that_of_all_processes(planned):
    rusty_stack_bench.benchmark_matmul([(8, 8, 8)], ["f32"], num_runs=100, device="cpu")
    assert (planned.settings.replicates, planned.settings.runs, planned.settings.warmup) == (5, 20, 10)
    rusty_stack_bench.benchmark_matmul([(8, 8, 8)], ["f32"], num_runs=7, warmup_runs=4, device="cpu")
    assert (planned.settings.replicates, planned.settings.runs, planned.settings.warmup) == (5, 2, 4)
    rusty_stack_bench.benchmark_matmul([(8, 8, 8)], ["f32"], num_runs=2, num_warmup=0, device="cpu")
    assert (planned.settings.replicates, planned.settings.runs, planned.settings.warmup) == (2, 1, 0)
    rusty_stack_bench.benchmark_matmul([(8, 8, 8)], ["f32"], settings=ONCE, device="cpu")
    assert planned.settings is ONCE


def test_warm_up_iterations_precede_the_samples():
    asked = []

    def ask(self, question):
        asked.append(question.get("iters", question["ask"]))
        return {"device_type": "cpu", "time_ns": 20e6 * question.get("iters", 1), "fields": {"time_ms": 20.0}}

    with mock.patch("rusty_stack_bench.measuring._Replicate.ask", ask):
        (result,) = measuring.measure(
            results.MatmulResult,
            cases.every("pytorch", "matmul", "cpu:0", dtype="f32", shape=(8, 8, 8)),
            Settings(replicates=1, runs=2, timeout=30, warmup=10),
        )
    assert asked == ["prepare", 1, 9, 1, 1, "finish"]
    assert result.num_runs == 2


def test_the_warm_up_of_slow_iterations_does_not_exceed_the_time_limit():
    asked = []

    def ask(self, question):
        asked.append(question.get("iters", question["ask"]))
        return {"device_type": "cpu", "time_ns": 60e9 * question.get("iters", 1), "fields": {"time_ms": 60e3}}

    with mock.patch("rusty_stack_bench.measuring._Replicate.ask", ask):
        (result,) = measuring.measure(
            results.MatmulResult,
            cases.every("pytorch", "matmul", "cpu:0", dtype="f32", shape=(8, 8, 8)),
            Settings(replicates=1, runs=2, warmup=10),
        )
    # A quarter of 300 s is one iteration of 60 s.
    assert asked == ["prepare", 1, 1, 1, 1, "finish"] and result.is_measured


def test_the_weights_of_a_convolution_follow_its_input(planned):
    rusty_stack_bench.benchmark_convolution(
        [(1, 8, 16, 16), (1, 4, 16, 16)], [(3, 3), 1], strides=[2], dtypes=["fp32"], groups=[2], device="cpu"
    )
    assert [case.params["weight"] for case in planned.cases] == ["8x4x3x3", "8x4x1x1", "4x2x3x3", "4x2x1x1"]
    assert {case.params["stride"] for case in planned.cases} == {"2"}


def test_models_are_directories_or_published_shapes(planned):
    rusty_stack_bench.benchmark_vllm_latency("meta-llama/Llama-2-7b-hf", [4], device="cpu")
    rusty_stack_bench.benchmark_vllm_batching("/models/own", num_requests=[2], device="cpu")
    shape, own = planned.cases
    assert (shape.params["model_shape"], shape.params["num_prompts"]) == ("llama-2-7b", "4")
    assert (own.params["model"], own.params["request_rate"], own.params["output_length"]) == ("/models/own", "0", "128")


def test_a_size_of_a_model_is_a_width(planned):
    rusty_stack_bench.benchmark_tensor_parallel([0.1, (128, 3)], [2], device="cpu")
    assert [(case.params["width"], case.params["num_layers"]) for case in planned.cases] == [("1024", "2"), ("128", "3")]


def test_both_passes_are_in_each_result_of_autograd():
    def measure(kind, cases, settings):
        times = {"forward": 1.0, "backward": 2.0}
        found = [typed(kind, skipped(case)) for case in cases]
        return [dataclasses.replace(one, time_ms=times[one.parameters["operation"]]) for one in found]

    with mock.patch("rusty_stack_bench.measuring.measure", measure), mock.patch("rusty_stack_bench.measuring.require_torch"):
        found = rusty_stack_bench.benchmark_autograd(input_shapes=[(8, 16)], device="cpu")
        (alone,) = rusty_stack_bench.benchmark_autograd(["backward"], device="cpu")
    assert [(one.time_forward_ms, one.time_backward_ms) for one in found] == [(1.0, 2.0)] * 2
    assert (alone.time_forward_ms, alone.time_backward_ms) == (None, 2.0)


def test_the_words_of_axes_are_those_of_the_program():
    tomllib = pytest.importorskip("tomllib")
    table = tomllib.loads(WORKLOADS.read_text(encoding="utf-8"))
    checked = set()
    for component, workloads in table["workloads"].items():
        for workload in workloads:
            if (component, workload["name"]) not in cases.AXES:
                continue
            for entry in workload["axes"]:
                name, _, kind = table["axes"].get(entry, entry).partition(": ")
                words = kind.partition("|")[0].partition("=")[0].split()
                if words[0] != "choice":
                    continue
                whole = f"{component}/{workload['name']}/{name}"
                assert set(cases.CHOICES.get(whole, cases.CHOICES.get(name, ()))) == set(words[1:]), whole
                checked.add(name)
    assert checked == {name.rpartition("/")[2] for name in cases.CHOICES}


def test_small_products_are_measured_as_written():
    needs_torch()
    found = rusty_stack_bench.benchmark_matmul(
        sizes=[(16, 16, 16), (32, 16, 8)], dtypes=["bfloat16"], num_runs=1, warmup_runs=2, device="cpu"
    )
    assert [(one.m, one.precision) for one in found] == [(16, "bf16"), (32, "bf16")]
    for one in found:
        assert one.is_measured, one.reason
        assert one.tflops == one.throughput_tflops > 0
        assert (one.device, one.num_runs) == ("cpu:0", 1)


def test_a_missing_gpu_is_a_skip():
    torch = needs_torch()
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    one = rusty_stack_bench.benchmark_simple_matmul(16, settings=ONCE, device="cuda")
    assert one.outcome is Outcome.SKIPPED
    assert one.tflops is None
    assert one.reason.cure


def test_tensors_are_read_written_and_copied():
    torch = needs_torch()
    src, dst = torch.rand(1 << 16), torch.zeros(1 << 16)
    copied = rusty_stack_bench.measure_memory_copy(src, dst, 20)
    assert torch.equal(src, dst)
    bandwidth, latency = rusty_stack_bench.measure_sequential_read(src, num_iterations=20)
    assert bandwidth == pytest.approx(4 * src.numel() / latency / 1e3)
    assert copied.bandwidth_gb_s == pytest.approx(8 * src.numel() / copied.latency_us / 1e3)
    rusty_stack_bench.measure_sequential_write(src, 5)
    assert not src.any()
    with pytest.raises(TypeError, match="list is not a tensor"):
        rusty_stack_bench.measure_sequential_read([1.0])
    with pytest.raises(ValueError, match="cannot be copied"):
        rusty_stack_bench.measure_memory_copy(src, dst.double())
    with pytest.raises(ValueError, match="at least 1"):
        rusty_stack_bench.measure_sequential_read(src, 0)


def test_the_error_is_relative_to_the_largest_value():
    needs_torch()
    found = rusty_stack_bench.measure_accuracy("fp16", [1.0, -4.0], [1.004, -4.0])
    assert found.accuracy_error == pytest.approx(0.001, rel=1e-3)
    assert (found.precision, found.is_within) == ("f16", True)
    assert not rusty_stack_bench.measure_accuracy("fp32", [1.0], [float("nan")]).is_within
    with pytest.raises(ValueError, match="shapes"):
        rusty_stack_bench.measure_accuracy("fp32", [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="f16"):
        rusty_stack_bench.measure_accuracy("int8", [1.0], [1.0])


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Replaces the program with a script that answers by subcommand and records its arguments and sweep files."""
    log = tmp_path / "log"

    def replaced(code=0, error="", **answers):
        for subcommand, document in answers.items():
            (tmp_path / f"{subcommand.replace('_', '-')}.json").write_text(json.dumps(document), encoding="utf-8")
        path = tmp_path / "program"
        script = f"""#!/bin/sh
echo "$@" >> {log}
answer={tmp_path}/$1.json
case $1 in probe|list) cat "$answer"; exit 0 ;; esac
while [ $# -gt 0 ]; do
    case $1 in
        --sweep) cat "$2" >> {log} ;;
        --results-dir) [ ! -f {tmp_path}/stored.json ] || {{ mkdir -p "$2/runs"; cp {tmp_path}/stored.json "$2/runs/1.json"; }} ;;
    esac
    shift
done
printf '%s' '{error}' >&2
[ {code} = 2 ] || cat "$answer"
exit {code}
"""
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("RUSTY_STACK_BENCH", str(path))
        return lambda: log.read_text(encoding="utf-8")

    return replaced


def record(benchmark, device="cpu:0", outcome="measured", parameters=(), **fields):
    """Returns a record of a run."""
    reason = {} if outcome == "measured" else {"what": "a", "why": "b", "cure": "c"}
    return {
        "benchmark_id": f"cpu_performance/{benchmark}/{device}/x",
        "category": benchmark,
        "timestamp": "2026-01-01T00:00:00Z",
        "outcome": outcome,
        **reason,
        "device_type": "cpu",
        "results": [fields] if fields else [],
        "samples": [{"replicate": 0, "iters": [1, 1], "times_ns": [1.0, 2.0]}],
        "metadata": {"parameters": dict(parameters)},
    }


def run_of(*records):
    """Returns a run as the program prints it."""
    return {"started": "2026-01-01T00:00:00Z", "benchmarks": list(records)}


def test_products_are_asked_for_as_a_sweep(program):
    fields = {"m": 64, "n": 32, "k": 16, "dtype": "f16", "time_ms": 2.0, "tflops": 3.0, "roofline_percent": 50.0}
    absent = {**record("all", "rocm", "skipped"), "benchmark_id": "gpu_performance/all/rocm"}
    log = program(run=run_of(absent, record("gemm", **fields)))
    (found,) = rusty_stack_bench.benchmark_gemm([(64, 32, 16)], transb=True, dtypes=["float16"], num_runs=100, device="cpu")
    assert (found.m, found.precision, found.time_ms, found.roofline_performance) == (64, "f16", 2.0, 6.0)
    assert (found.num_runs, found.device) == (2, "cpu:0")
    asked = log()
    for expected in (
        'benchmark = "gemm"',
        'dtype = ["f16"], shape = ["64x32x16"], transpose = ["nt"], alpha = ["1"], beta = ["0"]',
        "--replicates 5 --runs 20 --warmup 10 --timeout 300 --backend cpu --device 0 --json",
    ):
        assert expected in asked, asked
    assert found.record()["benchmark_type"] == "cpu_performance"


def test_strides_are_a_layout_and_its_gaps(program):
    log = program(run=run_of(record("gemm", m=4)))
    rusty_stack_bench.benchmark_gemm_strided(4, 8, 16, (16, 1), (1, 16), (8, 1), device="cpu")
    assert 'transpose = ["nt"], batch_size = ["1"] }' in log()
    rusty_stack_bench.benchmark_gemm_strided(4, 8, 16, (64, 16, 1), (8, 1), (8, 1), batch_size=2, device="cpu")
    assert 'transpose = ["nn"], batch_size = ["2"] }' in log()
    rusty_stack_bench.benchmark_gemm_strided(4, 8, 16, (80, 16, 1), (1, 20), (9, 1), batch_size=2, device="cpu")
    asked = 'transpose = ["nt"], batch_size = ["2"], stride_a = ["80"], ld_b = ["20"], ld_c = ["9"] }'
    assert asked in log()
    with pytest.raises(ValueError, match="overlap; the first is at least 80"):
        rusty_stack_bench.benchmark_gemm_strided(4, 8, 16, (79, 20, 1), (8, 1), (8, 1), device="cpu")


def test_without_a_device_the_reason_is_a_result(program):
    absent = {**record("all", "rocm", "skipped"), "benchmark_id": "gpu_performance/all/rocm"}
    program(code=5, run=run_of(absent), probe={"gpus": []})
    (found,) = rusty_stack_bench.benchmark_multi_gpu_scaling()
    assert (found.outcome, found.reason.cure, found.device) == (Outcome.SKIPPED, "c", "rocm")
    program(code=5, run=run_of(), probe={"gpus": []})
    utilization = rusty_stack_bench.analyze_compute_utilization("gemm")
    assert utilization.outcome is Outcome.SKIPPED and "probe" in utilization.reason.cure
    assert "no GPU" in utilization.reason.why


def test_the_first_gpu_is_chosen(program):
    here = {"gpus": [{"backends": ["vulkan", "rocm"]}]}
    log = program(run=run_of(record("all-reduce", "rocm:0", bandwidth_gb_s=5.0)), probe=here)
    (found,) = rusty_stack_bench.benchmark_all_reduce([1 << 20], [2, 4], ["ring"])
    assert found.bandwidth_gb_s == 5.0
    assert "--backend rocm --device 0" in log()
    assert 'num_gpus = ["2", "4"], communication_backend = ["rccl"]' in log()


def test_the_bandwidths_of_a_memory_are_one_record(program):
    size = {"size": "1MiB"}
    rows = [
        record("memory-tiers", "rocm:0", parameters=size, operation=name, bandwidth_gb_s=rate)
        for name, rate in (("read", 1.0), ("write", 2.0), ("copy", 3.0))
    ]
    latency = record("memory-tiers", "rocm:0", parameters=size, operation="pointer-chase", latency_ns=500.0)
    program(run=run_of(*rows, latency), probe={"gpus": [{"backends": ["rocm"]}]})
    (found,) = rusty_stack_bench.benchmark_hbm_bandwidth([1 << 20])
    assert (found.read_bandwidth_gb_s, found.write_bandwidth_gb_s, found.copy_bandwidth_gb_s) == (1.0, 2.0, 3.0)
    assert (found.latency_us, found.size_bytes, found.is_measured, len(found.results)) == (0.5, 1 << 20, True, 4)
    broken = record("memory-tiers", "rocm:0", "failed", size)
    program(code=1, run=run_of(*rows[:2], broken), probe={"gpus": [{"backends": ["rocm"]}]})
    (found,) = rusty_stack_bench.benchmark_hbm_bandwidth([1 << 20])
    assert (found.outcome, found.reason.why, found.copy_bandwidth_gb_s) == (Outcome.FAILED, "b", None)


def test_the_sensors_of_every_gpu_are_read(program):
    log = program(run=run_of(*(record("smi-metrics", f"rocm:{index}", gpu_power_w=100.0) for index in range(2))))
    found = rusty_stack_bench.collect_rocm_smi_metrics(2.5, 500)
    assert [(one.gpu_power_w, one.num_gpus) for one in found] == [(100.0, 2)] * 2
    assert 'duration_seconds = ["2.5"], sample_interval_ms = ["500"]' in log()
    assert "--replicates 1 " in log()


def test_the_program_refuses_values_and_devices(program):
    program(code=2, error="error: `mystery` is not a value of the axis `operation`: it takes one of add, relu")
    with pytest.raises(ValueError, match="one of add, relu"):
        rusty_stack_bench.benchmark_tensor_ops(["mystery"], device="cpu")
    program(code=2, error="error: there is no device 7; the devices here are vulkan:0")
    with pytest.raises(RuntimeError, match="vulkan:0; `rusty-stack-bench probe`"):
        rusty_stack_bench.benchmark_tensor_ops(device="vulkan:7")
    missing = "error: --profiler: rocprofv3: it is not installed; install rocprofiler-sdk"
    program(code=2, error=missing, list={"benchmarks": [{"benchmark": "gemm"}]})
    with pytest.raises(ProgramError, match="install rocprofiler-sdk"):
        rusty_stack_bench.run_rocm_profile("gemm", device="rocm:0")


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("RUSTY_STACK_BENCH", raising=False)
    with pytest.raises(ProgramError, match="cargo install"):
        rusty_stack_bench.get_rocm_driver_info()


def test_the_installation_is_that_of_the_probe(program):
    found = {
        "path": "/opt/rocm",
        "version": "6.4.3",
        "platform": "amd",
        "components": {"hsa": "1.15", "amd-smi": "25.1"},
        "compilers": [{"name": "hipcc", "version": None}, {"name": "clang", "version": "19.0"}],
        "gpu_targets": ["gfx90a"],
    }
    finding = {"severity": "note", "what": "x", "why": "y", "cure": None}
    program(probe={"rocm_installations": [found]}, doctor={"findings": [finding]})
    info = rusty_stack_bench.get_rocm_driver_info()
    assert (info.version, info.HSA_VERSION, info.ROCM_SMI_VERSION) == ("6.4.3", "1.15", "25.1")
    assert (info.compiler_version, info.platforms, info.supported_gpus) == ("19.0", ("amd",), ("gfx90a",))
    assert rusty_stack_bench.verify_rocm_installation(verbose=False)
    program(probe={"rocm_installations": []}, doctor={"findings": []})
    assert not rusty_stack_bench.get_rocm_driver_info().is_installed
    assert not rusty_stack_bench.verify_rocm_installation(verbose=False)


def test_the_findings_are_printed(program, capsys):
    finding = {"severity": "error", "what": "driver", "why": "it is not loaded", "cure": "modprobe amdgpu"}
    program(code=1, probe={"rocm_installations": []}, doctor={"findings": [finding]})
    assert not rusty_stack_bench.verify_rocm_installation()
    assert "error: driver: it is not loaded; modprobe amdgpu" in capsys.readouterr().out


def test_a_baseline_is_that_of_the_program(program, tmp_path):
    document = {
        "run_id": "abc",
        "timestamp": "2026-01-01T00:00:00Z",
        "device_info": {"version": "6.4"},
        "device": "cpu:0",
        "peak_memory_bandwidth_gb_s": 20.0,
        "unknown": {"cache_size_hbm": "a CPU has none"},
        "baseline_file": "baselines/x.json",
    }
    log = program(doctor=document)
    found = rusty_stack_bench.establish_performance_baseline(results_dir=tmp_path)
    assert (found.peak_memory_bandwidth_gb_s, found.cache_size_hbm, found.device_info["version"]) == (20.0, None, "6.4")
    assert found.document["baseline_file"] == "baselines/x.json"
    assert {"python_version", "pytorch_version"} < set(found.device_info)
    assert f"doctor --baseline --results-dir {tmp_path} --json" in log()
    assert rusty_stack_bench.establish_performance_baseline(False, False).device_info == {}


def test_the_matrix_unit_is_that_of_the_gpu(program):
    facts = {"available": True, "architecture": "gfx90a", "peak_tflops_fp16": 181.0, "matrix_size": "32x32x8"}
    rows = [facts, {"operation": "matrix", "dtype": "f16"}, {"operation": "vector", "dtype": "f64"}]
    program(gpu_capability=run_of({**record("gpu-capability", "gpu:0"), "results": rows}))
    found = rusty_stack_bench.detect_tensor_cores()
    assert (found.available, found.supported_dtypes, found.peak_tflops_fp16) == (True, ("f16",), 181.0)
    assert rusty_stack_bench.detect_tensor_cores(device="rocm").architecture == "gfx90a"
    for device, count in (("rocm:1", 1), ("cuda:0", 0)):
        with pytest.raises(RuntimeError, match=f"{count} GPUs of this kind"):
            rusty_stack_bench.detect_tensor_cores(device=device)
    for device, why in (("cpu", "no matrix unit"), ("tpu", "unknown device"), ("rocm:x", "unknown device")):
        with pytest.raises(ValueError, match=why):
            rusty_stack_bench.detect_tensor_cores(device=device)
    program(code=5, gpu_capability=run_of(record("gpu-capability", "gpu:0", "skipped")))
    found = rusty_stack_bench.detect_tensor_cores()
    assert (found.available, found.reason.cure) == (False, "c")


def test_an_architecture_is_known_without_its_gpu():
    if importlib.util.find_spec("rusty_stack_bench._native") is None:
        pytest.skip("no compiled extension")
    found = rusty_stack_bench.detect_tensor_cores(architecture="gfx942")
    assert found.available and "f16" in found.supported_dtypes and found.peak_tflops_fp16 is None
    assert rusty_stack_bench.detect_tensor_cores("NVIDIA GeForce RTX 4090").architecture == "sm_89"
    assert rusty_stack_bench.detect_tensor_cores("AMD Instinct MI300X OAM").architecture == "gfx942"
    assert rusty_stack_bench.detect_tensor_cores("AMD Radeon RX 7900 XTX").peak_tflops_fp16 > 100
    assert rusty_stack_bench.get_architecture_capabilities("gfx1030")["matrix_unit"] is None
    with pytest.raises(ValueError, match="gfx90a"):
        rusty_stack_bench.get_architecture_capabilities("gfx1")


def test_the_occupancy_is_computed_for_a_size_or_the_given_blocks(program):
    log = program(run=run_of(record("occupancy", occupancy_percent=100.0, block_size=256)))
    (found,) = rusty_stack_bench.benchmark_kernel_occupancy({"operation": "triad", "architecture": "gfx942"})
    assert (found.occupancy_percent, found.block_size) == (100.0, 256)
    assert 'block_size = ["256"], size = ["67108864"], arch = ["gfx942"]' in log()
    rusty_stack_bench.benchmark_kernel_occupancy({"operation": "gelu", "architecture": "gfx942", "block_size": [64, 128]})
    assert log().count("[[scenario]]") == 3


def test_a_pass_and_the_generation_of_a_model_are_one_result(program):
    point = {"batch_size": "1", "sequence_length": "128"}
    # `models --json` prints results by model; the run itself is in the results directory.
    rows = (
        record("models", parameters={"workload": "forward", **point}, time_ms=3.0, forward_time_ms=3.0, output_shape="1x128x9"),
        record("models", parameters={"workload": "generate", **point}, time_ms=20.0, ttft_ms=4.0, tokens_per_second=50.0),
    )
    log = program(models={"run_id": "1", "models": [], "skipped": []}, stored=run_of(*rows))
    with mock.patch("rusty_stack_bench.pytorch.require_torch"):
        (found,) = rusty_stack_bench.run_basic_inference_test(batch_sizes=[1], sequence_lengths=[128], device="cpu")
    assert (found.forward_time_ms, found.total_time_ms, found.tokens_per_second) == (3.0, 20.0, 50.0)
    assert (found.input_shape, found.output_shape) == ("1x128", "1x128x9")
    assert "models --model llama-2-7b --precision f32 --batch 1 --sequence 128" in log()


def test_a_model_is_benchmarked_in_every_precision(program):
    model = {"model_id": "bert-tiny", "device": "cpu:0", "batch_results": {"b1_s128_fp16": {"ttft_ms": None}}}
    log = program(models={"run_id": "1", "models": [model], "skipped": []})
    found = rusty_stack_bench.benchmark_model("bert-tiny", "cpu", [1], 128, ["fp16", "float32"])
    assert found == {**model, "skipped": []}
    assert "models --model bert-tiny --precision f16,f32 --batch 1 --sequence 128" in log()
    assert "--replicates 1 --runs 10" in log()
    program(code=5, models={"run_id": "1", "models": [], "skipped": [{"why": "no worker"}]})
    found = rusty_stack_bench.benchmark_model("bert-tiny", "cpu", 1, 128, "fp16")
    assert (found["model_id"], found["batch_results"], len(found["skipped"])) == ("bert-tiny", {}, 1)


def test_a_model_that_cannot_run_has_the_reason(program):
    reason = {"outcome": "skipped", "what": "a", "why": "no worker", "cure": "c"}
    skipped = [{"benchmark_id": "component_specific/models", **reason}]
    program(code=5, models={"run_id": "1", "models": [], "skipped": skipped})
    with mock.patch("rusty_stack_bench.pytorch.require_torch"):
        (found,) = rusty_stack_bench.run_basic_inference_test(batch_sizes=[1], sequence_lengths=[128], device="cpu")
    assert (found.outcome, found.reason.why, found.device) == (Outcome.SKIPPED, "no worker", "none")


def test_few_samples_are_those_of_few_processes(program):
    log = program(run=run_of(record("memory-bandwidth", warmup_runs=3, bandwidth_gb_s=1.0)))
    (found,) = rusty_stack_bench.benchmark_memory_bandwidth([1], num_runs=10, warmup_runs=7, device="cpu")
    assert "--replicates 1 --runs 10 --warmup 7" in log() and found.warmup_runs == 7
    rusty_stack_bench.benchmark_memory_bandwidth([1], num_runs=35, device="cpu")
    assert "--replicates 3 --runs 12" in log()


def test_numbers_of_numpy_and_types_of_pytorch_are_accepted(planned):
    numpy = pytest.importorskip("numpy")
    torch = needs_torch()
    device = torch.device("cpu")
    runs = numpy.int64(7)
    rusty_stack_bench.benchmark_matmul(numpy.array([[8, 16, 32]]), torch.float32, num_runs=runs, device=device)
    rusty_stack_bench.benchmark_simple_matmul(numpy.int64(8), torch.bfloat16, device=device)
    rusty_stack_bench.benchmark_autograd(numpy.array(["forward"]), numpy.array([(8, 16)]), device=device)
    assert [case.params.get("shape") for case in planned.cases] == ["8x16x32", "8x8x8", None]
    assert [case.params["dtype"] for case in planned.cases] == ["f32", "bf16", "f32"]


@pytest.mark.parametrize(
    ("kind", "name", "wrong", "why"),
    [
        *((TypeError, "benchmark_matmul", {"num_runs": runs}, "num_runs is .*pass an integer") for runs in ("10", None, 1.5)),
        (TypeError, "benchmark_matmul", {"device": None}, "device is None; use auto"),
        (TypeError, "benchmark_gemm", {"device": 0}, "device is 0; use auto"),
        (TypeError, "benchmark_matmul", {"settings": 3}, "settings is 3; pass Settings"),
        (ValueError, "benchmark_convolution", {"kernel_sizes": 0}, "invalid kernel size '0x0'"),
        (ValueError, "benchmark_autograd", {"operations": []}, "no value for operation"),
        (ValueError, "benchmark_triton_ops", {"operations": []}, "no value for kernel"),
        (ValueError, "benchmark_triton_compilation", {"kernel_configs": {"kernel": []}}, "no value for kernel"),
        (ValueError, "benchmark_triton_compilation", {"kernel_configs": {"target": "gfx1"}}, "unknown target 'gfx1'; use"),
        (ValueError, "benchmark_zero_overhead", {"stages": [7]}, "invalid zero_stage '7'; use an integer from 0 to 3"),
        (ValueError, "benchmark_all_reduce", {"algorithms": [], "device": "cuda"}, "no value for algorithm"),
        (ValueError, "benchmark_gemm", {"sizes": [], "device": "cpu"}, "no value for shape"),
    ],
)
def test_bad_input_is_refused_with_the_accepted_form(planned, kind, name, wrong, why):
    called, given = function(name)
    with pytest.raises(kind, match=why):
        called(**{**given, **wrong})
    assert planned.cases == []


def test_a_copy_needs_two_tensors_that_store_their_elements():
    torch = needs_torch()
    one = torch.rand(64)
    refused = [(one, one), (one.expand(2, 64), torch.rand(2, 64)), (one.to_sparse(), torch.rand(64))]
    for (src, dst), why in zip(refused, ("same memory", "stride 0", "sparse")):
        with pytest.raises(ValueError, match=why):
            rusty_stack_bench.measure_memory_copy(src, dst, 1)


def test_a_product_and_an_architecture_must_agree():
    known = {"Instinct MI300X": "gfx942", None: "sm_90"}
    native = SimpleNamespace(architecture=lambda name, target: json.dumps({"fields": {"architecture": known[name]}}))
    with mock.patch.dict(vars(rusty_stack_bench), _native=native), pytest.raises(ValueError, match="is gfx942, not sm_90"):
        rusty_stack_bench.detect_tensor_cores("Instinct MI300X", "sm_90")


def test_a_profile_is_of_a_benchmark_of_the_program_and_this_python(program):
    log = program(list={"benchmarks": [{"benchmark": "gemm"}]}, run=run_of())
    rusty_stack_bench.run_rocm_profile("gemm", device="rocm:0")
    assert f"--python {sys.executable}" in log()
    with pytest.raises(ValueError, match="^unknown benchmark 'nope'; use one of gemm$"):
        rusty_stack_bench.run_rocm_profile("nope")


def test_messages_have_no_temporary_paths(program):
    program(code=2, error="error: /tmp/rsb-abc_1/sweep.toml: line 3: no axis x")
    with pytest.raises(ValueError, match="^no axis x$"):
        rusty_stack_bench.benchmark_tensor_ops(device="cpu")


def test_modules_of_the_program_are_importable():
    for module in (gpu, native, rocm):
        assert inspect.getdoc(module)
