"""Flash attention compared with the standard kernel; a profiler confirms which kernel ran."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import named_arguments
from .cases import Dtypes, Sizes
from .measuring import Default, Device, Settings, benchmark, settings_of
from .results import AttentionResult, ResultList

DEFAULT = Settings()


def benchmark_flash_attention(
    sequence_lengths: Sequence[int],
    operations: Sequence[str] = ("forward", "backward"),
    dtypes: Dtypes = ("f32",),
    causal: Sequence[bool] = (False, True),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> ResultList[AttentionResult]:
    """Benchmarks flash attention, and compares it with the other attention kernels.

    Args:
        sequence_lengths: numbers of positions of queries and keys.
        operations: `forward` or `backward`.
        dtypes: types such as `f32` and `bf16`.
        causal: whether each position attends only to itself and earlier ones.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use,
            else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `num_heads`, `num_kv_heads` and `head_dim`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    axes = {"dtype": dtypes, "operation": operations, "sequence_length": sequence_lengths, "causal": causal, **more}
    return benchmark(AttentionResult, "flash-attention/flash", device, settings, **axes)


@named_arguments
def benchmark_memory_savings(
    batch_sizes: Sizes | None = None,
    sequence_lengths: Sizes | None = None,
    head_dims: Sizes | None = None,
    num_warmup: int = Default(5),
    num_runs: int = Default(50),
    *,
    num_heads: Sizes | None = None,
    dtypes: Dtypes = ("f32",),
    causal: bool | Sequence[bool] = True,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[AttentionResult]:
    """Benchmarks the memory of flash attention, compared with the standard kernel.

    Args:
        batch_sizes: numbers of sequences; by default 1.
        sequence_lengths: numbers of positions of queries and keys; by default 512 and 2048.
        head_dims: numbers of elements of a head; by default 64.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        num_heads: numbers of heads; by default 8.
        dtypes: types such as `f32` and `bf16`.
        causal: whether each position attends only to itself and earlier ones.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case: the memory that a forward pass of each kernel allocates, in MB, and how much
        of it is saved, in percent; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size or type is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    axes = {
        "dtype": dtypes,
        "operation": "forward",
        "sequence_length": (512, 2048) if sequence_lengths is None else sequence_lengths,
        "causal": causal,
        "batch_size": batch_sizes,
        "num_heads": num_heads,
        "head_dim": head_dims,
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return benchmark(AttentionResult, "flash-attention/flash", device, taken, **axes)
