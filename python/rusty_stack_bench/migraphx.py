"""MIGraphX: compilation and inference, on a GPU or on its reference target."""

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
    return benchmark(InferenceResult, "migraphx/inference", device, settings, batch_size=batch_sizes, **more)


def benchmark_compilation(
    batch_sizes: Sequence[int] = (8,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """From a graph to a program of the GPU; the same lists of values."""
    return benchmark(InferenceResult, "migraphx/compilation", device, settings, batch_size=batch_sizes, **more)
