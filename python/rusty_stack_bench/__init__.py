"""Benchmarks of ML frameworks: measured, verified, stored and gated like those of `rusty-stack-bench`.

    from rusty_stack_bench import benchmark_matmul, gate, store

    results = benchmark_matmul(sizes=[(1024, 1024, 1024)], dtypes=["bf16"])
    path = store(results)

`@benchmark` measures your own functions, and `BenchmarkRunner` runs suites; see docs/extending.md.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import (
        BenchmarkComparator,
        DegradationAlert,
        DegradationDetector,
        StatisticalAnalyzer,
        TrendAnalyzer,
        TrendResult,
    )
    from .charts import ASCIIChartGenerator, Chart, ChartType, MemoryPatternVisualizer, SpeedupChartGenerator
    from .comparing import BeforeAfterComparison, ChangeType, ComparisonConfig, MetricComparison
    from .components import BenchmarkStatus, ComponentBenchmarkIntegration, ComponentBenchmarkStatus
    from .configuration import (
        BenchmarkConfigLoader,
        ComponentBenchmarkConfig,
        GlobalBenchmarkConfig,
        GPUBenchmarkConfig,
    )
    from .custom import Benchmark, benchmark
    from .deepspeed import benchmark_tensor_parallel, benchmark_zero_overhead
    from .flash_attention import benchmark_memory_savings
    from .gpu import (
        analyze_compute_utilization,
        benchmark_all_reduce,
        benchmark_kernel_occupancy,
        benchmark_multi_gpu_scaling,
        benchmark_tensor_core_op,
        detect_tensor_cores,
        get_architecture_capabilities,
    )
    from .keeping import Comparison, Verdict, gate, store
    from .migraphx import benchmark_migraphx_compilation, benchmark_migraphx_inference
    from .native import (
        benchmark_elementwise_ops,
        benchmark_gemm,
        benchmark_gemm_strided,
        benchmark_hbm_bandwidth,
        benchmark_memory_bandwidth,
        benchmark_model,
        benchmark_precision,
        benchmark_system_ram_bandwidth,
        benchmark_tensor_ops,
        compare_memory_tiers,
        compare_precision,
        measure_accuracy,
    )
    from .onnxruntime import benchmark_onnx_inference, benchmark_onnx_optimization
    from .program import ProgramError
    from .pytorch import (
        benchmark_attention,
        benchmark_autograd,
        benchmark_convolution,
        benchmark_matmul,
        benchmark_memory_transfers,
        benchmark_simple_matmul,
        measure_memory_copy,
        measure_sequential_read,
        measure_sequential_write,
        run_basic_inference_test,
    )
    from .results import (
        Accuracy,
        AttentionResult,
        AutogradResult,
        CollectiveResult,
        ComputeUtilizationResult,
        ConvolutionResult,
        GEMMResult,
        HBMBandwidthResult,
        InferenceResult,
        MatmulResult,
        MemoryBandwidthResult,
        MemoryOperation,
        MemorySavingsResult,
        MemoryTransferResult,
        MIGraphXCompilationResult,
        MIGraphXInferenceResult,
        MultiGPUResult,
        ONNXInferenceResult,
        ONNXOptimizationResult,
        Outcome,
        PerformanceBaseline,
        PrecisionBenchmarkResult,
        PrecisionType,
        Reason,
        Result,
        ResultList,
        ROCmDriverInfo,
        ROCmSMIMetrics,
        Samples,
        TensorCoreInfo,
        TensorOpResult,
        TensorParallelResult,
        TensorPrecision,
        TritonCompilationResult,
        TritonOpResult,
        ZeROResult,
        vLLMBatchResult,
        vLLMLatencyResult,
        vLLMThroughputResult,
    )
    from .rocm import (
        benchmark_hip_kernel_compilation,
        collect_rocm_smi_metrics,
        establish_performance_baseline,
        get_rocm_driver_info,
        get_rocm_smi_info,
        run_rocm_profile,
        verify_rocm_installation,
    )
    from .runner import BenchmarkRunner, BenchmarkRunnerConfig, BenchmarkSuite
    from .stored import BenchmarkResultsDB, ReportConfig, ReportFormat, ReportGenerator, ResultsPersistence
    from .tables import Rows, Run, to_pandas, to_polars
    from .trends import TrendAlert, TrendAnalysisConfig, TrendAnalysisIntegration
    from .triton import benchmark_triton_compilation, benchmark_triton_ops
    from .tui import BenchmarkStage, TUIIntegration, TUIIntegrationConfig
    from .vllm import benchmark_vllm_batching, benchmark_vllm_latency, benchmark_vllm_throughput

__all__ = [
    "ASCIIChartGenerator",
    "Accuracy",
    "AttentionResult",
    "AutogradResult",
    "BeforeAfterComparison",
    "Benchmark",
    "BenchmarkComparator",
    "BenchmarkConfigLoader",
    "BenchmarkResultsDB",
    "BenchmarkRunner",
    "BenchmarkRunnerConfig",
    "BenchmarkStage",
    "BenchmarkStatus",
    "BenchmarkSuite",
    "ChangeType",
    "Chart",
    "ChartType",
    "CollectiveResult",
    "Comparison",
    "ComparisonConfig",
    "ComponentBenchmarkConfig",
    "ComponentBenchmarkIntegration",
    "ComponentBenchmarkStatus",
    "ComputeUtilizationResult",
    "ConvolutionResult",
    "DegradationAlert",
    "DegradationDetector",
    "GEMMResult",
    "GPUBenchmarkConfig",
    "GlobalBenchmarkConfig",
    "HBMBandwidthResult",
    "InferenceResult",
    "MIGraphXCompilationResult",
    "MIGraphXInferenceResult",
    "MatmulResult",
    "MemoryBandwidthResult",
    "MemoryOperation",
    "MemoryPatternVisualizer",
    "MemorySavingsResult",
    "MemoryTransferResult",
    "MetricComparison",
    "MultiGPUResult",
    "ONNXInferenceResult",
    "ONNXOptimizationResult",
    "Outcome",
    "PerformanceBaseline",
    "PrecisionBenchmarkResult",
    "PrecisionType",
    "ProgramError",
    "ROCmDriverInfo",
    "ROCmSMIMetrics",
    "Reason",
    "ReportConfig",
    "ReportFormat",
    "ReportGenerator",
    "Result",
    "ResultList",
    "ResultsPersistence",
    "Rows",
    "Run",
    "Samples",
    "SpeedupChartGenerator",
    "StatisticalAnalyzer",
    "TUIIntegration",
    "TUIIntegrationConfig",
    "TensorCoreInfo",
    "TensorOpResult",
    "TensorParallelResult",
    "TensorPrecision",
    "TrendAlert",
    "TrendAnalysisConfig",
    "TrendAnalysisIntegration",
    "TrendAnalyzer",
    "TrendResult",
    "TritonCompilationResult",
    "TritonOpResult",
    "Verdict",
    "ZeROResult",
    "analyze_compute_utilization",
    "benchmark",
    "benchmark_all_reduce",
    "benchmark_attention",
    "benchmark_autograd",
    "benchmark_convolution",
    "benchmark_elementwise_ops",
    "benchmark_gemm",
    "benchmark_gemm_strided",
    "benchmark_hbm_bandwidth",
    "benchmark_hip_kernel_compilation",
    "benchmark_kernel_occupancy",
    "benchmark_matmul",
    "benchmark_memory_bandwidth",
    "benchmark_memory_savings",
    "benchmark_memory_transfers",
    "benchmark_migraphx_compilation",
    "benchmark_migraphx_inference",
    "benchmark_model",
    "benchmark_multi_gpu_scaling",
    "benchmark_onnx_inference",
    "benchmark_onnx_optimization",
    "benchmark_precision",
    "benchmark_simple_matmul",
    "benchmark_system_ram_bandwidth",
    "benchmark_tensor_core_op",
    "benchmark_tensor_ops",
    "benchmark_tensor_parallel",
    "benchmark_triton_compilation",
    "benchmark_triton_ops",
    "benchmark_vllm_batching",
    "benchmark_vllm_latency",
    "benchmark_vllm_throughput",
    "benchmark_zero_overhead",
    "collect_rocm_smi_metrics",
    "compare_memory_tiers",
    "compare_precision",
    "detect_tensor_cores",
    "establish_performance_baseline",
    "gate",
    "get_architecture_capabilities",
    "get_rocm_driver_info",
    "get_rocm_smi_info",
    "measure_accuracy",
    "measure_memory_copy",
    "measure_sequential_read",
    "measure_sequential_write",
    "run_basic_inference_test",
    "run_rocm_profile",
    "store",
    "to_pandas",
    "to_polars",
    "vLLMBatchResult",
    "vLLMLatencyResult",
    "vLLMThroughputResult",
    "verify_rocm_installation",
]

# Public names of each module. A module is imported when one of its names is first used: the copy of
# this package that the program's worker uses contains only this file and `workloads`.
_NAMES = {
    "_native": (),
    "analysis": (
        "BenchmarkComparator", "DegradationAlert", "DegradationDetector", "StatisticalAnalyzer",
        "TrendAnalyzer", "TrendResult",
    ),
    "arguments": (),
    "cases": (),
    "charts": (
        "ASCIIChartGenerator", "Chart", "ChartType", "MemoryPatternVisualizer", "SpeedupChartGenerator",
    ),
    "comparing": ("BeforeAfterComparison", "ChangeType", "ComparisonConfig", "MetricComparison"),
    "components": ("BenchmarkStatus", "ComponentBenchmarkIntegration", "ComponentBenchmarkStatus"),
    "configuration": (
        "BenchmarkConfigLoader", "ComponentBenchmarkConfig", "GPUBenchmarkConfig", "GlobalBenchmarkConfig",
    ),
    "custom": ("Benchmark", "benchmark"),
    "deepspeed": ("benchmark_tensor_parallel", "benchmark_zero_overhead"),
    "flash_attention": ("benchmark_memory_savings",),
    "gpu": (
        "analyze_compute_utilization", "benchmark_all_reduce", "benchmark_kernel_occupancy",
        "benchmark_multi_gpu_scaling", "benchmark_tensor_core_op", "detect_tensor_cores",
        "get_architecture_capabilities",
    ),
    "keeping": ("Comparison", "Verdict", "gate", "store"),
    "measuring": (),
    "migraphx": ("benchmark_migraphx_compilation", "benchmark_migraphx_inference"),
    "native": (
        "benchmark_elementwise_ops", "benchmark_gemm", "benchmark_gemm_strided", "benchmark_hbm_bandwidth",
        "benchmark_memory_bandwidth", "benchmark_model", "benchmark_precision", "benchmark_system_ram_bandwidth",
        "benchmark_tensor_ops", "compare_memory_tiers", "compare_precision", "measure_accuracy",
    ),
    "onnxruntime": ("benchmark_onnx_inference", "benchmark_onnx_optimization"),
    "program": ("ProgramError",),
    "pytorch": (
        "benchmark_attention", "benchmark_autograd", "benchmark_convolution", "benchmark_matmul",
        "benchmark_memory_transfers", "benchmark_simple_matmul", "measure_memory_copy",
        "measure_sequential_read", "measure_sequential_write", "run_basic_inference_test",
    ),
    "results": (
        "Accuracy", "AttentionResult", "AutogradResult", "CollectiveResult", "ComputeUtilizationResult",
        "ConvolutionResult", "GEMMResult", "HBMBandwidthResult", "InferenceResult",
        "MIGraphXCompilationResult", "MIGraphXInferenceResult", "MatmulResult", "MemoryBandwidthResult",
        "MemoryOperation", "MemorySavingsResult", "MemoryTransferResult", "MultiGPUResult",
        "ONNXInferenceResult", "ONNXOptimizationResult", "Outcome", "PerformanceBaseline",
        "PrecisionBenchmarkResult", "PrecisionType", "ROCmDriverInfo", "ROCmSMIMetrics", "Reason", "Result",
        "ResultList", "Samples", "TensorCoreInfo", "TensorOpResult", "TensorParallelResult", "TensorPrecision",
        "TritonCompilationResult", "TritonOpResult", "ZeROResult", "vLLMBatchResult", "vLLMLatencyResult",
        "vLLMThroughputResult",
    ),
    "rocm": (
        "benchmark_hip_kernel_compilation", "collect_rocm_smi_metrics", "establish_performance_baseline",
        "get_rocm_driver_info", "get_rocm_smi_info", "run_rocm_profile", "verify_rocm_installation",
    ),
    "runner": ("BenchmarkRunner", "BenchmarkRunnerConfig", "BenchmarkSuite"),
    "sources": (),
    "stored": (
        "BenchmarkResultsDB", "ReportConfig", "ReportFormat", "ReportGenerator", "ResultsPersistence",
    ),
    "tables": ("Rows", "Run", "to_pandas", "to_polars"),
    "trends": ("TrendAlert", "TrendAnalysisConfig", "TrendAnalysisIntegration"),
    "triton": ("benchmark_triton_compilation", "benchmark_triton_ops"),
    "tui": ("BenchmarkStage", "TUIIntegration", "TUIIntegrationConfig"),
    "vllm": ("benchmark_vllm_batching", "benchmark_vllm_latency", "benchmark_vllm_throughput"),
}


def __getattr__(name: str) -> Any:
    """Imports a module of this package, or the module of a public name, on first use (PEP 562).

    Raises:
        AttributeError: if the package has no such name.
        ImportError: if this copy of the package lacks the module, such as the compiled extension
            `_native`.
    """
    for module, names in _NAMES.items():
        if name == module:
            return _module(module)
        if name in names:
            return getattr(_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _module(name: str) -> Any:
    full = f"{__name__}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        what = "its compiled extension" if name == "_native" else f"its module {name}"
        why = f"this copy of rusty_stack_bench lacks {what}; run `pip install ./python` in the repository of rusty-stack-bench"
        raise ImportError(why, name=full) from error
