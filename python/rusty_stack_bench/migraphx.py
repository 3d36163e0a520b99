"""MIGraphX: compilation and inference, on a card or on its reference target."""

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
    cases = every("migraphx", "inference", chosen(device), batch_size=batch_sizes, **more)
    return measure(InferenceResult, cases, settings)
