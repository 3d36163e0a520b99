"""DeepSpeed: training under the stages of ZeRO, and layers shared among ranks."""

from collections.abc import Sequence
from typing import Any

from .measuring import Settings, benchmark
from .results import TrainingResult

DEFAULT = Settings()


def benchmark_zero(
    stages: Sequence[int] = (0, 1, 2, 3),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[TrainingResult]:
    """Training steps; `num_ranks`, `width`, `num_layers`, `batch_size`, `sequence_length`, `dtype` and `optimizer` are lists."""
    return benchmark(TrainingResult, "deepspeed/zero", device, settings, zero_stage=stages, **more)


def benchmark_tensor_parallel(
    ranks: Sequence[int] = (1, 2),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[TrainingResult]:
    """Layers cut among ranks; `width`, `num_layers`, `batch_size`, `sequence_length` and `dtype` are lists of values."""
    return benchmark(TrainingResult, "deepspeed/tensor-parallel", device, settings, num_ranks=ranks, **more)
