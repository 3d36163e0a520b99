"""ONNX Runtime: inference, and what each level of graph optimization is worth."""

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
    """`width`, `num_layers`, `network`, `dtype` and `sequence_length` are lists of values."""
    return benchmark(InferenceResult, "onnxruntime/inference", device, settings, batch_size=batch_sizes, **more)


def benchmark_graph_optimization(
    levels: Sequence[str] = ("disabled", "basic", "extended", "all"),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """`batch_size`, `width`, `num_layers`, `network`, `dtype` and `sequence_length` are lists of values."""
    return benchmark(InferenceResult, "onnxruntime/graph-optimization", device, settings, graph_optimization=levels, **more)


def benchmark_compilation(
    levels: Sequence[str] = ("disabled", "all"),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """Making a session of a graph; the same lists of values."""
    return benchmark(InferenceResult, "onnxruntime/compilation", device, settings, graph_optimization=levels, **more)
