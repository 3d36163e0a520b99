"""Flash attention against the plain kernel; which kernel ran is proved."""

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
    """`batch_size`, `num_heads`, `num_kv_heads` and `head_dim` are lists of values."""
    axes = {"dtype": dtypes, "operation": operations, "sequence_length": sequence_lengths, "causal": causal, **more}
    return benchmark(AttentionResult, "flash-attention/flash", device, settings, **axes)
