"""MIGraphX: compilation and inference, on a GPU or on its reference target."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import InferenceResult

DEFAULT = Settings()


def benchmark_inference(
    batch_sizes: Sequence[int] = (8,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[InferenceResult]:
    """`width` and `num_layers` are lists of values."""
    return benchmark(InferenceResult, "migraphx/inference", device, settings, batch_size=batch_sizes, **more)
