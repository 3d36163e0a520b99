"""Triton: compilation for GPUs that need not be present, and kernels compared with PyTorch's own."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from .arguments import named_arguments
from .cases import Dtypes, Sizes, is_integer, listed, plain, shape_of
from .measuring import Default, Device, Settings, benchmark, one_of, settings_of
from .results import KernelResult, ResultList

DEFAULT = Settings()
# Kernels and targets that are compiled by default.
_CONFIGURATIONS = ({"kernel": ("softmax", "matmul"), "target": ("gfx90a", "gfx942", "sm_90")},)
_KERNELS = ("vector-add", "softmax", "layer-norm", "matmul", "attention")


def benchmark_compile(
    kernels: Sequence[str],
    targets: Sequence[str],
    dtypes: Dtypes = ("f16",),
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[KernelResult]:
    """Benchmarks compilation of kernels; the target GPUs need not be present.

    Args:
        kernels: `vector-add`, `softmax`, `layer-norm`, `matmul` or `attention`.
        targets: architectures such as `gfx942` and `sm_90`.
        dtypes: `f32`, `f16` or `bf16`.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_warps`, `num_stages` and `compilation`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    axes = {"kernel": kernels, "target": targets, "dtype": dtypes, **more}
    return ResultList(_with_occupancy(one) for one in benchmark(KernelResult, "triton/compile", "cpu:0", settings, **axes))


def _with_occupancy(result: KernelResult) -> KernelResult:
    """Adds the occupancy on the target, which the program computes from the compiler's output."""
    needs = (result.registers, result.shared_mem_bytes, result.num_warps)
    if result.occupancy_percent is not None or result.gfx_target is None or None in needs:
        return result
    try:
        native: Any = importlib.import_module("._native", __package__)
    except ImportError:
        return result  # This copy of the package has no compiled extension.
    return dataclasses.replace(result, occupancy_percent=native.occupancy(result.gfx_target, *needs))


@named_arguments
def benchmark_triton_compilation(
    kernel_configs: Any = None,
    num_warmup: int = Default(3),
    num_runs: int = Default(10),
    *,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[KernelResult]:
    """Benchmarks compilation of kernels; the target GPUs need not be present.

    Args:
        kernel_configs: one or several mappings with `kernel` (or `kernel_name`), and optionally `target`
            (gfx90a, gfx942 and sm_90), `dtype` (f16), `num_warps` (4), `num_stages` (2) and
            `compilation` (cold), each with one value or several; by default softmax and matmul.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        device: `auto` or `cpu`; the CPU compiles for every target.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case, in ms, bytes and percent; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter or key is given under two names, or a configuration has an unknown key.
        ValueError: if a value is invalid; the message names valid ones.
    """
    if device not in ("auto", "cpu", "cpu:0"):
        raise ValueError(f"{device} compiles nothing; use cpu, and name the GPU as `target` of a configuration")
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    given: Any = _CONFIGURATIONS if kernel_configs is None else kernel_configs
    configurations: Any = [given] if isinstance(given, Mapping) else given
    results: ResultList[KernelResult] = ResultList()
    for one in configurations:
        own: dict[str, Any] = dict(one)
        kernels = one_of(kernel=own.pop("kernel", None), kernel_name=own.pop("kernel_name", None))
        targets = own.pop("target", _CONFIGURATIONS[0]["target"])
        results += benchmark_compile(_KERNELS if kernels is None else kernels, targets, own.pop("dtype", "f16"), taken, **own)
    return results


def benchmark_operation(
    kernels: Sequence[str],
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> ResultList[KernelResult]:
    """Benchmarks kernels against PyTorch's own; on a CPU they are verified but not timed.

    Args:
        kernels: `vector-add`, `softmax`, `layer-norm`, `matmul` or `attention`.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use,
            else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `size`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(KernelResult, "triton/operation", device, settings, kernel=kernels, dtype=dtypes, **more)


@named_arguments
def benchmark_triton_ops(
    operations: Any = None,
    input_shapes: Sizes | None = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[KernelResult]:
    """Benchmarks kernels against PyTorch's own; on a CPU they are verified but not timed.

    Args:
        operations: `vector-add`, `softmax`, `layer-norm`, `matmul` or `attention`; by default all.
        input_shapes: one size per case: m, n and k of a product, the positions of an attention, the length of a
            row, or the square root of the number of elements; an integer or a tuple of equal integers; by
            default 4096.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case, in ms and GB/s; `comparison_to_pytorch` is the speedup over PyTorch. A case that cannot
        run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if an operation, size or type is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    sizes = None if input_shapes is None else [_side(shape) for shape in listed(input_shapes, isinstance(input_shapes, tuple))]
    axes = {"kernel": _KERNELS if operations is None else operations, "dtype": dtypes, "size": sizes}
    return benchmark(KernelResult, "triton/operation", device, taken, **axes)


def _side(shape: Any) -> int:
    sizes: tuple[Any, ...] = (shape,) if is_integer(shape) else tuple(plain(shape))
    sides = set(shape_of("input shape", sizes, len(sizes)).split("x"))
    if len(sides) > 1:
        raise ValueError(f"sizes of {sizes} differ; these kernels take one size, such as 4096 or (4096, 4096)")
    return int(sides.pop())
