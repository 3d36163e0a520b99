"""DeepSpeed: training under the stages of ZeRO, and with layers split across ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import named_arguments
from .cases import Sizes, dtype_of, listed, plain
from .measuring import Default, Device, Settings, benchmark, one_of, settings_of
from .results import ResultList, TrainingResult

DEFAULT = Settings()
# Width of the decoder's heads; its default number of blocks; weights of a block divided
# by the width squared.
_HEAD, _BLOCKS, _WEIGHTS = 64, 2, 12
_WEIGHT_BYTES = {"f32": 4, "bf16": 2}


def benchmark_zero(
    stages: Sequence[int] = (0, 1, 2, 3),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[TrainingResult]:
    """Benchmarks training steps under stages of ZeRO.

    Args:
        stages: ZeRO stages, 0 to 3.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_ranks`, `width`, `num_layers`, `batch_size`, `sequence_length`, `dtype`,
            `optimizer` and `overlap_comm` (`on` needs GPUs and a stage from 1 on).

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(TrainingResult, "deepspeed/zero", device, settings, zero_stage=stages, **more)


@named_arguments
def benchmark_zero_overhead(
    model_sizes: Sizes | None = None,
    stages: Sequence[int] = (1, 2, 3),
    batch_size: Sizes = 1,
    num_warmup: int = Default(3),
    num_runs: int = Default(10),
    *,
    gpu_counts: Sizes | None = None,
    dtype: str = "f32",
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[TrainingResult]:
    """Benchmarks training steps under stages of ZeRO: memory, communication and the optimizer.

    Args:
        model_sizes: sizes of the weights in GB, each rounded to the nearest width of a decoder of two
            blocks, or `(width, num_layers)`; by default a width of 512.
        stages: ZeRO stages, 0 to 3.
        batch_size: texts per rank, one or several numbers.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        gpu_counts: numbers of ranks, one for each GPU; by default 2.
        dtype: `f32` or `bf16`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `sequence_length`, `optimizer` and `overlap_comm`.

    Returns:
        One result per case, in ms, GB and percent; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a value is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    axes = {"zero_stage": stages, "batch_size": batch_size, "num_ranks": gpu_counts, "dtype": dtype, **more}
    return _of_models("deepspeed/zero", model_sizes, device, taken, axes)


@named_arguments
def benchmark_tensor_parallel(
    model_sizes: Sizes | None = None,
    gpu_counts: Sizes | None = None,
    num_warmup: int = Default(3),
    num_runs: int = Default(10),
    *,
    ranks: Sizes | None = None,
    dtype: str = "f32",
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[TrainingResult]:
    """Benchmarks training steps with each layer split across ranks.

    Args:
        model_sizes: sizes of the weights in GB, each rounded to the nearest width of a decoder of two
            blocks, or `(width, num_layers)`; by default a width of 512.
        gpu_counts: numbers of ranks, one for each GPU; by default 1 and 2.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        ranks: alias of `gpu_counts`.
        dtype: `f32` or `bf16`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `width`, `num_layers`, `batch_size` and `sequence_length`.

    Returns:
        One result per case, in ms, with the speedup over one rank; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a value is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    counts = one_of(gpu_counts=gpu_counts, ranks=ranks)
    axes = {"num_ranks": (1, 2) if counts is None else counts, "dtype": dtype, **more}
    return _of_models("deepspeed/tensor-parallel", model_sizes, device, taken, axes)


def _of_models(
    workload: str, model_sizes: Any, device: str, settings: Settings, axes: dict[str, Any]
) -> ResultList[TrainingResult]:
    """Measures a workload for each model size; None uses the model size given by `axes`."""
    if model_sizes is None:
        return benchmark(TrainingResult, workload, device, settings, **axes)
    one_of(model_sizes=model_sizes, width=axes.get("width"))
    one_of(model_sizes=model_sizes, num_layers=axes.get("num_layers"))
    results: ResultList[TrainingResult] = ResultList()
    for size in listed(model_sizes, isinstance(model_sizes, tuple)):
        width, layers = _shape(size, axes["dtype"])
        results += benchmark(TrainingResult, workload, device, settings, **{**axes, "width": width, "num_layers": layers})
    return results


def _shape(size: Any, dtype: str) -> tuple[int, int]:
    """Returns width and number of blocks of a model."""
    size = plain(size)
    if isinstance(size, (int, float)):
        if size <= 0:
            raise ValueError(f"invalid model size {size}; use GB above zero, or (width, num_layers)")
        weights = size * 1e9 / _WEIGHT_BYTES.get(dtype_of(dtype), 4)
        return max(1, round((weights / (_WEIGHTS * _BLOCKS)) ** 0.5 / _HEAD)) * _HEAD, _BLOCKS
    width, layers = size
    return width, layers
