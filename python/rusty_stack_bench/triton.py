"""Triton: compilation for GPUs that need not be here, and operations against PyTorch's own."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import KernelResult

DEFAULT = Settings()


def benchmark_compile(
    kernels: Sequence[str],
    targets: Sequence[str],
    dtypes: Sequence[str] = ("f16",),
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[KernelResult]:
    """From a kernel's source to a program of each target; `num_warps` and `num_stages` are lists of values."""
    return benchmark(KernelResult, "triton/compile", "cpu:0", settings, kernel=kernels, target=targets, dtype=dtypes, **more)


def benchmark_operation(
    kernels: Sequence[str],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[KernelResult]:
    """A kernel on a GPU against PyTorch's; on a CPU it is checked and not timed."""
    return benchmark(KernelResult, "triton/operation", device, settings, kernel=kernels, dtype=dtypes)
