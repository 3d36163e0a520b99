"""ONNX Runtime: inference, and what each level of graph optimisation is worth."""

from collections.abc import Sequence

from .cases import every
from .measuring import Settings, chosen, measure
from .results import InferenceResult

DEFAULT = Settings()


def benchmark_inference(
    batch_sizes: Sequence[int] = (8,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[InferenceResult]:
    """`width` and `num_layers` are lists of values."""
    cases = every("onnxruntime", "inference", chosen(device), batch_size=batch_sizes, **more)
    return measure(InferenceResult, cases, settings)


def benchmark_graph_optimization(
    levels: Sequence[str] = ("disabled", "basic", "extended", "all"),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[InferenceResult]:
    """`batch_size`, `width` and `num_layers` are lists of values."""
    cases = every("onnxruntime", "graph-optimization", chosen(device), graph_optimization=levels, **more)
    return measure(InferenceResult, cases, settings)
