"""Triton: compilation for cards that need not be here, and operations against PyTorch's own."""

from collections.abc import Sequence

from .cases import every
from .measuring import Settings, chosen, measure
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
    cases = every("triton", "compile", "cpu:0", kernel=kernels, target=targets, dtype=dtypes, **more)
    return measure(KernelResult, cases, settings)


def benchmark_operation(
    kernels: Sequence[str],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[KernelResult]:
    """A kernel on a card against PyTorch's; on a processor it is checked and not timed."""
    return measure(KernelResult, every("triton", "operation", chosen(device), kernel=kernels, dtype=dtypes), settings)
