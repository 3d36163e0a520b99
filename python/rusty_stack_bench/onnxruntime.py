"""ONNX Runtime: inference, and the effect of each level of graph optimization."""

from collections.abc import Sequence
from typing import Any

from .measuring import Settings, benchmark
from .results import InferenceResult

DEFAULT = Settings()


def benchmark_inference(
    batch_sizes: Sequence[int] = (8,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """Benchmarks inference with ONNX Runtime.

    Args:
        batch_sizes: samples per inference.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `width`, `num_layers`, `network`, `dtype` and `sequence_length`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(InferenceResult, "onnxruntime/inference", device, settings, batch_size=batch_sizes, **more)


def benchmark_graph_optimization(
    levels: Sequence[str] = ("disabled", "basic", "extended", "all"),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """Benchmarks inference at levels of graph optimization, compared with the unoptimized graph.

    Args:
        levels: `disabled`, `basic`, `extended` or `all`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use,
            else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `width`, `num_layers`, `network`, `dtype` and
            `sequence_length`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(InferenceResult, "onnxruntime/graph-optimization", device, settings, graph_optimization=levels, **more)


def benchmark_compilation(
    levels: Sequence[str] = ("disabled", "all"),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """Benchmarks the creation of a session from a graph.

    Args:
        levels: `disabled`, `basic`, `extended` or `all`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `width`, `num_layers`, `network`, `dtype` and `sequence_length`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(InferenceResult, "onnxruntime/compilation", device, settings, graph_optimization=levels, **more)
