"""PyTorch: one function a workload; every combination of the values given is a case."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import (
    AttentionResult,
    AutogradResult,
    CompileResult,
    ConvolutionResult,
    GenerationResult,
    LayerNormResult,
    MatmulResult,
    StepResult,
    TransferResult,
)

Sizes = Sequence[tuple[int, ...]]
DEFAULT = Settings()


def benchmark_matmul(
    sizes: Sequence[tuple[int, int, int]],
    dtypes: Sequence[str] = ("f32",),
    transposes: Sequence[str] = ("nn",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[MatmulResult]:
    """Products of matrices of m x n x k; for each operand `n` as stored or `t` transposed."""
    return benchmark(MatmulResult, "pytorch/matmul", device, settings, dtype=dtypes, shape=sizes, transpose=transposes)


def benchmark_convolution(
    inputs: Sizes,
    weights: Sizes,
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[ConvolutionResult]:
    """Convolutions; `stride`, `padding`, `dilation` and `groups` are lists of values too."""
    axes = {"dtype": dtypes, "input": inputs, "weight": weights, **more}
    return benchmark(ConvolutionResult, "pytorch/convolution", device, settings, **axes)


def benchmark_memory_transfer(
    sizes: Sequence[str],
    directions: Sequence[str] = ("cpu_to_gpu", "gpu_to_cpu"),
    host_memory: Sequence[str] = ("pinned",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[TransferResult]:
    """Copies of sizes such as `64MiB`; `gpu_to_gpu` within one GPU, `gpu_to_peer` to another."""
    axes = {"direction": directions, "size": sizes, "host_memory": host_memory}
    return benchmark(TransferResult, "pytorch/memory-transfer", device, settings, **axes)


def benchmark_autograd(
    operations: Sequence[str] = ("forward", "backward"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[AutogradResult]:
    """Passes through linear layers; `batch_size`, `width` and `num_layers` are lists of values."""
    return benchmark(AutogradResult, "pytorch/autograd", device, settings, dtype=dtypes, operation=operations, **more)


def benchmark_compile(
    rows: Sequence[tuple[int, int]],
    compilations: Sequence[str] = ("cold", "warm"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[CompileResult]:
    """torch.compile from nothing, and what it made."""
    return benchmark(CompileResult, "pytorch/torch-compile", device, settings, dtype=dtypes, compilation=compilations, rows=rows)


def benchmark_execution(
    executions: Sequence[str] = ("eager", "compiled", "graph"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[CompileResult]:
    """A decoder eagerly, compiled, or as a GPU's graph; `batch_size`, `sequence_length`, `width`, `num_layers` are lists."""
    return benchmark(CompileResult, "pytorch/execution", device, settings, dtype=dtypes, execution=executions, **more)


def benchmark_training(
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[StepResult]:
    """Steps of a decoder with AdamW; `batch_size`, `sequence_length`, `width` and `num_layers` are lists of values."""
    return benchmark(StepResult, "pytorch/training", device, settings, dtype=dtypes, **more)


def benchmark_layer_norm(
    rows: Sequence[tuple[int, int]],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[LayerNormResult]:
    """Normalization of rows x length of each."""
    return benchmark(LayerNormResult, "pytorch/layer-norm", device, settings, dtype=dtypes, rows=rows)


def benchmark_attention(
    sequence_lengths: Sequence[int],
    dtypes: Sequence[str] = ("f32",),
    causal: Sequence[bool] = (False,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[AttentionResult]:
    """Attention by the kernel that PyTorch chooses; `batch_size`, `num_heads` and `head_dim` are lists of values."""
    axes = {"dtype": dtypes, "sequence_length": sequence_lengths, "causal": causal, **more}
    return benchmark(AttentionResult, "pytorch/attention", device, settings, **axes)


def benchmark_transformer(
    operations: Sequence[str] = ("prefill", "decode"),
    dtypes: Sequence[str] = ("f32",),
    use_cache: Sequence[bool] = (True,),
    model: str = "random",
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[GenerationResult]:
    """A model with random weights, or of a directory; `batch_size`, `prompt_length`, `width` … are lists."""
    axes = {"dtype": dtypes, "operation": operations, "use_cache": use_cache, "model": [model], **more}
    return benchmark(GenerationResult, "pytorch/transformer", device, settings, **axes)
