"""MIGraphX: compilation and inference, on a GPU or on its reference target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import named_arguments
from .cases import Dtypes, Sizes, input_axes, word_of
from .measuring import Default, Device, Settings, benchmark, settings_of
from .results import InferenceResult, ResultList

DEFAULT = Settings()


def benchmark_inference(
    batch_sizes: Sequence[int] = (8,),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[InferenceResult]:
    """Benchmarks inference with MIGraphX.

    Args:
        batch_sizes: samples per inference.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `width`, `num_layers`, `network`, `dtype` and `sequence_length`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(InferenceResult, "migraphx/inference", device, settings, batch_size=batch_sizes, **more)


def benchmark_compilation(
    batch_sizes: Sequence[int] = (8,),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[InferenceResult]:
    """Benchmarks compilation of a graph.

    Args:
        batch_sizes: samples per inference.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `width`, `num_layers`, `network`, `dtype` and `sequence_length`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(InferenceResult, "migraphx/compilation", device, settings, batch_size=batch_sizes, **more)


@named_arguments
def benchmark_migraphx_compilation(
    models: Any = None,
    input_shapes: Sizes | None = None,
    optimization_level: str = "auto",
    num_warmup: int = Default(3),
    num_runs: int = Default(10),
    *,
    batch_sizes: Sizes | None = None,
    dtypes: Dtypes = "f32",
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[InferenceResult]:
    """Benchmarks compilation of a graph.

    Args:
        models: networks: `mlp`, `encoder`, `convolutional` or `decoder-step`; by default `mlp`.
        input_shapes: sizes of one sample: `(width,)` of an mlp, `(positions, width)` of an encoder or
            decoder-step, `(edge,)` of the image of a convolutional net.
        optimization_level: only `auto`, because MIGraphX has no levels and always optimizes.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        batch_sizes: samples per inference; by default 8.
        dtypes: `f32`, `f16` or `i8`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `width`, `num_layers` and `sequence_length`.

    Returns:
        One result per case, in ms and MB; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a model, shape, level or type is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    word_of("optimization_level", optimization_level, ("auto",))
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    results: ResultList[InferenceResult] = ResultList()
    for point in input_axes(models, input_shapes, more):
        axes = {"batch_size": batch_sizes, "dtype": dtypes, **point}
        results += benchmark(InferenceResult, "migraphx/compilation", device, taken, **axes)
    return results


@named_arguments
def benchmark_migraphx_inference(
    models: Any = None,
    batch_sizes: Sizes | None = None,
    input_shapes: Sizes | None = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    dtypes: Dtypes = "f32",
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[InferenceResult]:
    """Benchmarks inference with MIGraphX.

    Args:
        models: networks: `mlp`, `encoder`, `convolutional` or `decoder-step`; by default `mlp`.
        batch_sizes: samples per inference; by default 8.
        input_shapes: sizes of one sample: `(width,)` of an mlp, `(positions, width)` of an encoder or
            decoder-step, `(edge,)` of the image of a convolutional net.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        dtypes: `f32`, `f16` or `i8`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `width`, `num_layers` and `sequence_length`.

    Returns:
        One result per case, in ms and samples per second; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a model, shape or type is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    results: ResultList[InferenceResult] = ResultList()
    for point in input_axes(models, input_shapes, more):
        axes = {"batch_size": batch_sizes, "dtype": dtypes, **point}
        results += benchmark(InferenceResult, "migraphx/inference", device, taken, **axes)
    return results
