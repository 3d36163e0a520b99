"""DeepSpeed: training under the stages of ZeRO, and with layers split across ranks."""

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
    """Benchmarks training steps under stages of ZeRO.

    Args:
        stages: ZeRO stages, 0 to 3.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_ranks`, `width`, `num_layers`, `batch_size`, `sequence_length`, `dtype` and `optimizer`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(TrainingResult, "deepspeed/zero", device, settings, zero_stage=stages, **more)


def benchmark_tensor_parallel(
    ranks: Sequence[int] = (1, 2),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[TrainingResult]:
    """Benchmarks training steps with each layer split across ranks.

    Args:
        ranks: numbers of ranks.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use,
            else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `width`, `num_layers`, `batch_size`, `sequence_length` and `dtype`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(TrainingResult, "deepspeed/tensor-parallel", device, settings, num_ranks=ranks, **more)
