"""Triton: compilation for GPUs that need not be present, and kernels compared with PyTorch's own."""

from collections.abc import Sequence
from typing import Any

from .measuring import Settings, benchmark
from .results import KernelResult

DEFAULT = Settings()


def benchmark_compile(
    kernels: Sequence[str],
    targets: Sequence[str],
    dtypes: Sequence[str] = ("f16",),
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[KernelResult]:
    """Benchmarks compilation of kernels; the target GPUs need not be present.

    Args:
        kernels: `vector-add`, `softmax`, `layer-norm`, `matmul` or `attention`.
        targets: architectures such as `gfx942` and `sm_90`.
        dtypes: `f32`, `f16` or `bf16`.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_warps`, `num_stages` and `compilation`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(KernelResult, "triton/compile", "cpu:0", settings, kernel=kernels, target=targets, dtype=dtypes, **more)


def benchmark_operation(
    kernels: Sequence[str],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[KernelResult]:
    """Benchmarks kernels against PyTorch's own; on a CPU they are verified but not timed.

    Args:
        kernels: `vector-add`, `softmax`, `layer-norm`, `matmul` or `attention`.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use,
            else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `size`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(KernelResult, "triton/operation", device, settings, kernel=kernels, dtype=dtypes, **more)
