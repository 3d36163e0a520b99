"""DeepSpeed: training under the stages of ZeRO, and layers shared among ranks."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import TrainingResult

DEFAULT = Settings()


def benchmark_zero(
    stages: Sequence[int] = (0, 1, 2, 3),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[TrainingResult]:
    """Training steps; `num_ranks`, `width`, `num_layers`, `batch_size` and `optimizer` are lists of values."""
    return benchmark(TrainingResult, "deepspeed/zero", device, settings, zero_stage=stages, **more)


def benchmark_tensor_parallel(
    ranks: Sequence[int] = (1, 2),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[TrainingResult]:
    """Layers cut among ranks; `width`, `num_layers` and `batch_size` are lists of values."""
    return benchmark(TrainingResult, "deepspeed/tensor-parallel", device, settings, num_ranks=ranks, **more)
