"""Flash attention compared with the standard kernel; a profiler confirms which kernel ran."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import AttentionResult

DEFAULT = Settings()


def benchmark_flash_attention(
    sequence_lengths: Sequence[int],
    operations: Sequence[str] = ("forward", "backward"),
    dtypes: Sequence[str] = ("f32",),
    causal: Sequence[bool] = (False, True),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[AttentionResult]:
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
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    axes = {"dtype": dtypes, "operation": operations, "sequence_length": sequence_lengths, "causal": causal, **more}
    return benchmark(AttentionResult, "flash-attention/flash", device, settings, **axes)
