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
    """Benchmarks inference with MIGraphX.

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
    return benchmark(InferenceResult, "migraphx/inference", device, settings, batch_size=batch_sizes, **more)


def benchmark_compilation(
    batch_sizes: Sequence[int] = (8,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[InferenceResult]:
    """Benchmarks compilation of a graph.

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
    return benchmark(InferenceResult, "migraphx/compilation", device, settings, batch_size=batch_sizes, **more)
