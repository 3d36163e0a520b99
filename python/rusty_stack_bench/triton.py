"""Triton: compilation for GPUs that need not be here, and operations against PyTorch's own."""

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
    """From a kernel's source to a program of each target; `num_warps`, `num_stages` and `compilation` are lists."""
    return benchmark(KernelResult, "triton/compile", "cpu:0", settings, kernel=kernels, target=targets, dtype=dtypes, **more)


def benchmark_operation(
    kernels: Sequence[str],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[KernelResult]:
    """A kernel on a GPU against PyTorch's; on a CPU it is checked and not timed. `size` is a list of values."""
    return benchmark(KernelResult, "triton/operation", device, settings, kernel=kernels, dtype=dtypes, **more)
